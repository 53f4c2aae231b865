#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shows what a service takes beside a user who harms it: attacks.py [SECONDS [KIND[:N]...]]

Each kind of tests/live/adversary.c runs for so long (20 s) beside a stackd with the unit's options and a program of
another user. Prints the CPU time of stackd and its workers in the second half, in percent of a core; what was counted;
and how many of the other program's samples have a whole path. It needs a machine that has little else to do: all that
others start is work for stackd as well."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import harm
import soak

KINDS = ["none", *harm.KINDS]
COUNTERS = ["files_over_share", "mappings_over_share", "names_over_share", "short_lived", "sideband_lost", "lost_ring", "objects", "rate_hz"]


def whole_of(store, pid):
    text = subprocess.run([soak.STACKCTL, "export", "--folded", "-i", store, "--pid", str(pid)], capture_output=True,
                          text=True, check=False).stdout
    counts = [(line.rsplit(" ", 1)[0], int(line.rsplit(" ", 1)[1])) for line in text.splitlines()]
    return (sum(n for stack, n in counts if "main" in stack and "_start" in stack), sum(n for _, n in counts))


def attack(kind, seconds, folder):
    store = folder + "/s.db"
    own = folder + "/own"
    os.makedirs(own, exist_ok=True)
    for path in (folder, own):
        os.chmod(path, 0o777)
    stackd = soak.start([soak.STACKD, *soak.SERVICE, "-o", store], stderr=subprocess.DEVNULL)
    other = harm = None
    try:
        time.sleep(5)
        other = soak.start([soak.CHAIN, "1000"], stdout=subprocess.DEVNULL)
        harm = soak.adversary(folder, kind, own) if kind != "none" else None
        time.sleep(seconds / 2)
        before, begin = soak.cpu(stackd.pid), time.monotonic()
        time.sleep(seconds / 2)
        share = (soak.cpu(stackd.pid) - before) / (time.monotonic() - begin)
    finally:
        for process in filter(None, (harm, other)):
            process.kill()
            process.wait()
        stackd.send_signal(signal.SIGTERM)
        status = stackd.wait()
    done = subprocess.run([soak.STACKCTL, "stats", "--json", "-i", store], capture_output=True, text=True, check=False)
    counters = json.loads(done.stdout)["counters"] if done.returncode == 0 else {}
    print("%-12s %5.2f %%, status %d, whole %d of %d, %s"
          % (kind, share * 100, status, *whole_of(store, other.pid),
             {name: counters.get(name) for name in COUNTERS}), flush=True)


def main(arguments):
    seconds = float(arguments[0]) if arguments else 20
    for kind in arguments[1:] or KINDS:
        folder = tempfile.mkdtemp(prefix="stackd-attacks-")
        try:
            attack(kind, seconds, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
