#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the functions of Python cost the kernel half: python_cost.py [SECONDS [VERSION]...], or python_cost.py count [VERSION]...

For each interpreter of the machine (/usr/bin, ~/.pyenv), or those of the versions (3.12), one process whose paths have some
28 functions of Python is recorded by two stackds at the same time, one of them with --no-managed. The table has the time
that a sample takes in the kernel, with and without, and the ratio; and how many functions are read anew for each sample.

Two programs run: in `inline`, functions call each other, and the interpreter's native function is there once;
in `mixed`, every fourth is called by C code. In both, the innermost functions change from sample to sample.

`count` counts instead, in numbers that do not depend on the machine's load: it stops the program after each millisecond of its CPU
time and interprets the kernel half with and without functions on each of 300 such stacks (bench/cost_live.c). What the columns
mean is in docs/COST.md. Let the load be low, or give it time: nothing is measured by the clock."""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))

import cost  # noqa: E402

BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
PROGRAM = """
import sys
def leaf_0(n): return sum(i * i for i in range(n))
def leaf_1(n): return sorted(range(n), key=lambda v: -v)[0]
def leaf_2(n): return [leaf_3(v) for v in range(n)]
def leaf_3(v): return v * v + 1
class C:
    def __init__(self, n): self.n = leaf_4(n)
def leaf_4(n): return {i: str(i) for i in range(n)}
def last():
    for turn in range(300):
        for f in leaf_0, leaf_1, leaf_2, leaf_4, C: f(30)
mixed = sys.argv[1] == 'mixed'
for i in reversed(range(24)):
    name, callee = 'f_%d' % i, 'f_%d' % (i + 1) if i < 23 else 'last'
    call = 'list(map(lambda v: %s(), [0]))' % callee if mixed and i % 4 == 0 else callee + '()'
    exec('def %s():\\n x = 1\\n return %s' % (name, call))
while True: f_0()
"""


def interpreters(versions):
    for path in sorted(glob.glob("/usr/bin/python3.*") + glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3.*"))):
        match = re.fullmatch(r"python(3\.\d+)", os.path.basename(path))
        if match and 8 <= int(match[1][2:]) <= 13 and (not versions or match[1] in versions):
            yield path


def await_start(target):
    """Waits until a program has had 0.3 s of CPU time: until it is in its functions."""
    ticks = 0
    while ticks < 0.3 * os.sysconf("SC_CLK_TCK"):
        time.sleep(0.1)
        with open("/proc/%d/stat" % target.pid, encoding="utf-8") as file:
            ticks = sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))


def stats(store):
    out = subprocess.run([BUILD + "/stackctl", "stats", "--json", "-i", store], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)


def measure(path, kind, seconds, folder):
    """(time of a sample, without functions of Python, functions read for a sample, frames not exact in a thousand samples)"""
    stores = [os.path.join(folder, name + ".db") for name in ("with", "without")]
    target = subprocess.Popen([path, "-c", PROGRAM, kind])
    try:
        await_start(target)
        recorders = [subprocess.Popen([BUILD + "/stackd", "--pid", str(target.pid), "-F", "1997", "--duration", str(seconds),
                                       "-o", store, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                     for store, options in zip(stores, ([], ["--no-managed"]))]
        for recorder in recorders:
            if recorder.wait():
                raise SystemExit("stackd has failed")
    finally:
        target.kill()
        target.wait()
    both = [stats(store) for store in stores]
    for store in stores:
        os.remove(store)
    return both


def full_version(path):
    return subprocess.run([path, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"], stdout=subprocess.PIPE,
                          check=True, text=True).stdout.strip()


def counted(path, kind, samples=300):
    """{"with" and "without": {column: mean of a sample}}"""
    target = subprocess.Popen([path, "-c", PROGRAM, kind])
    try:
        await_start(target)
        out = subprocess.run([BUILD + "/bench/cost_live", BUILD + "/gen/stackd.bpf.o", str(target.pid), str(samples)], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    finally:
        target.kill()
        target.wait()
    rows = {}
    for name, *words in (line.split() for line in out.splitlines()):
        sums = dict((key, int(value)) for key, value in (word.split("=") for word in words))
        rows[name] = {column: sum(sums[part] for part in parts) / sums["samples"] for column, _, _, parts in cost.COLUMNS}
    return rows


def count(*versions):
    """Prints a table of counts."""
    cost.build()
    head = ["", *[column for column, *_ in cost.COLUMNS], "sum"]
    print("| %s |\n|---%s|" % (" | ".join(head), "|---:" * (len(head) - 1)))
    for path in interpreters(versions):
        for kind in ("inline", "mixed"):
            rows = counted(path, kind)
            for name, row in rows.items():
                print(cost.row_of("%s %s, %s" % (full_version(path), kind, name), row), flush=True)
            print("%s %s: ratio %.2f" % (full_version(path), kind, cost.sum_of(rows["with"]) / cost.sum_of(rows["without"])),
                  file=sys.stderr, flush=True)


def main(seconds="6", *versions):
    print("%-24s %-7s %9s %9s %7s %9s %9s" % ("", "", "ns with", "without", "ratio", "read", "unproven"))
    for path in interpreters(versions):
        full = full_version(path)
        for kind in ("inline", "mixed"):
            with tempfile.TemporaryDirectory() as folder:
                both = measure(path, kind, seconds, folder)
            ns = [one["kernel_ns_per_sample"] for one in both]
            counts = both[0].get("counters", both[0])
            unproven = sum(value for name, value in counts.items() if name.startswith("managed_unproven."))
            print("%-24s %-7s %9.0f %9.0f %7.2f %9.1f %9d" % (
                full, kind, ns[0], ns[1], ns[0] / ns[1], counts.get("managed_frames", 0) / max(both[0]["samples"], 1),
                unproven), flush=True)


if sys.argv[1:2] == ["count"]:
    count(*sys.argv[2:])
else:
    main(*sys.argv[1:])
