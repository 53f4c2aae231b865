#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a host sends to a fleet's ClickHouse: bench/fleet_network.py [SECONDS [STORE...]]

Records the whole machine at 99 Hz while all its CPUs do varied work (fleet_load.py), SECONDS long, twice:
as a whole, and in windows of a minute. One `stackctl push` sends each store to a server, through a relay
that counts the bytes of the requests and of the answers: those of the first window, which has all its
paths and locations with it, and of those that follow. With STOREs, these are pushed, and nothing is
recorded."""

import os
import subprocess
import sys

import fleet_load
from fleet_server import FOLDER, STACKCTL, STACKD, ask, clickhouse, start

LOAD = os.path.join(FOLDER, "load")


def record(seconds):
    """Two stores: with a recording in windows of a minute, and two long ones at the same time."""
    os.makedirs(LOAD, exist_ok=True)
    fleet_load.prepare(LOAD)
    stores = [os.path.join(FOLDER, name) for name in ("minutes.db", "long.db")]
    for store in filter(os.path.exists, stores):
        os.remove(store)
    for number in range(2):
        daemons = [subprocess.Popen([STACKD, "-q", "-F", "99", "--all", "--duration", str(seconds), "-o", store, *more])
                   for store, more in zip(stores, (["--window", "1m"], []))]
        fleet_load.work(LOAD, seconds - 1, number)
        for daemon in daemons:
            daemon.wait()
    return stores


def traffic(log):
    """Bytes of the requests, and of the answers, up to the one by which each window counts."""
    windows, sent, answered = [], 0, 0
    for line, request, answer in log:
        sent, answered = sent + request, answered + answer
        if "INSERT%20INTO%20windows" in line:
            windows.append((sent, answered))
            sent = answered = 0
    return windows


def push(server, store):
    """Prints a line for each window."""
    relay = clickhouse.Relay(server.port)
    server.make("network")
    done = subprocess.run([STACKCTL, "push", server.url("network", relay.port), "-i", store],
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    print(done.stderr, end="")
    windows = ask(server, "network", "SELECT samples, (end_ns - start_ns) / 1e9, push FROM windows ORDER BY start_ns")
    for number, (window, (sent, answered)) in enumerate(zip(windows, traffic(relay.log))):
        samples, seconds = int(window[0]), float(window[1])
        rows = int(ask(server, "network", "SELECT count() FROM samples WHERE push = " + window[2])[0][0])
        if samples and seconds:
            print("| %s | %d | %.0f s | %s | %.0f | %.1f |" % (
                os.path.basename(store), number + 1, seconds, " | ".join("{:,}".format(n) for n in (
                    samples, rows, sent, answered)), (sent + answered) / seconds, (sent + answered) / samples), flush=True)


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 620
    stores = sys.argv[2:] or record(seconds)
    server = start()
    try:
        print("| store | window | time | samples | rows | sent | answered | bytes a second | a sample |\n|" + "---|" * 9)
        for store in stores:
            push(server, store)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
