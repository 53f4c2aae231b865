#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Call paths from emulated branch records, sample by sample against the truth.

Checks that with stack memory in the sample no frame is wrong, nearly every path is exact and every
other one is reported as incomplete, whatever the ring's size; that with branch records alone no
path is better without reading the code; and that the emulator's records have the shape of a real
recording, which check_shape() describes. That of an i7-9700 in call-stack mode is where the description
comes from: 29 samples, 17 of them in user code, of 2 to 4 entries. It is not part of the project;
`run.py recorded` checks it where recordings.py has put it beside the checkout.
"""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from emulate import ALTSTACK, BUILD, PROGRAMS, RINGS, ROOT, emulate, own, score

SAMPLES = 250
REAL = os.path.join(os.path.dirname(ROOT), "shared", "lbr", "kdab-call-stack.perf.data")
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("WRONG:", what)


def check_program(name, command, period, folder, least_exact):
    prefix = emulate(name, command, period, folder, SAMPLES)
    truth = prefix + ".truth"
    for ring in RINGS:
        got = score(f"{prefix}.stack{ring}.data", truth, ring)
        print(f"{name:12} ring {ring:2} with stack", got)
        check(got["samples"] >= 40, f"{name}: only {got['samples']} samples")
        check(got["wrong"] == 0, f"{name} {ring}: {got['wrong']} wrong frames with the stack")
        check(got["exact"] >= least_exact * got["samples"],
              f"{name} {ring}: {got['exact']} of {got['samples']} exact with the stack")
        check(got["overclaimed"] == 0,
              f"{name} {ring}: {got['overclaimed']} paths are reported as complete, but not exact")
        check(got["branch"] > 0, f"{name} {ring}: no frame comes from a branch record")
        alone = score(f"{prefix}.ring{ring}.data", truth, ring)
        print(f"{name:12} ring {ring:2} alone     ", alone)
        check(alone["exact"] + alone["incomplete"] > 0, f"{name} {ring}: nothing alone")
        check(alone["walked"] == 0, f"{name} {ring}: walked without a stack")
    got = score(f"{prefix}.any.data", truth)
    print(f"{name:12} any branch       ", got)
    check(got["wrong"] == 0, f"{name}: {got['wrong']} wrong frames in replayed segments")
    check(got["overclaimed"] == 0, f"{name}: {got['overclaimed']} segments are reported as complete")
    check(got["branch"] > got["samples"], f"{name}: segments of one frame only")


def branch_stacks(path):
    """The branch records of each sample that has some, newest first, as (from, to)."""
    text = subprocess.run(["perf", "script", "-i", path, "-F", "ip,brstack"], capture_output=True,
                          text=True).stdout
    for line in text.splitlines():
        entries = re.findall(r"0x([0-9a-f]+)/0x([0-9a-f]+)/", line)
        if entries:
            yield [(int(a, 16), int(b, 16)) for a, b in entries]


def check_shape(path, what, calls):
    """All is called from main, which is reached by so many calls from _start on; a call pushes, a
    return pops; nothing of the start-up is left."""
    stacks = list(branch_stacks(path))
    roots = [tuple(s[-calls:]) for s in stacks]
    most = max(set(roots), key=roots.count)
    inside = [s for s in stacks if tuple(s[-calls:]) == most]
    print(f"{what}: {len(stacks)} samples, {len(inside)} in main, depths "
          f"{sorted(set(map(len, inside)))}")
    check(len(inside) >= 0.8 * len(stacks), f"{what}: samples without main")
    check(all(calls <= len(s) <= calls + 2 for s in inside), f"{what}: more than two calls below main")
    for stack in inside:
        # Each call is made near the target of the call before it.
        for (newer, _), (_, older) in zip(stack, stack[1:]):
            check(0 <= newer - older < 8192, f"{what}: {newer:x} was not called by way of {older:x}")


def check_emulator(folder):
    prefix = emulate("vector", own("vector"), 10000, folder, SAMPLES)
    # glibc has made two functions of __libc_start_main since the real one was recorded.
    check_shape(f"{prefix}.ring16.data", "emulated", 3)


def recorded():
    """The shape that the emulator's records are held to is that of a real recording."""
    if not os.path.exists(REAL):
        print("no recorded files beside the checkout (docs/LBR.md)")
        sys.exit(77)
    check_shape(REAL, "real", 2)
    sys.exit(1 if failures else 0)


def main():
    if "recorded" in sys.argv:
        recorded()
    made = subprocess.run(["make", "-s", "-C", ROOT, "emulator"], stdout=sys.stdout,
                          stderr=subprocess.STDOUT)
    if made.returncode or not os.path.exists(os.path.join(BUILD, "score")):
        sys.exit("the emulator cannot be built")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(check_program, name, command, period, folder, 0.99)
                for name, (command, period) in PROGRAMS.items()]
        # The interrupted stack is not in the sample: no frame is wrong, but fewer are complete, and
        # none of the others is said to be.
        jobs.append(pool.submit(check_program, "altstack", *ALTSTACK, folder, 0.5))
        jobs.append(pool.submit(check_emulator, folder))
        for job in jobs:
            job.result()
    print(f"{len(failures)} wrong")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
