#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures the cost of the walk in the kernel, and judges its paths: walk.py quick|full [PART...].

  against   kernel time a sample, net of an empty program's, of stackd's walk and of the kernel's
            own along frame pointers (bpf_get_stack), in turns on the same running process: with
            a steady stack of 100 frames; with stacks that change, those of a small program and
            those of the programs of bench.py, recorded and replayed (replay.c); quick: g++'s
  prefix    the verified prefix, by mode and frequency: share of right stacks,
            as judged by the daemon's own walk of each stack, and kernel time a sample
  bytes     in the ring and in the store, and complete stacks, on the programs of bench.py
  store     size of the file per sample after about a million samples: of lmp, and of g++ and
            clang++ compiling this project's sources, optimised in two ways
  cpu       of target and profiler at 9,973 Hz, over that of `perf record` without call graphs
  recipes   seconds for the recipes of libLLVM
  memory    kernel memory of the maps, and resident memory of stackd, at its peak and at the end: of
            the whole machine while compilers run and a program has loaded all the libraries that
            there are (libraries.py); and of that program alone, all of whose tables are prepared

In front of all stands what things cost on this machine (prices.c), without which no two machines'
times can be told apart. A target that is missed is marked with "MISSED"; the exit status is then 1. Measured on a machine
that is doing something else, times say little."""

import argparse
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import zlib

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import cost_model  # noqa: E402
import programs  # noqa: E402

BUILD = os.path.abspath(os.environ.get("STACKD_BUILD", HERE + "/../build"))
EVENT = ["-e", "perf::CPU-CLOCK:u"]
MODES = ("first", "second", "verified", "none")
missed = []


def check(good, text):
    print(text + ("" if good else "   MISSED"), flush=True)
    if not good:
        missed.append(text)


def stackd(work, hz, more, command):
    """Runs stackd on a command; its statistics and the CPU seconds of both."""
    store = work + "/store.db"
    for name in glob.glob(store + "*"):
        os.unlink(name)
    with open(work + "/output", "w", encoding="utf-8") as log:
        process = subprocess.Popen([BUILD + "/stackd", "-q", *EVENT, "-F", str(hz), "-o", store,
                                    *more, *command], cwd=work, stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        with open(work + "/output", encoding="utf-8", errors="replace") as log:
            sys.exit("stackd failed:\n" + log.read()[-2000:])
    return statistics_of(store), usage.ru_utime + usage.ru_stime


def statistics_of(store):
    return json.loads(subprocess.check_output([BUILD + "/stackctl", "stats", "--json", "-i", store],
                                              text=True))


def fdinfo(pid, pattern):
    """All matches of a pattern in /proc/PID/fdinfo of a process."""
    found = []
    for name in glob.glob("/proc/%d/fdinfo/*" % pid):
        with contextlib.suppress(OSError), open(name, encoding="ascii") as file:
            found += re.findall(pattern, file.read())
    return found


def runs(pid):
    """Nanoseconds and runs of stackd's program so far."""
    times = [(int(count), int(ns))
             for ns, count in fdinfo(pid, r"run_time_ns:\s*(\d+)\s+run_cnt:\s*(\d+)")]
    count, ns = max(times, default=(0, 0))
    return ns, count


@contextlib.contextmanager
def running(command, **more):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **more)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


# --- against the kernel's own walk ------------------------------------------------------------

def other_walk_begun(pid, which, seconds):
    """A program of getstack.bpf.c at work."""
    return subprocess.Popen([BUILD + "/bench/getstack", str(pid), "997", str(seconds), which],
                            text=True, stdout=subprocess.PIPE)


def other_walk_ended(process):
    """Nanoseconds and frames a sample of it."""
    out = process.communicate()[0]
    if process.returncode:
        sys.exit("getstack failed")
    count, ns, frames = map(int, out.split())
    return ns / max(count, 1), frames / max(count, 1)


def other_walk(pid, which, seconds):
    return other_walk_ended(other_walk_begun(pid, which, seconds))


@contextlib.contextmanager
def ours_on(pid, work, *more):
    """stackd at work on a process, with the tables that it needs."""
    store = work + "/store.db"
    for name in glob.glob(store + "*"):
        os.unlink(name)
    with running([BUILD + "/stackd", "-q", *EVENT, "-F", "997", "-o", store, "-p", str(pid),
                  *more]) as it:
        time.sleep(2)
        yield it


def cost_between(pid, seconds):
    """Nanoseconds a run of a stackd's program for so long."""
    before = runs(pid)
    time.sleep(seconds)
    after = runs(pid)
    return (after[0] - before[0]) / max(after[1] - before[1], 1)


def our_walk(pid, work, seconds, *more):
    """The same of a stackd on its own."""
    with ours_on(pid, work, *more) as it:
        return cost_between(it.pid, seconds)


def recorded(program, work, full):
    """A file of the stacks of a program's busiest thread, in the order of time, for replay.c."""
    size = 2 if full else 1
    with prepared(program, size) as folder:
        stackd(folder, 997, [], ["--", *programs.command_of(program, size)])
        text = subprocess.check_output([BUILD + "/stackctl", "export", "--perf-script",
                                        "--no-inline", "-i", folder + "/store.db"], text=True)
    threads = {}
    for sample in text.split("\n\n"):
        lines = sample.strip("\n").split("\n")
        if len(lines) > 1:
            frames = [zlib.crc32(line.strip().encode()) % 16384 for line in reversed(lines[1:])]
            threads.setdefault(lines[0].split()[1], []).append(frames)
    name = work + "/stacks"
    with open(name, "w", encoding="ascii") as file:
        for frames in max(threads.values(), key=len):
            file.write(" ".join(map(str, frames)) + "\n")
    return name


def cost_of_walks(work, command, turns, seconds):
    """Frames, and nanoseconds a sample of the kernel's walk and of ours, net of an empty program.

    All are attached to the process at once, since the speed of the machine changes by the second;
    and again for each turn, since the first of two programs that run in succession pays for both."""
    theirs, ours, frames = [], [], []
    with running([BUILD + "/bench/" + command[0], *command[1:]]) as process:
        time.sleep(0.3)
        for _ in range(turns):
            with ours_on(process.pid, work) as it:
                others = [other_walk_begun(process.pid, which, seconds)
                          for which in ("get_stack", "empty")]
                net = cost_between(it.pid, seconds)
                (ns, depth), (empty, _) = map(other_walk_ended, others)
            theirs.append(ns - empty)
            frames.append(depth)
            ours.append(net - empty)
    return statistics.mean(frames), statistics.mean(theirs), statistics.mean(ours)


def against(work, full):
    turns, seconds = (5, 5) if full else (3, 2)
    print("\n%-12s %7s %12s %12s %7s %7s" % ("stacks", "frames", "get_stack ns", "stackd ns",
                                             "ratio", "target"))
    row = "%-12s %7.1f %12.0f %12.0f %7.2f"
    steady = cost_of_walks(work, ["deep", "100", "600"], turns, seconds)
    ratio = steady[2] / steady[1]
    check(ratio <= 0.35, (row + "    0.35") % ("steady", *steady, ratio))
    changing = {"changing": ["changing", "600"]}
    ratios = []
    for program in programs.PROGRAMS if full else programs.PROGRAMS[1:2]:
        changing[program.name] = program
    for name, what in changing.items():
        command = what if name == "changing" else ["replay", recorded(what, work, full), "600"]
        cost = cost_of_walks(work, command, turns, seconds)
        ratios.append(cost[2] / cost[1])
        print(row % (name, *cost, ratios[-1]), flush=True)
    check(statistics.mean(ratios) <= 1, "%-46s %7.2f    1.00" % ("mean of the changing ones",
                                                                statistics.mean(ratios)))


# --- on the six programs ----------------------------------------------------------------------

@contextlib.contextmanager
def prepared(program, size):
    """A work folder with the program's inputs."""
    work = tempfile.mkdtemp(prefix="stackd-walk-")
    try:
        if program.prepare:
            program.prepare(work, size)
        yield work
    finally:
        shutil.rmtree(work)


def prefix(_work, full):
    frequencies = (99, 997, 9973) if full else (997,)
    print("\n%-8s %6s  " % ("program", "Hz") + "  ".join("%-17s" % m for m in MODES) +
          "\n%-16s" % "" + "  ".join("%9s %7s" % ("right%", "ns") for _ in MODES))
    for program in programs.PROGRAMS:
        with prepared(program, 1) as work:
            for hz in frequencies:
                prefix_row(program, hz, work)


def prefix_row(program, hz, work):
    command = ["--", *programs.command_of(program, 1)]
    cells = []
    for mode in MODES:
        judged = stackd(work, hz, ["--prefix", mode, "--judge"], command)[0]["counters"]
        plain = stackd(work, hz, ["--prefix", mode], command)[0]
        right, wrong = judged["judged_right"], judged["judged_wrong"]
        cells.append((100 * right / max(right + wrong, 1), wrong, plain["kernel_ns_per_sample"]))
    text = "%-8s %6d  " % (program.name, hz) + "  ".join("%9.2f %7.0f" % (c[0], c[2])
                                                        for c in cells)
    check(cells[MODES.index("verified")][1] == 0, text)


def bytes_of(_work, full):
    size, ring = 5 if full else 1, []
    print("\n%-8s %8s %9s %10s %11s" % ("program", "samples", "complete%", "ring bytes",
                                        "store bytes"))
    for program in programs.PROGRAMS:
        with prepared(program, size) as work:
            stats, _ = stackd(work, 997, [], ["--", *programs.command_of(program, size)])
        complete = 100 * stats["quality"]["complete"] / stats["samples"]
        ring.append(stats["ring_bytes_per_sample"])
        check(complete >= 99.9, "%-8s %8d %9.2f %10.1f %11.1f" % (
            program.name, stats["samples"], complete, ring[-1], stats["store_bytes_per_sample"]))
    check(statistics.mean(ring) <= 64, "%-8s %8s %9s %10.1f   target 64" % (
        "mean", "", "", statistics.mean(ring)))


def compile_all(work):
    """A command that compiles every source twice with each compiler, two at a time."""
    root = os.path.abspath(HERE + "/..")
    sources = [name for folder in ("lib/base", "lib/*/*", "daemon", "cli")
               for name in sorted(glob.glob("%s/%s/*.c" % (root, folder)))]
    wings = " ".join("-I" + wing for wing in glob.glob(root + "/lib/*/"))
    with open(work + "/list", "w", encoding="utf-8") as file:
        for compiler in ("g++ -x c -O2", "g++ -x c -O3", "clang++ -x c -O2", "clang++ -x c -O3"):
            for source in sources:
                file.write("%s -std=gnu17 -g -D_GNU_SOURCE -DSTACKD_VERSION='\"0\"' -I%s/lib %s "
                           "-I%s/bpf -I%s/gen -c -o /dev/null %s\n"
                           % (compiler, root, wings, root, BUILD, source))
    return ["xargs", "-a", work + "/list", "-d", "\\n", "-P", "2", "-I{}", "sh", "-c", "{}"]


def store(work, full):
    print("\n%-10s %9s %14s %7s" % ("program", "samples", "store bytes", "target"))
    size = 90 if full else 5
    with prepared(programs.PROGRAMS[0], size) as folder:
        lmp, _ = stackd(folder, 9973, [], ["--", *programs.command_of(programs.PROGRAMS[0], size)])
    compilers, _ = stackd(work, 9973, [], ["--", *compile_all(work)])
    for name, stats, target in (("lmp", lmp, 8), ("compilers", compilers, 16)):
        check(stats["store_bytes_per_sample"] <= target, "%-10s %9d %14.2f %7d" % (
            name, stats["samples"], stats["store_bytes_per_sample"], target))


def perf_cpu(work, command):
    with open(work + "/output", "w", encoding="utf-8") as log:
        process = subprocess.Popen(["perf", "record", "-q", "-N", "-B", "-e", "cpu-clock:u", "-F",
                                    "9973", "-o", work + "/perf.data", "--", *command], cwd=work,
                                   stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("perf failed: see %s/output" % work)
    return usage.ru_utime + usage.ru_stime


# Sizes with which each program takes half a minute: the start of a recording takes some 0.3 s, mostly
# in the verifier, and this measures the rate.
LONG = {"lmp": 12, "g++": 6, "clang++": 6, "python3": 36, "openssl": 30, "sqlite3": 42,
        "perl": 24, "git": 24, "rg": 7, "gcc": 12}


def cpu(_work, full):
    print("\nCPU at 9,973 Hz over that of perf record without call graphs (target 1.05)")
    medians, turns = [], 3 if full else 1
    for program in programs.PROGRAMS + (programs.MORE if full else []):
        ratios, size = [], LONG[program.name] if full else 1
        with prepared(program, size) as work:
            command = programs.command_of(program, size)
            for _ in range(turns):
                theirs = programs.cost_of(program, perf_cpu(work, command), work + "/output")
                ours = stackd(work, 9973, [], ["--", *command])[1]
                ratios.append(programs.cost_of(program, ours, work + "/output") / theirs)
        medians.append(statistics.median(ratios))
        check(medians[-1] <= 1.05, "%-8s %7.3f   (%s)" % (
            program.name, medians[-1], ", ".join("%.3f" % ratio for ratio in ratios)))
    check(statistics.mean(medians) <= 1.05, "mean     %7.3f" % statistics.mean(medians))


# --- tables and memory ------------------------------------------------------------------------

def recipes(_work, full):
    found = sorted(glob.glob("/usr/lib/*/libLLVM-1*.so.1"))
    if not found:
        print("\nno libLLVM on this machine")
        return
    best = None
    for _ in range(5 if full else 2):
        line = subprocess.check_output([BUILD + "/bench/recipe_build", found[0]],
                                       text=True).splitlines()[1].split()
        seconds = (float(line[1]) + float(line[2])) / 1000
        best = min(best or seconds, seconds)
        per_row = float(line[-2])
    print()
    check(best <= 1 and per_row <= 4, "recipes of %s: %.2f s (target 1), %.2f bytes a row (target "
          "4)" % (os.path.basename(found[0]), best, per_row))


class Memory:
    """A stackd's memory, in MiB, from its start until it has ended."""

    def __init__(self, work, more):
        self.peak = self.rss = self.own = self.kernel = 0
        store = work + "/store.db"
        for name in glob.glob(store + "*"):
            os.unlink(name)
        self.process = subprocess.Popen([BUILD + "/stackd", "-q", *EVENT, "-F", "997", "-o", store,
                                         *more], stdin=subprocess.DEVNULL, cwd=work,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.store = store

    def look(self):
        """false: it has ended"""
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as file:
            status = dict(re.findall(r"(?m)^(VmHWM|VmRSS|RssAnon):\s*(\d+) kB$", file.read()))
        if status:
            self.peak = int(status["VmHWM"]) / 1024
            self.rss = int(status["VmRSS"]) / 1024
            self.own = int(status["RssAnon"]) / 1024
        return bool(status)

    def watch(self, until):
        """Watches until the function `until` returns true, or stackd ends."""
        maps, seen = {}, True
        while seen and not until():
            seen = self.look()
            maps = {number: int(size) for size, number in
                    fdinfo(self.process.pid, r"memlock:\s*(\d+)\s+map_id:\s*(\d+)")} or maps
            time.sleep(0.05)
        self.kernel = sum(maps.values()) / 2**20

    def end(self, interrupt):
        """Names are looked up at the end, which takes memory: the peak includes that."""
        rss, own = self.rss, self.own
        if interrupt:
            self.process.send_signal(signal.SIGINT)
        while self.look():
            time.sleep(0.002)
        self.rss, self.own = rss, own
        if self.process.wait():
            sys.exit("stackd failed")

    def report(self, name):
        counters = statistics_of(self.store)["counters"]
        print("%s: %d tables of %d rows, evicted %d" % (
            name, counters["tables_loaded"], counters["table_rows"], counters["forgotten.tables"]))
        check(self.kernel <= 64, "  kernel memory of the maps: %.1f MiB (target 64)" % self.kernel)
        check(self.rss <= 64, "  resident memory while recording, last: %.1f MiB, of it its own "
              "%.1f (target 64)" % (self.rss, self.own))
        check(self.peak <= 64, "  resident memory at its peak, names at the end included: %.1f MiB "
              "(target 64)" % self.peak)


def memory(work, full):
    libraries, size = [sys.executable, HERE + "/libraries.py"], 3 if full else 1
    count, mib = subprocess.check_output([*libraries, "find", work + "/libraries"],
                                         text=True).split()
    command = [*libraries, "load", work + "/libraries", str(5 * size)]
    print("\n%s libraries, whose files have %s MiB" % (count, mib))
    whole = Memory(work, ["--all"])
    with prepared(programs.PROGRAMS[2], size) as folder, contextlib.ExitStack() as stack:
        busy = [stack.enter_context(running(words, cwd=folder)) for words in
                (command, *(programs.command_of(p, size) for p in programs.PROGRAMS[1:3]))]
        whole.watch(lambda: all(process.poll() is not None for process in busy))
    whole.end(True)
    whole.report("the whole machine")
    alone = Memory(work, ["--", *command])
    alone.watch(lambda: False)
    alone.end(False)
    alone.report("that program alone")


PARTS = {"against": against, "recipes": recipes, "memory": memory, "bytes": bytes_of, "store": store,
         "cpu": cpu, "prefix": prefix}
QUICK = ("against", "recipes", "bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("mode", choices=("quick", "full"))
    parser.add_argument("parts", nargs="*", metavar="PART", help="of " + ", ".join(PARTS))
    options = parser.parse_args()
    full = options.mode == "full"
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error("no such part: " + ", ".join(sorted(unknown)))
    cost_model.print_prices()
    for name in options.parts or (PARTS if full else QUICK):
        with tempfile.TemporaryDirectory(prefix="stackd-walk-") as work:
            PARTS[name](work, full)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
