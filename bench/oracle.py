#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks that the path of every sample is the true one: oracle.py [ROUNDS]

The workloads of the live tests, each of which promises its call paths, sampled at 4,999 Hz (the
deep one at 199, for the size of its text): with the verified prefix started by stackd and attached
to, with --prefix none started. (first and second guess, so they are not asked.) A round takes about four
minutes.

Prints the samples whose path is exactly a promised one; those in the time before and after (the
loader, exit); those torn, in a library while it replaces the stack under itself; those in the kernel
without a user stack; those cut where a part of the stack cannot be read or was not copied, marked so
and with nothing but frames of the true path; and every test that found another. The target is
100,000 samples and none wrong."""

import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = HERE + "/../tests/live/run.py"
COUNTS = ("right", "outside", "torn", "kernel", "cut", "wrong")


def names(prefix):
    """The tests of test_chains.py that hold every path against the promised ones."""
    sys.path.insert(0, HERE + "/../tests/live")
    import test_chains  # pylint: disable=import-outside-toplevel
    started = [name.replace("_", "-") for name in
               [*test_chains.SHAPES, *test_chains.STARTED_ONLY]] + ["sigaltstack", "unreadable"]
    attached = [name.replace("_", "-") + "-attached" for name in test_chains.SHAPES] + \
        ["unreadable_attached"]
    return ["live-" + name for name in started + (attached if prefix == "verified" else [])]


def run(prefix, counts):
    """Adds up what the tests found. The lines of those that did not pass."""
    environment = {**os.environ, "STACKD_TEST_FREQUENCY": "9973", "STACKD_TEST_PREFIX": prefix}
    with tempfile.TemporaryDirectory(prefix="stackd-oracle-") as logs:
        text = subprocess.run([sys.executable, TESTS, "--logs", logs, "--exact", *names(prefix)],
                              env=environment, check=False, stdout=subprocess.PIPE, text=True).stdout
        for log in glob.glob(logs + "/*.log"):
            with open(log, encoding="utf-8", errors="replace") as file:
                for key, number in re.findall(r"'(\w+)': (\d+)", file.read()):
                    if key in COUNTS:
                        counts[key] += int(number)
    return [line + " (--prefix %s)" % prefix for line in text.splitlines()
            if not line.startswith("PASS")]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    total, failed = 0, []
    print("%-12s" % "--prefix" + "".join("%9s" % key for key in COUNTS))
    for prefix in ("verified", "none"):
        counts = dict.fromkeys(COUNTS, 0)
        for _ in range(rounds):
            failed += run(prefix, counts)
        print("%-12s" % prefix + "".join("%9d" % counts[key] for key in COUNTS), flush=True)
        total += counts["right"]
        if counts["wrong"]:
            failed.append("%d wrong samples with --prefix %s" % (counts["wrong"], prefix))
    print("exactly a promised path: %d samples (target 100,000, and none wrong)" % total)
    for line in failed:
        print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
