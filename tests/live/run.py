#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the live tests: run.py [--logs DIR] [--jobs N] [--list] [--apart|--alone] [--long] [--exact] [NAME-PART...]

Prints a line a test as tests/check.sh does; what a test prints goes to DIR/NAME.log. With --jobs,
each test is a process of its own, N at a time, but for those that need the machine alone: they
follow, or, with --apart, are left for a run of --alone, when nothing else is at work. Exits with 1 if one failed. STACKD_BUILD names the folder of the programs (default:
build)."""

import argparse
import functools
import os
import select
import signal
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import harness  # noqa: E402
import one_test  # noqa: E402
import test_align  # noqa: E402,F401
import test_alloc  # noqa: E402,F401
import test_alloc_children  # noqa: E402,F401
import test_annotate  # noqa: E402,F401
import test_annotated  # noqa: E402,F401
import test_cgroups  # noqa: E402,F401
import test_chains  # noqa: E402,F401  (they register their tests)
import test_commands  # noqa: E402,F401
import test_cpus  # noqa: E402,F401
import test_crowd  # noqa: E402,F401
import test_debug_files  # noqa: E402,F401
import test_deep  # noqa: E402,F401
import test_documents  # noqa: E402,F401
import test_erlang  # noqa: E402,F401
import test_faults  # noqa: E402,F401
import test_fold  # noqa: E402,F401
import test_go  # noqa: E402,F401
import test_harness  # noqa: E402,F401
import test_identity  # noqa: E402,F401
import test_java  # noqa: E402,F401
import test_javascript  # noqa: E402,F401
import test_job  # noqa: E402,F401
import test_large_frames  # noqa: E402,F401
import test_names  # noqa: E402,F401
import test_open_files  # noqa: E402,F401
import test_outages  # noqa: E402,F401
import test_probing  # noqa: E402,F401
import test_provenance  # noqa: E402,F401
import test_python  # noqa: E402,F401
import test_marks  # noqa: E402,F401
import test_mpi  # noqa: E402,F401
import test_regions  # noqa: E402,F401
import test_region_names  # noqa: E402,F401
import test_rights  # noqa: E402,F401
import test_perl  # noqa: E402,F401
import test_php  # noqa: E402,F401
import test_ruby  # noqa: E402,F401
import test_shares  # noqa: E402,F401
import test_short_tasks  # noqa: E402,F401
import test_runtime_code  # noqa: E402,F401
import test_region_stacks  # noqa: E402,F401
import test_steps  # noqa: E402,F401
import test_stripped  # noqa: E402,F401
import test_stuck_files  # noqa: E402,F401
import test_system  # noqa: E402,F401
import test_tables  # noqa: E402,F401
import test_top  # noqa: E402,F401
import test_perf  # noqa: E402,F401
import test_tags  # noqa: E402,F401
import test_waits  # noqa: E402,F401
import test_watched  # noqa: E402,F401
import test_windows  # noqa: E402,F401
import test_worker  # noqa: E402,F401

SECONDS = 900  # for a test that has a process of its own


def run_here(test, options):
    """Runs a test in this process; returns its line."""
    start = time.monotonic()
    missing = test.needs_bpf and harness.why_no_bpf()
    with open(os.path.join(options.logs, test.name + ".log"), "w", encoding="utf-8") as log, harness.scratch() as folder:
        os.environ["OMPI_MCA_orte_tmpdir_base"] = folder  # two mpirun at a time make and remove the same folders in /tmp
        test = test._replace(run=functools.partial(harness.run_test, test.run))
        line = one_test.run_test(test, log, harness.Skip, missing)
    return line + (" (%.1f s)" % (time.monotonic() - start) if options.time else "")


def begin_apart(test, options):
    """Forks a process that runs a test: it has all modules, which takes a tenth of a second each time.
    Its id, and the pipe that its line comes through."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    try:
        with open(os.devnull, encoding="ascii") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.write(writer, run_here(test, options).encode())
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
    finally:
        os._exit(0)


def end_apart(test, pid, reader):
    """The line of a test whose pipe has something, or has ended."""
    line = os.read(reader, 65536).decode().strip()
    os.close(reader)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return line or "FAIL %s: the test's process ended with status %d" % (test.name, status)


def run_apart(tests, options):
    """Runs each test in a process of its own, and yields its line."""
    waiting, running = list(tests), {}
    while waiting or running:
        while waiting and len(running) < options.jobs:
            pid, reader = begin_apart(waiting[0], options)
            running[reader] = waiting.pop(0), pid, time.monotonic() + SECONDS
        ready = select.select(list(running), [], [], 1)[0]
        for reader in [fd for fd in running if fd in ready or running[fd][2] < time.monotonic()]:
            test, pid, _ = running.pop(reader)
            if reader not in ready:
                os.kill(pid, signal.SIGKILL)
            line = end_apart(test, pid, reader)
            yield line if reader in ready else "FAIL %s: did not end in %d s" % (test.name, SECONDS)


def run_all(tests, options):
    """The lines of tests, each as soon as it is there."""
    apart = [test for test in tests if options.jobs > 1 and not test.alone]
    yield from run_apart(apart, options)
    for test in tests:
        if test not in apart:
            yield run_here(test, options)


def is_wanted(test, options):
    if (options.apart and test.alone) or (options.alone and not test.alone):
        return False
    if not options.names:
        return options.long or not test.long
    if options.exact:
        return test.name in options.names
    return any(name in test.name for name in options.names)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", default=tempfile.gettempdir() + "/stackd-live")
    parser.add_argument("--jobs", type=int, default=1, help="how many tests at a time")
    parser.add_argument("--apart", action="store_true", help="not those that need the machine alone")
    parser.add_argument("--alone", action="store_true", help="those that need the machine alone")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--long", action="store_true", help="those of `make check-long`, too")
    parser.add_argument("--exact", action="store_true", help="the names are whole ones")
    parser.add_argument("--time", action="store_true", help="seconds behind each line")
    parser.add_argument("names", nargs="*", help="only tests whose name contains one of these")
    options = parser.parse_args()
    tests = [test for test in harness.TESTS if is_wanted(test, options)]
    if options.names and not tests:
        parser.error("no such test")
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
