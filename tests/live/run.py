#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the live tests: run.py [--logs DIR] [--list] [--exact] [NAME-PART...]

Prints a line a test as tests/check.sh does; what a test prints goes to DIR/NAME.log. Exits with 1
if one failed. STACKD_BUILD names the folder of the programs (default: build)."""

import argparse
import os
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import harness  # noqa: E402
import one_test  # noqa: E402
import test_align  # noqa: E402,F401
import test_annotate  # noqa: E402,F401
import test_chains  # noqa: E402,F401  (they register their tests)
import test_faults  # noqa: E402,F401
import test_names  # noqa: E402,F401
import test_steps  # noqa: E402,F401
import test_system  # noqa: E402,F401
import test_tables  # noqa: E402,F401
import test_top  # noqa: E402,F401
import test_perf  # noqa: E402,F401
import test_tags  # noqa: E402,F401


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", default=tempfile.gettempdir() + "/stackd-live")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--exact", action="store_true", help="the names are whole ones")
    parser.add_argument("--time", action="store_true", help="seconds behind each line")
    parser.add_argument("names", nargs="*", help="only tests whose name contains one of these")
    options = parser.parse_args()
    tests = [test for test in harness.TESTS
             if not options.names or (test.name in options.names if options.exact else
                                      any(name in test.name for name in options.names))]
    if options.list:
        print("\n".join(test.name for test in tests))
        return 0
    os.makedirs(options.logs, exist_ok=True)
    missing = harness.why_no_bpf()
    failed = 0
    for test in tests:
        start = time.monotonic()
        with open(os.path.join(options.logs, test.name + ".log"), "w", encoding="utf-8") as log:
            line = one_test.run_test(test, log, harness.Skip,
                                     test.needs_bpf and missing)
        failed += line.startswith("FAIL")
        print(line + (" (%.1f s)" % (time.monotonic() - start) if options.time else ""),
              flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
