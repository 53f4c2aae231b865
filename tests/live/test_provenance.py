# SPDX-License-Identifier: MIT
"""Where the rules of frames come from, and the check of steps by rules that are not of unwind
information: no path that is shown has a wrong step."""

import collections
import json
import re
import sys

import chains
from chains import Expectation
from harness import (DONE, MANAGED, WORKLOADS, Daemon, Recording, check, check_chains, faulty_stackd, is_at_end,
                     is_incomplete, is_in_kernel, is_moment, live, record, scratch, user_frames)

PATHS = {"steady": "main steady", "outer": "main steady outer",
         "inner": "main steady outer inner", "chooser": "main steady chooser",
         "chosen": "main steady chooser chosen", "wrapper": "main steady wrapper",
         "bare": "main steady wrapper bare"}  # at its ret, which has a rule of its own
WRONG = "[incomplete: wrong_caller]"
NO_RULE = "[incomplete: no_recipe]"  # at a leaf of which nothing proves that its frame is made


def functions(sample):
    """The names of a sample's user frames from main or the root mark on."""
    names = [frame.symbol or "?" for frame in user_frames(sample)]
    return names[names.index("main"):] if "main" in names else names


def is_steady(sample):
    names = functions(sample)
    return (names and not is_at_end(sample) and not is_moment(sample) and
            ("steady" in names or names[0] == WRONG))


def judge(sample):
    names = functions(sample)
    if names[0] in (WRONG, NO_RULE):
        return ("cut" if names[0] == WRONG else "unproven") if len(names) == 2 else "wrong"
    return "right" if " ".join(names) == PATHS.get(names[-1]) else "wrong"


def check_frames(recording):
    """Every frame of the model has the provenance of its code."""
    model = json.loads(recording.text("export", "--json"))
    found, callers = collections.defaultdict(set), collections.defaultdict(set)
    for frame in model["frames"]:
        symbol = model["symbols"][frame["symbol"]]
        if not symbol["mark"] and not symbol["kernel"]:
            found[symbol["name"]].add(frame.get("provenance"))
            if frame.get("return"):
                callers[symbol["name"]].add(frame.get("provenance"))
    print(dict(found))
    for name in ("main", "steady", "outer", "inner", "chooser", "wrapper"):
        # A leaf of which nothing proves a frame has none.
        check("frame_pointer" in found[name] and found[name] <= {"frame_pointer", "analysed", None},
              "%s has another provenance" % name, found[name])
    # Paths end before main()'s caller, whose call is indirect. So samples meet the C library's functions only before
    # and after main(), if at all.
    for name in ("_dl_start_final", "_dl_sysdep_start", "__libc_start_call_main"):
        check(callers[name] <= {"cfi"}, "the C library has unwind information", name, callers[name])


def check_report(recording):
    text = recording.text("report", "--lbr", *recording.OBSERVED)
    check("fp frame_pointer (" in text and "wa walked (" in text, "no legend", text)
    rows = [line for line in text.splitlines() if "─ outer" in line]
    check(any(re.search(r"  fp \d+ ", row) for row in rows), "no column", text)
    report = json.loads(recording.text("report", "--lbr", "--json", *recording.OBSERVED))
    for node in report["processes"][0]["nodes"]:
        name = report["symbols"][node["symbol"]]["name"]
        if name == "outer":
            check(node["provenances"]["frame_pointer"] > 0, "outer", node)
        check(sum(node["provenances"].values()) == node["sources"]["walked"], "sums differ", node)


@live
def test_provenance():
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "-F", 3989, "--", WORKLOADS + "/frame_pointers",
                                   1.5)
        samples = [s for s in recording.samples() if is_steady(s)]
        stats = recording.stats()
        verdicts = collections.Counter(judge(s) for s in samples)
        odd = collections.Counter(";".join(functions(s)) for s in samples if judge(s) == "wrong")
        print(result.err, stats["quality"], stats["end_reasons"], stats["steps"],
              stats["provenances"], verdicts, odd.most_common(10), sep="\n")
        check(not verdicts["wrong"], "paths are wrong", odd)
        check(verdicts["right"] > 500, "too few samples", verdicts)
        # bare() has no frame pointer, and steady() has a loop that no way to a return leaves.
        check(not {names[-1] for names in map(functions, samples) if names[0] == NO_RULE}
              - {"bare", "steady"}, "other functions without a rule")
        steps = stats["steps"]
        check(steps["confirmed"] >= 5 and steps["probable"] >= 1 and steps["unchecked"] == 0, "verdicts", steps)
        check(stats["provenances"]["frame_pointer"] >= 6 and stats["provenances"]["cfi"] >= 1,
              "provenances", stats["provenances"])
        check_frames(recording)
        check_report(recording)


@live
def test_provenance_forged():
    """Where a frame pointer leads to a return address whose call goes to another function, every path
    is cut below, with the reason, and the function at that address is in none."""
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", "-F", 1997, "--", WORKLOADS + "/forged", 0.2)
        paths = collections.Counter(tuple(frame.symbol or "?" for frame in user_frames(sample))
                                    for sample in recording.samples() if not is_moment(sample))
        forged = {path: n for path, n in paths.items() if path[-2:] == ("forger", "leaf")}
        stats = recording.stats()
        print(paths.most_common(10), stats["steps"], stats["end_reasons"])
        check(set(forged) == {(WRONG, "forger", "leaf")}, "paths are not cut", forged)
        check(sum(forged.values()) >= 100, "too few samples", forged)
        check(not any("liar" in path for path in paths), "a path has the wrong caller", paths)
        check(stats["steps"]["wrong"] >= 1, "the step has no verdict", stats["steps"])


@live
def test_provenance_baits():
    """Where stale return addresses stand in the place of those that code would have if it had been
    called, no path goes on to them; but calls that never return lead to their callers."""
    met = {"baits": {"island", "inner", "inside", "beyond", "pushes", "shared", "deepest", "stored", "counted", "interprets", "resumes", "unsaid",
                     "hides", "asks", "lowest", "undermost", "nethermost"},
           "entered": {"in_copied", "in_ended", "in_chained", "in_signaled", "handles", "in_stale", "in_handled",
                       "in_unreturned", "in_hops"}}
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", *MANAGED, "-F", 3989, "--", "/bin/dash", "-c",
                              '"$0/baits" 0.3; "$0/entered" 0.3', WORKLOADS)
        everything = [sample for sample in recording.samples() if not is_moment(sample)]
        print(recording.stats()["end_reasons"])
    for name, functions in met.items():
        expectation = Expectation.of_source(name)
        samples = [sample for sample in everything if sample.comm == name]
        check_chains([sample for sample in samples if not is_incomplete(sample)], expectation, 0)
        cut = collections.Counter(user_frames(sample)[1:] for sample in samples if is_incomplete(sample))
        wrong = [(chains.text_of(frames), count) for frames, count in cut.items() if not expectation.can_be_end(frames)]
        check(not wrong, "paths that are cut have wrong callers", *wrong)
        leaves = {user_frames(sample)[-1].symbol for sample in samples if user_frames(sample)}
        check(functions <= leaves, "functions that were not met", leaves)
        # enters() and works() end in the calls of these.
        lost = [path for path in cut if path and path[0].symbol in ("steady", "steady_thread") and name == "entered"]
        check(not lost, "functions without the caller that never returns", *map(chains.text_of, lost))
    # Behind the last instruction of asks(), a system call, answered() begins.
    calls = collections.Counter(user_frames(sample)[-1].symbol for sample in everything
                                if is_in_kernel(sample, ".*getrandom.*")
                                and any(frame.symbol == "steady" for frame in user_frames(sample)))
    check(set(calls) == {"asks"}, "functions that are in the system call", calls)


@live
def test_provenance_cfi():
    """Programs with unwind information have no steps to check, and nothing new to show."""
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", "-F", 3989, "--", WORKLOADS + "/chain", 0.5)
        stats = recording.stats()
        print(stats["provenances"], stats["steps"], stats["end_reasons"])
        weak = sum(stats["provenances"][name] for name in ("runtime_table", "frame_pointer"))
        check(weak == 0 and stats["provenances"]["cfi"] > 5, "provenances", stats["provenances"])
        check(stats["steps"]["wrong"] == 0 and "wrong_caller" not in stats["end_reasons"],
              "steps", stats["steps"])


def record_verdicts(store, frequency, *program):
    """A recording in which the steps of unwind information, which are right, are checked as well:
    none of them has the verdict wrong."""
    recording, result = record(store, "-F", frequency, "--", *program,
                               env={"STACKD_CHECK_STEPS": "1", "STACKD_DEBUG": "1"})
    stats = recording.stats()
    print(program[0], stats["steps"], stats["end_reasons"])
    check(stats["steps"]["wrong"] == 0 and "wrong_caller" not in stats["end_reasons"],
          "a right step is called wrong", program[0],
          *[line for line in result.err.splitlines() if "wrong step" in line][:5])
    check(stats["steps"]["confirmed"] >= 5, "nothing was confirmed", program[0])
    return recording


@live(long=True)
def test_provenance_verdicts():
    """No right step has the verdict wrong."""
    programs = [(3989, WORKLOADS + "/" + name, 0.25) for name in (
        "tail_calls", "plt", "plt_ibt", "ucontext", "signal_handler", "noreturn", "realigned",
        "chain_static")]
    programs += [(997, WORKLOADS + "/" + name, 1) for name in ("dlopen_dlclose", "threads")]
    programs.append((3989, sys.executable, "-c",
                     "for i in range(40): sorted(str(j) for j in range(9999))"))
    sums = collections.Counter()
    with scratch() as folder:
        for program in programs:
            sums.update(record_verdicts(folder + "/s.db", *program).stats()["steps"])
    print(sums)


PLT0 = re.compile(rb"\xff\x35....\xff\x25", re.S)  # push GOT[1]; jmp *GOT[2]


def unbound_place(library, at):
    """Which part of binding a symbol is at an offset of the library's code; None: none."""
    if PLT0.match(library, at) or PLT0.match(library, at - 6):
        return "first entry"
    return "lazy half" if library[at] in (0x68, 0xe9) else None  # push $n; jmp


@live(long=True)
def test_provenance_unbound():
    """So it is where a call leads to the dynamic linker, since its symbol is not bound yet: in the
    lazy half of a stub, in the first entry of the linkage table, and in the resolver."""
    with scratch() as folder:
        for name in ("lazy", "lazy_ibt"):
            recording = record_verdicts(folder + "/s.db", 7993, WORKLOADS + "/" + name, 1)
            file = "lib%s.so" % name
            with open("%s/%s" % (WORKLOADS, file), "rb") as opened:
                library = opened.read()
            hits = collections.Counter()
            for sample in recording.samples():
                *_, caller, leaf = [None, None, *user_frames(sample)]
                if leaf and leaf.object.endswith(file):
                    hits[unbound_place(library, leaf.ip)] += 1
                elif caller and caller.symbol == "lazy_entry":
                    hits["other file"] += 1
            print(hits)
            check(all(hits[place] >= 10 for place in ("lazy half", "first entry", "other file")),
                  "too few samples at the way to the resolver", hits)


@live(long=True)
def test_provenance_limit():
    """A run of windows leaves files unanalysed that have more code for that than its memory allows,
    which is counted; other files' paths are as ever."""
    analysed, refused = [], []
    with scratch() as folder:
        for most in ("0", "10"):  # no limit; 16 bytes
            store = "%s/%s.db" % (folder, most)
            with Daemon(store, "-q", "-F", 1997, "--window", "1h", "--", WORKLOADS + "/bare_chain", 0.5,
                        stackd=faulty_stackd(), env={"STACKD_FAULT": "few:analysed:" + most}) as daemon:
                result = daemon.finish()
            check(result.status == DONE, "status %d" % result.status, result.err)
            recording = Recording(store)
            # At some instructions, such as a `ret`, a few bytes tell the rule: no analysis of the file.
            analysed.append(sum(1 for frame in json.loads(recording.text("export", "--json"))["frames"]
                                if frame.get("return") and frame.get("provenance") == "analysed"))
            refused.append(recording.stats()["counters"].get("refused.analysis_limit", 0))
        print(analysed, refused)
        check(analysed[0] >= 3 and analysed[1] == 0, "analysed locations of callers", analysed)
        check(refused[1] > refused[0], "it is not counted", refused)
