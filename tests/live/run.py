#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the live tests: run.py [--logs DIR] [--jobs N] [--list] [--exact] [NAME-PART...]

Prints a line a test as tests/check.sh does; what a test prints goes to DIR/NAME.log. With --jobs,
each test is a process of its own, N at a time, but for those that need the machine alone: they
follow. Exits with 1 if one failed. STACKD_BUILD names the folder of the programs (default:
build)."""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import harness  # noqa: E402
import one_test  # noqa: E402
import test_align  # noqa: E402,F401
import test_alloc  # noqa: E402,F401
import test_alloc_children  # noqa: E402,F401
import test_annotate  # noqa: E402,F401
import test_cgroups  # noqa: E402,F401
import test_chains  # noqa: E402,F401  (they register their tests)
import test_cpus  # noqa: E402,F401
import test_crowd  # noqa: E402,F401
import test_faults  # noqa: E402,F401
import test_fold  # noqa: E402,F401
import test_go  # noqa: E402,F401
import test_java  # noqa: E402,F401
import test_job  # noqa: E402,F401
import test_names  # noqa: E402,F401
import test_open_files  # noqa: E402,F401
import test_outages  # noqa: E402,F401
import test_probing  # noqa: E402,F401
import test_provenance  # noqa: E402,F401
import test_marks  # noqa: E402,F401
import test_mpi  # noqa: E402,F401
import test_regions  # noqa: E402,F401
import test_rights  # noqa: E402,F401
import test_runtime_code  # noqa: E402,F401
import test_steps  # noqa: E402,F401
import test_system  # noqa: E402,F401
import test_tables  # noqa: E402,F401
import test_top  # noqa: E402,F401
import test_perf  # noqa: E402,F401
import test_tags  # noqa: E402,F401
import test_waits  # noqa: E402,F401
import test_watched  # noqa: E402,F401
import test_windows  # noqa: E402,F401
import test_worker  # noqa: E402,F401


def run_here(test, options):
    """Runs a test in this process; returns its line."""
    start = time.monotonic()
    missing = test.needs_bpf and harness.why_no_bpf()
    with open(os.path.join(options.logs, test.name + ".log"), "w", encoding="utf-8") as log:
        line = one_test.run_test(test, log, harness.Skip, missing)
    return line + (" (%.1f s)" % (time.monotonic() - start) if options.time else "")


def run_apart(test, options):
    """Runs a test in a process of its own; returns its line."""
    command = [sys.executable, os.path.abspath(__file__), "--exact", "--logs", options.logs]
    try:
        done = subprocess.run(command + ["--time"] * options.time + [test.name], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              timeout=900)
    except subprocess.TimeoutExpired:
        return "FAIL %s: did not end in 900 s" % test.name
    return done.stdout.strip() or "FAIL %s: the test's process ended with status %d" % (
        test.name, done.returncode)


def run_all(tests, options):
    """The lines of tests, each as soon as it is there."""
    apart = [test for test in tests if options.jobs > 1 and not test.alone]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(run_apart, test, options) for test in apart]
        for future in concurrent.futures.as_completed(futures):
            yield future.result()
    for test in tests:
        if test not in apart:
            yield run_here(test, options)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", default=tempfile.gettempdir() + "/stackd-live")
    parser.add_argument("--jobs", type=int, default=1, help="how many tests at a time")
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
    failed = 0
    for line in run_all(tests, options):
        failed += line.startswith("FAIL")
        print(line, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
