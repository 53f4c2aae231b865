# SPDX-License-Identifier: MIT
"""The time of a walk: what cost.py counts, at the prices of this machine (prices.c).

Nothing in it is fitted to a walk. It says what a walk costs that finds nothing in the core's own
caches, as after a program that fills them; docs/COST.md says how far times are from that."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import programs

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("STACKD_BUILD", HERE + "/../build"))
RUNS, SIZE = 3, 2


def prices():
    """The text that prices prints, and {name: ns} of it."""
    text = subprocess.check_output([BUILD + "/bench/prices"], text=True)
    return text, {name: float(ns) for ns, name in re.findall(r"(?m)^ *([-\d.]+)  (\S.*)$", text)}


def print_prices():
    """To be seen beside times."""
    print("Prices of this machine, in ns, and its mitigations:\n%s" % prices()[0], flush=True)


def parts_of(row, price):
    """{part: ns} of a sample. A copy takes the lines of the user and as many of the window, in
    order. What lies in maps is found one by the other, and so are its pages; the addresses of all
    else are known early, so that it is fetched at once."""
    copied = row["lines_user"]
    others = sum(row["lines_" + kind] for kind in ("scratch", "stack", "ring", "kernel")) - copied
    return {
        "instructions": row["instructions"] * price["instruction"],
        "calls": row["subprograms"] * price["subprogram"] + row["bodies"] * price["body"] +
                 row["helpers"] * price["helper"],
        "copies": row["copies"] * price["copy"] + row["user_bytes"] / 1024 * price["KiB"] +
                  2 * copied * price["line"],
        "code": row["lines_code"] * price["line of code"],
        "own": others * price["scattered line"],
        "maps": row["lines_maps"] * price["line by line"] + row["pages_maps"] * price["page"],
    }


def measured(program, work):
    """Nanoseconds of the program for each sample, in a recording."""
    store = work + "/store.db"
    subprocess.run([BUILD + "/stackd", "-q", "-e", "perf::CPU-CLOCK:u", "-F", "997", "-o", store,
                    "--", *programs.command_of(program, SIZE)], cwd=work, check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stats = json.loads(subprocess.check_output([BUILD + "/stackctl", "stats", "--json", "-i",
                                                store], text=True))
    for name in os.listdir(work):
        if name.startswith("store.db"):
            os.unlink("%s/%s" % (work, name))
    return stats["kernel_ns_per_sample"]


def compare(counts):
    """A line for each program that is here. Of the measured times the least counts, since whatever
    else the machine does makes a walk slower."""
    if os.geteuid():
        sys.exit("cost.py: `model` needs root, for BPF")
    subprocess.run(["make", "-s", "-C", HERE + "/..", "B=" + BUILD, "all", "walk-bench"],
                   check=True)
    text, price = prices()
    print(text)
    names = list(parts_of(next(iter(counts.values())), price))
    print("%-8s" % "ns" + "".join("%13s" % name for name in [*names, "model", "measured"]) +
          "   ratio")
    for program in programs.PROGRAMS + programs.MORE:
        if program.name not in counts or not shutil.which(program.needs):
            continue
        parts = parts_of(counts[program.name], price)
        with tempfile.TemporaryDirectory(prefix="stackd-cost-") as work:
            if program.prepare:
                program.prepare(work, SIZE)
            ns = min(measured(program, work) for _ in range(RUNS))
        model = sum(parts.values())
        print("%-8s" % program.name + "".join("%13.0f" % part for part in parts.values()) +
              "%13.0f%13.0f   %5.2f" % (model, ns, model / ns), flush=True)
