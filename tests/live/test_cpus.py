# SPDX-License-Identifier: MIT
"""CPUs that go off line and come back, while the machine is recorded; and one that samples take up."""

import contextlib
import os
import subprocess

from chains import text_of
from harness import (DONE, SIGINT, WORKLOADS, Daemon, Recording, Skip, background, check, live,
                     scratch, wait_cpu, workload)
from test_outages import Talker, wait_said


@contextlib.contextmanager
def offline(cpu):
    """Takes a CPU off line, and back at the end of the block, or when this process is gone: who kills the test must not leave
    the machine without it. The process that brings it back is of a session of its own, and waits for the end of its input,
    whose other end this process alone has."""
    path = "/sys/devices/system/cpu/cpu%d/online" % cpu
    if not os.access(path, os.W_OK):
        raise Skip("CPU %d cannot be taken off line here" % cpu)
    bring_back = "trap '' HUP INT TERM; cat >/dev/null; echo 1 >%s" % path
    with subprocess.Popen(["sh", "-c", bring_back], stdin=subprocess.PIPE, start_new_session=True) as keeper:
        try:
            with open(path, "w", encoding="ascii") as file:
                file.write("0")
        except OSError as error:
            raise Skip("CPU %d does not go off line: %s" % (cpu, error)) from None
        yield
    check(keeper.returncode == 0, "CPU %d does not come back" % cpu)


@live(alone=True)
def test_cpu_comes_back():
    """A CPU that was off line is recorded again: a program that runs there has samples, with paths,
    and names, although its mappings were made there."""
    if os.cpu_count() < 2:
        raise Skip("there is one CPU")
    with scratch() as folder:
        store = folder + "/s.db"
        with Talker(store, "-F", 199, "--all") as daemon:
            daemon.wait_recording()
            with offline(1):
                pass  # off for less time than there may be between two looks of stackd
            wait_said("come on line", daemon)
            with background("taskset", "-c", "1", WORKLOADS + "/chain", 60, ready="READY") as process:
                wait_cpu(process.pid, 1)
                result = daemon.finish(SIGINT)
        check(result.status == DONE, "status %d" % result.status, result.err)
        check("come on line" in result.err, "not said", result.err)
        samples = [s for s in Recording(store).samples() if s.tid == process.pid]
        named = [s for s in samples if any(frame.symbol == "alpha" for frame in s.frames)]
        print(len(named), "of", len(samples))
        check(len(named) >= 40, "few samples with names", len(named), len(samples))
        odd = [text_of(s.frames) for s in samples
               if any(frame.symbol is None and os.path.basename(frame.object) == "chain" for frame in s.frames)]
        check(not odd, "functions without names", *odd[:5])


@live(long=True)
def test_same_cpu():
    """At a rate that takes most of a CPU, stackd comes to read its ring there, too: until it has loaded
    the program's tables, each sample asks for that, but does not interrupt the CPU again."""
    cpu = min(os.sched_getaffinity(0))
    with scratch() as folder, workload("chain", 60) as process:
        os.sched_setaffinity(process.pid, {cpu})
        with Daemon(folder + "/s.db", "-F", 50000, "--pid", process.pid,
                    preexec_fn=lambda: os.sched_setaffinity(0, {cpu})) as daemon:
            daemon.wait_samples(10000)
            result = daemon.finish(SIGINT)
        stats = Recording(folder + "/s.db").stats()
        print(result.err, stats["end_reasons"])
        check(result.status == DONE, "status %d" % result.status, result.err)
        check(not stats["lost"] and stats["samples"] > 10000, "samples are lost", stats["end_reasons"])
