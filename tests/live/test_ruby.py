# SPDX-License-Identifier: MIT
"""Methods and blocks of Ruby, interleaved with native functions: a program that knows its own paths."""

import os
import re
import shutil

import chance
import pprof
from harness import DONE, MANAGED, ROOT, STACKCTL, Daemon, Skip, check, live, record, run, scratch
from known_paths import check_known_paths

TREE = os.path.join(ROOT, "tests", "workloads", "ruby_tree.rb")
CHURN = os.path.join(ROOT, "tests", "workloads", "ruby_churn.rb")
LEAVES = os.path.join(ROOT, "tests", "workloads", "python_leaves.c")
TURNS = 100000  # of a leaf's loop


def ruby():
    """An interpreter whose frames are read."""
    path = shutil.which("ruby3.1") or shutil.which("ruby3.3")
    if not path:
        raise Skip("no Ruby 3.1 or 3.3")
    return path


def is_managed(frame):
    return frame[1].endswith(".rb") or frame[1].startswith("<")


def plain(frame):
    """Functions of one name in one file are shown with their first lines."""
    return (re.sub(r" \(\S+:\d+\)$", "", frame[0]),) + tuple(frame[1:])


def check_order(managed):
    """The methods of a path are f_P_0, f_P_1 and so on, with blocks and others between them."""
    steps = [tuple(map(int, match.groups())) for match in
             (re.search(r"\bf_(\d+)_(\d+)$", frame[0]) for frame in managed) if match]
    check(all(b == a or b == (a[0], a[1] + 1) for a, b in zip(steps, steps[1:])), "methods that do not call each other",
          managed)


def judge_leaf(leaf, managed, is_proven, truth):
    """Compares a sample that has hit a leaf with its only path. Of one that is not wholly proven, these are the frames
    from there on."""
    path = [tuple(frame) for frame in truth["paths"][leaf]]
    first = next(i for i, frame in enumerate(path) if re.search(r"\bf_\d", frame[0]))
    begins = next((i for i, frame in enumerate(managed) if re.search(r"\bf_\d", frame[0])), len(managed))
    if is_proven:
        path = path[first:]
        check(not first or (begins and managed[begins - 1][0].endswith("run_all")), "it begins", managed)
    else:
        path = path[len(path) - len(managed[begins:]):]
    check(managed[begins:] == path, "another path to " + leaf, truth["links"][leaf], managed, path)


def judge(store, truth):
    """Compares each sample with what can be known of it. Counts of: samples; those that have hit a leaf and are right in
    all frames; those elsewhere; those with frames that are not proven; those without methods."""
    counts = {"samples": 0, "right": 0, "elsewhere": 0, "unproven": 0, "native": 0}
    run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb")
    for frames, count in pprof.read(store + ".pb"):
        counts["samples"] += count
        leaf, frames = frames[0][0], frames[::-1]
        marks = [i for i, frame in enumerate(frames) if frame[0] in ("[frames not proven]", "[name lost]")]
        proven = [plain(frame) for frame in (frames[marks[-1] + 1:] if marks else frames) if is_managed(frame)]
        check_order(proven)
        if leaf.startswith("leaf_") and (proven or marks):
            judge_leaf(leaf, proven, not marks, truth)
        kind = "unproven" if marks else "native" if not proven else "right" if leaf.startswith("leaf_") else "elsewhere"
        counts[kind] += count
    print(counts)
    return counts


def most_unproven(samples):
    """How many samples hit a call or a return is the processor's, and chance: of 1 % of the instants that were measured, at
    most so many of 2 % (but for 2e-8 of the cases: chance.py)."""
    return samples / 50 + chance.farthest([(samples, 0.02, 0.02)])


FRAMES = 55000  # of methods that are read in a second of CPU time, at least, once the interpreter is known


def check_tree(seed, cpu_seconds, threads, least=300, turns=TURNS):
    """The program runs for so long, and until so many methods have been read: how soon stackd knows the interpreter, the
    machine decides."""
    with scratch() as folder:
        library, out, store, enough = (os.path.join(folder, name) for name in ("leaves.so", "truth.json", "store.db", "enough"))
        run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
        with Daemon(store, *MANAGED, "-F", "4999", "--ring-bytes", "64M", "--", ruby(), TREE, library, out, str(seed),
                    str(cpu_seconds), str(threads), str(turns), enough) as daemon:
            daemon.wait_counter("managed_frames", FRAMES * cpu_seconds)
            open(enough, "w", encoding="ascii").close()
            check(daemon.finish().status == DONE, "stackd's status")
        check_known_paths(store, out, judge, least, most_unproven)


@live
def ruby_tree():
    check_tree(1, 0.6, 0)


@live
def ruby_threads():
    check_tree(2, 0.6, 4)


def check_churn(folder, library, *options):
    """Compares each sample in a leaf with the three functions that can have called it."""
    store, right = os.path.join(folder, "churn.db"), 0
    record(store, *MANAGED, "-F", "4999", "--ring-bytes", "64M", "--", ruby(), CHURN, library, "3", *options)
    run(STACKCTL, "export", "--pprof", "--interpreter=show", "-i", store, "-o", store + ".pb")
    for frames, count in pprof.read(store + ".pb"):
        leaf = frames[0][0]
        managed = [plain(frame) for frame in frames if is_managed(frame)]
        if not leaf.startswith("leaf_") or not managed or "[frames not proven]" in [frame[0] for frame in frames]:
            continue
        k, file = int(leaf[5]) * 8 + int(leaf[6]), "/churn/%s.rb" % leaf
        check(managed[0] in (("call_" + leaf, file, 2 + k), ("redefined", file, 5 + k),
                             ("<main>", "/churn/a_longer_name_of_a_file_%s.rb" % leaf, 100 + k)),
              "another function has called " + leaf, managed)
        right += count
    os.unlink(store)
    print(options, right)
    check(right > 300, "few samples hit a leaf", right)


@live(long=True)
def ruby_churn():
    """Functions that are freed, and others made where they were."""
    with scratch() as folder:
        library = os.path.join(folder, "leaves.so")
        run("gcc", "-O2", "-shared", "-fPIC", "-o", library, LEAVES)
        check_churn(folder, library)
        check_churn(folder, library, "auto")


@live(long=True)
def ruby_trees():
    """As ruby_tree and ruby_threads, more of them, and longer."""
    for seed in range(30, 34):
        check_tree(seed, 3, seed % 2 * 3)
