#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a start of stackd costs: start.py [RUNS]

Nearly all of it is the time of the kernel's verifier, which follows each program that is loaded. How many
instructions it has followed does not depend on the machine's load or speed, only on its kernel and on the
compiler of the programs: these counts are those to compare. Beside them are the least wall and CPU time of
some runs of `stackd -- true`, which do depend on the machine."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("BUILD") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build")
CHAIN = os.path.join(BUILD, "workloads", "chain")
OPTIONS = {
    "samples": [],
    "waits": ["--wait"],
    "allocations": ["--alloc"],
    "a region": ["--region", "main@" + CHAIN],
}


def programs(pid):
    """The programs that a process has: [(instructions that the verifier has followed, name)]."""
    found = []
    for number in os.listdir("/proc/%d/fdinfo" % pid):
        try:
            with open("/proc/%d/fdinfo/%s" % (pid, number), encoding="ascii") as file:
                facts = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        except FileNotFoundError:
            continue  # it was closed meanwhile
        if "verified_insns" in facts:
            shown = subprocess.check_output(["bpftool", "-j", "prog", "show", "id", facts["prog_id"]])
            found.append((int(facts["verified_insns"]), json.loads(shown)["name"]))
    return sorted(found, reverse=True)


def followed(folder, options):
    """The programs that a stackd with these options loads."""
    with subprocess.Popen([BUILD + "/stackd", *options, "-o", folder + "/s.db", "--", CHAIN, "60"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as daemon:
        daemon.stdout.read(1)  # the workload says that it is ready
        found = programs(daemon.pid)
        daemon.terminate()
        daemon.stdout.read()
    return found


def times(folder, options):
    """Wall and CPU time of a run that records nothing."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([BUILD + "/stackd", *options, "-o", folder + "/t.db", "--", "true"], check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("%-12s %9s %7s %7s  programs" % ("", "followed", "wall s", "CPU s"))
    with tempfile.TemporaryDirectory() as folder:
        for name, options in OPTIONS.items():
            found = followed(folder, options)
            wall, cpu = map(min, zip(*(times(folder, options) for _ in range(runs))))
            print("%-12s %9d %7.2f %7.2f  %s" % (name, sum(count for count, _ in found), wall, cpu, ", ".join(
                "%s %d" % (program, count) for count, program in found if count > 1000)))


if __name__ == "__main__":
    main()
