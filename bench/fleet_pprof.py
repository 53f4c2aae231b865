#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The windows of fleet_scale.py as pprof files, one for each host and hour, as a store of blobs has
them: bench/fleet_pprof.py [SECONDS [TIMES]]

Cuts the recordings of the services into pieces of so long (1 s has about as many paths as a window of
the fleet), and prints how large `stackctl export --pprof` makes them, and how long `go tool pprof -top`
takes that reads some of them and adds them up: the median of so many times. Run fleet_scale.py first,
which records."""

import glob
import os
import subprocess
import sys
import time

from fleet_scale import SERVICES, store_of
from fleet_server import FOLDER, STACKCTL

BLOBS = os.path.join(FOLDER, "blobs")
MOST = 60  # pieces of a recording


def pprof(*arguments):
    return subprocess.run(["go", "tool", "pprof", "-symbolize=none", *arguments], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env=dict(os.environ, PPROF_TMPDIR=FOLDER)).stdout


def cut(seconds):
    """Files of all services in turn."""
    os.makedirs(BLOBS, exist_ok=True)
    for old in glob.glob(BLOBS + "/*"):
        os.remove(old)
    paths = []
    for number in range(MOST):
        for service in SERVICES:
            path = os.path.join(BLOBS, "%s-%d.pb.gz" % (service, number))
            done = subprocess.run([STACKCTL, "export", "--pprof", "-i", store_of(service), "-o", path, "--from",
                                   "%gs" % (number * seconds), "--to", "%gs" % ((number + 1) * seconds)],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            if done.returncode == 0:
                paths.append(path)
    return paths


def samples(path):
    """How many paths with their labels a file has, and how many paths."""
    lines = pprof("-raw", path).split("Samples:\n")[1].split("Locations\n")[0].split("\n")
    ids = [line.split(": ")[1].strip() for line in lines if ": " in line and line.split(":")[0].strip()[:1].isdigit()]
    return len(ids), len(set(ids))


def merged(paths, times):
    took = []
    for _ in range(times):
        begin = time.monotonic()
        pprof("-top", "-nodecount=20", *paths)
        took.append(time.monotonic() - begin)
    return sorted(took)[times // 2]


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    paths = cut(seconds)
    sizes = [os.path.getsize(path) for path in paths]
    counts = [samples(path) for path in paths]
    n, rows, distinct = len(paths), sum(a for a, _ in counts), sum(b for _, b in counts)
    print("%d files: %.0f bytes, %.0f samples of %.0f paths each: %.1f bytes a sample, %.1f a path" % (
        n, sum(sizes) / n, rows / n, distinct / n, sum(sizes) / rows, sum(sizes) / distinct))
    for count in (n // 4, n // 2, n):
        print("go tool pprof -top of %d files: %.2f s (load %.1f)" % (
            count, merged(paths[:count], times), os.getloadavg()[0]), flush=True)


if __name__ == "__main__":
    main()
