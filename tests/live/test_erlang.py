# SPDX-License-Identifier: MIT
"""Erlang: code that its virtual machine has made, each process with a stack of its own, and C on the
thread's. With frame pointers, and names, and without."""

import collections
import os
import re
import shutil

from harness import (ROOT, PATIENCE, Skip, check, is_cut, is_incomplete, is_moment, live, record, run, scratch,
                     until_enough)

SOURCE = os.path.join(ROOT, "tests", "workloads", "erlang_frames.erl")
# Not what a module's functions share, before the first of them: "$erlang_frames::codeHeader".
OURS = re.compile(r"^\$erlang_frames:(?!:)(.*?)(-CodeInfoPrologue)?$")
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


def odd_once_known(made):
    """The samples that are cut, though the kernel half has been told of the code by then: the samples before, IN_A_ROW of
    them, were whole; and whether there were so many in a row. How soon it is, the machine decides, and stackd itself, which
    walks some of the first samples, knows the code before. Till then a tenth of the samples are cut at least, so that this is
    taken for known too soon in 1 of 10^13 runs. While C takes over the thread's stack from a process', the caller is on
    another one."""
    odd, in_a_row, is_known = [], 0, False
    for sample in made:
        is_odd = is_incomplete(sample) and not (is_moment(sample) or is_cut(sample, "runtime_code") or
                                                is_cut(sample, "stack_switch"))
        in_a_row = 0 if is_odd else in_a_row + 1
        odd += [sample] * (is_odd and is_known)
        is_known = is_known or in_a_row >= IN_A_ROW
    return odd, is_known


def check_recording(recording, has_names):
    """What there was to judge in it, in numbers: whole samples, proven steps, recordings in which the code was known to the
    kernel half, and what check_names() has judged."""
    stats, samples = recording.stats(), recording.samples()
    made = [s for s in samples if any(f.object.startswith("[jit]") for f in s.frames)]
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
    found.update(check_names([s for s in made if not is_incomplete(s)]) if has_names else {})
    return found


@live
def test_erlang():
    if not shutil.which("erlc") or not shutil.which("erl"):
        raise Skip("there is no Erlang")
    with scratch() as folder:
        result = run("erlc", "-o", folder, SOURCE, timeout=PATIENCE)
        check(result.status == 0, "erlc", result.out, result.err)
        for way in ("false", "true"):
            def judge(way=way):
                with scratch() as store:
                    recording, _ = record(store + "/s.db", "-F", 1997, "--ring-bytes", "64M", "--",
                                          "erl", "-noshell", "-pa", folder, "+S", "1", "+JPperf", way,
                                          "-s", "erlang_frames", "main", "1", "-s", "erlang", "halt")
                    return check_recording(recording, has_names=way == "true")

            until_enough(judge, lambda found, way=way: found["known"] and found["whole"] > 500 and found["confirmed"] > 50 and
                         (way == "false" or found["pairs"] > 1000 and found["deep"] > 20))
