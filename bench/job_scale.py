#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a merge of a large MPI job takes a process, simulated by SimGrid: bench/job_scale.py
[--shared N] [--own N] [RANKS...]

Builds bench/job_scale.c with smpicc and runs it with so many ranks (default: powers of four up to
1,024). Prints a table as docs/FLEETS.md has it: messages, bytes and memory. It says nothing about
time. Memory is that of the simulation over its ranks, so it includes the simulator's own for each
(its stack, requests, the simulated host)."""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(ROOT, "build", "bench", "job_scale")
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="job" prefix="node" suffix="" radical="0-%d" speed="1Gf" bw="125MBps" lat="50us"/>
</platform>
"""


def build():
    """smpicc makes a shared library, so what it links is compiled anew."""
    sources = [path for path in glob.glob(os.path.join(ROOT, "lib", "tagset", "*.c"))
               if not re.search("reader|diff", path)]
    sources += [os.path.join(ROOT, path) for path in (
        "bench/job_scale.c", "mpi/comm.c", "lib/base/buf.c", "lib/base/text.c",
        "lib/base/strings.c", "lib/base/int_map.c", "lib/stack/location.c")]
    os.makedirs(os.path.dirname(PROGRAM), exist_ok=True)
    subprocess.run(["smpicc", "-std=gnu17", "-D_GNU_SOURCE", "-DSMPI_NO_OVERRIDE_MALLOC", "-Wall",
                    "-Wextra", "-O2", "-fPIC", "-ffunction-sections", "-Wl,--gc-sections", "-I.",
                    "-Ilib", "-Ibpf", "-o", PROGRAM, *sources, "-lpthread"], check=True, cwd=ROOT)


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
             "--cfg=contexts/guard-size:0", "--cfg=smpi/simulate-computation:no",
             PROGRAM, str(shared), str(own)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit("smpirun: " + done.stderr)
    figures = json.loads(done.stdout.splitlines()[-1])
    figures["memory"] = int(re.search(r"memory (\d+)", done.stderr).group(1))
    return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared", type=int, default=200)
    parser.add_argument("--own", type=int, default=2)
    parser.add_argument("ranks", nargs="*", type=int, default=[16, 64, 256, 1024])
    options = parser.parse_args()
    if not shutil.which("smpicc"):
        sys.exit("smpicc is not there: ./deps.sh bench")
    build()
    print("| ranks | largest message | bytes sent: mean, most | messages sent: most | "
          "text of the file: most | file | simulator's memory a rank |")
    print("|---|---|---|---|---|---|---|")
    for ranks in options.ranks:
        f = simulate(ranks, options.shared, options.own)
        print("| %s | %s | %s, %s | %s | %s | %s | %d KB |" % (*(
            "{:,}".format(n) for n in (ranks, f["largest_message"], f["mean_bytes"], f["most_bytes"],
                                       f["most_messages"], f["most_text"], f["file"])),
            f["memory"] // ranks), flush=True)


if __name__ == "__main__":
    main()
