#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Whether tasks have as many samples as periods fit into their CPU time, however short they live.

    bench/short_tasks.py [RUNS [SECONDS [KIND,... [SHORT_US,... [WAY,...]]]]]

The program (tests/workloads/short_tasks.c) starts short and long tasks that share its CPU time, and adds up
what the kernel counts for each. Of each kind of task and each length of the short ones there are so many
runs. Of each run these errors are taken, in percent:

    share   of the samples in short tasks among those in both kinds, less that of the time
    tasks   the samples in both kinds times the period, against the time
    whole   the sum of the periods, with those of CPUs on their way to a woken task (`waking_ns`),
            against the scheduler's count, as `stackctl stats` has them
    net     the same, against that count less the time of stackd's own program, which is in it

WAY is how the target is chosen: command, count (a command, by -c), pid (the program is started later in a process
that runs), cgroup, or all (what else runs is then in `whole` and `net`).

A sample counts as often as the periods that it stands for. A row has the means, with the standard error, and
how many of these the mean is away from 0. Beyond 3, samples are biased. The error is the larger of the one by
the runs' spread and the one of chance, the root of the number of samples: few runs can be close to each other
by chance. stackd's program runs on the tasks' time: the scheduler counts it, and samples hit it only
where a task outlives the period, so the truth is between `whole` and `net`. (Of the share of 10 us the
program itself knows some tenths of a percent: the reading of the clock is in what it reads.)"""

import itertools
import json
import math
import os
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "live"))

from harness import Daemon  # noqa: E402

STACKD, STACKCTL = ROOT + "/build/stackd", ROOT + "/build/stackctl"
PROGRAM = ROOT + "/build/workloads/short_tasks"
RATE, LONG_US = 1999, 7000


CGROUPS = "/sys/fs/cgroup/unified" if os.path.isdir("/sys/fs/cgroup/unified") else "/sys/fs/cgroup"


def run_command(store, program, rate):
    """What the program told, which stackd has started."""
    return subprocess.run([STACKD, "-q", "-e", "cpu-clock", *rate, "-o", store, "--", *program],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout


def run_chosen(store, program, rate, way):
    """What the program told, which a process that was recorded has started."""
    cgroup = CGROUPS + "/short_tasks.%d" % os.getpid()
    os.makedirs(cgroup, exist_ok=True)
    try:
        with subprocess.Popen(["sh", "-c", 'read go; exec "$0" "$@"', *program], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            with open(cgroup + "/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(process.pid))
            target = {"pid": ["--pid", str(process.pid)], "cgroup": ["--cgroup", cgroup], "all": ["--all"]}[way]
            with Daemon(store, "-e", "cpu-clock", *rate, *target, stackd=STACKD) as daemon:
                daemon.wait_recording()
                out, _ = process.communicate("go\n")
                if way != "pid":
                    daemon.process.send_signal(signal.SIGINT)
                daemon.process.wait()
        return out
    finally:
        os.rmdir(cgroup)


def one_run(store, way, kind, short_us, seconds):
    """The errors of a run, the standard error of each by chance, and the number of its samples."""
    program = [PROGRAM, kind, str(short_us), str(LONG_US), str(seconds)]
    rate = ["-c", str(10**9 // RATE)] if way == "count" else ["-F", str(RATE)]
    out = run_command(store, program, rate) if way in ("command", "count") else run_chosen(store, program, rate, way)
    told = out.split()
    truth = {told[i]: int(told[i + 1]) for i in range(0, len(told), 2)}
    report = json.loads(subprocess.run(
        [STACKCTL, "report", "-i", store, "--view", "flat", "--json", "--percent-limit", "0"],
        check=True, stdout=subprocess.PIPE).stdout)
    stats = json.loads(subprocess.run([STACKCTL, "stats", "-i", store, "--json"], check=True,
                                      stdout=subprocess.PIPE).stdout)
    os.unlink(store)
    hits = {"short_task": 0, "long_task": 0}
    for process in report["processes"]:
        for function in process["functions"]:
            name = report["symbols"][function["symbol"]]["name"]
            if name in hits:
                hits[name] += function["total"]
    both, time = sum(hits.values()), truth["short"] + truth["long"]
    whole = report["cpu_time"]
    if not whole["is_conserved"]:
        print("not conserved:", whole)
    accounted = whole["sampled_ns"] + whole["waking_ns"]
    own = stats["counters"]["started"] * (stats["kernel_ns_per_sample"] or 0)
    share = hits["short_task"] / both
    errors = (100 * (share - truth["short"] / time),
              100 * (both * (1e9 // RATE) / time - 1),
              100 * (accounted / whole["scheduler_ns"] - 1),
              100 * (accounted / (whole["scheduler_ns"] - own) - 1))
    chances = (100 * math.sqrt(share * (1 - share) / both), 100 / math.sqrt(both),
               100 / math.sqrt(report["samples"]), 100 / math.sqrt(report["samples"]))
    return errors, chances, report["samples"]


def summary(errors, chances):
    """The mean of a column, its standard error, and how many of these it is from 0."""
    n = len(errors)
    mean = sum(errors) / n
    spread = math.sqrt(sum((e - mean) ** 2 for e in errors) / (n - 1) / n) if n > 1 else 0
    deviation = max(spread, math.sqrt(sum(c * c for c in chances)) / n)
    return "%+6.2f ± %.2f (%+.1f)" % (mean, deviation, mean / deviation if deviation else 0)


def main():
    """Prints the table."""
    arguments = dict(enumerate(sys.argv[1:]))
    runs, seconds = int(arguments.get(0, 50)), float(arguments.get(1, 0.5))
    kinds = arguments.get(2, "threads,processes,vfork,exec,mixed").split(",")
    lengths = [int(us) for us in arguments.get(3, "10,100,1000").split(",")]
    ways = arguments.get(4, "command").split(",")
    print("%-8s %-10s %6s %8s  %-22s %-22s %-22s %-22s"
          % ("way", "tasks", "us", "samples", "share", "tasks", "whole", "net"))
    with tempfile.TemporaryDirectory() as folder:
        for way, kind, short_us in itertools.product(ways, kinds, lengths):
            found = [one_run(folder + "/s.db", way, kind, short_us, seconds) for _ in range(runs)]
            columns = zip(zip(*[errors for errors, _, _ in found]), zip(*[by for _, by, _ in found]))
            print("%-8s %-10s %6d %8.0f  %s" % (way, kind, short_us, sum(n for _, _, n in found) / runs,
                                                " ".join("%-22s" % summary(*c) for c in columns)),
                  flush=True)


if __name__ == "__main__":
    main()
