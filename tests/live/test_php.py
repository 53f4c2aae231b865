# SPDX-License-Identifier: MIT
"""Functions of PHP, interleaved with native functions: a program that knows its own paths."""

import collections
import os
import re
import shutil

import pprof
from faked import check_faked
from harness import MANAGED, ROOT, STACKCTL, Skip, check, live, record, run, scratch
from known_paths import check_known_paths

TREE = os.path.join(ROOT, "tests", "workloads", "php_tree.php")
CHURN = os.path.join(ROOT, "tests", "workloads", "php_churn.php")
FAKED = os.path.join(ROOT, "tests", "workloads", "php_faked.c")
LEAVES = os.path.join(ROOT, "tests", "workloads", "python_leaves.c")
TURNS = 100000  # of a leaf's loop


def php(*options, interpreter=None):
    """An interpreter whose frames are read, with its options."""
    path = interpreter or shutil.which("php8.2") or shutil.which("php8.4")
    if not path:
        raise Skip("no PHP 8.2 or 8.4")
    return [path, "-d", "ffi.enable=1", "-d", "memory_limit=-1", *options]


def is_managed(frame):
    return ".php" in frame[1]


def plain(frame):
    """Functions of one name in one file are shown with their first lines."""
    return [re.sub(r" \(\S+\.php.*:\d+\)$", "", frame[0]), frame[1], frame[2]]


def path_of(leaf, truth):
    """The path of a leaf, from run_all() on; or from where its fiber begins."""
    path = truth["paths"][leaf]
    first = [i for i, frame in enumerate(path) if frame[0] == "run_all"]
    return path[first[0] + 1:] if first else path


def judge_leaf(leaf, managed, is_proven, truth):
    """Compares a sample that has hit a leaf with its only path. Of one that is not wholly proven, these are the frames
    from there on."""
    path = path_of(leaf, truth)
    first = [i for i, frame in enumerate(managed) if frame[0] == "run_all"]
    if first:
        managed = managed[first[0] + 1:]
    elif not is_proven:
        path = path[max(0, len(path) - len(managed)):]
    where = next((i for i, pair in enumerate(zip(managed, path)) if list(pair[0]) != pair[1]), min(len(managed), len(path)))
    check(managed == path, "another path to " + leaf, where, managed[where:where + 3], path[where:where + 3], truth["links"][leaf])


def judge(store, truth):
    """Compares each sample with what can be known of it. Counts of: samples; those that have hit a leaf and are right in
    all frames; those elsewhere; those with frames that are not proven; those without functions, in the interpreter (native)
    or not (outside: PHP starts, and ends)."""
    counts = {"samples": 0, "right": 0, "elsewhere": 0, "unproven": 0, "native": 0, "outside": 0}
    run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb")
    for frames, count in pprof.read(store + ".pb"):
        counts["samples"] += count
        leaf, frames = frames[0][0], frames[::-1]
        marks = [i for i, frame in enumerate(frames) if frame[0] in ("[frames not proven]", "[name lost]")]
        proven = [plain(frame) for frame in (frames[marks[-1] + 1:] if marks else frames) if is_managed(frame)]
        if leaf.startswith("leaf_") and (proven or marks):
            judge_leaf(leaf, proven, not marks, truth)
        if marks:
            kind = "unproven"
        elif proven:
            kind = "right" if leaf.startswith("leaf_") else "elsewhere"
        else:
            kind = "native" if "execute_ex" in [frame[0] for frame in frames] else "outside"
        counts[kind] += count
    print(counts)
    return counts


def check_tree(seed, cpu_seconds, *options, least=300, turns=TURNS, interpreter=None):
    with scratch() as folder:
        library, out, store = (os.path.join(folder, name) for name in ("leaves.so", "truth.json", "store.db"))
        run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
        record(store, *MANAGED, "-F", "4999", "--ring-bytes", "64M", "--", *php(*options, interpreter=interpreter), TREE,
               library, out, str(seed), str(cpu_seconds), str(turns))
        return check_known_paths(store, out, judge, least)


@live
def php_tree():
    check_tree(1, 0.6)


@live(long=True)
def php_trees():
    """As php_tree, more of them, and longer, with opcache and without."""
    for seed in range(30, 34):
        check_tree(seed, 3, *(["-d", "opcache.enable_cli=1"] if seed % 2 else []))


def check_churn(folder, library, *options):
    """Compares each sample in a leaf with the functions that can have called it."""
    store, right = os.path.join(folder, "churn.db"), collections.Counter()
    record(store, *MANAGED, "-F", "4999", "--ring-bytes", "64M", "--", *php(*options), CHURN, library, folder, "3")
    run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb")
    for frames, count in pprof.read(store + ".pb"):
        leaf = frames[0][0]
        managed = [tuple(plain(frame)) for frame in frames if is_managed(frame)]
        if not leaf.startswith("leaf_") or not managed or "[frames not proven]" in [frame[0] for frame in frames]:
            continue
        k, (name, file, line) = int(leaf[5]) * 8 + int(leaf[6]), managed[0]
        if file.endswith("eval()'d code"):
            check(name in ("{main}", "class@anonymous::call_" + leaf) or name.startswith("{closure"), leaf, managed)
            check(line == 1 + k, "another line of " + leaf, managed)
        else:
            check(name.startswith("{closure") and file == "%s/%s.php" % (folder, leaf) and line == 3 + k, leaf, managed)
        check(managed[-1][:2] == ("{main}", CHURN), leaf, managed)
        right[re.sub("_[0-9]+$", "", name.split(":")[0] if "closure" in name else name)] += count
    os.unlink(store)
    print(options, right)
    check(len(right) == 3 and min(right.values()) > 100, "few samples hit a leaf", right)


@live(long=True)
def php_churn():
    """Functions that are freed, and others made where they were."""
    with scratch() as folder:
        library = os.path.join(folder, "leaves.so")
        run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
        check_churn(folder, library)
        check_churn(folder, library, "-d", "opcache.enable_cli=1")


# Whether all six functions may be shown: the fault is in what is not needed for that.
FAULTS = {"good": True, "huge": True, "escape": True, "lines": True, "loop": False, "null": False, "unaligned": False, "kernel": False,
          "unmapped": False, "kinds": False, "name": False, "no_text": False, "class": False, "current": False, "elsewhere": False,
          "internal": False, "ring": False, "scribble": False}


@live
def php_faked():
    """Structures of an interpreter that lead nowhere, in circles, or change all the time, leave native paths as they are."""
    # Before the table is there, native functions are alone; of the innermost activation nothing else is shown once its
    # frames are not proven.
    check_faked(FAKED, FAULTS, "execute_ex", "php::", lambda fault, _: (0, 6) if FAULTS[fault] else (0,), 6, ("chain", "elsewhere"))
