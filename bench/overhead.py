#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording the whole machine costs, beside perf: bench/overhead.py [ROUNDS [SECONDS]]

`stackd --all` at the unit's rate (99 Hz), and `perf record -a -g` at the same, in turns: on an idle machine
for SECONDS, where their own CPU time tells, and while all CPUs do a fixed amount of work (fleet_load.py), where
the time that this takes does: it has the interrupts, and the recorder's own share of the CPUs. The work is done
twice before it is measured, since a service has its tables of unwind rules, which are made at its start. perf's
call graphs are by frame pointers, which these programs do not have; its walks end at once."""

import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import fleet_load

STACKD = os.path.join(fleet_load.ROOT, "build", "stackd")
WORK = ("g++", "python3", "sqlite3", "perl", "xz", "openssl")
RATE = "99"


def recorders(folder):
    """Name -> the command; None: nothing records."""
    return {"none": None,
            "stackd --all": [STACKD, "-q", "-F", RATE, "--all", "-o", folder + "/s.db"],
            "the same with --table-memory 64M": [STACKD, "-q", "-F", RATE, "--all", "--table-memory", "64M", "-o",
                                                 folder + "/m.db"],
            "perf record -a -g": ["perf", "record", "-q", "-F", RATE, "-a", "-g", "-o", folder + "/perf.data"]}


def work(folder):
    """The same work on each CPU at once; returns how long it took."""
    script = "\n".join(fleet_load.WORK[name] for name in WORK)
    start = time.monotonic()
    running = [subprocess.Popen(["sh", "-ec", script], cwd=folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for _ in os.sched_getaffinity(0)]
    if any(process.wait() for process in running):
        sys.exit("the work failed")
    return time.monotonic() - start


def recorded(command, body, before=lambda: None):
    """What body() returns while the command records, and the command's CPU time in seconds; before() has been
    done by then."""
    if not command:
        before()
        return body(), 0.0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as recorder:
        time.sleep(2)
        before()
        spent = -cpu_of(recorder.pid)
        result = body()
        spent += cpu_of(recorder.pid)
        recorder.send_signal(signal.SIGINT)
        recorder.wait()
    return result, spent


def cpu_of(pid):
    """CPU time of a process and of its children that run (stackd's workers)."""
    total = 0
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, thread), encoding="ascii") as stat:
            total += int(stat.read().split()[0]) / 1e9
        with open("/proc/%d/task/%s/children" % (pid, thread), encoding="ascii") as children:
            total += sum(map(cpu_of, map(int, children.read().split())))
    return total


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 30
    if not shutil.which("perf"):
        sys.exit("perf is not installed (deps.sh bench)")
    folder = tempfile.mkdtemp()
    try:
        fleet_load.prepare(folder)
        work(folder)  # files are cached from now on

        def warm_up():
            for _ in range(2):
                work(folder)

        took = {name: [] for name in recorders(folder)}
        own = {name: [] for name in took}
        for _ in range(rounds):
            for name, command in recorders(folder).items():
                result, spent = recorded(command, lambda: work(folder), warm_up)
                took[name].append(result)
                own[name].append(100 * spent / result)
        print("| recorder | idle: own CPU, %% of one | loaded: own CPU | the work, best of %d, s | median | over none |" % rounds)
        print("|---|---|---|---|---|---|")
        for name, command in recorders(folder).items():
            _, idle = recorded(command, lambda: time.sleep(seconds))
            middle, alone = statistics.median(took[name]), statistics.median(took["none"])
            print("| %s | %.2f | %.2f | %.2f | %.2f | %+.2f %%, %+.2f %% of medians |" % (
                name, 100 * idle / seconds, statistics.median(own[name]), min(took[name]), middle,
                100 * (min(took[name]) / min(took["none"]) - 1), 100 * (middle / alone - 1)), flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
