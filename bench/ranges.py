#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Whether on-CPU, blocked and runnable time add up to wall time in any range: ranges.py [pgbench|make]... [RANGES]

  pgbench  the server's processes while four clients write (with --wait-mean 0: all waits are kept)
  make     `make -j4` of this project's library, whose processes are many and short

In RANGES (default 50) random ranges of each recording, the three parts of each thread are added up
and held against the time that the thread was there, and on-CPU time by itself against when the
thread had a CPU, both by the kernel's own trace of switches, forks and exits. Targets: each
thread's sum within 0.1 % of the range, and all threads' within 0.1 % of theirs.
And all steps of `--view time` together are the range's sum."""

import bisect
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "tests", "live"), os.path.join(ROOT, "tests"), HERE]

import database  # noqa: E402
import harness  # noqa: E402

TRACING = "/sys/kernel/tracing"
RING = ["--ring-bytes", str(1 << 26)]
OPTIONS = ["--wait", "--wait-mean", "0", *RING]
LIMIT = 0.001
METRICS = "wall", "wait.blocked", "wait.runnable"

LINE = re.compile(r"\[(\d+)\] \S+ +(\d+)\.(\d+): (sched_\w+): (.*)")
SWITCH = re.compile(r"prev_pid=(\d+) .*==> .*next_pid=(\d+) ")


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


class Trace:
    """What the kernel's own trace says of threads: when they were made, ended, and had a CPU."""

    def __init__(self):
        if not os.path.isdir(TRACING + "/instances"):
            subprocess.run(["mount", "-t", "tracefs", "none", TRACING], check=False)
        self.folder = TRACING + "/instances/stackd-ranges-%d" % os.getpid()
        os.mkdir(self.folder)
        write(self.folder + "/trace_clock", "mono")
        write(self.folder + "/buffer_size_kb", "65536")
        for event in "switch", "process_fork", "process_exec", "process_exit":
            write(self.folder + "/events/sched/sched_%s/enable" % event, "1")
        self.made, self.executed, self.ended, self.on = {}, {}, {}, {}

    def stop(self):
        write(self.folder + "/tracing_on", "0")
        since = {}
        with open(self.folder + "/trace", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                found = LINE.search(line)
                if found:
                    cpu, seconds, part, event, what = found.groups()
                    self.take(cpu, int(seconds) * 10**9 + int(part.ljust(9, "0")[:9]), event, what, since)
        os.rmdir(self.folder)
        for tid, at in since.values():
            self.on.setdefault(tid, []).append((at, 1 << 62))

    def take(self, cpu, at, event, what, since):
        if event == "sched_switch":
            found = SWITCH.search(what)
            before, after = int(found[1]), int(found[2])
            if cpu in since:
                self.on.setdefault(before, []).append((since[cpu][1], at))
            since[cpu] = after, at
            if before in self.ended:
                self.ended[before] = at
        elif event == "sched_process_exec":
            # A command is recorded from here on, whose process is older than the recording.
            self.executed.setdefault(int(re.search(r" pid=(\d+)", what)[1]), at)
        elif event == "sched_process_fork":
            self.made[int(re.search(r"child_pid=(\d+)", what)[1])] = at
        elif event == "sched_process_exit":
            # The event comes early in the exit: the thread leaves the CPU for the last time later.
            self.ended[int(re.search(r" pid=(\d+)", what)[1])] = at

    def was_there(self, tid, start, end, recorded):
        made = self.made.get(tid, 0)
        if made < recorded:
            made = self.executed.get(tid, 0)
        return max(min(end, self.ended.get(tid, 1 << 62)) - max(start, made), 0)

    def was_on(self, tid, start, end):
        on = self.on.get(tid, [])
        first = max(bisect.bisect_left(on, (start, 0)) - 1, 0)
        total = 0
        for begin, until in on[first:]:
            if begin >= end:
                break
            total += max(min(until, end) - max(begin, start), 0)
        return total


def of_threads(store, metric, start, end):
    """{tid: nanoseconds}, which a recording has by the thread's names, one after the other"""
    done = harness.run(harness.STACKCTL, "report", "-i", store, "--metric", metric, "--by", "thread",
                       "--view", "time", "--bins", "7", "--json", "--from", "%.9f" % start,
                       "--to", "%.9f" % end, timeout=120)
    if done.status == 3:
        return {}
    harness.check(done.status == 0, "report", done.err)
    parts = json.loads(done.out)["parts"]
    for part in parts:
        steps = sum(of["samples"] for of in part["bins"])
        harness.check(abs(steps - part["samples"]) <= 1000, "steps", steps, part["samples"])
    of = {}
    for part in parts:
        of[part["tid"]] = of.get(part["tid"], 0) + part["samples"]
    return of


def measure(store, trace, ranges):
    with sqlite3.connect(store) as db:
        first, last = db.execute("select start_ns, end_ns from recordings").fetchone()
    whole, seed = (last - first) / 1e9, random.randrange(1 << 30)
    draw = random.Random(seed)
    off, off_cpu, all_off, beyond, n = [], [], [], 0, 0
    for _ in range(ranges):
        length = whole * 10 ** draw.uniform(-2, -0.2)
        start = draw.uniform(0.05 * whole, 0.98 * whole - length) if length < 0.9 * whole else 0.05 * whole
        end = start + length
        begin, until = first + int(start * 1e9), first + int(end * 1e9)
        got = {metric: of_threads(store, metric, start, end) for metric in METRICS}
        there_all = wall_all = 0
        for tid, wall in got["wall"].items():
            waits = got["wait.blocked"].get(tid, 0) + got["wait.runnable"].get(tid, 0)
            there = trace.was_there(tid, begin, until, first)
            off.append((wall - there) / (until - begin))
            off_cpu.append((wall - waits - trace.was_on(tid, begin, until)) / (until - begin))
            beyond += abs(off[-1]) > LIMIT
            there_all, wall_all, n = there_all + there, wall_all + wall, n + 1
        if there_all:
            all_off.append((wall_all - there_all) / there_all)
    worst = {name: max(map(abs, of), default=0)
             for name, of in (("sum", off), ("on the CPU", off_cpu), ("all threads", all_off))}
    print("  seed %d, %d ranges, %d sums of threads: %d beyond %.1f %%" % (seed, ranges, n, beyond, 100 * LIMIT))
    for name, most in worst.items():
        print("  %-12s off by %.4f %% at most" % (name, 100 * most))
    return beyond or worst["all threads"] > LIMIT or not n


def pgbench(ranges, folder):
    with database.database() as running:
        clients = subprocess.Popen(
            database.as_owner(database.program("pgbench"), "-h", running.folder, "-c", "4", "-j", "2",
                              "-T", "6", "postgres"),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        trace = Trace()
        children = harness.run("pgrep", "-P", str(running.pid)).out.split()
        pids = ",".join([str(running.pid), *children])
        with harness.Daemon(folder + "/s.db", *OPTIONS, "--pid", pids) as daemon:
            daemon.wait_recording()
            time.sleep(3)
            daemon.finish(signal.SIGINT)
        trace.stop()
        clients.terminate()
        clients.wait()
    return measure(folder + "/s.db", trace, ranges)


def make(ranges, folder):
    for part in "lib/record/stack", "lib/base", "Makefile", "bpf", "arch":
        target = os.path.join(folder, "src", part)
        if os.path.isdir(os.path.join(ROOT, part)):
            shutil.copytree(os.path.join(ROOT, part), target)
    with open(folder + "/src/Makefile", "w", encoding="ascii") as file:
        file.write("S = $(wildcard lib/record/stack/*.c lib/base/*.c)\nall: $(S:.c=.o)\n"
                   "%.o: %.c\n\tcc -O1 -std=gnu17 -D_GNU_SOURCE -Ilib -Ilib/code -Ilib/record -Ibpf -c -o $@ $<\n")
    trace = Trace()
    done = harness.run(harness.STACKD, "-q", *OPTIONS, "-o", folder + "/s.db", "--",
                       "make", "-k", "-C", folder + "/src", "-j4", timeout=300)
    trace.stop()
    harness.check(os.path.exists(folder + "/s.db"), "stackd", done.err)
    return measure(folder + "/s.db", trace, ranges)


def main():
    known = {"pgbench": pgbench, "make": make}
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    names = [word for word in sys.argv[1:] if not word.isdigit()] or list(known)
    failed = False
    for name in names:
        folder = tempfile.mkdtemp(prefix="stackd-ranges-")
        print(name)
        try:
            failed |= bool(known[name](numbers[0] if numbers else 50, folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
