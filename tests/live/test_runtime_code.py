# SPDX-License-Identifier: MIT
"""Code that programs make at run time: its frames are told from its instructions in memory, or the
path ends for a reason that says so. (jit_bare is among the workloads of test_chains.py, too.)"""

import collections
import os
import shutil

import chains
from chains import Expectation
from harness import (ROOT, Skip, WORKLOADS, check, check_chains, check_judged, is_at_end, is_moment, live, record,
                     record_made, scratch, until_enough, user_frames)

WRONG = "[incomplete: wrong_caller]"
MADE = "[incomplete: runtime_code]"
# A new thread's way out of clone(): of it, the C library gives no unwind information, and nobody has called it.
CLONED = ["[incomplete: bad_return]", "clone"]


def names_of(sample):
    """The names of a sample's user frames from main or the root mark on."""
    names = [frame.symbol or "?" for frame in user_frames(sample)]
    return names[names.index("main"):] if "main" in names else names


def is_steady(sample):
    names = names_of(sample)
    return (names and not is_at_end(sample) and not is_moment(sample) and
            ("steady" in names or names[0].startswith("[inc")))


def kind_of(names, paths, returned):
    """What a path of jit_bare_fp is; `returned`: how many paths through the code into `back` were right before it.
    As long as the daemon has told the kernel half neither the table of the program nor where the code is, which the
    machine decides, the kernel half does not come from `back` to the code, whose bytes then do not come with the
    sample: the path ends there, and says so. Not any more once it has come to the code."""
    if tuple(names) in paths:
        return "returned" if names[-1] == "back" else "right"
    if names == [MADE, "bare_outer", "back"] and not returned:
        return "early"
    return "cut" if names[0] == WRONG and names[1].startswith("bare_") else ";".join(names)


@live(long=True)
def test_runtime_code_fp():
    """Between functions with frame pointers: rbp is that of a caller, and following it would skip
    frames."""
    paths = {tuple(words[:n]) for words in (
        ("main", "steady", "bare_outer", "bare_inner", "bare_leaf"),
        ("main", "steady", "bare_outer", "back")) for n in range(2, len(words) + 1)}
    with scratch() as folder:
        recording, result = record_made(folder + "/s.db", "-F", 1997, "--", WORKLOADS + "/jit_bare_fp", 3)
        samples = [names_of(sample) for sample in recording.samples() if is_steady(sample)]
        found = collections.Counter()
        for names in samples:
            found[kind_of(names, paths, found["returned"])] += 1
        stats = recording.stats()
        print(result.err, found, stats["end_reasons"], stats["steps"], stats["provenances"])
        check(set(found) <= {"right", "returned", "cut", "early"}, "paths are wrong", found)
        # How many are cut, until the code's rules are there, is the machine's.
        check(found["right"] >= 40, "few paths", found)
        check(stats["provenances"]["analysed"] >= 5 and stats["steps"]["confirmed"] >= 5,
              "steps", stats["steps"], stats["provenances"])


@live
def test_runtime_code_baseline():
    """Functions whose frame is made by a routine that they call, and released by one that they jump to: in both,
    and before and behind them, a path is right or says that it ends. The stale return addresses on the stack are
    no callers."""
    expectation = Expectation.of_source("jit_baseline")
    with scratch() as folder:
        recording, result = record_made(folder + "/s.db", "-e", "cpu-clock:u", "-F", 1997, "--",
                                        WORKLOADS + "/jit_baseline", 1.5)
        samples = [s for s in recording.samples() if not is_at_end(s) and not is_moment(s) and user_frames(s)]
        stats = recording.stats()
    marked = [s for s in samples if str(s.frames[0].symbol).startswith("[incomplete")]
    whole = [s for s in samples if s not in set(marked)]
    leaves = collections.Counter(user_frames(s)[-1].symbol for s in whole)
    print(result.err, leaves, len(marked), stats["end_reasons"], stats["steps"])
    ends = {tuple(word.text for word in words[start:end]) for words in expectation.paths
            for end in range(1, len(words) + 1) for start in range(end)}
    odd = [s for s in marked if tuple(names_of(s)[1:]) not in ends]
    check(not odd, "marked paths are wrong", *map(names_of, odd[:3]))
    check_chains(whole, expectation)
    check(all(leaves[name] >= 40 for name in ("baseline_enter", "baseline_leave", "base_inner")), "few paths", leaves)
    check(not stats["steps"]["wrong"], "steps are judged wrong", stats["steps"])


@live
def test_runtime_code_untold():
    """Of a function that never returns nothing tells its frame."""
    with scratch() as folder:
        recording, result = record_made(folder + "/s.db", "-F", 1997, "--", WORKLOADS + "/jit_bare", 1,
                                        "stuck")
        samples = [names_of(sample) for sample in recording.samples() if is_steady(sample)]
        found = collections.Counter(";".join(map(str, map(chains.base_name, names)))
                                    for names in samples)
        print(result.err, found, recording.stats()["end_reasons"])
        check(set(found) == {MADE + ";bare_stuck", "main;steady"} or
              set(found) == {MADE + ";bare_stuck"}, "paths", found)
        check(recording.stats()["end_reasons"]["runtime_code"] > 500, "end reasons", found)


@live
def test_shared_memory():
    """A process runs code that was mapped by another one, which has its memory, too: whether that
    ends or lives on, the walk knows the mapping. Until the daemon has told the kernel half of the code, a
    path ends there, and says so."""
    with scratch() as folder:
        for ends in ((), ("ends",)):
            recording, result = record(folder + "/s.db", "-F", 997, "--", WORKLOADS + "/shared", 0.5,
                                       *ends)
            samples = [names_of(sample) for sample in recording.samples() if is_steady(sample)]
            early = [names for names in samples if names in ([MADE, "?"], CLONED)]
            made = [names for names in samples if names[-1] == "?" and names != [MADE, "?"]]
            stats = recording.stats()
            print(result.err, stats["end_reasons"])
            check(all(names[:2] == ["main", "steady"] and len(names) == 3 for names in made),
                  "paths are wrong", *made[:3])
            check(len(made) >= 40, "few samples are in the code", len(made), *samples[:3])
            odd = [names for names in samples if names[0].startswith("[inc") and names not in early]
            check(not odd, "not every stack is complete", *odd[:3])
            # The signal that ends the program may have met such code, too.
            ends = sum(is_at_end(s) and str(s.frames[0].symbol) == MADE or is_moment(s) for s in recording.samples())
            check(stats["quality"]["partial"] <= len(early) + ends, "not every stack is complete",
                  len(early), ends, stats["end_reasons"])


@live
def test_code_in_data():
    """Code in a program's data is walked by the bytes of the file, unless it was overwritten."""
    with scratch() as folder:
        for changed in ((), ("changed",)):
            recording, result = record(folder + "/s.db", "-F", 3989, "--", WORKLOADS + "/in_data", 0.4,
                                       *changed)
            found = collections.Counter(";".join(names_of(sample)) for sample in recording.samples()
                                        if is_steady(sample))
            print(result.err, found, recording.stats()["end_reasons"])
            whole = {"main;steady", "main;steady;?", "main;steady;?;?"}  # data has no functions
            cut = {"main;steady", "main;steady;?"}  # (the latter at its first or last instruction)
            cut |= {"[incomplete: %s];%s" % (reason, frames) for frames in ("?", "?;?")
                    for reason in ("runtime_code", "bad_return")}
            check(set(found) <= (cut if changed else whole), "paths", found)
            check(found.total() > 300, "few samples", found)


@live
def test_runtime_code_rewritten():
    """Of code that begins with checks, or counts, before its frame, and of code that is rewritten
    with another frame, each path is the whole one, or ends there with a mark."""
    known = ["main", "steady", "first", "second", "third"]
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "-F", 1997, "--ring-bytes", "64M", "--judge",
                                   "--", WORKLOADS + "/jit_rewritten", 3)
        found = collections.Counter()
        for sample in recording.samples():
            frames = user_frames(sample)
            made = [frame for frame in frames if "[jit]" in (frame.object or "")]
            if not made or is_at_end(sample) or is_moment(sample):
                continue
            names = [frame.symbol or "?" for frame in frames]
            if names[0].startswith("[incomplete") or "reconstructed" in str(frames[0]):
                found["marked"] += 1
            elif "main" in names and names[names.index("main"):][:5] == known and \
                    len(frames) - names.index("main") - 5 == len(made):
                found["whole", len(made)] += 1
            else:
                found[";".join(names)] += 1
        stats = recording.stats()
        print(result.err, found, stats["end_reasons"])
        wholes = sum(n for kind, n in found.items() if isinstance(kind, tuple))
        check(wholes + found["marked"] == sum(found.values()), "paths are wrong", found)
        check(all(found["whole", n] for n in (1, 2, 3)), "paths are marked", found)
        # Each version's bytes come with its first sample, so it matters not when they are read.
        check(found["marked"] <= 5 + wholes / 100, "paths are marked", found)
        check_judged(stats, 100, 50)


def judged(name, *command, least, long, proven=0):
    """Steps out of a compiler's code are judged by what no rule of a walk has a part in."""
    def test():
        if not shutil.which(command[0]):
            raise Skip("there is no " + command[0])
        with scratch() as folder:
            recording, result = record(folder + "/s.db", "-F", 1997, "--judge", "--ring-bytes", "64M",
                                       "--", *command)
            stats = recording.stats()
            print(result.err, stats["end_reasons"], stats["steps"])
            check_judged(stats, least, proven)
    live(test, name="judged-" + name, long=long)


LOOPS = os.path.join(ROOT, "tests", "workloads", "loops")
PHP = ("php", "-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=64M")
# V8's functions begin with a check before they make their frame: what it is not to inline tells that.
judged("v8", "node", "--max-inlined-bytecode-size=0", "--max-inlined-bytecode-size-cumulative=0",
       LOOPS + ".js", "2", least=500, proven=250, long=False)
judged("luajit", "luajit", LOOPS + ".lua", "2", least=100, long=True)
judged("guile", "guile", "--no-auto-compile", LOOPS + ".scm", "2", least=100, long=True)
judged("yjit", "ruby", "--yjit", LOOPS + ".rb", "2", least=100, long=True)
judged("php", *PHP, "-d", "opcache.jit=tracing", LOOPS + ".php", "2", least=100, long=True)


def bad_calls(folder, *argument):
    """Paths of the samples at a bad address, or in the handler of its fault, in the order of time."""
    recording, result = record(folder + "/s.db", "-F", 997, "--", WORKLOADS + "/calls_bad", 0.7, *argument)
    paths = []
    for sample in recording.samples():
        frames = user_frames(sample)
        names = [frame.symbol or "?" for frame in frames]
        is_bad = frames and frames[-1].object == "[unknown]"
        if (is_bad or {"handler_leaf", "alternate_leaf"} & set(names)) and not is_at_end(sample) \
                and not is_moment(sample):
            paths.append(";".join(names))
    print(result.err, collections.Counter(paths), recording.stats()["end_reasons"])
    check(len(paths) > 100, "few samples", len(paths))
    return paths


def check_bad_calls(how):
    def judge():
        """How many paths are right, of samples in the handler on the alternate stack, and of others."""
        with scratch() as folder:
            paths = bad_calls(folder, how)
        whole = ["main;steady;%s;" % how in path and not path.startswith("[incomplete") for path in paths]
        on_alternate = [path.endswith("alternate_leaf") for path in paths]
        both = [a and b for a, b in zip(whole, on_alternate)]
        first = both.index(True) if True in both else len(both)
        check(all(whole[first:]), "paths are wrong",
              collections.Counter(path for path, is_whole in zip(paths[first:], whole[first:]) if not is_whole))
        # Without tables the kernel half does not come to the call, and the daemon cannot read what a jump reads.
        check(how == "tails" or all(w or a for w, a in zip(whole, on_alternate)),
              "paths on the thread's own stack are wrong")
        return collections.Counter(alternate=sum(both), own=sum(whole) - sum(both))

    until_enough(judge, lambda found: min(found["alternate"], found["own"]) > 30)


@live
def test_calls_bad():
    """A call of a bad pointer is left by the return address on the stack, also from an alternate stack:
    there the kernel half does it, once it has the tables."""
    check_bad_calls("calls")


@live
def test_calls_bad_tails():
    """The same where the caller's callee jumps to the bad pointer."""
    check_bad_calls("tails")


@live
def test_returns_bad():
    """Where a return or a jump has led to a bad address, the return address of an earlier call on top of the stack is no
    caller's."""
    for how in ("returns", "jumps", "jumps_register"):
        with scratch() as folder:
            paths = bad_calls(folder, how)
            check(all(path.startswith("[incomplete: no_mapping];") and "earlier" not in path and how not in path
                      for path in paths), "paths are wrong", how, collections.Counter(paths))


@live
def test_garbage_return():
    """What is no address of code is no frame, though unwind information says that it is returned to: the
    path ends at the frame ahead of it."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "-F", 2499, "--",
                                   WORKLOADS + "/garbage_return", 0.4)
        found = collections.Counter()
        for sample in recording.samples():
            frames = user_frames(sample)
            if frames and frames[-1].symbol == "lying" and not is_at_end(sample) and not is_moment(sample):
                found[";".join(frame.symbol or "?" for frame in frames)] += 1
        print(result.err, found, recording.stats()["end_reasons"])
        whole = {path for path in found if path.endswith("main;steady;lying") and
                 not path.startswith("[inc")}  # at the first and last instructions
        check(set(found) - whole == {"[incomplete: no_mapping];lying"}, "paths", found)
        check(found.total() > 100, "few samples", found)
