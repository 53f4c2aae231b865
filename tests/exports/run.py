#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets the programs that exports are for read them: run.py [--logs DIR] [--time] [--long] [--list] [NAME-PART...]

pprof, callgrind_annotate, speedscope and Firefox's profiler load what stackctl wrote, and every
number that they show is compared with stackctl's report of the same recording. The flame graph is
looked at in a browser.

Prints a line a test as tests/check.sh does; what a test prints goes to DIR/NAME.log. Exits with 1
if one failed. A program that is not installed is a skip by name. STACKD_BUILD names the folder of
stackd's programs (default: build)."""

import argparse
import os
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
import one_test  # noqa: E402
import test_bad_servers  # noqa: E402,F401
import test_clickhouse  # noqa: E402
import test_cluster  # noqa: E402
import test_clickhouse_now  # noqa: E402,F401
import test_firefox  # noqa: E402,F401
import test_fleet_views  # noqa: E402,F401
import test_flamegraph  # noqa: E402,F401  (they register their tests)
import test_fold_page  # noqa: E402,F401
import test_foreign  # noqa: E402,F401
import test_gnuplot  # noqa: E402,F401
import test_grafana  # noqa: E402,F401
import test_kubernetes  # noqa: E402,F401
import test_paraver  # noqa: E402,F401
import test_parquet  # noqa: E402,F401
import test_perfetto  # noqa: E402,F401
import test_servers  # noqa: E402,F401
import test_tools  # noqa: E402,F401
import test_web  # noqa: E402,F401
import test_web_modules  # noqa: E402,F401


SECONDS = 900  # for a test: one that hangs ends so; how slow the machine is does not matter


def expire(*_):
    raise TimeoutError("did not end in %d s" % SECONDS)


def is_wanted(test, options):
    if not options.names:
        return options.long or not test.long
    if options.exact:
        return test.name in options.names
    return any(name in test.name for name in options.names)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", default=tempfile.gettempdir() + "/stackd-exports-logs")
    parser.add_argument("--time", action="store_true", help="seconds behind each line")
    parser.add_argument("--long", action="store_true", help="those of `make check-long`, too")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--exact", action="store_true", help="the names are whole ones")
    parser.add_argument("names", nargs="*", help="only tests whose name contains one of these")
    options = parser.parse_args()
    tests = [test for test in common.TESTS if is_wanted(test, options)]
    if options.names and not tests:
        parser.error("no such test")
    if options.list:
        print("\n".join(test.name for test in tests))
        return 0
    os.makedirs(options.logs, exist_ok=True)
    os.environ["STACKD_EXPORT_LOGS"] = options.logs
    signal.signal(signal.SIGALRM, expire)
    failed = 0
    for test in tests:
        start = time.monotonic()
        with open(os.path.join(options.logs, test.name + ".log"), "w", encoding="utf-8",
                  errors="backslashreplace") as log:
            signal.setitimer(signal.ITIMER_REAL, SECONDS, 10)  # once more: what cleans up may wait, too
            line = one_test.run_test(test, log, common.Skip)
            signal.setitimer(signal.ITIMER_REAL, 0)
        failed += line.startswith("FAIL")
        print(line + (" (%.1f s)" % (time.monotonic() - start) if options.time else ""), flush=True)
    test_clickhouse.stop()
    test_cluster.stop()
    common.clean_up()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
