# SPDX-License-Identifier: MIT
"""What an administrator watches a service by: metrics, the watchdog, events in the journal."""

import math
import os
import re
import shutil
import socket
import struct
import time

from harness import (DONE, PATIENCE, PERF_FLAG_PID_CGROUP, ROOT, SIGCONT, SIGSTOP, SIGTERM, STACKCTL, USAGE,
                     WORKLOADS, Daemon, Recording, Skip, check, cpu_clock, live, record, run, scratch, sparing,
                     workload)
from test_cgroups import move, slices

JOURNAL = "/run/systemd/journal/socket"
SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="[a-z_]+",?)+)\})? (-?[0-9.]+(?:e[+-][0-9]+)?)')


def parse(text):
    """Metrics by name and labels. Each has HELP and TYPE before it, once, and all of one name follow
    each other."""
    metrics, helped, typed, closed, last = {}, set(), {}, set(), None
    for line in text.splitlines():
        words = line.split(" ", 3)
        if line.startswith("# HELP "):
            check(words[2] not in helped and len(words) == 4, "HELP", line)
            helped.add(words[2])
        elif line.startswith("# TYPE "):
            check(words[2] in helped and words[2] not in typed, "TYPE", line)
            check(words[3] in ("counter", "gauge"), "kind", line)
            check((words[3] == "counter") == words[2].endswith("_total"), "name of a counter", line)
            typed[words[2]] = words[3]
        else:
            match = SAMPLE.fullmatch(line)
            check(match and match[1] in typed, "no sample", line)
            if match[1] != last:
                check(match[1] not in closed, "not one after the other", line)
                closed.add(last)
                last = match[1]
            check((match[1], match[2]) not in metrics, "twice", line)
            metrics[match[1], match[2]] = float(match[3])
    check(text.endswith("\n"), "the last line is cut")
    return metrics


# All that stackd drops to keep its memory within bounds.
FORGOTTEN = ("cgroups", "processes", "threads", "files", "objects", "paths", "locations", "tags",
             "tables", "workers", "symbols", "refusals")


@live
def test_prometheus():
    """stats --prometheus is what the textfile collector reads, and has the recording's figures."""
    with scratch() as folder:
        record(folder + "/s.db", "-F", 3989, "--", WORKLOADS + "/chain", 0.25)
        path = folder + "/stackd.prom"
        result = run(STACKCTL, "stats", "--prometheus", "-i", folder + "/s.db", "-o", path)
        check(result.status == DONE, "status %d" % result.status, result.err)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        metrics, stats = parse(text), Recording(folder + "/s.db").stats()
        kept = sum(n for (name, _), n in metrics.items() if name == "stackd_samples_total")
        check(kept == stats["samples"] >= 40, "samples", kept)
        check(metrics["stackd_samples_total", 'reason="entry",quality="complete"'] ==
              stats["end_reasons"]["entry"], "complete ones", metrics)
        lost = sum(n for (name, _), n in metrics.items() if name == "stackd_lost_total")
        check(lost == stats["lost"], "lost", lost)
        check(metrics["stackd_rate_hertz", None] == 3989, "rate", metrics)
        check(0 < metrics["stackd_cpu_seconds_total", None] < 5, "CPU", metrics)
        check(1 << 20 < metrics["stackd_resident_memory_bytes", None] < 1 << 28, "memory", metrics)
        check(metrics["stackd_store_bytes", None] == stats["store_bytes"], "store", metrics)
        check(metrics["stackd_recording_finished", None] == 1, "finished", metrics)
        forgotten = {labels for name, labels in metrics if name == "stackd_forgotten_total"}
        check(forgotten == {'kind="%s"' % kind for kind in FORGOTTEN}, "forgotten", forgotten)
        both = run(STACKCTL, "stats", "--prometheus", "--json", "-i", folder + "/s.db")
        check(both.status == USAGE, "with --json: status %d" % both.status)
        if shutil.which("promtool"):
            result = run("sh", "-c", "promtool check metrics < '%s'" % path)
            check(result.status == DONE and not result.out + result.err, "promtool", result.err)


MOST_ANSWERS = 100


@live
def test_watchdog():
    """The loop answers the service manager's watchdog in half the time."""
    with scratch() as folder, workload("chain", share=0.1) as process:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(folder + "/notify")
            listener.settimeout(PATIENCE)
            start = time.monotonic()
            with Daemon(folder + "/s.db", "--pid", process.pid,
                        env={"NOTIFY_SOCKET": folder + "/notify", "WATCHDOG_USEC": "1000000"}) as daemon:
                answers, gaps = [], []
                # How late an answer is that is due each half second, the machine decides.
                while len(answers) < 5 or (min(gaps) >= 1 and len(answers) < MOST_ANSWERS):
                    if "WATCHDOG=1" in listener.recv(4096).decode():
                        answers.append(time.monotonic())
                        gaps = [after - before for before, after in zip(answers, answers[1:])]
                daemon.finish(SIGTERM)
        check(min(gaps) < 1, "answers are not in time", gaps)
        # Several that are read at once were not sent at once.
        check(answers[-1] - start >= 0.4 * len(gaps), "answers without a need", gaps)


@live
def test_journal():
    """The journal gets an entry for a full ring, with the id of docs/SERVICE.md."""
    if os.path.exists(JOURNAL):
        raise Skip("a journal is running")
    with open(ROOT + "/docs/SERVICE.md", encoding="utf-8") as file:
        rows = re.findall(r"^\| `([0-9a-f]{32})` \| (.*) \|$", file.read(), re.MULTILINE)
    ids = [number for number, says in rows if "the ring" in says]
    check(len(dict(rows)) == len(rows) and len(ids) == 1, "ids", rows)
    os.makedirs(os.path.dirname(JOURNAL), exist_ok=True)
    with scratch() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(JOURNAL)
        journal.settimeout(PATIENCE)
        try:
            with workload("chain", share=None) as process, \
                    Daemon(folder + "/s.db", "-F", 20000, "--ring-bytes", "4096", "--pid", process.pid,
                           env={"JOURNAL_STREAM": "8:1"}) as daemon:
                entry = journal.recv(65536).decode()
                while "MESSAGE_ID=%s" % ids[0] not in entry:
                    entry = journal.recv(65536).decode()
                daemon.finish(SIGTERM)
        finally:
            os.unlink(JOURNAL)
        check(re.search(r"MESSAGE=\d+ samples? lost: the ring was full", entry), "the message", entry)
        check("PRIORITY=4" in entry, "its priority", entry)


def rate_of(store):
    """As of the last commit."""
    return Recording(store).stats()["counters"]["rate_hz"]


def group_clocks(group):
    """Counters of the time that a cgroup is on each CPU. The kernel starts and stops them where it
    starts and stops the events of samples. The CPU time that it accounts to a process has other
    edges: where a thread is woken and preempts the process, the time from the one to the other is
    not the process's, which with 30,000 of those in 10 s is 1 to 2 %."""
    folder = os.open(group, os.O_RDONLY)
    try:
        return [cpu_clock(folder, cpu, PERF_FLAG_PID_CGROUP) for cpu in range(os.cpu_count())]
    finally:
        os.close(folder)


def group_moment(clocks):
    """The time, and the CPU time that a cgroup has had, both exact."""
    return time.monotonic(), sum(struct.unpack("Q", os.read(fd, 8))[0] for fd in clocks) / 1e9


def stolen():
    """Seconds in which the machine's processors had something to run and were not given to it."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def check_weights(store, first, last, steal):
    """The periods of samples add up to the CPU time of the group between two moments, but for five standard
    deviations, which chance exceeds in one of 1.7 million runs. Time that was stolen of it may be missing,
    and on each CPU the last period of each rate, whose end is not seen."""
    lines = run("sh", "-c", "'%s' export --perf-script -i '%s' | grep ^chain" % (STACKCTL, store)).out
    samples = [(float(words[3][:-1]), int(words[4]) / 1e9)
               for words in (line.split() for line in lines.splitlines())]
    periods = [period for at, period in samples if first[0] <= at < last[0]]
    changes = [before for before, after in zip(periods, periods[1:]) if before != after]
    sigma = math.sqrt(sum(period * period for period in periods))
    cpu, missing = last[1] - first[1], os.cpu_count() * (sum(changes) + periods[-1])
    print("weights %.3f s, CPU %.3f s, stolen %.3f s at most, sigma %.3f s, "
          "%.3f s may be missing, %d rates"
          % (sum(periods), cpu, steal, sigma, missing, len(set(periods))))
    check(len(set(periods)) > 1, "the rate hardly changed", set(periods))
    check(cpu - 5 * sigma - missing - steal < sum(periods) < cpu + 5 * sigma,
          "weights of %.3f s, %.3f s spent" % (sum(periods), cpu))


SHARE = 0.3  # of the time, in which the program of test_max_cpu() spins


@live(alone=True, long=True)
def test_max_cpu():
    """The rate is lowered where the cost is above the budget, raised while the process stands still, and samples
    keep their weight. What is spent in the end, the machine has a part in: bench/soak.py measures it, and
    tests/unit/test_budget.c has the rule."""
    with scratch() as folder, slices() as make, workload("chain", 120) as process:
        store, group = folder + "/s.db", make("/budget.service")
        move(process.pid, group)
        with Daemon(store, "-F", 50000, "--max-cpu", "1%", "--cgroup", group) as daemon:
            daemon.wait_samples(0)
            with sparing(process, SHARE):
                # At the full rate timers are late by whole periods, which nobody counts.
                while rate_of(store) == 50000:
                    time.sleep(0.1)
                clocks = group_clocks(group)
                before, first = stolen(), group_moment(clocks)
                time.sleep(10)
            process.send_signal(SIGSTOP)
            lowered = rate_of(store)
            while rate_of(store) <= lowered:
                time.sleep(0.1)
            with sparing(process, SHARE):
                time.sleep(5)
                last = group_moment(clocks)
            steal = stolen() - before + os.cpu_count() / os.sysconf("SC_CLK_TCK")
            result = daemon.finish(SIGTERM)
        check(result.status == DONE, "status %d" % result.status, result.err)
        check(re.search(r"rate lowered from 50000 Hz to \d+ Hz, to keep within 1% of one core",
                        result.err), "not told", result.err)
        stats = Recording(store).stats()
        check(not stats["lost"], "lost samples", stats)
        check_weights(store, first, last, steal)
