# SPDX-License-Identifier: MIT
"""Which events are opened: those of the CPUs, with a filter of processes; and those of threads where each
event is a sample, also where the kernel takes them away."""

import os
import shutil
import subprocess
import time

from chains import Expectation
from harness import (DONE, MANAGED, PATIENCE, SIGCONT, SIGINT, SIGKILL, SIGSTOP, WORKLOADS, Daemon, Recording, Skip,
                     check, check_chains, check_whole, faulty_stackd, is_momentary, live, record, run, scratch,
                     user_frames, wait_cpu, workload)

THREADS, RUNNING = 20000, 4
USER = 64991  # no account has it


def events_of(pid):
    """The perf events that a process has open."""
    folder, count = "/proc/%d/fd" % pid, 0
    for name in os.listdir(folder):
        count += os.readlink(os.path.join(folder, name)) == "anon_inode:[perf_event]"
    return count


def is_exiting(sample):
    """A child that gives its memory back: it has no user stack any more."""
    return not user_frames(sample) and any("exit_group" in (frame.symbol or "")
                                           for frame in sample.frames)


def wait_crowd(pid, running):
    """Waits until each of these threads has had a tenth of a second of CPU time more, and the process's children
    some: how much of its time each has, the machine decides."""
    def had(thread):
        with open("/proc/%d/task/%d/schedstat" % (pid, thread), encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9

    def of_children():
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            return sum(map(int, file.read().rsplit(")", 1)[1].split()[13:15])) / os.sysconf("SC_CLK_TCK")
    goals, children = {thread: had(thread) + 0.1 for thread in running}, of_children() + 0.05
    end = time.monotonic() + PATIENCE
    while of_children() < children or any(had(thread) < goal for thread, goal in goals.items()):
        check(time.monotonic() < end, "some have no CPU time", goals)
        time.sleep(0.05)


def need_numbers(count):
    """Skips where the machine has not so many numbers of threads left: two of such tests at a time may need too many."""
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as most, open("/proc/loadavg", encoding="ascii") as now:
        left = int(most.read()) - int(now.read().split()[3].split("/")[1])
    if left < count + 1000:
        raise Skip("%d numbers of threads are left (kernel.pid_max)" % left)


@live
def test_crowd():
    """20,000 threads, of which a few run, and children: samples of them all, and of nobody else;
    attached without an event for each. They are not stopped while stackd starts: each would wake up to go on, and
    stackd would have a small part of the processors beside them, for long."""
    need_numbers(THREADS)
    with scratch() as folder, workload("crowd", 120, THREADS, RUNNING, share=None) as process, \
            workload("chain", 120, share=0.25) as other:
        store, start = folder + "/s.db", time.monotonic()
        with Daemon(store, *MANAGED, "-F", 3989, "--pid", process.pid) as daemon:
            daemon.wait_recording()
            print("attached within %.1f s" % (time.monotonic() - start))
            events = events_of(daemon.process.pid)
            check(events <= 4 * os.cpu_count(), "%d events" % events)
            threads = {int(name) for name in os.listdir("/proc/%d/task" % process.pid)}
            # Those that run were made first, and so have the next numbers, which begin anew at some time.
            wait_crowd(process.pid, sorted(threads, key=lambda tid: (tid < process.pid, tid))[:1 + RUNNING])
            check(os.sched_getscheduler(daemon.process.pid) & 7 == os.SCHED_OTHER, "its scheduler")
            result = daemon.finish(SIGINT)
        check(result.status == DONE, "status %d" % result.status, result.err)
        samples = check_whole(Recording(store))
        check_chains([sample for sample in samples
                      if not is_momentary(sample) and not is_exiting(sample)],
                     Expectation.of_source("crowd"))
        check(not threads & {sample.tid for sample in samples if is_exiting(sample)}, "who exits?")
        tids = {sample.tid for sample in samples}
        print(len(samples), "samples of", len(tids), "threads")
        check(other.pid not in tids, "the other process", tids)
        check(len(tids & threads) > RUNNING and process.pid in tids, "its threads", tids)
        check(tids - threads, "no child has samples", tids)


PINGPONG = """
import os
ours, theirs = os.pipe(), os.pipe()
if os.fork():
    while True:
        os.write(ours[1], b"x")
        os.read(theirs[0], 1)
while True:
    os.read(ours[0], 1)
    os.write(theirs[1], b"x")
"""


@live
def test_switching():
    """Two processes that wake each other all the time: their threads have no events, which the kernel
    would start and stop at each switch."""
    with scratch() as folder, subprocess.Popen(["/usr/bin/python3", "-c", PINGPONG], start_new_session=True,
                                               preexec_fn=lambda: os.nice(-10)) as first:
        try:
            wait_cpu(first.pid, 0.2)
            second = int(run("pgrep", "-P", str(first.pid)).out)
            os.killpg(first.pid, SIGSTOP)  # until they are recorded
            with Daemon(folder + "/s.db", "-F", 997, "--pid", "%d,%d" % (first.pid, second)) as daemon:
                daemon.wait_recording()
                os.killpg(first.pid, SIGCONT)
                events = events_of(daemon.process.pid)
                wait_cpu(first.pid, 0.5)
                result = daemon.finish(SIGINT)
        finally:
            os.killpg(first.pid, SIGKILL)
        check(result.status == DONE, "status %d" % result.status, result.err)
        check(events <= 4 * os.cpu_count(), "%d events" % events)
        samples = check_whole(Recording(folder + "/s.db"))
        tids = {sample.tid for sample in samples}
        print("%d samples" % len(samples))
        check(tids == {first.pid, second}, "threads", tids, first.pid, second)


def record_members(room, process, seconds, *arguments):
    """Records a process with room for so many processes at a time, until it has had so many seconds
    of CPU time: its threads, samples, counters, and what stackd said."""
    with scratch() as folder:
        store = folder + "/s.db"
        with Daemon(store, "-F", 3989, *arguments, "--pid", process.pid, stackd=faulty_stackd(),
                    env={"STACKD_FAULT": "few:members:%x" % room}) as daemon:
            daemon.wait_recording()
            wait_cpu(process.pid, seconds)
            threads = {int(name) for name in os.listdir("/proc/%d/task" % process.pid)}
            result = daemon.finish(SIGINT)
        check(result.status == DONE, "status %d" % result.status, result.err)
        recording = Recording(store)
        counters = recording.stats()["counters"]
        print(result.err, counters["processes_not_followed"])
        return threads, recording.samples(), counters, result.err


@live(long=True)
def test_members_full():
    """Children that there is no room for are left out, which is counted and said; so is it with
    regions, which follow processes in the same way."""
    # Probes are on a file, and so in all processes that have it: here, in its own.
    with scratch() as folder, \
            workload(shutil.copy(WORKLOADS + "/crowd", folder), 120, 1500, 1) as process:
        for arguments in ((), ("--region", "one_leaf")):
            threads, samples, counters, said = record_members(1, process, 0.7, *arguments)
            check(counters["processes_not_followed"] > 3, "not counted", counters)
            check("processes that the target started" in said, "not said", said)
            if not arguments:
                check({sample.tid for sample in samples} <= threads, "a child was recorded")


@live(long=True)
def test_members_come_and_go():
    """Processes that have ended make room for others."""
    with workload("crowd", 120, 1500, 1, share=None) as process:
        threads, samples, counters, _ = record_members(24, process, 2)
        children = {sample.tid for sample in samples} - threads
        print(len(children), "children")
        check(len(children) > 30, "few children", children)
        check(counters["processes_not_followed"] == 0, "some were left out", counters)


def make_setuid(folder, name):
    """A workload that gains another user's rights by its exec: its path."""
    os.chmod(folder, 0o755)
    program = shutil.copy(WORKLOADS + "/" + name, folder + "/setuid")
    os.chown(program, USER, USER)
    os.chmod(program, 0o4755)
    if os.statvfs(folder).f_flag & os.ST_NOSUID:
        raise Skip("/tmp is mounted nosuid")
    return program


@live(long=True)
def test_setuid_threads():
    """Events of threads are opened again, for what the program starts afterwards, too."""
    with scratch() as folder:
        program = make_setuid(folder, "short_tasks")
        for before in ("exec ", ""):
            recording, result = record(folder + "/s.db", "-e", "page-faults", "-c", 1, "--", "sh", "-c",
                                       "%s'%s' processes 80 20000 0.7; true" % (before, program))
            samples = [sample for sample in recording.samples() if sample.comm == "setuid"]
            tids = {sample.tid for sample in samples}
            print(len(samples), "page faults of", len(tids), "processes")
            check(len(tids) > 3, "page faults after the exec", len(samples), result.err)
            check("gains rights" not in result.err, "a warning", result.err)
            os.unlink(folder + "/s.db")


@live
def test_setuid():
    """The kernel takes a thread's events away at the exec of a setuid program, and those of the CPUs stay:
    of a child's, and where the command itself is one."""
    with scratch() as folder:
        program = make_setuid(folder, "chain")
        for command in (("sh", "-c", "exec '%s' 0.3" % program),
                        ("sh", "-c", "'%s' 0.3; true" % program), (program, 0.3)):
            recording, result = record(folder + "/s.db", "-F", 3989, "--", *command)
            samples = [sample for sample in check_whole(recording) if sample.comm == "setuid"]
            print(len(samples), "samples")
            check_chains(samples, Expectation.of_source("chain"), 300)
            check("gains rights" not in result.err, "a warning", result.err)
            check("gains rights" not in result.err, "a warning", result.err)
            os.unlink(folder + "/s.db")
