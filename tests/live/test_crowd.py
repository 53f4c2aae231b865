# SPDX-License-Identifier: MIT
"""Processes of very many threads: events of the CPUs with a filter, instead of one for each thread."""

import os
import time

from chains import Expectation
from harness import (DONE, SIGINT, Daemon, Recording, check, check_chains, check_whole, live, scratch,
                     wait_cpu, workload)

THREADS, RUNNING = 20000, 4


def events_of(pid):
    """The perf events that a process has open."""
    folder, count = "/proc/%d/fd" % pid, 0
    for name in os.listdir(folder):
        count += os.readlink(os.path.join(folder, name)) == "anon_inode:[perf_event]"
    return count


@live
def test_crowd():
    """20,000 threads, of which a few run, and children: samples of them all, and of nobody else;
    attached without an event for each."""
    with scratch() as folder, workload("crowd", 120, THREADS, RUNNING) as process, \
            workload("chain", 120) as other:
        store, start = folder + "/s.db", time.monotonic()
        with Daemon(store, "-F", 997, "--pid", process.pid) as daemon:
            daemon.wait_recording(seconds=120)
            print("attached within %.1f s" % (time.monotonic() - start))
            events = events_of(daemon.process.pid)
            check(events <= 4 * os.cpu_count(), "%d events" % events)
            wait_cpu(process.pid, 3)
            threads = {int(name) for name in os.listdir("/proc/%d/task" % process.pid)}
            check(os.sched_getscheduler(daemon.process.pid) & 7 == os.SCHED_OTHER, "its scheduler")
            result = daemon.finish(SIGINT)
        check(result.status == DONE, "status %d" % result.status, result.err)
        samples = check_whole(Recording(store))
        check_chains(samples, Expectation.of_source("crowd"))
        tids = {sample.tid for sample in samples}
        print(len(samples), "samples of", len(tids), "threads")
        check(other.pid not in tids, "the other process", tids)
        check(len(tids & threads) > RUNNING and process.pid in tids, "its threads", tids)
        check(tids - threads, "no child has samples", tids)
