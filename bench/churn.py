#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records a whole machine on which processes start and end: churn.py [SECONDS [PER_MINUTE]]

As many processes (/bin/true) as asked for are started each minute, 75,000 unless said otherwise,
from each CPU an equal part. Recorded twice: at 997 Hz, where no sample may be lost, and with the
unit's options (99 Hz, --max-cpu 1%), to see what stackd costs then: most of it does not depend on
the rate, since each process is an exec, eight mappings and an end.

The exit status is 1 if a sample or an event was lost, or if the machine could not start as many.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STACKD, STACKCTL = ROOT + "/build/stackd", ROOT + "/build/stackctl"
STARTER = """
import os, sys, time
cpu, distance = int(sys.argv[1]), float(sys.argv[2])
os.sched_setaffinity(0, {cpu})
due, n, null = time.monotonic(), 0, os.open("/dev/null", os.O_RDWR)
end = due + float(sys.argv[3])
while due < end:
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    n, due = n + 1, due + distance
    time.sleep(max(0, due - time.monotonic()))
print(n, time.monotonic())
"""


def churn(seconds, per_minute):
    """Starts processes; how many a minute it came to."""
    cpus, start = sorted(os.sched_getaffinity(0)), time.monotonic()
    distance = 60 * len(cpus) / per_minute
    starters = [subprocess.Popen([sys.executable, "-c", STARTER, str(cpu), str(distance), str(seconds)],
                                 stdout=subprocess.PIPE, text=True) for cpu in cpus]
    said = [starter.communicate()[0].split() for starter in starters]
    return sum(int(n) for n, _ in said) * 60 / (max(float(at) for _, at in said) - start)


def record(folder, seconds, per_minute, *options):
    store = "%s/%d.db" % (folder, len(os.listdir(folder)))
    with subprocess.Popen([STACKD, "-q", "-o", store, *options, "--all"]) as daemon:
        while not os.path.exists(store) or subprocess.run(
                [STACKCTL, "list", "-i", store], stdout=subprocess.DEVNULL, check=False).returncode:
            time.sleep(0.1)
        reached = churn(seconds, per_minute)
        daemon.terminate()
    stats = json.loads(subprocess.run([STACKCTL, "stats", "--json", "-i", store], check=True,
                                      capture_output=True, text=True).stdout)
    count, span = stats["counters"], stats["duration_ns"] / 1e9
    kernel = stats["kernel_ns_per_sample"] * count["started"]
    print("%-26s %7.0f processes/min %8d samples %5d lost %5d events lost  %5.2f %% of a core, "
          "%5.2f %% in the kernel half  %5.1f MiB  %d Hz at the end" %
          (" ".join(options), reached, stats["samples"], stats["lost"], count["sideband_lost"],
           count["own_cpu_ns"] / 1e7 / span, kernel / 1e7 / span,
           count["own_resident_bytes"] / 2**20, count["rate_hz"]), flush=True)
    return stats["lost"] or count["sideband_lost"] or reached < 0.98 * per_minute


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    per_minute = int(sys.argv[2]) if len(sys.argv) > 2 else 75000
    with tempfile.TemporaryDirectory() as folder:
        failed = [record(folder, seconds, per_minute, *options) for options in
                  (["-F", "997"], ["-F", "99", "--max-cpu", "1%"])]
    sys.exit(any(failed))


main()
