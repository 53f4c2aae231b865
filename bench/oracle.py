#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Is every sample's path the true one? oracle.py [ROUNDS]

The workloads of the live tests, each of which promises its call paths, sampled at 4,999 Hz: started
by stackd and attached to. Prints the samples whose path is exactly a promised one, those in the
time before and after (the loader, exit), and every test that found another. The target is 100,000
samples and none wrong."""

import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = HERE + "/../tests/live/run.py"
ENVIRONMENT = {**os.environ, "STACKD_TEST_FREQUENCY": "4999"}


def names():
    """The tests of test_chains.py that run at the given frequency."""
    sys.path.insert(0, HERE + "/../tests/live")
    import test_chains  # pylint: disable=import-outside-toplevel
    fast = [name for name, (_, hz) in {**test_chains.SHAPES, **test_chains.STARTED_ONLY}.items()
            if hz == test_chains.FREQUENCY]
    return ["live-" + name.replace("_", "-") for name in fast]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    counts, failed = {}, []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="stackd-oracle-") as logs:
            text = subprocess.run([sys.executable, TESTS, "--logs", logs, *names()], env=ENVIRONMENT, check=False,
                                  stdout=subprocess.PIPE, text=True).stdout
            failed += [line for line in text.splitlines() if not line.startswith("PASS")]
            for log in glob.glob(logs + "/*.log"):
                with open(log, encoding="utf-8", errors="replace") as file:
                    for key, number in re.findall(r"'(right|outside|wrong)': (\d+)", file.read()):
                        counts[key] = counts.get(key, 0) + int(number)
    print("samples with exactly a promised path: %d; before and after the workload: %d; wrong: %d"
          % (counts.get("right", 0), counts.get("outside", 0), counts.get("wrong", 0)))
    for line in failed:
        print(line)
    return 1 if failed or counts.get("wrong") else 0


if __name__ == "__main__":
    sys.exit(main())
