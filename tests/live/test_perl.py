# SPDX-License-Identifier: MIT
"""Functions of Perl, interleaved with native functions: a program that knows its own paths."""

import collections
import os
import re
import shutil
import subprocess
import tempfile

import pprof
from faked import check_faked
from harness import MANAGED, ROOT, STACKCTL, Skip, check, live, record, run, scratch
from known_paths import check_known_paths

WORKLOADS = os.path.join(ROOT, "tests", "workloads")
TREE = os.path.join(WORKLOADS, "perl_tree.pl")
LEAVES = os.path.join(WORKLOADS, "perl_leaves.c")
CHURN = os.path.join(WORKLOADS, "perl_churn.pl")
FAKED = os.path.join(WORKLOADS, "perl_faked.c")
TURNS = 100000  # of a leaf's loop
BLOCKS = ("(sort)", "(regex)", "(defer)")  # are not in what caller() says: the line there is that of the function they are in
NATIVE = "Perl_runops_standard"


def perl(root=""):
    """An interpreter whose frames are read, as it is called: that of a root, which is another release of Debian, if one is given."""
    command = ["chroot", root, "/usr/bin/perl"] if root else [shutil.which("perl")]
    version = command[-1] and said_by(command, "-e", "print $]")
    if not version or version[:5] not in ("5.036", "5.040"):
        raise Skip("no Perl 5.36 or 5.40")
    return command


def said_by(command, *arguments):
    return subprocess.run([*command, *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout


def build_leaves(folder, command, root):
    """The extension with the leaves, by the headers of that Perl."""
    config = dict(re.findall(r"(\w+)='(.*)'", said_by(command, "-MConfig=config_vars", "-e", 'config_vars("archlibexp", "ccflags")')))
    headers = root + os.path.join(config["archlibexp"], "CORE")
    if not os.path.exists(os.path.join(headers, "perl.h")):
        raise Skip("no headers of Perl")
    library = os.path.join(folder, "leaves.so")
    run("gcc", "-w", "-O2", "-shared", "-fPIC", *config["ccflags"].split(), "-I" + headers, "-o", library, LEAVES)


def is_managed(frame):
    return ".pl" in frame[1] or frame[1] in ("(eval)", "(regex)") or "/perl" in frame[1] and frame[1].endswith(".pm")


def plain(frame):
    """Functions of one name in one file are shown with their first lines."""
    return [re.sub(r" \(\S+:\d+\)$| \(\((eval|regex)\):\d+\)$", "", frame[0]), frame[1], frame[2]]


def as_caller_says(frames):
    """Without blocks; numbers of evaluated texts are other ones each time, and formats have no names."""
    said, at = [], None
    for name, file, line in reversed(frames):
        at = at or [re.sub(r"^\(re_eval \d+\)$", "(regex)", re.sub(r"^\(eval \d+\)$", "(eval)", file)), line]
        if name in BLOCKS:
            continue
        said.insert(0, ["(format)" if re.match(r"main::H_\d+_\d+$", name) else name] + at)
        at = None
    return said


def from_run_all(path):
    first = [i for i, frame in enumerate(path) if frame[0] == "main::run_all"]
    return path[first[0] + 1:] if first else path


def judge_leaf(leaf, managed, truth):
    """Compares a sample that has hit a leaf with its only path."""
    check(len(truth["paths"][leaf]) == 1, "a leaf has several paths", leaf, truth["links"][leaf])
    path = from_run_all(as_caller_says(truth["paths"][leaf][0]))
    said = from_run_all(as_caller_says(managed))
    where = next((i for i, pair in enumerate(zip(said, path)) if pair[0] != pair[1]), min(len(said), len(path)))
    check(said == path, "another path to " + leaf, where, said[where:where + 3], path[where:where + 3], truth["links"][leaf], managed)


def check_order(managed):
    """The functions of a path call each other in the order of their numbers; goto leaves some out."""
    steps = [tuple(map(int, match.groups())) for match in
             (re.search(r"\bf_(\d+)_(\d+)$", frame[0]) for frame in managed) if match]
    check(all(a[0] == b[0] and a[1] <= b[1] for a, b in zip(steps, steps[1:])), "functions that do not call each other", managed)


def judge(store, truth):
    """Compares each sample with what can be known of it. Counts of: samples; those that have hit a leaf and are right in
    all frames; those elsewhere; those with frames that are not proven; those without functions, in the interpreter (native)
    or not (outside: Perl starts, and ends)."""
    counts, odd = {"samples": 0, "right": 0, "elsewhere": 0, "unproven": 0, "leaf_unproven": 0, "native": 0, "outside": 0}, collections.Counter()
    run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb")
    for frames, count in pprof.read(store + ".pb"):
        counts["samples"] += count
        leaf, frames = frames[0][0], frames[::-1]
        is_marked = any(frame[0] in ("[frames not proven]", "[name lost]") for frame in frames)
        managed = [plain(frame) for frame in frames if is_managed(frame)]
        is_leaf = re.match(r"leaf_\d\d$", leaf)
        if is_marked:
            kind = "unproven"
            counts["leaf_unproven"] += count if is_leaf else 0
            odd[(leaf, *(truth["links"][leaf] if is_leaf else []))] += count
        elif managed:
            kind = "right" if is_leaf else "elsewhere"
            check_order(managed)
        else:
            kind = "native" if NATIVE in [frame[0] for frame in frames] else "outside"
        if is_leaf and managed and not is_marked:
            judge_leaf(leaf, managed, truth)
        counts[kind] += count
    print(counts, odd.most_common(6))
    return counts


def check_tree(seed, cpu_seconds, least=300, turns=TURNS, root=""):
    command = perl(root)
    with scratch() as folder, tempfile.TemporaryDirectory(dir=root + "/tmp") as shared:
        build_leaves(shared, command, root)
        shutil.copy(TREE, shared)
        inside, store = shared[len(root):], os.path.join(folder, "store.db")
        record(store, *MANAGED, "-F", "4999", "--ring-bytes", "64M", "--", *command, inside + "/perl_tree.pl",
               inside + "/leaves.so", inside + "/truth.json", str(seed), str(cpu_seconds), str(turns))
        return check_known_paths(store, shared + "/truth.json", judge, least)


@live
def perl_tree():
    check_tree(1, 0.6)


@live(long=True)
def perl_trees():
    """As perl_tree, more of them, and longer."""
    for seed in range(30, 34):
        check_tree(seed, 3)


# How many of the six functions may be shown: all, where the fault is in what is not needed for that.
FAULTS = {"good": 6, "huge": 6, "minus": 6, "escape": 6, "escape_file": 6, "line": 6, "start": 6, "saves": 6, "operation": 6, "unmapped": 0, "beyond": 0,
          "type": 0, "glob": 0, "name": 0, "package": 0, "file": 0, "statement": 0, "loop": 0, "ring": 0, "many": 0, "high": 0, "low": 0,
          "kernel": 0, "stack": 0, "one_more": 0, "one_less": 0, "kinds": 0, "elsewhere": 0, "scribble": 0}


@live
def perl_faked():
    """Structures of an interpreter that lead nowhere, in circles, or change all the time, leave native paths as they are."""
    # Before the table is there, native functions are alone.
    check_faked(FAKED, FAULTS, NATIVE, "pl::", lambda fault, _: (0, FAULTS[fault]), 6, ("chain", "elsewhere"))


def may_be_called(leaf):
    """The names of the functions that call a leaf, of each kind; names of packages go before those of functions."""
    return {"main::redefined": "redefined", "main::__ANON__": "closure", "__ANON__::__ANON__": "deleted", "P_%s::call_%s" % (leaf, leaf): "package",
            "R_%s::__ANON__" % leaf: "cleared", "main::undefined_" + leaf: "undefined", "main::order_" + leaf: "replaced", "(eval)": "eval"}


@live(long=True)
def perl_churn():
    """Functions and packages that are freed, and others made where they were."""
    command, found = perl(), collections.Counter()
    with scratch() as folder:
        store = os.path.join(folder, "churn.db")
        build_leaves(folder, command, "")
        record(store, *MANAGED, "-F", "4999", "--ring-bytes", "64M", "--", *command, CHURN, os.path.join(folder, "leaves.so"), "5")
        run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb")
        for frames, count in pprof.read(store + ".pb"):
            leaf, managed = frames[0][0], [plain(frame) for frame in frames if is_managed(frame)]
            if not leaf.startswith("leaf_") or not managed or "[frames not proven]" in [frame[0] for frame in frames]:
                continue
            name, file, line = managed[0]
            check(name in may_be_called(leaf), "another function calls " + leaf, managed)
            check(file == ("(eval)" if name == "(eval)" else "/churn/%s.pl" % leaf), "another file of " + leaf, managed)
            check(line == 100 + int(leaf[5:], 8), "another line of " + leaf, managed)
            check(managed[-1][:2] == ["(main)", CHURN], "another program", managed)
            found[may_be_called(leaf)[name]] += count
    print(found)
    check(len(found) == len(may_be_called("")) and min(found.values()) > 30, "few samples hit a leaf", found)
