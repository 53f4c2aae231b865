#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Judges names, files and lines of functions whose scripts come and go: bench/javascript_names.py [--seconds S] NODE [OPTION of node]...

The program makes a new script every three milliseconds, with names that the garbage collector moves while stackd reads them (soonest with
--max-semi-space-size=1). A function's name says in which file, and at which line, it is: all three must agree. Prints how many frames
do, how many have no line, and the wrong ones, with which the run ends with status 1. STACKD_BUILD names another build than build/."""

import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "tests", "live"), os.path.join(ROOT, "tests")]
sys.dont_write_bytecode = True

import harness  # noqa: E402
import pprof  # noqa: E402

PROGRAM = r"""
const vm = require('vm');
const end = Date.now() + 1000 * process.argv[2];
const kept = [];
for (let i = 0; Date.now() < end; i++) {
  const file = ['/made/', String(i), '/script_', String(i), '.js'].join('');
  const source = ['\n'.repeat(i % 50),
    'function g_', String(i), '(n) { const a = []; for (let k = 0; k < n; k++) a.push({ k, s: "q" + k }); return a; }\n',
    'function h_', String(i), '(until) { while (Date.now() < until) g_', String(i), '(300); } h_', String(i)].join('');
  kept[i % 20] = vm.runInThisContext(source, { filename: file });
  kept[i % 20](Date.now() + 3);
}
"""
FUNCTION = re.compile(r"^([gh])_(\d+)$")


def judge(frame):
    """"exact", "no line" or "wrong"; None: the frame is none of the scripts'."""
    match = FUNCTION.match(frame[0])
    if not match:
        return None if (frame[0] + frame[1]).isascii() and not frame[1].startswith("/made/") or frame[0].startswith("(anonymous)") else "wrong"
    number = int(match[2])
    if frame[1] != "/made/%d/script_%d.js" % (number, number):
        return "wrong"
    if not frame[2]:
        return "no line"
    return "exact" if frame[2] == number % 50 + 1 + (match[1] == "h") else "wrong"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("node")
    parser.add_argument("options", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    counts, wrong = {"exact": 0, "no line": 0, "wrong": 0}, set()
    with harness.scratch() as folder:
        source, store = os.path.join(folder, "make_scripts.js"), os.path.join(folder, "store.db")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        harness.record(store, "-F", 1997, *harness.MANAGED, "--ring-bytes", "64M", "--", options.node, *options.options, source,
                       options.seconds)
        harness.run(harness.STACKCTL, "export", "--pprof", "--no-reconstructed", "-i", store, "-o", store + ".pb")
        for frames, count in pprof.read(store + ".pb"):
            for frame in frames:
                result = judge(frame)
                if result:
                    counts[result] += count
                if result == "wrong":
                    wrong.add(frame)
    print(options.node, *options.options, counts)
    for frame in sorted(wrong)[:10]:
        print("WRONG", str(frame)[:300])
    sys.exit(bool(wrong) or not counts["exact"])


main()
