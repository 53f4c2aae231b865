# SPDX-License-Identifier: MIT
"""Programs that keep a tag of their call path: each walk has the functions of the tag that was read
at the same moment, and what is recorded by tags alone is what the workload promises."""

import functools
import json
import os
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import chance
from chains import Expectation
from harness import (DONE, NATIVE, PATIENCE, STACKCTL, STACKD, WORKLOADS, Recording, Skip, check, check_chains,
                     check_whole, is_cut, is_momentary, live, record, record_attached, run, scratch, user_frames,
                     workload)

FREQUENCY = 3989
PLUGIN = os.path.join(WORKLOADS, "tagged-plugin")
FUNCTIONS = os.path.join(WORKLOADS, "tagged-functions")

# Every workload whose processes live longer than the daemon needs to recognise them. Where the C
# library's own threads or a program of another language come in, nothing is compiled with tags.
SHAPES = ("chain", "chain_nonpie", "chain_static", "chain_static_pie", "chain_stripped",
          "recursion", "deep", "threads", "leader_exits", "fork_exec", "dlopen_dlclose", "plugin",
          "signal_handler", "sigaltstack", "vdso", "plt", "plt_ibt", "redzone", "alloca",
          "realigned", "ucontext", "tail_calls", "noreturn", "jit", "registers", "rust_names",
          "cpp_names", "exceptions", "inlined")


def most_sampled(export, kind):
    """The tag with most samples whose leaf lies in an object of that kind: its own, or the one that
    the program kept."""
    records = [line.split("\t") for line in export.splitlines()]
    objects = {r[1] for r in records if r[0] == "object" and r[2] == kind}
    leaves = {r[1]: r for r in records if r[0] == "location" and r[2] in objects}
    tags = {r[1]: leaves[r[3]] for r in records if r[0] == "tag" and r[3] in leaves}
    counts = Counter()
    for r in records:
        if r[0] == "sample" and r[1] in tags:
            counts[tags[r[1]][3] if kind == "tag" else r[1]] += int(r[4])
    return counts.most_common(1)[0][0].zfill(16)


# Those that differ most in how their paths come to be.
FEW = ("chain", "threads", "fork_exec", "signal_handler", "ucontext", "tail_calls", "jit", "exceptions")


def needs_plugin():
    if not os.path.isdir(PLUGIN):
        raise Skip("no GCC plugin headers here (gcc-N-plugin-dev)")


LEAST = 20  # walks that say something


def judged_once(folder, path):
    store = os.path.join(folder, os.path.basename(path) + ".db")
    result = run(STACKD, *NATIVE, "--judge-tags", "-F", 2 * FREQUENCY, "-o", store, "--", path, 0.25,
                 env={"STACKD_DEBUG": "1"})
    check(result.status == 0, "status %d" % result.status, result.err)
    counters = Recording(store).stats()["counters"]
    return Counter({name[5:]: counters[name] for name in counters if name.startswith("tags_")}), \
        result.err


def judged(folder, path):
    """The counters of the oracle for a run, or for several runs, where a busy machine lets there
    be few samples."""
    counts, errors = Counter(), ""
    for _ in range(5):
        more, said = judged_once(folder, path)
        for name, count in more.items():
            counts[name] += count
        errors += said
        if counts["right"] + counts["window"] > LEAST or counts["wrong"]:
            break
    return counts, errors


def mix(x):
    """docs/TAGS.md, written anew."""
    x ^= x >> 30
    x = x * 0xbf58476d1ce4e5b9 % 2**64
    x ^= x >> 27
    x = x * 0x94d049bb133111eb % 2**64
    return x ^ x >> 31


def tag_below(tag, source, name):
    """True for a path with a tag, and a function of that file below it."""
    h = 0
    for byte in name.encode() if name == "main" else name.encode() + b"\0" + source.encode():
        h = mix((h + byte + 1) % 2**64)
    return tag * 11 % 2**64 ^ h


def tag_of(source, *functions):
    return functools.reduce(lambda tag, name: tag_below(tag, source, name), functions, 0)


THROWN = "main", "_ZL6steadyv", "_ZL7attemptv", "_ZL6middlev", "_ZL7throwerv"

# Functions of libraries that put another path into registers and memory before the program gets to
# where it changes its tag, or without its getting there at all: there, and only there, the walk has
# one path and the tag another. By workload: the library, its functions, and the tags that can be
# current in them.
TORN = {
    "ucontext": ("libc.so.6", "swapcontext", {
        tag_of("ucontext.c", "main", "steady", "switch_main"),
        tag_of("ucontext.c", "steady_one", "switch_one"),
        tag_of("ucontext.c", "steady_two", "switch_two")}),
    # Before it goes to a landing pad, the unwinder writes the registers and the return address of
    # there over those that its own frame has saved.
    "exceptions": ("libgcc_s.so.1", "_Unwind_RaiseException|_Unwind_Resume", {
        tag_of("exceptions.cc", *THROWN), tag_of("exceptions.cc", *THROWN[:-1])}),
    # pthread_exit() drops main()'s frame, and the thread ends in what has called main().
    "leader_exits": ("libc.so.6", "__libc_start_main", {tag_of("leader_exits.c", "main")}),
}


@functools.lru_cache(maxsize=None)
def code_of(program, library, names):
    """The functions that a library of a program exports: ranges of addresses, which are
    offsets in the file, too."""
    path = re.search(r"%s => (\S+)" % re.escape(library), run("ldd", program).out).group(1)
    rows = re.findall(r"^ *\d+: ([0-9a-f]+) +(\d+) FUNC .* (\w+)@", run(
        "readelf", "-W", "--dyn-syms", path).out, re.M)
    return [range(int(start, 16), int(start, 16) + int(size)) for start, size, name in rows
            if re.fullmatch(names, name)]


def is_torn(name, line):
    """Was the sample taken within such a function, under a tag that is right for it? What it called
    counts as the function."""
    if name not in TORN:
        return False
    library, names, tags = TORN[name]
    tag, frames = int(line.split()[1], 16), line.split(": ", 1)[1].split()
    frames = frames[max((i + 1 for i, frame in enumerate(frames) if "*" in frame), default=0):]
    offsets = [frame.rsplit("+", 1) for frame in frames if frame.startswith(library)]
    return tag in tags and any(int(at, 16) in code for _, at in offsets
                               for code in code_of(os.path.join(PLUGIN, name), library, names))


ENOUGH = 1200  # walks, of which few fall between two functions


def check_judged(name, counts, errors, between=None):
    total = sum(counts[verdict] for verdict in ("right", "window", "between", "wrong"))
    lines = re.findall(r"^tag .*", errors, re.M)
    wrong = [line for line in lines if not is_torn(name, line)]
    check(len(lines) == counts["wrong"] and not wrong, "%s: %d of %d walks differ from the tag" % (
        name, counts["wrong"], total), *wrong[:5])
    check(counts["right"] + counts["window"] > LEAST, "%s: hardly anything was checked" % name, counts)
    # How many hit such a moment is the processor's, and chance: of this share of the instants, at most so many
    # (but for 2e-8 of the cases, as chance.py computes it). The most that was measured is 0.8 % with the plugin (ucontext), and
    # 27 % with -finstrument-functions.
    if between is not None and total >= ENOUGH:
        check(counts["between"] <= total * between + chance.farthest([(total, between, between)]),
              "%s: too many samples between two functions" % name, counts)


def check_plugin(shapes, between=None):
    needs_plugin()
    with scratch() as folder, ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda name: judged(folder, os.path.join(PLUGIN, name)), shapes))
    for name, (counts, _) in zip(shapes, runs):
        print(name, dict(counts))
    for name, (counts, errors) in zip(shapes, runs):
        check_judged(name, counts, errors, between)


@live
def test_tags_oracle():
    """Frame by frame, every sample of workloads that are compiled with the plugin. (The share of instants between two
    functions is a processor's own: 0.8 % at most where it was measured.)"""
    check_plugin(FEW, between=0.05)


@live(long=True)
def test_tags_oracle_others():
    check_plugin(list(SHAPES), between=0.01)


@live(long=True)
def test_tags_oracle_functions():
    """...and some that any compiler could have made, with -finstrument-functions: but for the time
    in the runtime itself, which is jumped to when functions end."""
    with scratch() as folder:
        for name in ("chain", "chain_nonpie", "threads", "plugin"):
            counts, errors = judged(folder, os.path.join(FUNCTIONS, name))
            print(name, dict(counts))
            check_judged(name, counts, errors, between=0.4)


def until_used(once):
    """Records by `once()`, which gives the recording, until tags were made use of:
    where the daemon is kept from running for a second, every sample is of a tag that it does not
    know yet. The samples are judged each time."""
    for _ in range(5):
        counters = once().stats()["counters"]
        print({name: counters[name] for name in counters if "tag" in name})
        check(not counters["tags_wrong"], "%(tags_wrong)d walks differ from the tag" % counters)
        if counters["kernel_tags"] and counters["kernel_tags_new"]:
            return
    check(False, "tags are not made use of", counters)


def is_newborn(sample):
    """Of a thread of which no more than the first functions run, and whose stack has no page yet."""
    return is_cut(sample, "unreadable") and len(user_frames(sample)) <= 4 and not is_momentary(sample)


@live(long=True)
def test_tags_auto():
    """Samples are tags as soon as these are known; the paths are what the workload promises all the
    same."""
    needs_plugin()
    with scratch() as folder:
        for name, source in (("chain", "chain"), ("chain_static_pie", "chain"),
                             ("threads", "threads"), ("tail_calls", "tail_calls")):
            def once(name=name, source=source):
                recording, result = record(os.path.join(folder, name + ".db"), "-F", FREQUENCY,
                                           "--", os.path.join(PLUGIN, name), 1)
                print(result.err)
                expectation = Expectation.of_source(source)
                samples = check_whole(recording, lambda s: name == "threads" and is_newborn(s))
                newborn = {s for s in samples if is_newborn(s)}
                odd = [s.frames for s in newborn if not expectation.can_be_end(user_frames(s)[1:])]
                check(not odd, "threads without a stack", *odd[:5])
                check_chains([s for s in samples if s not in newborn], expectation)
                return recording
            until_used(once)


@live
def test_tags_attached():
    """A process that has been running, and one that begins to keep tags when it loads a library."""
    needs_plugin()
    with scratch() as folder:
        for name in ("chain", "plugin"):
            def once(name=name):
                with workload(os.path.join(PLUGIN, name)) as process:
                    recording, _ = record_attached(os.path.join(folder, name + ".db"), process, 0.7,
                                                   "-F", FREQUENCY)
                check_chains(check_whole(recording), Expectation.of_source(name))
                return recording
            until_used(once)


@live
def test_tags_only():
    """No walk at all: what is stored is the tags that docs/TAGS.md says."""
    needs_plugin()
    path = ("main", "steady", "alpha", "beta", "leaf")
    known = {tag_of("chain.c", *path[:length]) for length in range(1, len(path) + 1)}
    known |= {tag_below(tag, "workload.h", "workload_end") for tag in known}  # as it ends
    known = {"%#x" % tag for tag in known}
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "--tags", "only", "-F", FREQUENCY, "--",
                                   os.path.join(PLUGIN, "chain"), 0.5)
        stats = recording.stats()
        rows = [line.split("\t") for line in recording.text("export", "--tags").splitlines()]
    print(stats["end_reasons"], result.err, known)
    objects = {row[1] for row in rows if row[0] == "object" and row[2] == "tag"}
    tags = {"0x" + row[3] for row in rows if row[0] == "location" and row[2] in objects}
    print(tags)
    check(stats["end_reasons"]["tag_unknown"] > stats["samples"] / 2, "samples without a tag",
          stats["end_reasons"])
    check("%#x" % tag_of("chain.c", *path) in tags, "the path's tag is not there", tags)
    check(tags - {"0x0"} <= known, "tags that no path has", tags - known)


@live(long=True)
def test_decode_both_kinds():
    """In an instrumented program, decode finds the tags that it keeps and those of stackd's walks,
    and distinguishes them."""
    needs_plugin()
    program = PLUGIN + "/chain"
    with scratch() as folder:
        export = folder + "/tags"
        tags = {}
        for kind, mode in (("elf", "off"), ("tag", "only")):
            recording, _ = record(folder + "/s.db", "-F", FREQUENCY, "--tags", mode, "--", program, 1)
            recording.text("export", "--tags", "-o", export)
            with open(export, encoding="utf-8") as file:
                tags[kind] = most_sampled(file.read(), kind)
        result = run(STACKCTL, "decode", "--json", "-m", program, "--budget", 500, tags["elf"],
                     tags["tag"], timeout=PATIENCE)
    check(result.status == DONE, "status %d" % result.status, result.err, tags)
    found = json.loads(result.out)["tags"]
    check([tag.get("of") for tag in found] == ["places", "functions"], "other kinds", result.out)
    check(any("leaf" in name for name in found[0]["paths"][0]["functions"]), "not the path",
          result.out)
    check("main" in found[1]["paths"][0]["functions"][0], "not the path", result.out)
    check("2 of 2 tags decoded: 1 of functions" in result.err
          and "1 of code locations" in result.err, "no kinds", result.err)
