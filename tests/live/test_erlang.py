# SPDX-License-Identifier: MIT
"""Erlang: code that its virtual machine has made, each process with a stack of its own, and C on the
thread's, with frame pointers and without; and functions, by programs that know their own paths."""

import collections
import os
import re
import shutil
import tempfile

import erlang_tree
import pprof
from harness import (MANAGED, PATIENCE, ROOT, Skip, check, is_cut, is_incomplete, is_moment, live, record, run, scratch,
                     until_enough)

WORKLOADS = os.path.join(ROOT, "tests", "workloads")
SOURCE = os.path.join(WORKLOADS, "erlang_frames.erl")
OURS = re.compile(r"^erlang_frames:(.*)$")
TURNS = 100000  # of a leaf's loop
DEEP = 101  # frames of deep/1 when it calls C


def allowed():
    """The functions that each function of the program calls."""
    calls = {}
    with open(SOURCE, encoding="utf-8") as source:
        for words in (line.split() for line in source):
            if words[:2] == ["%%", "CALLS:"]:
                calls.setdefault(words[2], set()).update(words[3:])
    return calls


def functions_of(sample):
    """The program's own functions, root first; and what the last of them has called."""
    names = [str(frame.symbol) for frame in sample.frames]
    found = [(i, OURS.match(name)) for i, name in enumerate(names)]
    found = [(i, match.group(1)) for i, match in found if match]
    return [name for _, name in found], names[found[-1][0] + 1:] if found else []


def check_names(samples):
    calls, pairs, deep = allowed(), 0, 0
    for sample in samples:
        if any(frame.object.startswith("[jit]") for frame in sample.frames):
            continue  # one between two others may not be proven
        functions, below = functions_of(sample)
        for caller, callee in zip(functions, functions[1:]):
            check(callee in calls.get(caller, ()) or
                  (callee.startswith("'-sorted/1") and caller.startswith(("sorted/1", "'-sorted/1"))),
                  "%s does not call %s" % (caller, callee), functions)
            pairs += 1
        if functions:
            check(functions[0] in ("'-main/1-fun-0-'/2", "main/1"), "it begins", functions)
        if any(name.startswith("phash2") for name in below):
            check(functions.count("deep/1") == DEEP, "%d of deep/1" % functions.count("deep/1"), functions)
            deep += 1
    return collections.Counter(pairs=pairs, deep=deep)


IN_A_ROW = 300
EXCUSED = ("runtime_code", "bad_return", "stack_switch")


def odd_once_known(made):
    """The samples that are cut, though the kernel half has been told of the code by then: the samples before, IN_A_ROW of
    them, were whole; and whether there were so many in a row. How soon it is, the machine decides, and stackd itself, which
    walks some of the first samples, knows the code before. Till then a tenth of the samples are cut at least, so that this is
    taken for known too soon in 1 of 10^13 runs. While C takes over the thread's stack from a process', the caller is on
    another one.

    For some milliseconds later, too, the kernel half leaves samples to stackd. Its walk ends in that code (runtime_code) or, in
    1 of some 20 recordings, comes by the code's instructions to a process' first function, behind which is a word that follows no
    call (bad_return). No walk of the kernel half ends for these reasons."""
    odd, in_a_row, is_known = [], 0, False
    for sample in made:
        is_odd = is_incomplete(sample) and not (is_moment(sample) or any(is_cut(sample, reason) for reason in EXCUSED))
        in_a_row = 0 if is_odd else in_a_row + 1
        odd += [sample] * (is_odd and is_known)
        is_known = is_known or in_a_row >= IN_A_ROW
    return odd, is_known


def check_recording(recording):
    """What there was to judge in it, in numbers: whole samples, proven steps, recordings in which the code was known to the
    kernel half, and what check_names() has judged."""
    stats, samples = recording.stats(), recording.samples()
    made = [s for s in samples if any(f.object.startswith("[jit]") or f.object == "[stubs]" or f.object.endswith(".erl") for f in s.frames)]
    early = [s for s in made if is_incomplete(s)]
    odd, is_known = odd_once_known(made)
    print({"samples": len(samples), "of code that was made": len(made), "incomplete": len(early), "odd": len(odd)},
          stats["steps"], stats["end_reasons"])
    # Each sample that is left to the daemon has some 200 KB of the machine's stack: so many fit into no ring that a busy
    # machine lets stackd read late. What has no room is counted.
    counters = stats["counters"]
    check(stats["lost"] == counters["lost_ring"] and
          counters["started"] == stats["samples"] + counters["lost_ring"] + counters["idle"], "lost", stats["lost"], counters)
    check(not odd, "%d paths end early" % len(odd),
          *[";".join(str(f.symbol) for f in s.frames[:4]) for s in odd[:10]])
    check(stats["steps"]["wrong"] == 0, "steps", stats["steps"])
    found = collections.Counter(whole=len(made) - len(early), confirmed=stats["steps"]["confirmed"], known=int(is_known))
    found.update(check_names([s for s in made if not is_incomplete(s)]))
    return found


def compile_in(root, folder, *sources):
    """Compiles modules in a folder, by the compiler of a root, which is another release of Debian, if one is given; and the
    leaves."""
    inside = folder[len(root):]
    command = ["chroot", root, "sh", "-c"] if root else ["sh", "-c"]
    for source in sources:
        if os.path.dirname(source) != folder:
            shutil.copy(source, folder)
    names = " ".join(os.path.basename(source) for source in sources)
    result = run(*command, "cd %s && erlc %s" % (inside, names), timeout=PATIENCE)
    check(result.status == 0, "erlc", result.out, result.err)
    run("gcc", "-w", "-O2", "-shared", "-fPIC", "-o", folder + "/erlang_leaves.so", os.path.join(WORKLOADS, "erlang_leaves.c"))
    return inside


def erlang(root=""):
    """How Erlang is called, if its functions are read."""
    command = ["chroot", root, "/usr/bin/env", "HOME=/root", "/usr/bin/erl"] if root else ["erl"]
    if not root and not (shutil.which("erlc") and shutil.which("erl")):
        raise Skip("there is no Erlang")
    return [*command, "-noshell", "+S", "1"]


def is_ours(frame):
    """Whether a frame is of Erlang: these have an arity."""
    return re.search(r"/\d+$", frame[0])


def judge_tree(recording, store, tree):
    """Compares each sample that has hit a leaf with its only path. Counts of samples: right; of paths that are marked as not
    complete; with a frame that has no name; that have not hit a leaf."""
    counts = dict.fromkeys(("samples", "right", "incomplete", "unproven", "elsewhere"), 0)
    recording.text("export", "--pprof", "-o", store + ".pb")
    for frames, count in pprof.read(store + ".pb"):
        names, leaf = [frame[0] for frame in frames], frames[0][0]
        if not re.match(r"leaf_\d\d$", leaf):
            kind = "elsewhere"
        elif any(name.startswith("[incomplete") for name in names):
            kind = "incomplete"
        elif any(name.startswith("[jit]") for name in names):
            kind = "unproven"
        else:
            kind = "right"
            said = [frame for frame in frames[::-1] if is_ours(frame)]
            check(erlang_tree.judge_leaf(tree, leaf, said), "another path", leaf, said, erlang_tree.on_stack(tree, leaf)[0])
        counts["samples"] += count
        counts[kind] += count
    print(counts)
    return counts


def check_tree(seed, cpu_ms, root=""):
    """Random call trees."""
    command = erlang(root)
    with scratch() as folder, tempfile.TemporaryDirectory(dir=root + "/tmp") as shared:
        module = "tree_%d" % seed
        tree = erlang_tree.write(folder, module, seed)
        inside = compile_in(root, shared, os.path.join(folder, module + ".erl"), os.path.join(WORKLOADS, "erlang_leaves.erl"))
        recording, _ = record(folder + "/tree.db", *MANAGED, "-F", 4999, "--ring-bytes", "64M", "--", *command, "-pa", inside, "-s", module,
                              "main", inside + "/erlang_leaves", cpu_ms, TURNS, "-s", "erlang", "halt")
        return judge_tree(recording, folder + "/tree.db", tree)


@live
def test_erlang():
    command = erlang()
    with scratch() as folder:
        tree = erlang_tree.write(folder, "tree_1", 1)
        compile_in("", folder, SOURCE, os.path.join(WORKLOADS, "erlang_leaves.erl"), folder + "/tree_1.erl")
        for way, ms in (("false", 800), ("true", 1)):
            def judge(way=way, ms=ms):
                with scratch() as store:
                    recording, _ = record(store + "/s.db", *MANAGED, "-F", 1997, "--ring-bytes", "64M", "--", *command, "-pa", folder,
                                          "+JPperf", way, "-s", "erlang_frames", "main", "1", "-s", "tree_1", "main",
                                          folder + "/erlang_leaves", ms, TURNS, "-s", "erlang", "halt")
                    found = check_recording(recording)
                    found["right"] = judge_tree(recording, store + "/tree", tree)["right"] if way == "false" else 0
                    return found

            until_enough(judge, lambda found, way=way: found["known"] and found["whole"] > 500 and found["confirmed"] > 50 and
                         found["pairs"] > 1000 and found["deep"] > 20 and (way == "true" or found["right"] > 300))


@live(long=True)
def erlang_trees():
    """As test_erlang, more random call trees, and longer."""
    for seed in range(40, 44):
        counts = check_tree(seed, 3000)
        check(counts["right"] > 1000, "few samples hit a leaf", counts)


@live(long=True)
def erlang_reload():
    """Modules whose code is replaced and purged, and others loaded where they were: each leaf is called by functions whose names have
    its number, from lines that tell it."""
    command, found = erlang(), collections.Counter()
    with scratch() as folder:
        compile_in("", folder, *[os.path.join(WORKLOADS, "erlang_%s.erl" % name) for name in ("reload", "leaves")])
        recording, _ = record(folder + "/reload.db", *MANAGED, "-F", 4999, "--ring-bytes", "64M", "--", *command, "-pa", folder, "-s",
                              "erlang_reload", "main", folder + "/erlang_leaves", "6000", "-s", "erlang", "halt")
        recording.text("export", "--pprof", "-o", folder + "/reload.pb")
        for frames, count in pprof.read(folder + "/reload.pb"):
            leaf = re.match(r"leaf_(\d\d)$", frames[0][0])
            said = [(re.sub(r" \(.*", "", name), line) for name, _, line in frames if name.startswith("reloaded")]
            if not leaf:
                continue
            number = int(leaf.group(1), 8)
            module = "reloaded_%d" % number if number % 2 else "reloaded"
            can_be = [("%s:called_%d/0" % (module, number), 100 * number + 3), ("%s:run/0" % module, 100 * number + 2)]
            check(set(said) <= set(can_be), "another module", leaf.group(0), said)
            found[len(said)] += count
    print(found)
    check(found[2] > 1000, "little was proven", found)
