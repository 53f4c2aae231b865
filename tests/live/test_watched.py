# SPDX-License-Identifier: MIT
"""What an administrator watches a service by: metrics, the watchdog, events in the journal."""

import json
import math
import os
import re
import shutil
import socket
import time

from harness import (DONE, ROOT, SIGTERM, STACKCTL, USAGE, WORKLOADS, Daemon, Recording, Skip,
                     check, cpu_seconds, live, record, run, scratch, workload)

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


@live
def test_prometheus():
    """stats --prometheus is what the textfile collector reads, and has the recording's figures."""
    with scratch() as folder:
        record(folder + "/s.db", "-F", 997, "--", WORKLOADS + "/chain", 1)
        path = folder + "/stackd.prom"
        result = run(STACKCTL, "stats", "--prometheus", "-i", folder + "/s.db", "-o", path)
        check(result.status == DONE, "status %d" % result.status, result.err)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        metrics, stats = parse(text), Recording(folder + "/s.db").stats()
        kept = sum(n for (name, _), n in metrics.items() if name == "stackd_samples_total")
        check(kept == stats["samples"] > 500, "samples", kept)
        check(metrics["stackd_samples_total", 'reason="entry",quality="complete"'] ==
              stats["end_reasons"]["entry"], "complete ones", metrics)
        lost = sum(n for (name, _), n in metrics.items() if name == "stackd_lost_total")
        check(lost == stats["lost"], "lost", lost)
        check(metrics["stackd_rate_hertz", None] == 997, "rate", metrics)
        check(0 < metrics["stackd_cpu_seconds_total", None] < 5, "CPU", metrics)
        check(1 << 20 < metrics["stackd_resident_memory_bytes", None] < 1 << 28, "memory", metrics)
        check(metrics["stackd_store_bytes", None] == stats["store_bytes"], "store", metrics)
        check(metrics["stackd_recording_finished", None] == 1, "finished", metrics)
        both = run(STACKCTL, "stats", "--prometheus", "--json", "-i", folder + "/s.db")
        check(both.status == USAGE, "with --json: status %d" % both.status)
        if shutil.which("promtool"):
            result = run("sh", "-c", "promtool check metrics < '%s'" % path)
            check(result.status == DONE and not result.out + result.err, "promtool", result.err)


@live
def test_watchdog():
    """The loop answers the service manager's watchdog in half the time."""
    with scratch() as folder, workload("chain") as process:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(folder + "/notify")
            listener.settimeout(10)
            with Daemon(folder + "/s.db", "--pid", process.pid,
                        env={"NOTIFY_SOCKET": folder + "/notify", "WATCHDOG_USEC": "1000000"}) as daemon:
                answers, end = [], time.monotonic() + 4
                while time.monotonic() < end:
                    if "WATCHDOG=1" in listener.recv(4096).decode():
                        answers.append(time.monotonic())
                daemon.finish(SIGTERM)
        gaps = [after - before for before, after in zip(answers, answers[1:])]
        check(len(answers) >= 5 and max(gaps) < 1, "%d answers" % len(answers), gaps)


@live
def test_journal():
    """A full ring is told to the journal with the id that stands in README."""
    if os.path.exists(JOURNAL):
        raise Skip("a journal is running")
    with open(ROOT + "/README.md", encoding="utf-8") as file:
        ids = re.findall(r"^\| `([0-9a-f]{32})` \| ", file.read(), re.MULTILINE)
    check(len(set(ids)) == 5, "ids", ids)
    os.makedirs(os.path.dirname(JOURNAL), exist_ok=True)
    with scratch() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(JOURNAL)
        journal.settimeout(20)
        try:
            with workload("chain") as process, \
                    Daemon(folder + "/s.db", "-F", 20000, "--ring-bytes", "4096", "--pid", process.pid,
                           env={"JOURNAL_STREAM": "8:1"}) as daemon:
                entry = journal.recv(65536).decode()
                daemon.finish(SIGTERM)
        finally:
            os.unlink(JOURNAL)
        check("MESSAGE_ID=%s" % ids[4] in entry, "the id", entry)
        check(re.search(r"MESSAGE=\d+ samples lost: the ring was full", entry), "the message", entry)
        check("PRIORITY=4" in entry, "its priority", entry)


def own_share(store, first, last):
    """What stackd and its program have spent of a core, in windows."""
    windows = json.loads(run(STACKCTL, "list", "--json", "-i", store).out)["recordings"]
    span = sum(w["duration_ns"] for w in windows if first <= w["recording"] <= last)
    stats = Recording(store, "%d..%d" % (first, last)).stats()
    spent = stats["counters"]["own_cpu_ns"] + stats["kernel_ns_per_sample"] * stats["counters"]["started"]
    return spent / span


@live(alone=True)
def test_max_cpu():
    """The rate is lowered until the cost is within the budget, and samples keep their weight."""
    with scratch() as folder, workload("chain") as process:
        store = folder + "/s.db"
        with Daemon(store, "-F", 4000, "--max-cpu", "2%", "--all", "--window", "5s") as daemon:
            before = cpu_seconds(process.pid)
            daemon.wait_recording()
            time.sleep(30)
            spent = cpu_seconds(process.pid) - before
            result = daemon.finish(SIGTERM)
        check(result.status == DONE, "status %d" % result.status, result.err)
        check(re.search(r"rate lowered from 4000 Hz to \d+ Hz, to keep within 2% of one core",
                        result.err), "not told", result.err)
        last = Recording(store).stats()
        check(0 < last["counters"]["rate_hz"] < 4000, "the rate", last["counters"])
        script = run(STACKCTL, "export", "--perf-script", "-i", store, "--since", "10m", "--pid",
                     process.pid).out
        periods = [int(n) / 1e9 for n in re.findall(r"^chain .*: +(\d+) cpu-clock", script, re.MULTILINE)]
        sigma = math.sqrt(sum(period * period for period in periods))
        lost = Recording(store, "1..%d" % last["recording"]).stats()["lost"] / 4000
        check(len(set(periods)) > 1 and abs(sum(periods) - spent) < 4 * sigma + lost + 1,
              "weights of %.2f s, %.2f s spent" % (sum(periods), spent), set(periods), sigma, lost)
        number = last["recording"]
        share = own_share(store, number - 3, number - 1)
        check(share < 0.022 or last["counters"]["rate_hz"] == 1,
              "%.2f%% of a core was spent" % (100 * share))
