#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a recording loses on a machine with other load: stall.py [RUNS]

A program switches threads some 50,000 to 100,000 times a second, on two CPUs, and `--wait --wait-mean 0`
records each of them. Beside it run none, one or two busy programs for each CPU, each in a session of its
own, as those of other terminals and services are: where the kernel has autogroups (sched(7)), priorities
count for nothing between sessions. stackd is started in a new session each time.

For each run: the waits that ended, those lost in the ring, and samples lost; walks that the kernel half left
to stackd; and the CPU time that the loop and its workers had and waited for, in seconds. Target: nothing is lost
(RUNS, default 6, of each)."""

import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "tests", "live")]

import harness  # noqa: E402

STACKD = os.environ.get("STACKD", os.path.join(ROOT, "build", "stackd"))
PAIR = os.path.join(ROOT, "build", "bench", "wait_pair")
SECONDS = 8


def schedstat(pid):
    """CPU time and the time in a queue for it, of a thread, in seconds."""
    try:
        with open("/proc/%s/schedstat" % pid, encoding="ascii") as file:
            return tuple(int(word) / 1e9 for word in file.read().split()[:2])
    except (OSError, ValueError):
        return None


def workers(pid):
    """The processes below a stackd that read files for it."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name, encoding="ascii", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        comm, rest = text.split("(", 1)[1].rsplit(")", 1)
        found.append((int(name), int(rest.split()[1]), comm))
    below, todo = [], [pid]
    while todo:
        parent = todo.pop()
        children = [child for child, of, comm in found if of == parent and comm == "stackd-worker"]
        below += children
        todo += children
    return below


def record(store, hogs):
    pairs = " & ".join("taskset -c %d %s %d futex" % (cpu, PAIR, SECONDS)
                       for cpu in sorted(os.sched_getaffinity(0))[:2])
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True)
            for _ in range(hogs)]
    times = {}
    try:
        with subprocess.Popen([STACKD, "-q", "--wait", "--wait-mean", "0", "-o", store, "--", "sh", "-c",
                               "sleep 1; %s & wait" % pairs], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True) as daemon:
            while daemon.poll() is None:
                for pid in (daemon.pid, *workers(daemon.pid)):
                    times[pid] = schedstat(pid) or times.get(pid)
                time.sleep(0.1)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    loop = times.pop(daemon.pid)
    others = [time for time in times.values() if time]
    return loop, [sum(part) for part in zip(*others)]


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    lost = 0
    print("%5s %10s %10s %8s %8s %16s %16s" % ("busy", "waits", "waits lost", "lost", "left", "loop had/waited",
                                             "workers"))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(runs):
            for hogs in (0, os.cpu_count(), 2 * os.cpu_count()):
                store = "%s/%d_%d.db" % (folder, number, hogs)
                loop, others = record(store, hogs)
                stats = harness.Recording(store).stats()
                n = stats["counters"]
                lost += n["waits_lost_ring"] + stats["lost"]
                print("%5d %10d %10d %8d %8d %8.2f %7.2f %8.2f %7.2f"
                      % (hogs, n["waits_ended"], n["waits_lost_ring"], stats["lost"],
                         n["kernel_fallbacks"], *loop, *others), flush=True)
                os.unlink(store)
    print("all is there" if not lost else "%d are lost" % lost)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
