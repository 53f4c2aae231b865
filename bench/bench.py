#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stackd beside perf on six real programs: bench.py quick|full.

Each program runs without a profiler, under perf with frame pointers, with 8 KiB and with 65,528
bytes of copied stack, and under stackd, all in one go and at the same frequency, user mode only.

  complete   % of the stacks whose outermost frame is the thread's entry. All are scored by one
             program over the text of `perf script`, perf's own or stackctl's.
  bytes      size of the file per sample
  cpu        user and system time of target and profiler, relative to the target's alone
  export     seconds until the recording is folded stacks: `perf script` into an awk script, or
             `stackctl export --folded`

Full runs repeat and show medians."""

import argparse
import collections
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../tests/live")

import cost_model  # noqa: E402
import perf_script  # noqa: E402
import programs  # noqa: E402

FREQUENCY = 997
BUILD = os.path.abspath(os.environ.get("STACKD_BUILD", HERE + "/../build"))
Row = collections.namedtuple("Row", "samples complete bytes cpu export")


def run_timed(command, work, output):
    """Seconds of CPU of a command and all that it waited for; its output goes to a file."""
    with open(output, "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT, cwd=work)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        with open(output, encoding="utf-8", errors="replace") as log:
            raise RuntimeError("%s\nfailed with status %d:\n%s" % (
                " ".join(command), process.returncode, log.read()[-2000:]))
    return usage.ru_utime + usage.ru_stime


def score(path):
    """Samples and how many of them are complete, of a perf-script text. Samples without any user
    frame (perf's, of a thread that is gone) count: they are stacks that nobody sees."""
    total = complete = 0
    known = {}
    with open(path, encoding="utf-8", errors="replace") as text:
        for sample in perf_script.read(text):
            frames = tuple(f for f in sample.frames if not perf_script.is_kernel(f))
            root = frames[0] if frames else None
            if root not in known:
                known[root] = perf_script.is_complete(frames)
            total += 1
            complete += known[root]
    return total, complete


class Perf:
    def __init__(self, name, graph):
        self.name, self.graph = name, graph

    def record(self, work, command, output):
        return run_timed(["perf", "record", "-q", "--no-bpf-event", "--no-buildid", "-e",
                          "cpu-clock:u", "-F", str(FREQUENCY), "--call-graph", self.graph, "-o",
                          work + "/perf.data", "--"] + command, work, output)

    def read(self, work):
        """Size on disk, seconds to a folded export, samples, complete ones."""
        data, text = work + "/perf.data", work + "/perf.txt"
        start = time.monotonic()
        subprocess.run("set -o pipefail; perf script --no-inline --max-stack 4096 "
                       "-F comm,ip,sym -i %s 2>/dev/null | awk -f %s/fold.awk > %s/folded"
                       % (data, HERE, work), shell=True, check=True, executable="/bin/bash")
        export = time.monotonic() - start
        with open(text, "wb") as out:
            subprocess.run(["perf", "script", "--no-inline", "--max-stack", "4096", "-i", data,
                            "-F", "comm,tid,time,event,ip,sym,dso"],
                           stdout=out, stderr=subprocess.DEVNULL, check=True)
        return os.path.getsize(data), export, score(text)


class Stackd:
    name = "stackd"

    def record(self, work, command, output):
        remove_store(work)
        return run_timed([BUILD + "/stackd", "-q", "-e", "perf::CPU-CLOCK:u", "-F",
                          str(FREQUENCY), "-o", work + "/store.db", "--"] + command,
                         work, output)

    def read(self, work):
        store = work + "/store.db"
        size = sum(os.path.getsize(store + end) for end in ("", "-wal")
                   if os.path.exists(store + end))
        start = time.monotonic()
        with open(work + "/folded", "wb") as out:
            subprocess.run([BUILD + "/stackctl", "export", "--folded", "-i", store], stdout=out,
                           check=True)
        export = time.monotonic() - start
        with open(work + "/perf.txt", "wb") as out:
            subprocess.run([BUILD + "/stackctl", "export", "--perf-script", "--no-reconstructed", "-i",
                            store],
                           stdout=out, check=True)
        return size, export, score(work + "/perf.txt")


def remove_store(work):
    for name in os.listdir(work):
        if name.startswith("store.db"):
            os.unlink(work + "/" + name)


COLUMNS = [Perf("perf fp", "fp"), Perf("perf dwarf 8K", "dwarf,8192"),
           Perf("perf dwarf 64K", "dwarf,65528"), Stackd()]


def profile(column, program, command, work, output):
    """The cost of a run under a profiler, and what it recorded. perf 6.1 at times aborts while
    others' BPF programs come and go on the machine, even with the option not to record them, so
    each gets three tries."""
    for tries_left in (2, 1, 0):
        try:
            return programs.cost_of(program, column.record(work, command, output), output), column.read(work)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print("%s: %s" % (column.name, error), file=sys.stderr)
            if not tries_left:
                raise
    return None


def measure(program, size, repeats, work):
    """{column name: Row} of one program, medians over the repeats."""
    command, output = programs.command_of(program, size), work + "/output"
    if program.prepare:
        program.prepare(work, size)
    rows = collections.defaultdict(list)
    for _ in range(repeats):
        alone = programs.cost_of(program, run_timed(command, work, output), output)
        for column in COLUMNS:
            used, (size_on_disk, export, (samples, complete)) = profile(column, program, command,
                                                                        work, output)
            if not samples:
                sys.exit("%s recorded nothing of %s" % (column.name, program.name))
            rows[column.name].append(Row(samples, 100 * complete / samples,
                                         size_on_disk / samples, used / alone, export))
    return {name: Row(*map(statistics.median, zip(*all_rows))) for name, all_rows in rows.items()}


def print_rows(program, rows):
    for column in COLUMNS:
        row = rows[column.name]
        print("%-8s %-14s %8d %9.2f %9.1f %7.3f %8.2f" % (
            program.name, column.name, row.samples, row.complete, row.bytes, row.cpu, row.export))
    print(flush=True)


def promises(results):
    """stackd at least as complete as the best of perf, and at most 64 bytes a sample, where there
    are enough of them to pay for the names that are stored with them."""
    kept = True
    for name, rows in results.items():
        ours = rows["stackd"]
        best = max(row.complete for column, row in rows.items() if column != "stackd")
        for good, text in ((ours.complete >= best, "complete: %.2f %%, perf's best %.2f %%"
                            % (ours.complete, best)),
                           (ours.samples < 3000 or ours.bytes <= 64,
                            "%.1f bytes a sample, at most 64" % ours.bytes)):
            if not good:
                print("MISSED %s: %s" % (name, text))
                kept = False
    return kept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("quick", "full"))
    parser.add_argument("names", nargs="*", help="only these programs")
    options = parser.parse_args()
    size, repeats = (1, 1) if options.mode == "quick" else (5, 3)
    chosen = [p for p in programs.PROGRAMS if not options.names or p.name in options.names]
    results = {}
    print("%s, kernel %s, %d CPUs, %s, %d Hz user mode, %d time%s" % (
        re.sub(r".*: ", "", next(l for l in open("/proc/cpuinfo", encoding="ascii")
                                 if l.startswith("model name")).strip()), os.uname().release,
        os.cpu_count(), subprocess.check_output(["perf", "--version"], text=True).strip(),
        FREQUENCY, repeats, "s" * (repeats > 1)))
    cost_model.print_prices()
    print("%-8s %-14s %8s %9s %9s %7s %8s" % ("program", "profiler", "samples", "complete%",
                                              "bytes", "cpu", "export s"))
    for program in chosen:
        if not shutil.which(program.needs):
            sys.exit("%s is not installed: ./deps.sh bench" % program.needs)
        work = tempfile.mkdtemp(prefix="stackd-bench-")
        try:
            results[program.name] = measure(program, size, repeats, work)
        finally:
            shutil.rmtree(work)
        print_rows(program, results[program.name])
    return 0 if promises(results) else 1


if __name__ == "__main__":
    sys.exit(main())
