# SPDX-License-Identifier: MIT
"""Stripped Go programs: every path is one that the program's instructions allow, on whatever stacks
it lies, and all but those of the first moments go to a goroutine's or a thread's start.

The instructions are those of the same program before it was stripped."""

import collections
import os
import re
import shutil

from go_calls import Calls, check_edges, plain
from harness import (BUILD, ROOT, PATIENCE, Skip, check, differing, is_incomplete, is_moment, live, record, run, scratch,
                     user_frames)

# What has no caller: a goroutine's start and a thread's. On the system stack mcall, and morestack
# when it has given its goroutine up.
ROOTS = {"runtime.goexit", "runtime.mstart", "runtime.rt0_go", "_rt0_amd64", "_rt0_amd64_linux",
         "runtime.mcall", "runtime.morestack", "runtime.clone"}
C_ROOTS = {"_start", "clone", "clone3", "__clone3"}


def build(folder, name, *how):
    """A program without symbols, made with these options of objcopy, and the same with them."""
    if not shutil.which("go"):
        raise Skip("there is no Go compiler")
    source = os.path.join(ROOT, "tests", "workloads", name + ".go")
    twin, path = os.path.join(folder, name + "-full"), os.path.join(folder, name)
    result = run("go", "build", "-o", twin, source, timeout=PATIENCE,
                 env={"GOCACHE": os.path.join(BUILD, "go-cache")})
    check(result.status == 0, "go build", result.err)
    result = run("objcopy", "--strip-all", *how, twin, path)
    check(result.status == 0 and "no symbols" in run("nm", path).err, "objcopy", result.err)
    return path, twin


def is_moving(sample):
    """The runtime gives a goroutine its new stack by some stores, of the stack's bounds and then of the stack pointer.
    Between these, the stack pointer is on no stack that the goroutine has."""
    names = [plain(str(frame.symbol)) for frame in user_frames(sample) if frame.symbol != "runtime.shrinkstack"]
    return names == ["[incomplete: stack_switch]", "runtime.morestack", "runtime.newstack", "runtime.copystack"]


def check_program(name, roots, *how, each=None, enough=500, seconds=1):
    """Records a program, stripped in this way, and checks its paths. How many frames of each
    function there were."""
    with scratch() as folder:
        path, twin = build(folder, name, *how)
        recording, result = record(folder + "/s.db", "--judge", "-F", 3989, "--ring-bytes", "64M",
                                   "--", path, seconds, env={"STACKD_DEBUG": "1"})
        print("\n".join(line for line in result.err.splitlines() if not line.startswith("libbpf")))
        stats, samples = recording.stats(), recording.samples()
        counters = stats["counters"]
        pairs, seen = check_edges(samples, path, Calls(twin, path))
        ours = [sample for sample in samples if any(f.object == path for f in sample.frames)]
        whole = [sample for sample in ours if not is_incomplete(sample)]
        for sample in whole if each else ():
            each(sample)
        odd = {plain(str(s.frames[0].symbol)) for s in whole} - roots
        early = [s for s in ours if is_incomplete(s) and not is_moving(s) and not is_moment(s)]
        print({name: counters[name] for name in ("judged_right", "judged_cut", "steps_confirmed", "kernel_fallbacks")})
        print({"samples": len(ours), "whole": len(whole), "early": len(early), "pairs": pairs},
              stats["end_reasons"], sorted(seen.items(), key=lambda item: -item[1])[:40])
        check(not odd, "complete paths begin in %s" % sorted(odd))
        # The daemon's end at the first change of stacks.
        check(differing(counters) == 0 and
              counters["judged_right"] + counters["judged_cut"] > 100,
              "the daemon finds other paths", counters)
        check(counters["steps_wrong"] == 0 and counters["steps_confirmed"] > 50,
              "stackd's own check finds wrong steps, or none", counters)
        # The kernel half ends no path; the daemon, which walks what comes before the program's
        # table is loaded, has the copy of one stack alone.
        check(len(early) <= counters["kernel_fallbacks"], "%d paths end early" % len(early),
              counters["kernel_fallbacks"],
              collections.Counter(";".join(str(frame.symbol or frame) for frame in sample.frames[:5])
                                  for sample in early).most_common(40))
        check(len(whole) > enough, "only %d complete paths" % len(whole))
        return seen


def needs(seen, *functions):
    for function in functions:
        check(seen.get(function, 0) >= 20, "only %d frames of %s, so nothing is shown of it"
              % (seen.get(function, 0), function))


@live
def test_go():
    seen = check_program("goroutines", ROOTS)
    needs(seen, "runtime.systemstack", "runtime.morestack", "runtime.mcall", "main.deep",
          "main.talk")


@live(long=True)
def test_go_in_other_section():
    """The table is found by its first bytes where other linkers have put it into another section."""
    seen = check_program("goroutines", ROOTS, "--rename-section", ".gopclntab=.data.rel.ro")
    needs(seen, "runtime.systemstack", "runtime.morestack")


@live
def test_go_with_c():
    """C's frames lie on the thread's stack, between Go's: on the goroutine's before C, and on it again
    where C calls Go. (C's functions have no names.)"""
    paths = collections.Counter()

    def keep(sample):
        names = [plain(str(frame.symbol)) for frame in sample.frames]
        kept = [name for name in names if re.fullmatch(
            r"main\.(call_c|go_\w+|_Cfunc_\w+)|crosscall2|runtime\.(asmcgocall|cgocallback)", name)]
        paths[";".join(kept)] += 1

    seen = check_program("cgo_calls", ROOTS | C_ROOTS, each=keep)
    needs(seen, "runtime.asmcgocall", "main.call_c", "runtime.cgocallback")
    call, back = ";runtime.asmcgocall", ";crosscall2;runtime.cgocallback;main."
    first = "main.call_c;main._Cfunc_there" + call + back + "go_back"
    again = first + ";main._Cfunc_again" + call
    print(paths.most_common(12))
    for path in (first + ";main.go_inner", again, again + back + "go_inner"):
        check(paths[path] > 20, "too few samples", path, paths)


@live(long=True)
def test_go_vfork():
    """Within the system call that makes a process, the return address is in a register alone. (Since Go 1.23 a
    program tries at its first process whether that call gives a descriptor.)"""
    paths = collections.Counter()

    def keep(sample):
        names = [plain(str(frame.symbol)) for frame in sample.frames]
        if "syscall.rawVforkSyscall" in names:
            paths[";".join(names[:names.index("syscall.rawVforkSyscall") + 1])] += 1

    check_program("spawn", ROOTS, each=keep, enough=40, seconds=3)
    print(paths)
    check(paths and all(path.startswith("runtime.goexit;runtime.main;main.main;main.spawn;") and
                        path.endswith(("forkAndExecInChild1;syscall.rawVforkSyscall",
                                       "doCheckClonePidfd;syscall.rawVforkSyscall"))
                        for path in paths), "paths", paths)
