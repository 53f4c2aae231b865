# SPDX-License-Identifier: MIT
"""Functions of Python, interleaved with native ones: a program that knows its own paths."""

import glob
import json
import os
import re
import subprocess

import pprof
import sid_python
from faked import check_faked
from harness import (DONE, MANAGED, NO_SAMPLING, ROOT, SIGINT, STACKCTL, Daemon, Failed, Recording, Skip, check, live, record,
                     record_until, run, scratch, until_enough)
from test_regions import instances

TREE = os.path.join(ROOT, "tests", "workloads", "python_tree.py")
FAKED = os.path.join(ROOT, "tests", "workloads", "python_faked.c")
SUBS = os.path.join(ROOT, "tests", "workloads", "python_subs.py")
CELLS = os.path.join(ROOT, "tests", "workloads", "python_cells.py")
GREENLETS = os.path.join(ROOT, "tests", "workloads", "python_greenlets.py")
DETACHED = os.path.join(ROOT, "tests", "workloads", "python_detached")
WAITS = os.path.join(ROOT, "tests", "workloads", "python_waits.py")
DEEP = os.path.join(ROOT, "tests", "workloads", "python_deep.py")
FORKS = os.path.join(ROOT, "tests", "workloads", "python_forks.py")
LATE = os.path.join(ROOT, "tests", "workloads", "python_late")
RELOADS = os.path.join(ROOT, "tests", "workloads", "python_reloads.py")
PUSHES = os.path.join(ROOT, "tests", "workloads", "python_pushes.py")
LEAVES = os.path.join(ROOT, "tests", "workloads", "python_leaves.c")
EVAL = "_PyEval_EvalFrameDefault"
# Activations of the interpreter between two functions of such a link: before the second, and the third.
TWICE = ("coroutine", "yieldfrom", "asyncfor", "asyncwith")
HOOKS = ("profile", "trace")  # the interpreter calls the hook while it is in the second


def python():
    """An interpreter whose frames are read, and its version."""
    for path in ("/usr/bin/python3.11", "/usr/bin/python3.12", "/usr/bin/python3.13"):
        if os.path.exists(path):
            return path, tuple(map(int, re.findall(r"\d+", path)[-2:]))
    raise Skip("no Python 3.11 to 3.13")


def is_managed(frame):
    return frame[1].endswith(".py") or frame[1].startswith("<")


def split(frames):
    """The managed frames of a path, root first, and whether native ones are right above each but the last."""
    managed, native = [], []
    for frame in frames:
        if is_managed(frame):
            # Functions of one name in one file are shown with their first lines.
            managed.append((re.sub(r" \(\S+:\d+\)$", "", frame[0]),) + tuple(frame[1:]))
            native.append(False)
        elif native and frame[0] != "":
            native[-1] = True
    return managed, native[:-1]


def expected_native(path, kinds, version):
    """Whether a native frame is between each two functions of a path, by the kinds of their links (3.11): each has an
    activation before that."""
    if version < (3, 11):
        return [True] * (len(path) - 1)
    inline = {"plain", "lines", "loop", "listcomp", "method", "lambda", "except", "finally", "recursion", "redefined",
              "large"}
    expected = []
    for caller, callee in zip(path, path[1:]):
        match = re.match(r"f_\d+_(\d+)(.*)", caller[0])
        kind = kinds[int(match.group(1))] if match else "plain"
        inner = match.group(2) if match else "<module>"
        native = kind not in inline and (not inner or (kind in TWICE and inner.endswith(".h")))
        if kind in HOOKS:
            native = inner.endswith(".g")
        expected.append(native or caller[0].endswith("GeneratorContextManager.__enter__"))
    return expected


def check_order(managed, whole):
    """The functions of a path are f_P_0, f_P_1 and so on, with functions of their own between them."""
    steps = [tuple(map(int, match.groups())) for match in
             (re.match(r"f_(\d+)_(\d+)", frame[0]) for frame in managed) if match]
    right = all(b == a or b == (a[0], a[1] + 1) for a, b in zip(steps, steps[1:]))
    check(right and (not whole or not steps or steps[0][1] == 0), "functions that do not call each other", managed)


def judge_leaf(leaf, frames, unproven, truth, version):
    """Compares a sample that has hit a leaf with its only path. Of one that is not wholly proven, these are the frames from
    there on."""
    managed, native = split(frames)
    path = [tuple(frame) for frame in truth["paths"][leaf]]
    path = path[next(i for i, frame in enumerate(path) if frame[0].startswith("f_")):]
    first = next((i for i, frame in enumerate(managed) if frame[0].startswith("f_")), len(managed))
    if unproven:
        path = path[len(path) - len(managed[first:]):]
    else:
        check(first and managed[first - 1][0] == "run_all", "it begins", managed)
    check(managed[first:] == path, "another path to " + leaf, truth["links"][leaf], managed, path)
    if version <= (3, 11) and not unproven:
        expected = expected_native(path, truth["links"][leaf], version)
        check(native[first:] == expected, "native frames elsewhere on the path to " + leaf, truth["links"][leaf],
              list(zip(path, expected, native[first:])))


def judge(store, truth, version):
    """Compares each sample with what can be known of it. Counts of: samples; those that have hit a leaf and are right in
    all frames; those elsewhere; those with frames that are not proven; those whose innermost activation carries none, and
    those that have activations, or are incomplete, and no functions: they are of the time before the interpreter's table
    was loaded."""
    counts = {"samples": 0, "right": 0, "elsewhere": 0, "unproven": 0, "in transition": 0,
              "native": 0}
    run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb")
    for frames, count in pprof.read(store + ".pb"):
        counts["samples"] += count
        leaf, frames = frames[0][0], frames[::-1]
        marks = [i for i, frame in enumerate(frames) if frame[0] in ("[frames not proven]", "[name lost]")]
        managed, _ = split(frames)
        if not managed and not marks:
            lacks = any(frame[0] == EVAL or frame[0].startswith("[incomplete") for frame in frames)
            counts["native" if lacks else "elsewhere"] += count
            continue
        proven = frames[marks[-1] + 1:] if marks else frames
        check_order(split(proven)[0], not marks)
        if leaf.startswith("leaf_"):
            judge_leaf(leaf, proven, bool(marks), truth, version)
        counts["in transition"] += count * (frames[-1][0] == EVAL and not is_managed(frames[-2]))
        kind = "unproven" if marks else "right" if leaf.startswith("leaf_") else "elsewhere"
        counts[kind] += count
    print(counts)
    return counts


# Of a leaf's loop: with them a leaf has a fifth of the samples at least, however slow memory makes the interpreter.
TURNS = 400000


def record_tree(folder, seed, cpu_seconds, threads, interpreter, *options):
    """Records the tree of a seed, and judges it."""
    path, version = interpreter
    library, out, store = (os.path.join(folder, name) for name in ("leaves.so", "truth.json", "store.db"))
    run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
    recording, _ = record(store, *MANAGED, *(options or ("-F", "4999")), "--", path, TREE, library, out, str(seed),
                          str(cpu_seconds), str(threads), str(TURNS))
    with open(out, encoding="utf-8") as file:
        truth = json.load(file)
    return judge(store, truth, version), recording.stats()["counters"]


def check_tree(seed, cpu_seconds, threads, interpreter=None, least=300):
    """Each walk is done a second time, with all functions read anew, and without the native frames."""
    def record_and_judge():
        with scratch() as folder:
            counts, counters = record_tree(folder, seed, cpu_seconds, threads, interpreter or python(), "-F", "4999",
                                           "--judge", "--ring-bytes", "64M")
        print({name: value for name, value in counters.items() if "managed" in name})
        check(not counters["judged_managed_wrong"], "functions that were read anew are others", counters["judged_managed_wrong"])
        return {**counts, "twice": counters["judged_managed_right"]}

    counts = until_enough(record_and_judge, lambda counts: counts["right"] > least and counts["twice"] > 2 * least)
    check((counts["unproven"] + counts["in transition"]) * 50 < counts["samples"], "few paths are exact", counts)


@live
def python_tree():
    check_tree(1, 0.6, 0)


@live
def python_threads():
    check_tree(2, 0.6, 4)


def others():
    """Interpreters of other versions, and these: one for each way in which stackd finds their frames."""
    home, found = os.path.expanduser("~/.pyenv/versions"), []
    for minors in ((8, 9, 10), (12,), (13,)):
        paths = [(path, (3, minor)) for minor in minors for path in
                 sorted(glob.glob("/usr/bin/python3.%d" % minor) +
                        glob.glob("%s/3.%d.*/bin/python3.%d" % (home, minor, minor)))]
        found += paths[-1:]
    return found


@live
def python_versions():
    """Versions of Python that are not the machine's own one."""
    interpreters = others()
    if not interpreters:
        raise Skip("no Python 3.8 to 3.10, 3.12 or 3.13")
    for seed, interpreter in enumerate(interpreters):
        print(interpreter)
        check_tree(10 + seed, 0.3, 2 * seed, interpreter, 60)


@live(long=True)
def python_newest():
    """Versions of Python that only Debian sid has."""
    for seed, version in enumerate(("3.13", "3.14", "3.15")):
        with scratch() as folder:
            path = sid_python.interpreter(folder, version)
            print(run(path, "--version").out.strip())
            for threads in (0, 3):
                check_tree(20 + 2 * seed + threads, 1, threads, (path, tuple(map(int, version.split(".")))), 60)


def recent():
    """Interpreters whose activations lead to their functions, one of each version."""
    system, version = python()
    return [system] + [path for path, other in others() if other >= (3, 11) and other != version]


@live
def python_begins():
    """Interpreters that the command names are read from the first sample on: they begin when their tables are there. Without
    modules from files, so that no later table is missing."""
    work = "import time\nend = time.process_time() + 0.1\nwhile time.process_time() < end: list(map(lambda n: sum(range(n)), [99]))"
    paths = [python()[0]] + [path for path, _ in others()]
    with scratch() as folder:
        recording, _ = record(os.path.join(folder, "store.db"), *MANAGED, "-F", "4999", "--", "sh", "-c",
                              "; ".join("%s -I -S -c '%s'" % (path, work) for path in paths))
        counters = recording.stats()["counters"]
    print({name: value for name, value in counters.items() if "managed" in name})
    check(counters["managed_frames"] > 50 * len(paths), "few functions", counters["managed_frames"])
    check(not counters["managed_unread_stacks"], "stacks without functions", counters["managed_unread_stacks"])


@live
def python_attached():
    """Interpreters that run already are read from the first sample on: that comes when their tables are there."""
    work = "print(flush=True)\nwhile True: list(map(lambda n: sum(range(n)), [99]))"
    programs = [subprocess.Popen([path, "-I", "-S", "-c", work], stdout=subprocess.PIPE) for path in
                [python()[0]] + [path for path, _ in others()]]
    try:
        for program in programs:
            check(program.stdout.readline(), "it runs")
        with scratch() as folder, Daemon(os.path.join(folder, "store.db"), *MANAGED, "-F", "4999", "--pid",
                                         ",".join(str(program.pid) for program in programs)) as daemon:
            daemon.wait_counter("managed_frames", 50 * len(programs))
            daemon.finish(SIGINT)
            counters = Recording(daemon.store).stats()["counters"]
    finally:
        for program in programs:
            program.kill()
            program.wait()
            program.stdout.close()
    print({name: value for name, value in counters.items() if "managed" in name})
    check(not counters["managed_unread_stacks"], "stacks without functions", counters["managed_unread_stacks"])


@live
def python_subs():
    """Functions of several interpreters in one path."""
    expected = {"leaf_00": ["outer_0", "<module>", "inner_0"],
                "leaf_01": ["outer_1", "outer_1.<locals>.<lambda>", "<module>", "inner_1"],
                "leaf_02": ["outer_2", "<module>", "between", "<module>", "inner_2"], "leaf_03": ["back"]}
    right = dict.fromkeys(expected, 0)
    with scratch() as folder:
        library, store = os.path.join(folder, "leaves.so"), os.path.join(folder, "store.db")
        run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
        record(store, *MANAGED, "-F", "4999", "--", "sh", "-c",
               "; ".join("%s -W ignore %s %s 0.4" % (path, SUBS, library) for path in recent()))
        run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb")
        for frames, count in pprof.read(store + ".pb"):
            managed, leaf = [frame[0] for frame in frames[::-1] if is_managed(frame)], frames[0][0]
            if leaf in expected and managed and "[frames not proven]" not in [frame[0] for frame in frames]:
                check(managed == ["<module>", "main"] + expected[leaf], "another path to " + leaf, managed)
                right[leaf] += count
    print(right)
    check(min(right.values()) > 50, "few samples hit a leaf", right)


def greenlet_paths(version):
    """The functions from the first one on, for each leaf of GREENLETS: below a greenlet's own, those that have switched to it."""
    inline = [] if version >= (3, 12) else ["second.<locals>.<listcomp>"]
    paths = {"leaf_10": []}
    for leaf, functions in enumerate((["plain", "inner"], ["mapped", "mapped.<locals>.<lambda>"], ["nested", "deepest"],
                                      ["nested"])):
        paths["leaf_%02o" % (2 * leaf)] = ["first"] + functions
        paths["leaf_%02o" % (2 * leaf + 1)] = ["second"] + inline + functions
    return {leaf: ["<module>", "main"] + path for leaf, path in paths.items()}


@live
def python_greenlets():
    """Of a greenlet, the functions are shown of the greenlet that runs, and of those that have switched to it."""
    path, version = python()
    try:
        run(path, "-c", "import greenlet")
    except Failed:
        raise Skip("no greenlets")
    expected, whole = greenlet_paths(version), {}
    with scratch() as folder:
        library, store = os.path.join(folder, "leaves.so"), os.path.join(folder, "store.db")
        run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
        record(store, *MANAGED, "-F", "4999", "--", path, GREENLETS, library, "0.5")
        run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb")
        for frames, count in pprof.read(store + ".pb"):
            names, leaf = [frame[0] for frame in frames[::-1]], frames[0][0]
            mark = len(names) - names[::-1].index("[frames not proven]") if "[frames not proven]" in names else 0
            managed = [frame[0] for frame in frames[::-1][mark:] if is_managed(frame)]
            if leaf not in expected or not managed:
                continue
            right = managed == expected[leaf][-len(managed):] if mark else managed == expected[leaf]
            check(right, "another path to " + leaf, names)
            whole[leaf] = whole.get(leaf, 0) + count * (not mark)
    print(whole)
    least = ["leaf_10"] if version >= (3, 13) else expected  # with 3.13, those below greenlets need not be
    check(min(whole.get(leaf, 0) for leaf in least) > 10, "few paths are whole", whole)


def read_detached(store, expected):
    """How many samples in each leaf have its path, which all have that are read from the first function on."""
    right = dict.fromkeys(expected, 0)
    if run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb").status != DONE:
        return right  # there are no samples yet
    for frames, count in pprof.read(store + ".pb"):
        path = ["?" if frame[0] == "[frames not proven]" else frame[0] for frame in frames[::-1]
                if is_managed(frame) or frame[0] == "[frames not proven]"]
        # Of the first samples that meet a function, paths may begin at the first mark.
        if frames[0][0] in expected and path and path[0] != "?" and "main" in path:
            check(path == expected[frames[0][0]], "another path to " + frames[0][0], path)
            right[frames[0][0]] += count
    return right


@live
def python_detached():
    """An activation to which nothing leads has a mark, and those below it have their functions (3.13)."""
    interpreter = next((path for path, version in others() if version == (3, 13)), None)
    if not interpreter:
        raise Skip("no Python 3.13")
    expected = {"leaf_00": ["<module>", "main", "?", "once", "once.<locals>.<lambda>"],
                "leaf_01": ["<module>", "main", "?", "?", "inner"], "leaf_02": ["<module>", "main"]}
    with scratch() as folder:
        library, other, store, enough = (os.path.join(folder, name) for name in ("leaves.so", "detached.so", "store.db", "enough"))
        run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
        run("gcc", "-O2", "-shared", "-fPIC", "-o", other, DETACHED + ".c")
        record_until(store, "samples in each leaf", lambda: min(read_detached(store, expected).values()) > 100, enough, *MANAGED,
                     "-F", "4999", "--", interpreter, DETACHED + ".py", library, other, enough)
        print(read_detached(store, expected))


@live(long=True)
def python_forks():
    """Functions of forked processes, of their threads, and of an interpreter that ends."""
    begin = ["Thread._bootstrap", "Thread._bootstrap_inner", "Thread.run", "thread"]
    expected = {"leaf_00": ["<module>", "main", "child"], "leaf_01": begin, "leaf_02": ["at_exit"],
                "leaf_03": ["<module>", "main", "parent"], "leaf_04": ["Last.__del__"]}
    for path, version in [python()] + others():
        with scratch() as folder:
            library, store = os.path.join(folder, "leaves.so"), os.path.join(folder, "store.db")
            run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
            record(store, *MANAGED, "-F", "4999", "--", path, "-W", "ignore", FORKS, library, "20")
            run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb")
            right, marked = dict.fromkeys(expected, 0), 0
            for frames, count in pprof.read(store + ".pb"):
                leaf, managed = frames[0][0], [frame[0] for frame in split(frames[::-1])[0]]
                if leaf not in expected or "[frames not proven]" in [frame[0] for frame in frames]:
                    marked += count * (leaf in expected)
                    continue
                names = expected[leaf] if version >= (3, 11) else [name.split(".")[-1] for name in expected[leaf]]
                check(managed == names, "another path to " + leaf, version, frames)
                right[leaf] += count
        print(version, right, marked, "with marks")
        check(min(right.values()) > 30 and marked * 20 < sum(right.values()), "few samples hit a leaf", right, marked)


@live(long=True)
def python_late():
    """Searches for the thread's state that have found nothing while it ran other code do not put off later ones."""
    path, _ = python()
    with scratch() as folder:
        library, other, store = (os.path.join(folder, name) for name in ("leaves.so", "late.so", "store.db"))
        run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
        run("gcc", "-O1", "-shared", "-fPIC", "-pthread", "-o", other, LATE + ".c")
        record(store, *MANAGED, "-F", "4999", "--", path, LATE + ".py", library, other, "0.3")
        run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb")
        made = right = 0
        for frames, count in pprof.read(store + ".pb"):
            names = [frame[0] for frame in frames]
            made += count * (any(name.startswith("[jit]") for name in names[:1]))
            if names[0] == "leaf_00":
                check("late" in names and "[frames not proven]" not in names, "no function", names)
                right += count
    print(made, right)
    check(made > 100 and right > 100, "few samples", made, right)


@live
def python_cells():
    """A code object is not taken for the one that was at its address before."""
    system, version = python()
    paths = [system] + [path for path, other in others() if other != version]
    with scratch() as folder:
        library, out, store = (os.path.join(folder, name) for name in ("leaves.so", "others", "store.db"))
        run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
        record(store, *MANAGED, "-F", "4999", "--", "sh", "-c",
               "; ".join("%s %s %s %s%d 1" % (path, CELLS, library, out, i) for i, path in enumerate(paths)))
        for i, path in enumerate(paths):
            with open(out + str(i), encoding="utf-8") as file:
                check(int(file.read()) > 300, "few code objects lay where another one was", path)
        run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb")
        right = 0
        for frames, count in pprof.read(store + ".pb"):
            caller = next((frame[0] for frame in frames if is_managed(frame) and frame[0] != "shared"), None)
            if frames[0][0].startswith("leaf_") and caller:
                check(caller == frames[0][0].replace("leaf", "cell"), "another caller", frames)
                right += count
    print(right, "samples")
    check(right > 300, "few samples hit a leaf", right)


# The lines where the two sources of the module in RELOADS call their leaves.
RELOADED = {"leaf_00": 4, "leaf_01": 9}


@live(long=True)
def python_reloads():
    """100,000 functions that are made, run and freed, and a module of two sources that is reloaded all the time."""
    for path in recent():
        with scratch() as folder:
            library, store = os.path.join(folder, "leaves.so"), os.path.join(folder, "store.db")
            run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
            record(store, *MANAGED, "-F", "9999", "--ring-bytes", "64M", "--", path, RELOADS, library, folder, "100000")
            run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb")
            right = {"made": 0, "work": 0}
            for frames, count in pprof.read(store + ".pb"):
                caller = next((frame for frame in split(frames)[0]), None)
                leaf = frames[0][0]
                if not leaf.startswith("leaf_") or not caller or "[frames not proven]" in [frame[0] for frame in frames]:
                    continue
                name, _, line = caller
                is_right = line == RELOADED[leaf] if name == "work" else name == leaf.replace("leaf", "made")
                check(is_right, "another caller of " + leaf, frames)
                right[name[:4]] += count
        print(path, right)
        check(min(right.values()) > 100, "few samples hit a leaf", right)


@live
def python_pushes():
    """A function that is just being called does not get a caller of one that has ended there."""
    paths = recent()
    with scratch() as folder:
        store = os.path.join(folder, "store.db")
        record(store, *MANAGED, "-F", "9999", "--ring-bytes", "64M", "--", "sh", "-c",
               "; ".join("%s %s 0.6" % (path, PUSHES) for path in paths))
        run(STACKCTL, "export", "--pprof", "-i", store, "-o", store + ".pb")
        right = 0
        for frames, count in pprof.read(store + ".pb"):
            groups = {match.group(1) for match in (re.match(r"f_(\d+)_", frame[0]) for frame in frames) if match}
            check(len(groups) < 2, "functions that do not call each other", frames)
            right += count * len(groups)
    print(right, "samples")
    check(right > 1000 * len(paths), "few samples", right)


DEEP_FRAMES = 10000


def read_deep(store):
    """How many samples in each leaf have the functions of the recursion, which then is whole."""
    found = {"leaf_00": 0, "leaf_01": 0}
    if run(STACKCTL, "export", "--pprof", "-i", store, "-o", store + ".pb").status != DONE:
        return found  # there are no samples yet
    for frames, count in pprof.read(store + ".pb"):
        leaf, names = frames[0][0], [frame[0] for frame in frames if is_managed(frame)]
        if leaf not in found or not names:
            continue
        name = {"leaf_00": "first", "leaf_01": "second"}[leaf]
        at = next((i for i, other in enumerate(names) if other != name), len(names))
        check(at == DEEP_FRAMES + 1 and names[at:at + 1] == ["main"], "a recursion that is not whole", leaf, at, names[at:])
        found[leaf] += count
    return found


@live
def python_deep():
    """A recursion of 10,000 functions is whole, or has none of them: those are stacks that stackd has walked, which on a
    busy machine are many. So it runs again until enough have theirs."""
    with scratch() as folder:
        library, store, enough = (os.path.join(folder, name) for name in ("leaves.so", "store.db", "enough"))
        run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
        turn = "; ".join("%s %s %s %d 20000000" % (path, DEEP, library, DEEP_FRAMES) for path in recent())
        record_until(store, "samples in each leaf", lambda: min(read_deep(store).values()) > 20, enough, *MANAGED, "-F", "499",
                     "--", "sh", "-c", "until [ -e %s ]; do %s; done" % (enough, turn))
        print(read_deep(store))


def judge_trampolines(frames):
    """How many functions of a path, root first, come right behind the trampoline that the interpreter has made for them (-X
    perf), and how many trampolines there are. The interpreter's first functions have none, nor has an __init__ that its
    caller's activation runs; and a function that has just returned has a trampoline still."""
    matched = 0
    for before, frame in zip(frames, frames[1:]):
        if before[0].startswith("py::") and is_managed(frame):
            name = re.match(r"py::(.*?):", before[0]).group(1)
            check(name == split([frame])[0][0][0], "a function and its trampoline differ", before, frame)
            matched += 1
    return matched, sum(frame[0].startswith("py::") for frame in frames)


@live(long=True)
def python_trampolines():
    """With -X perf, each function of a path is behind a trampoline of its name."""
    interpreters = [(path, version) for path, version in others() if version >= (3, 12)]
    if not interpreters:
        raise Skip("no Python 3.12 or 3.13")
    for path, version in interpreters:
        with scratch() as folder:
            library, out, store = (os.path.join(folder, name) for name in ("leaves.so", "truth.json", "store.db"))
            run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
            record(store, *MANAGED, "-F", "1999", "--", path, "-X", "perf", TREE, library, out, "5", "2", "2",
                   str(TURNS))
            run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb")
            matched = trampolines = 0
            for frames, count in pprof.read(store + ".pb"):
                found = judge_trampolines(frames[::-1])
                matched += found[0] * count
                trampolines += found[1] * count
        print(version, matched, "of", trampolines)
        check(matched > 10000 and matched * 10 > trampolines * 9, "few functions were found", version, matched, trampolines)


def read_traces(path):
    """The (function, file, line) of each frame, leaf first, of the traces that faulthandler has written. Of an activation that
    is about to be left, it writes the frame that the C stack owns as well, which no function has. It does not look where it
    reads: it may end the program by a frame that is being made (3.12), and then the last trace is left out."""
    traces = []
    with open(path, encoding="utf-8", errors="backslashreplace") as file:
        for line in file:
            if line.endswith("(most recent call first):\n"):
                traces.append([])
                continue
            match = re.fullmatch(r'  File "(.*)", line (\d+|\?\?\?) in (.*)\n', line)
            if not match:
                check(not file.read(), "no frame of a trace", line)
                return traces[:-1]
            at, number, name = match.groups()
            if at != "<shim>":
                traces[-1].append((name, at, int(number) if number.isdigit() and int(number) else None))
    return traces


def pass_paths(store):
    """The functions of Python in the paths of passes, as traces have them, by the tags of the paths; None where some are not
    proven or known, or the path is incomplete."""
    export = json.loads(run(STACKCTL, "export", "--json", "--interpreter=show", "-i", store, "--metric", "region.visits").out)
    paths = {}
    for entry in export["entries"]:
        path, at = [], entry["stack"]
        while at >= 0:
            at, frame = export["stacks"][at]
            path.append((export["symbols"][export["frames"][frame]["symbol"]], export["frames"][frame]))
        names = [(re.sub(r" \(\S+:\d+\)$", "", symbol["name"]).rsplit(".", 1)[-1], frame.get("file"), frame.get("line"))
                 for symbol, frame in path if symbol["kind"] == "python"]
        marked = any(symbol["name"].startswith(("[frames not", "[name lost", "[incomplete")) for symbol, _ in path)
        # The innermost activation is without functions if a signal has interrupted it where it is entered or left, or calls.
        last = next((i for i, (symbol, _) in enumerate(path) if symbol["name"] == EVAL), None)
        marked |= last is not None and path[last + 1][0]["kind"] != "python"
        paths[int(entry["tag"], 16)] = None if marked else names
    return paths


def compare_traces(interpreter, seed, count):
    """Makes so many traces, and compares them one by one. How many there were, and how many with marks."""
    maps = run(interpreter, "-c", "print(open('/proc/self/maps').read())").out
    file = next(iter(re.findall(r"/\S+/libpython3\.\d+\.so\S*", maps)), os.path.realpath(interpreter))
    with scratch() as folder:
        library, out, traces, store = (os.path.join(folder, name) for name in ("leaves.so", "truth.json", "traces", "store.db"))
        run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
        recording, _ = record(store, *MANAGED, *NO_SAMPLING, "--ring-bytes", "64M", "--region", "_Py_DumpTraceback@" + file, "--",
                              interpreter, TREE, library, out, seed, "0", "0", "2000", traces, count)
        written, paths = read_traces(traces), pass_paths(store)
        passes = [each for thread in instances(folder, recording).values() for each in thread]
        check(len(passes) == recording.stats()["counters"]["regions_sent"], "passes were lost")
        check(len(passes) - len(written) in (0, 1), "passes", len(passes), len(written))
        for number, (trace, (*_, tag)) in enumerate(zip(written, passes)):
            check(paths[tag] in (None, trace), "trace %d is another" % number, trace, paths[tag])
        return len(written), sum(paths[tag] is None for *_, tag in passes)


@live(long=True)
def python_traces():
    """The traces that the interpreter writes itself in a signal's handler, wherever that has interrupted it, are the paths of
    that moment: 10,000 in all."""
    interpreters = [python()] + others()
    for interpreter, version in interpreters:
        traces = marked = 0
        for seed in range(100, 200):
            more = compare_traces(interpreter, seed, 1000)
            traces, marked = traces + more[0], marked + more[1]
            if traces * len(interpreters) >= 10000:
                break
        print(version, traces, "traces,", marked, "with marks")
        check(traces * len(interpreters) >= 10000 and marked * 100 < traces, "few functions are proven", traces, marked)


def by_path(store, metric, *options):
    """(functions of Python with their lines, root first; all functions; sum of the metric; records) of each path."""
    export = json.loads(run(STACKCTL, "export", "--json", "--interpreter=show", "-i", store, "--metric", metric,
                            *options).out)
    symbols, frames, stacks = export["symbols"], export["frames"], export["stacks"]
    for entry in export["entries"]:
        path, at = [], entry["stack"]
        while at >= 0:
            at, frame = stacks[at]
            path.append(frames[frame])
        path = path[::-1]
        managed = [(symbols[frame["symbol"]]["name"], frame.get("line")) for frame in path
                   if symbols[frame["symbol"]]["kind"] == "python"]
        yield managed, [symbols[frame["symbol"]]["name"] for frame in path], entry["weight"], entry["samples"]


def check_lines(store, metric, leaf, function, line):
    """A function of Python is at this line in all paths that end so, and there are some."""
    found = {managed[-1][1] for managed, path, _, _ in by_path(store, metric)
             if leaf in path and managed and managed[-1][0] == function}
    check(found == {line}, "%s of %s ending in %s: lines %s, not %s" % (metric, function, leaf, found, line))


def check_waits(path):
    with scratch() as folder:
        library, out, store = (os.path.join(folder, name) for name in ("leaves.so", "truth.json", "store.db"))
        run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
        record(store, *MANAGED, "--wait", "--wait-mean=0", "--alloc", "--region", "leaf_00@" + library, "--", path,
               WAITS, library, out, "2")
        with open(out, encoding="utf-8") as file:
            truth = json.load(file)
        lines, passes, gil = truth["lines"], {"first": 0, "second": 0, "none": 0}, {}
        check_lines(store, "wait.blocked", "[futex]", "wait_for_lock", lines["lock"])
        check_lines(store, "wait.blocked", "[sleep]", "nap", lines["nap"])
        check_lines(store, "alloc.bytes", "allocate", "allocate", lines["allocate"])
        for managed, frames, amount, _ in by_path(store, "wait.blocked"):
            if "[GIL]" in frames and managed:
                gil[managed[-1][0]] = gil.get(managed[-1][0], 0) + amount
        check(gil.get("wait_for_gil", 0) > 0, "waits for the lock of the interpreter", gil)
        for managed, frames, amount, _ in by_path(store, "region.visits"):
            name = managed[-1][0] if managed else "none"
            check(not managed or managed[-1] == (name, lines.get(name)), "a pass elsewhere", managed)
            passes[name] += amount
    print(passes, gil)
    check(sum(passes.values()) == sum(truth["calls"].values()), "passes", passes, truth["calls"])
    check(0 < passes["first"] <= truth["calls"]["first"] and 0 < passes["second"] <= truth["calls"]["second"],
          "passes", passes, truth["calls"])


@live
def python_waits():
    """Waits, allocations and passes are at the lines of the functions of Python that have caused them."""
    check_waits(python()[0])


@live(long=True)
def python_waits_versions():
    """Likewise with the versions in which time.sleep() is a system call of its own."""
    for path in recent()[1:]:
        print(path)
        check_waits(path)


# A program with the names of an interpreter, and nothing of what is behind them.
FAKE = r"""
#include <time.h>
#include <unistd.h>
char _PyRuntime[1 << 16] = {1};
%s
__attribute__((noinline)) void spin(void)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_nsec < 300000000 && !now.tv_sec);
}
__attribute__((noinline)) void _PyEval_EvalFrameDefault(int depth)
{
	if (depth)
		_PyEval_EvalFrameDefault(depth - 1);
	else
		spin();
	__asm__ volatile("");
}
int main(int argc, char **argv)
{
	_PyEval_EvalFrameDefault(3);
	while (argc < 2 || access(argv[1], F_OK)) /* until all files have been read */
		usleep(10000);
	return 0;
}
"""


@live
def python_unread():
    """Versions and builds that are not read are said, and what only looks like one that is has native frames."""
    kinds = {"old": "", "new": "const unsigned long Py_Version = 0x031000f0;",
             "tableless": "const unsigned long Py_Version = 0x030e00f0;",
             "listing": "const unsigned long Py_Version = 0x030c00f0; void _Py_ForgetReference(void) {}",
             "faked": "const unsigned long Py_Version = 0x030b02f0;"}
    with scratch() as folder:
        store = os.path.join(folder, "store.db")
        for kind, more in kinds.items():
            with open(os.path.join(folder, kind + ".c"), "w", encoding="utf-8") as file:
                file.write(FAKE % more)
            run("gcc", "-O1", "-rdynamic", "-o", os.path.join(folder, kind), os.path.join(folder, kind + ".c"))
        enough = os.path.join(folder, "enough")
        with Daemon(store, *MANAGED, "-F", "999", "--", "sh", "-c",
                    "".join("%s/%s %s & " % (folder, kind, enough) for kind in kinds) + "wait") as daemon:
            daemon.wait_counter("interpreters_unread", 4)
            open(enough, "w", encoding="ascii").close()
            result = daemon.finish()
        check(result.status == DONE and "functions are not read" in result.err, result.status, result.err)
        counters = Recording(store).stats()["counters"]
        check(counters["interpreters_unread"] == 4, "interpreters that are not read", counters["interpreters_unread"])
        check(counters["managed_frames"] == 0, "frames of nothing", counters["managed_frames"])
        for kind in kinds:
            right = 0
            for managed, frames, _, samples in by_path(store, "cpu", "--comm", kind):
                check(not managed, kind, managed)
                if "spin" in frames:
                    names = [name for name in frames[:frames.index("spin")] if not name.startswith("[")]
                    check(names[-5:] == ["main"] + [EVAL] * 4, kind, frames)
                    right += samples
            check(right > 30, kind, right)


# Faults of structures: whether the functions can be read all the same.
FAULTS = {"good": True, "huge": True, "lines": True, "escape": True, "kinds": True, "loop": False, "ring": False,
          "null": False, "kernel": False, "device": False, "unmapped": False, "cframes": False, "code": False, "object": False,
          "threads": False, "list": False, "garbage": False, "scribble": False}


@live
def python_faked():
    """Structures of an interpreter that lead nowhere, in circles, or change all the time, leave native paths as they are."""
    def may_show(fault, frames):
        """The fault is in the innermost activation: the other two are as they were in a sample before it. Where it is in
        what leads to the thread's state, a sample before it may have found that."""
        return (0, 3) if FAULTS[fault] or fault in ("list", "garbage") else (0, 2) if "[frames not proven]" in frames else (0,)

    def check_counters(counters, right):
        """A circle of 3,000 frames is known as one after 7,096, and one of one frame at once."""
        most = 8192 * (right["ring"] + 8) + 100 * sum(right[fault] for fault in FAULTS)
        check(counters["managed_frames"] < most, "too many frames were read", counters["managed_frames"], right)

    check_faked(FAKED, FAULTS, EVAL, "py::", may_show, 3, ("chain", "names", "thread"), check_counters)
