#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a merge of a large MPI job takes a process, simulated by SimGrid: bench/job_scale.py
[--shared N] [--own N] [RANKS...]

Builds bench/job_scale.c with smpicc and runs it with so many ranks (default: powers of four up to
4,096). Prints a table as docs/FLEETS.md has it: messages, bytes and memory. It says nothing about
time. All ranks are in one process on one processor: 65,536 took 15 GB, and 25 minutes of CPU time
(41 beside other work). A run that needs more memory than there is ends.

The memory shown is what a process's own code allocates: its set, and the most while it
writes. The last column has the whole simulation's over its ranks, with the simulator's own for each
(its stack, requests, the simulated host)."""

import argparse
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(ROOT, "build", "bench", "job_scale")
WRAPPED = "malloc", "calloc", "realloc", "reallocarray", "free", "MPI_Sendrecv"
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="job" prefix="node" suffix="" radical="0-%d" speed="1Gf" bw="125MBps" lat="50us"/>
</platform>
"""
# What messages and their bytes do not depend on, but the simulation's own time and memory does.
SETTINGS = {
    "contexts/guard-size": 0,    # each guard is a mapping, and a process may have 65,530 of them
    "contexts/stack-size": 48,   # KiB
    "contexts/factory": "raw",
    "smpi/simulate-computation": "no",
    "smpi/send-is-detached-thresh": 0,  # else SimGrid 3.32 keeps such sends, and searches them all
    "network/model": "CM02",
    "network/crosstraffic": 0,
}


def build():
    """smpicc makes a shared library, so what it links is compiled anew."""
    sources = [path for path in glob.glob(os.path.join(ROOT, "lib/record/tagset/*.c"))
               if not re.search("reader|diff", path)]
    sources += [os.path.join(ROOT, path) for path in (
        "bench/job_scale.c", "mpi/comm.c", "lib/base/buf.c", "lib/base/text.c",
        "lib/base/strings.c", "lib/base/int_map.c", "lib/record/stack/location.c")]
    os.makedirs(os.path.dirname(PROGRAM), exist_ok=True)
    subprocess.run(["smpicc", "-std=gnu17", "-D_GNU_SOURCE", "-DSMPI_NO_OVERRIDE_MALLOC", "-Wall",
                    "-Wextra", "-O2", "-fPIC", "-ffunction-sections", "-Wl,--gc-sections",
                    "-Wl," + ",".join("--wrap=" + name for name in WRAPPED), "-I.", "-Ilib", "-Ilib/code", "-Ilib/record", "-Ilib/show",
                    "-Ibpf", "-o", PROGRAM, *sources, "-lpthread"], check=True, cwd=ROOT)


def limit_memory():
    """A simulation that needs more memory than is available ends, and not something else."""
    with open("/proc/meminfo", encoding="ascii") as file:
        available = int(re.search(r"MemAvailable: *(\d+) kB", file.read()).group(1)) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (available, available))


def simulate(ranks, shared, own):
    """The program's figures, with the kilobytes of memory at the most."""
    with tempfile.TemporaryDirectory() as folder:
        platform, hosts = os.path.join(folder, "platform.xml"), os.path.join(folder, "hosts")
        with open(platform, "w", encoding="ascii") as file:
            file.write(PLATFORM % (ranks - 1))
        with open(hosts, "w", encoding="ascii") as file:
            file.writelines("node%d\n" % i for i in range(ranks))
        # A host for each rank, so that no link is shared by many: sharing is what takes time.
        done = subprocess.run(
            ["/usr/bin/time", "-f", "memory %M", "smpirun", "-no-privatize", "-np", str(ranks),
             "-platform", platform, "-hostfile", hosts, "--log=root.thres:error",
             *("--cfg=%s:%s" % setting for setting in SETTINGS.items()),
             PROGRAM, str(shared), str(own)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
            env=dict(os.environ, GLIBC_TUNABLES="glibc.malloc.hugetlb=1"), preexec_fn=limit_memory)
    if done.returncode != 0:
        sys.exit("smpirun: " + done.stderr)
    figures = json.loads(done.stdout.splitlines()[-1])
    figures["memory"] = int(re.search(r"memory (\d+)", done.stderr).group(1))
    return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared", type=int, default=200)
    parser.add_argument("--own", type=int, default=2)
    parser.add_argument("ranks", nargs="*", type=int, default=[16, 64, 256, 1024, 4096])
    options = parser.parse_args()
    if not shutil.which("smpicc"):
        sys.exit("smpicc is not there: ./deps.sh bench")
    build()
    print("| ranks | largest message | bytes sent, mean | most | messages, most | "
          "text of the file, most | file | set, most | memory, mean | most | simulation, a rank |")
    print("|---" * 11 + "|")
    for ranks in options.ranks:
        f = simulate(ranks, options.shared, options.own)
        print("| %s | %d KB |" % (" | ".join("{:,}".format(n) for n in (
            ranks, f["largest_message"], f["mean_bytes"], f["most_bytes"], f["most_messages"],
            f["most_text"], f["file"], f["most_set"], f["mean_memory"], f["most_memory"])),
            f["memory"] // ranks), flush=True)


if __name__ == "__main__":
    main()
