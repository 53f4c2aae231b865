# SPDX-License-Identifier: MIT
"""Tasks that live for less than a period have their samples, and samples are held against the scheduler's
own count of CPU time.

The number of samples in a kind of task is compared with the time that the tasks themselves read from
their clocks. If samples fell independently, the number's variance would be its mean; it is less for long
tasks. Bounds are 5.5 standard deviations, which chance exceeds once in 26 million, and what the host
of a virtual machine took, which a sample can fall on the end of, and stackd's own time in the task's
samples, which the clocks count and samples need not hit."""

import json
import math
import os
import re
import subprocess

from harness import (DONE, NATIVE, PATIENCE, SIGINT, SIGKILL, STACKCTL, STACKD, WORKLOADS, Daemon, Recording, check,
                     live, record, run, scratch)

RATE = 3989
PERIOD = 1000000000 // RATE
DEVIATIONS = 5.5
OWN_NS = 100000  # of a sample's interrupt, at most, with an emulated timer


def told(out):
    """What the program says: nanoseconds and numbers by name."""
    words = out.split()
    return {words[i]: int(words[i + 1]) for i in range(0, len(words), 2)}


def check_count(what, samples, ns, stolen_ns):
    """Are so many samples of so much time by chance?"""
    expected = ns / PERIOD
    least = (ns - OWN_NS * samples) / PERIOD
    most = (ns + stolen_ns) / PERIOD
    print("%s: %d samples of %.0f" % (what, samples, expected))
    check(least - DEVIATIONS * math.sqrt(expected) - 1 <= samples <=
          most + DEVIATIONS * math.sqrt(most) + 1, what + " does not have its samples", samples, expected)


def hits_of(recording, name):
    """The samples in a function, each as often as it counts."""
    report = json.loads(recording.text("report", "--view", "flat", "--by", "all", "--json", "--percent-limit", "0",
                                       *recording.OBSERVED))
    return sum(row["total"] for row in report["parts"][0]["functions"]
               if report["symbols"][row["symbol"]]["name"] == name)


def check_tasks(recording, truth):
    """Holds the samples of both kinds of tasks against the program's own count, and all of them against
    the scheduler's."""
    stats = recording.stats()
    stolen = stats["counters"]["stolen_ns"]
    for kind in ("short", "long"):
        check_count(kind, hits_of(recording, kind + "_task"), truth[kind], stolen)
    time = stats["cpu_time"]
    print(time, truth)
    check(time["is_conserved"], "samples differ from the scheduler's count", time)
    check(time["scheduler_ns"] >= truth["short"] + truth["long"], "time of tasks is missing", time, truth)
    check(time["sampled_ns"] == stats["periods"] * PERIOD, "the sum of periods", time, stats["periods"])
    check(stats["periods"] == stats["samples"] + stats["counters"]["late_periods"], "late periods", stats)
    check(stats["counters"]["tasks_untimed"] == 0, "tasks without time", stats["counters"])


def record_tasks(folder, kind, short_us, seconds, *arguments):
    """Records the program as a command: the recording, and what it told."""
    store = folder + "/s.db"
    result = run(STACKD, *NATIVE, "-e", "cpu-clock", "-F", RATE, "-o", store, *arguments, "--",
                 WORKLOADS + "/short_tasks", kind, short_us, 7000, seconds, timeout=PATIENCE)
    check(result.status == DONE, "stackd: status %d" % result.status, result.err)
    recording = Recording(store)
    check(recording.stats()["lost"] == 0, "lost samples", recording.stats()["lost"])
    return recording, told(result.out)


def make_command(kind, short_us, seconds, *arguments):
    """Makes the test of a command whose tasks are of a kind."""
    def test():
        with scratch() as folder:
            check_tasks(*record_tasks(folder, kind, short_us, seconds, *arguments))
    test.__doc__ = "Short %s have their samples." % kind
    return live(test, name="short_" + kind)


make_command("threads", 50, 0.3)
make_command("processes", 80, 0.15)
make_command("vfork", 80, 0.3)
make_command("exec", 300, 0.1)


@live
def test_short_count():
    """A fixed period is as fair as a rate."""
    with scratch() as folder:
        store = folder + "/s.db"
        result = run(STACKD, *NATIVE, "-e", "cpu-clock", "-c", PERIOD, "-o", store, "--", WORKLOADS + "/short_tasks",
                     "threads", 80, 7000, 0.25, timeout=PATIENCE)
        check(result.status == DONE, "stackd: status %d" % result.status, result.err)
        check_tasks(Recording(store), told(result.out))


@live
def test_short_attached():
    """So have the children and threads that a running process starts later."""
    with scratch() as folder:
        command = 'read go; exec "$0" threads 80 7000 0.25'
        with subprocess.Popen(["sh", "-c", command, WORKLOADS + "/short_tasks"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            with Daemon(folder + "/s.db", "-e", "cpu-clock", "-F", RATE, "--pid", process.pid) as daemon:
                daemon.wait_recording()
                out, _ = process.communicate("go\n", timeout=PATIENCE)
                daemon.process.wait(timeout=PATIENCE)
        check_tasks(Recording(folder + "/s.db"), told(out))


@live
def test_short_events():
    """Each event is one sample (-c 1) of all tasks, and every third one counts three: of all page
    faults, which the kernel counts for the program and all it has started."""
    with scratch() as folder:
        for period in (1, 3):
            recording, _ = record(folder + "/%d.db" % period, "-e", "page-faults", "-c", period, "--", "sh", "-c",
                                  "i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done", timeout=PATIENCE)
            stats = recording.stats()
            check(stats["lost"] == 0, "lost samples", stats["lost"])
            check(stats["cpu_time"] is None, "CPU time of page faults", stats["cpu_time"])
            events = stats["samples"] * period
            print("%d page faults by every %d" % (events, period))
            if period == 1:
                exact = events
        # A process of /bin/true has some 49. Others' faults shift the phase, but by less than a sample.
        check(exact > 60 * 25, "few page faults", exact)
        check(abs(events - exact) < 3 * DEVIATIONS * math.sqrt(exact / 3) + exact / 50, "events", events, exact)


@live
def test_short_switches():
    """Each switch is one sample: also a task's last one, at its exit, which a short task may have alone."""
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", "-e", "context-switches", "-c", 1, "--", "sh", "-c",
                              "i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done", timeout=PATIENCE)
        stats = recording.stats()
        check(stats["lost"] == 0, "lost samples", stats["lost"])
        threads = re.findall(r"^\S+ +(\d+)/\d+ ", recording.text("export", "--perf-script"), re.M)
        ends = re.findall(r"\bdo_exit\+", recording.text("export", "--perf-script"))
        print("%d switches of %d threads, %d at exits" % (stats["samples"], len(set(threads)), len(ends)))
        check(len(threads) == stats["samples"], "threads of samples", len(threads), stats["samples"])
        check(len(set(threads)) == 61, "threads that were switched", len(set(threads)))
        check(len(ends) >= 61, "switches at exits", len(ends))


@live
def test_others_are_left_out():
    """The time of a process that is not in scope is in neither count."""
    with scratch() as folder, subprocess.Popen(["sh", "-c", "while :; do :; done"]) as other:
        try:
            recording, truth = record_tasks(folder, "threads", 80, 0.2)
        finally:
            other.send_signal(SIGKILL)
        check_tasks(recording, truth)
        tids = {sample.tid for sample in recording.samples()}
        comms = {sample.comm for sample in recording.samples()}
        check(other.pid not in tids and "sh" not in comms, "another process", comms)
        time = recording.stats()["cpu_time"]
        # The program's own count of all its time is told right before its end.
        check(time["scheduler_ns"] < 2 * truth["all"] + 50000000, "more than the program's", time, truth)


@live(long=True)
def test_conservation_of_all():
    """The whole machine, and a running process that goes on, add up, too."""
    with scratch() as folder, subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"],
                                               start_new_session=True) as process:
        try:
            for target in (("--all",), ("--pid", process.pid)):
                with Daemon(folder + "/s.db", "-e", "cpu-clock", "-F", "997", *target) as daemon:
                    daemon.wait_recording()
                    run("sleep", "0.7")
                    result = daemon.finish(SIGINT)
                check(result.status == DONE, "status %d" % result.status, result.err)
                stats = Recording(folder + "/s.db").stats()
                print(stats["cpu_time"], stats["samples"], stats["lost"])
                check(stats["lost"] or stats["cpu_time"]["is_conserved"], "not conserved", stats["cpu_time"])
                head = run(STACKCTL, "report", "-i", folder + "/s.db").out
                check(stats["lost"] or "# cpu time" not in head, "the head", head)
                check("cpu time: " in run(STACKCTL, "stats", "-i", folder + "/s.db").out, "stats")
                os.unlink(folder + "/s.db")
        finally:
            os.killpg(process.pid, SIGKILL)


HEAD = re.compile(r"^.* \[(\d+)\] +(\d+)\.(\d+): +(\d+) \S+: *$", re.MULTILINE)


@live(alone=True)  # beside builds and emulated machines it would read all of their files
def test_late_clocks():
    """What the samples of a CPU stand for, idle ones too, is never more than the time that has passed, and
    it is the periods that the kernel half has counted: as many as samples, and those that clocks missed."""
    period = 1000000000 // 1999
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "-e", "cpu-clock", "-F", 1999, "--all", "--idle", "--depth", 4,
                                   "--duration", 0.5)
        check(result.status == DONE, "status %d" % result.status, result.err)
        stats, cpus = recording.stats(), {}
        for cpu, seconds, micros, ns in HEAD.findall(recording.text("export", "--perf-script",
                                                                    *recording.OBSERVED)):
            cpus.setdefault(int(cpu), []).append((int(seconds) * 1000000 + int(micros), int(ns)))
        count = stats["counters"]
        print(len(cpus), "CPUs", stats["samples"], "samples", count["late_samples"], "late", count["late_periods"],
              "more periods")
        check(sum(map(len, cpus.values())) == stats["samples"], "samples", stats["samples"])
        for cpu, samples in cpus.items():
            passed_ns = (samples[-1][0] - samples[0][0] + 1) * 1000
            stands_for = sum(ns for _, ns in samples[1:])
            check(all(ns % period == 0 for _, ns in samples), "whole periods", cpu)
            check(stands_for <= passed_ns + period, "more than has passed", cpu, stands_for, passed_ns)
        told_ns = sum(ns for samples in cpus.values() for _, ns in samples)
        check(stats["lost"] or told_ns == (stats["samples"] + count["late_periods"]) * period, "periods", told_ns,
              stats["samples"], count)
