#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What regions cost, and whether they are right:
regions.py [pair|named|lmp|ranks|detach|seeds|conserve]... [RUNS]

  pair    an entry and exit of a region with its whole path, at depths of 10 and 100, beside an
          empty uprobe and uretprobe pair in the same run; target: 1.5 times that. Of functions
          whose instructions at these places the kernel steps, emulates, or one of both
          (region_pair.c)
  named   a pass through a region that the program names (named_regions.c) with --annotated, with its
          whole path, at depths of 10 and 100; target: 300 ns
  lmp     lmp with --mpi beside the same without, at 997 Hz: CPU seconds; target: 2 %. And with the
          functions counted by a preloaded library (PMPI), and those that it calls counted by perf,
          with probes at their entries and returns (perf probe, perf stat)
  ranks   lmp at 2, 4 and 8 ranks with --mpi, and with that library: visits and bytes of each
          function and rank are the same, and calls that wait for nobody take at most 2 us more
  detach  SIGINT and kill -9 in turn, RUNS times, six programs with a stackd each beside each
          other, while they run; target: no probe is left, and they run on
  seeds   RUNS programs of 0.4 s with a known CPU time outside of regions, in two functions by
          chance: how often one's share is within 1.96 of the standard errors that
          `stackctl diff` states; target: 93 to 97 %. And how far samples and regions are from the
          CPU time of the thread
  conserve threads of some seconds of CPU time that is partly in regions: how far samples outside
          of them and regions together are from each thread's CPU time; target: 0.1 %

Best times of RUNS runs in turn (default 5; 1000 for detach; 200 for seeds). Of lmp it is the
program that is measured, without stackd, which has a second or so to do at its start."""

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..")
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "tests", "live"), os.path.join(ROOT, "tests")]

import harness  # noqa: E402
from cpu_time import cpu_of  # noqa: E402
import test_mpi  # noqa: E402
import test_regions  # noqa: E402

STACKD = os.path.join(ROOT, "build", "stackd")
PAIR = os.path.join(ROOT, "build", "bench", "region_pair")
CALLS = "200000"


def output(*command):
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    return float(done.stdout)


FUNCTIONS = ("alone", "saving", "checked")


def pair_of(function, depth, runs, folder):
    bare, empty, region = [], [], []
    command = (PAIR, depth, CALLS, function)
    for number in range(runs):
        store = "%s/%s-%s-%d.db" % (folder, function, depth, number)
        bare.append(output(*command))
        empty.append(output(*command, "empty"))
        region.append(output(STACKD, "-o", store, "--region", function + "@region_pair",
                             "--region-limit", "0", "--", *command))
    own, other = min(region) - min(bare), min(empty) - min(bare)
    print("%-7s at depth %3s: bare %.1f ns, empty pair %.0f ns, region %.0f ns: %.2f times (of "
          "medians %.2f)" % (function, depth, min(bare), other, own, own / other,
                             statistics.median(region) / statistics.median(empty)))
    return own > 1.5 * other


def pair(runs, folder):
    subprocess.run(["make", "-s", "-C", ROOT, "build/bench/region_pair"], check=True)
    missed = False
    for function in FUNCTIONS:
        for depth in ("10", "100"):
            missed |= pair_of(function, depth, runs, folder)
    return missed


def named(runs, folder):
    program = folder + "/named"
    subprocess.run(["gcc", "-O2", "-I", os.path.join(ROOT, "arch", os.uname().machine), "-o", program,
                    os.path.join(HERE, "named_regions.c")], check=True)
    missed = False
    for depth in ("10", "100"):
        command = program, depth, "1000000"
        bare = min(output(*command) for _ in range(runs))
        own = min(output(STACKD, "-q", "-e", "none", "-o", folder + "/store", "--annotated", "--", *command)
                  for _ in range(runs))
        print("named region at depth %3s: %.1f ns a pass, without stackd %.1f" % (depth, own, bare))
        missed |= own - bare > 300
    return missed


GROUP = "stackd_bench"


def perf_probes(store):
    """Has perf make probes at entries and returns of the functions that a recording has as regions.
    Returns whether it has: not all of a library's can be probed."""
    regions = json.loads(harness.Recording(store).text("report", "--view", "regions", "--json"))
    library = os.path.realpath("/usr/lib/x86_64-linux-gnu/libmpi.so.40")
    words = []
    for region in regions["regions"]:
        name = region["name"].removeprefix("P")
        words += ["-a", "%s:%s=%s" % (GROUP, name, name), "-a",
                  "%s:%s__r=%s%%return" % (GROUP, name, name)]
    done = subprocess.run(["perf", "probe", "-q", "-x", library, *words], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        print("perf probe: " + done.stderr.strip())
    return not done.returncode


def lmp_commands(folder):
    """lmp as it is, and with the library that counts its calls."""
    script = folder + "/melt.lmp"
    with open(os.path.join(test_mpi.HERE, "melt.lmp"), encoding="ascii") as file:
        text = file.read().replace("0 8 0 8 0 8", "0 16 0 16 0 16").replace("run 100", "run 400")
    with open(script, "w", encoding="ascii") as file:
        file.write(text)
    program = ["lmp", "-in", script, "-log", "none", "-screen", "none"]
    library, counts = test_mpi.build_recorder("openmpi"), folder + "/counts"
    os.mkdir(counts)
    return (test_mpi.launch("openmpi", 1, *program),
            test_mpi.launch("openmpi", 1, *program,
                            env=("LD_PRELOAD=" + library, "MPI_COUNTS=" + counts)))


def lmp(runs, folder):
    plain, recorded = lmp_commands(folder)
    times = {"alone": [], "sampled": [], "sampled, --mpi": [], "PMPI": [], "perf probe": []}
    has_probes = False
    try:
        for number in range(runs):
            store = "%s/lmp-%d.db" % (folder, number)
            times["alone"].append(cpu_of(folder, [], plain))
            times["sampled"].append(cpu_of(folder, [STACKD, "-o", store, "--"], plain))
            os.remove(store)
            times["sampled, --mpi"].append(cpu_of(folder, [STACKD, "-o", store, "--mpi=probes", "--"],
                                                  plain))
            times["PMPI"].append(cpu_of(folder, [], recorded))
            has_probes = has_probes or perf_probes(store)
            if has_probes:
                stat = ["perf", "stat", "-e", GROUP + ":*", "--"]
                times["perf probe"].append(cpu_of(folder, stat, plain))
    finally:
        subprocess.run(["perf", "probe", "-q", "-d", GROUP + ":*"], check=False,
                       stderr=subprocess.DEVNULL)
    for name, seconds in times.items():
        if seconds:
            print("lmp %-15s best %.3f s, median %.3f s of CPU time" % (
                name, min(seconds), statistics.median(seconds)))
    best, median = (100 * (f(times["sampled, --mpi"]) / f(times["sampled"]) - 1)
                    for f in (min, statistics.median))
    print("--mpi costs %+.1f %% (of medians %+.1f %%)" % (best, median))
    return best > 2


AT_ONCE = 6


def ranks(_, folder):
    library, missed = test_mpi.build_recorder("openmpi"), False
    program = ["lmp", "-in", os.path.join(test_mpi.HERE, "melt.lmp"), "-log", "none", "-screen", "none"]
    metrics = ("region.visits", "mpi.sent", "mpi.received", "region.time")
    for n in (2, 4, 8):
        settings = test_mpi.recorder_settings(folder, library)
        harness.run(*test_mpi.launch("openmpi", n, *program, env=settings), timeout=300)
        recording, _ = harness.record("%s/%d.db" % (folder, n), "--mpi=probes", "--",
                                      *test_mpi.launch("openmpi", n, *program))
        told, seen = test_mpi.recorded(folder), test_mpi.measured(recording, metrics)
        other = [key for key in {*told, *seen} if told.get(key, [])[:3] != seen.get(key, [])[:3]]
        # What is faster than this has waited for nobody.
        more = sorted(seen[key][3] / seen[key][0] - told[key][3] / told[key][0]
                      for key in {*told} & {*seen} if told[key][3] < 1000 * told[key][0])
        print("%d ranks: of %d functions and ranks, %d calls, %d have other visits or bytes; calls "
              "below 1 us take %.2f us more (median of %d functions and ranks; at most %.2f)" % (
                  n, len(told), sum(numbers[0] for numbers in told.values()), len(other),
                  statistics.median(more) / 1000, len(more), more[-1] / 1000))
        missed |= bool(other) or statistics.median(more) > 2000
    return missed


def detach(runs, folder):
    """test_regions.detach_all() fails where a probe is left, or where a program has ended."""
    numbers = (signal.SIGINT, signal.SIGKILL) * (AT_ONCE // 2)
    done, failed = 0, 0
    while done < runs:
        own = "%s/%d" % (folder, done)
        os.mkdir(own)
        try:
            test_regions.detach_all(own, numbers)
        except harness.Failed as failure:
            failed += 1
            print(failure)
        shutil.rmtree(own)
        done += AT_ONCE
        print("%d times: %s; load %.1f" % (done, "a probe was left, or the program had ended, in "
                                           "%d groups of %d" % (failed, AT_ONCE) if failed else
                                           "no probe was left, and the program ran on",
                                           os.getloadavg()[0]), flush=True)
    return failed > 0


SEED_REGIONS = ("outer", "inner", "climb", "brief", "left")
PERIOD = 1000000000 // 997


def seed(number, folder):
    """(standard errors that the estimate is off by, CPU time that the sum lacks, CPU time)."""
    store = "%s/seed.db" % folder
    words = [word for name in SEED_REGIONS for word in ("--region", name + "@region_seeds")]
    done = subprocess.run([STACKD, "-o", store, *words, "--region-limit", "0", "--",
                           os.path.join(ROOT, "build", "bench", "region_seeds"), str(number), "400"],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    cpu, one, another = map(int, done.stdout.split())
    recording = harness.Recording(store)
    samples = test_regions.folded(recording, "cpu")
    times = test_regions.folded(recording, "cpu.time")
    seen, count = ([sum(n for stack, n in sums.items() if ";%s;" % name in stack)
                    for name in ("one_thing", "another")] for sums in (times, samples))
    os.remove(store)
    share, truth = seen[0] / sum(seen), one / (one + another)
    inside = sum(n for stack, n in times.items() if "work" in stack.split(";"))
    error = (share * (1 - share) / sum(count)) ** 0.5
    return (share - truth) / error, cpu - inside, cpu


def seeds(runs, folder):
    subprocess.run(["make", "-s", "-C", ROOT, "build/bench/region_seeds"], check=True)
    results = [seed(number + 1, folder) for number in range(runs)]
    off = [result[0] for result in results]
    covered = 100 * sum(abs(errors) <= 1.96 for errors in off) / runs
    lacks = [result[1] / PERIOD for result in results]
    total = sum(result[2] for result in results)
    print("%d seeds: %.1f %% within 1.96 standard errors; mean %+.2f, deviation %.2f of them"
          % (runs, covered, statistics.mean(off), statistics.pstdev(off)))
    print("samples and regions lack %+.3f %% of all CPU time; in a run %+.2f periods on the average, "
          "%+.2f to %+.2f" % (100 * PERIOD * sum(lacks) / total, statistics.mean(lacks), min(lacks),
                              max(lacks)))
    return not 93 <= covered <= 97


def conserve(runs, folder):
    subprocess.run(["make", "-s", "-C", ROOT, "workloads"], check=True)
    off = []
    for number in range(runs):
        recording, result = harness.record(
            "%s/%d.db" % (folder, number), "--region", "region", "--region", "left", "--",
            os.path.join(harness.WORKLOADS, "joined"), 1000)
        for line in result.out.splitlines():
            tid, cpu = line.split()[:2]
            told = sum(test_regions.folded(recording, "cpu.time", "--tid", tid).values())
            off.append(100 * (told / int(cpu) - 1))
            print("%7.3f s of CPU time: %+.4f %%" % (int(cpu) / 1e9, off[-1]), flush=True)
    most = max(map(abs, off))
    print("%d threads: off by %.4f %% on the average, at most %.4f %%" % (
        len(off), statistics.mean(map(abs, off)), most))
    return most > 0.1


MEASURES = {"pair": pair, "named": named, "lmp": lmp, "ranks": ranks, "detach": detach, "seeds": seeds, "conserve": conserve}


def main():
    names = [word for word in sys.argv[1:] if not word.isdigit()] or ["pair", "lmp"]
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    missed = False
    for name in names:
        folder = tempfile.mkdtemp()
        try:
            runs = numbers[0] if numbers else {"detach": 1000, "seeds": 200}.get(name, 5)
            missed |= MEASURES[name](runs, folder)
        finally:
            shutil.rmtree(folder)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
