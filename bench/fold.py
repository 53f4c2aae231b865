#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stackctl fold on real programs: fold.py [curve|lmp|auto|memory|cost|growth]... [RUNS]

  curve   a program that knows the course of a variable within its passes (tests/workloads/folded.c), at
          several frequencies: mean and largest error of the cumulated curve, error of the phases' bounds
          and rates; target at 2,000 samples: 0.3 %, 1 %, 0.5 %, 5 %
  lmp     a time step of lmp, from mark to mark, at 97 Hz beside one at 9,973 Hz: for each routine, the
          difference of its samples' distribution over the step, and what so many samples at random differ by
          on average; target: 1 %
  auto    the period that is found in folded, in bt and in each thread of a pipeline, beside the true one
          (target: 1 %), and RUNS (5) runs each of programs without one, whole and in quarters: none may be
          found, 1 in 100 at most
  memory  probe hits, bytes allocated and bytes in memory that grow at a time within a pass that the program
          tells (tests/workloads/growing.c): largest error of each curve, and of its sum
  cost    ns that reading six counters adds to a sample within a region, by the kernel's own run-time
          statistics; target: 300
  growth  stackctl fold of recordings with 10^4, 10^5 and 10^6 samples; target: 2 s and 256 MiB"""

import itertools
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..")
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "live"), os.path.join(ROOT, "tests")]

import programs  # noqa: E402
import test_fold  # noqa: E402

STACKD, STACKCTL = os.path.join(ROOT, "build", "stackd"), os.path.join(ROOT, "build", "stackctl")
FOLDED = os.path.join(ROOT, "build", "workloads", "folded")
PIPELINE = os.path.join(ROOT, "build", "workloads", "pipeline")
BT = os.path.join(ROOT, "build", "bench", "bt")


def record(store, *command, status=0, cwd=None):
    done = subprocess.run([STACKD, "-q", "-o", store, *map(str, command)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, cwd=cwd)
    if done.returncode != status:
        sys.exit("stackd: status %d: %s" % (done.returncode, done.stderr))
    return done.stdout


def counters_of(store):
    done = subprocess.run([STACKCTL, "stats", "--json", "-i", store], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


# --- a known curve -------------------------------------------------------------------------------

def errors_of(data):
    y = test_fold.counter(data, "var:cells")["y"]
    errors = [abs(value - test_fold.truth(i / (len(y) - 1))) for i, value in enumerate(y)]
    phases, bounds, rates, begin, share = data["phases"], [], [], 0.0, 0.0
    if len(phases) == len(test_fold.ENDS):
        for phase, end, upto in zip(phases, test_fold.ENDS, test_fold.SHARES):
            bounds.append(abs(phase["to"] - end))
            rates.append(abs(phase["rate"] / ((upto - share) / (end - begin)) - 1))
            begin, share = end, upto
    return (statistics.mean(errors), max(errors), max(bounds, default=float("nan")),
            max(rates, default=float("nan")))


def curve(folder, _):
    print("A known curve, in passes of 20 ms: errors in %")
    print("     Hz  passes  samples    mean   largest    bound     rate  phases")
    for frequency in (97, 499, 997):
        store = "%s/%d.db" % (folder, frequency)
        passes = 500
        record(store, "-F", frequency, "--region", "pass@folded", "--counter", "var:cells", "--", FOLDED,
               passes, 20000)
        data = test_fold.folded(store)
        print("%7d %7d %8d %7.3f %9.3f %8.3f %8.2f %7d" % (
            frequency, data["passes"], data["samples"], *(100 * e for e in errors_of(data)),
            len(data["phases"])))


# --- a time step of lmp --------------------------------------------------------------------------

def distributions(data):
    """For each routine, the share of its samples up to each column."""
    result = {}
    for routine in data["routines"]:
        sums, total = [], 0
        for n in routine["columns"]:
            total += n
            sums.append(total)
        if total:
            result[routine["name"]] = [n / total for n in sums], total
    return result


def lmp(folder, _):
    programs.melt_input(folder, 24)
    found = {}
    for frequency in (97, 9973):
        store = "%s/lmp%d.db" % (folder, frequency)
        record(store, "-F", frequency, "--mark", "*Modify::initial_integrate*@liblammps*", "--counter",
               "page-faults", "--", "lmp", "-in", "in.melt", "-log", "none", "-screen", "none", cwd=folder)
        data = test_fold.folded(store)
        found[frequency] = distributions(data)
        print("lmp at %d Hz: %d steps of %.1f ms, %d samples folded" % (
            frequency, data["passes"], data["mean_ns"] / 1e6, data["samples"]))
    print("   mean %  by chance  largest %  samples  routine")
    weighted, weights = 0.0, 0
    for name, (few, n) in found[97].items():
        many = found[9973].get(name)
        if not many or n < 100:
            continue
        differences = [abs(a - b) for a, b in zip(few, many[0])]
        weighted += statistics.mean(differences) * n
        weights += n
        chance = statistics.mean(math.sqrt(2 / math.pi * b * (1 - b) / n) for b in many[0])
        print("%9.2f %10.2f %10.2f %8d  %s" % (100 * statistics.mean(differences), 100 * chance,
                                               100 * max(differences), n, name or "(others)"))
    print("%9.2f  all, weighted by samples (target: 1)" % (100 * weighted / weights))


# --- periods -------------------------------------------------------------------------------------

JSON = """
import json, random, sys
random.seed(int(sys.argv[1]))
def make(depth):
    r = random.random()
    if not depth or r < 0.3:
        return random.choice([random.random(), "x" * random.randrange(50), None, random.randrange(10 ** 9)])
    if r < 0.65:
        return [make(depth - 1) for _ in range(random.randrange(6))]
    return {str(random.random()): make(depth - 1) for _ in range(random.randrange(6))}
for _ in range(400):
    text = json.dumps([make(random.randrange(8)) for _ in range(random.randrange(60))], indent=1)
    json.dumps(json.loads(text), sort_keys=True)
"""

PERL = """
srand($ARGV[0]);
my %h; my $text = join(" ", map { int(rand(1e6)) } 1 .. 300000);
$h{$_}++ for split / /, $text;
my @k = sort { $h{$b} <=> $h{$a} || $a <=> $b } keys %h;
my $n = 0; for (@k) { $n++ if /(\\d)\\1/; } print "$n\\n";
"""


def period_of(store, *options):
    """Milliseconds; None: there is none."""
    done = subprocess.run([STACKCTL, "fold", "--auto", "-i", store, "-o", store + ".csv", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    match = re.search(r"is periodic: ([0-9.]+) ms", done.stderr)
    if not match and "not periodic" not in done.stderr and "no samples" not in done.stderr:
        sys.exit("fold --auto: " + done.stderr)
    return float(match[1]) if match else None


def cuts_of(store):
    """A recording as a whole, and its four quarters."""
    header = subprocess.run([STACKCTL, "report", "-i", store], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    seconds = float(re.search(r", for ([0-9.]+) s", header)[1])
    yield ()
    for i in range(4):
        yield "--from", "%.3fs" % (seconds * i / 4), "--to", "%.3fs" % (seconds * (i + 1) / 4)


def aperiodic(folder, name, seed):
    if name == "python3":
        return ["python3", "-c", JSON, str(seed)]
    if name == "perl":
        return ["perl", "-e", PERL, str(seed)]
    text = open(os.path.join(HERE, "templates.cc"), encoding="utf-8").read()
    path = "%s/t%d.cc" % (folder, seed)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    depth = str(random.Random(seed).randrange(100, 400))
    return ["g++", "-O2", "-std=c++17", "-DDEPTH=" + depth, "-c", path, "-o", "/dev/null"]


def auto(folder, runs):
    print("Periods, found at 997 Hz")
    for title, command, counter in (("folded", [FOLDED, 400, 10000], "pass@folded"),
                                    ("bt", [BT, 10], "compute_rhs@bt")):
        store = "%s/auto-%s.db" % (folder, title)
        record(store, "-F", 997, "--mark", counter, "--counter", "page-faults", "--", *command)
        known = test_fold.folded(store)
        found = period_of(store)
        print("  %-8s %8.3f ms, found %s" % (title, known["mean_ns"] / 1e6,
                                            "none" if found is None else "%.3f ms" % found))
    store = folder + "/auto-pipeline.db"
    for line in record(store, "-F", 997, "--", PIPELINE, 400, 40000).splitlines():
        name, tid, known = line.split()
        found = period_of(store, "--tid", tid)
        print("  %-8s %8.3f ms, found %s" % (name, int(known) / 1e6, "none" if found is None else "%.3f ms" % found))
    wrong = judged = 0
    for name in ("g++", "python3", "perl"):
        for seed in range(runs):
            store = "%s/no-%s-%d.db" % (folder, name, seed)
            record(store, "-F", 997, "--", *aperiodic(folder, name, seed))
            for options in cuts_of(store):
                found = period_of(store, *options)
                judged += 1
                wrong += found is not None
                if found is not None:
                    print("  %s, seed %d %s: %.3f ms found" % (name, seed, " ".join(options), found))
    print("  periods found in programs without one: %d of %d (target: 1 in 100)" % (wrong, judged))


# --- memory --------------------------------------------------------------------------------------

def memory(folder, _):
    """The kernel learns of pages in steps of 32 a CPU, which are 6 % of a pass's."""
    store = folder + "/memory.db"
    hits, size, *made = map(int, record(store, "-F", 997, *test_fold.GROWTH, "--", test_fold.GROWING, 30,
                                        60000).split())
    truth_at = [0] + [part / sum(made) for part in itertools.accumulate(made)]
    data = test_fold.folded(store)
    print("Memory that grows: errors in %")
    for name, total in (("probe:block@growing", hits), ("allocated-bytes", size), ("resident-bytes", size)):
        found = test_fold.counter(data, name)
        y = found["y"]
        errors = [abs(y[(len(y) - 1) * i // len(made)] - truth_at[i]) for i in range(len(truth_at))]
        print("  %-20s %7.3f of its curve, %7.3f of its sum" % (name, 100 * max(errors),
                                                              100 * abs(found["mean"] / total - 1)))


# --- the cost ------------------------------------------------------------------------------------

SIX = ("page-faults", "major-faults", "context-switches", "read-bytes", "written-bytes", "var:cells")
EVENTS = ("minor-faults", "cpu-clock", "cpu-migrations", "page-faults:u", "task-clock", "page-faults:k")


def cost(folder, runs):
    times = {}
    for _ in range(runs):
        for title, counters in (("without", []), ("six", SIX), ("events", EVENTS)):
            options = [word for name in counters for word in ("--counter", name)]
            store = "%s/cost-%s.db" % (folder, title)
            if os.path.exists(store):
                os.unlink(store)
            record(store, "-F", 9973, "--jitter", 10, "--region", "pass@folded", *options, "--", FOLDED, 20, 200000)
            found = counters_of(store)
            times.setdefault(title, []).append(found["kernel_ns_per_sample"])
    best = {title: min(values) for title, values in times.items()}
    print("A sample within a region: %.0f ns, with six counters %.0f: %.0f more (target: 300)" % (
        best["without"], best["six"], best["six"] - best["without"]))
    print("With six events (of software): %.0f ns, %.0f more" % (best["events"],
                                                                 best["events"] - best["without"]))


# --- growth --------------------------------------------------------------------------------------

def growth(folder, _):
    flags = subprocess.run(["pkg-config", "--libs", "sqlite3", "libzstd"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.split()
    print("samples   seconds  MiB at most")
    for samples in (10000, 100000, 1000000):
        maker, store = "%s/make%d" % (folder, samples), "%s/%d.db" % (folder, samples)
        subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-DFOLDED_PASSES=%d" % (samples // 8), "-Ilib", "-Ilib/code", "-Ilib/record", "-Ilib/show",
                        "-Ibpf", "-o", maker, "tests/cli/make_store.c", "build/libstackd.a", *flags,
                        "-lpthread", "-lm"], check=True, cwd=ROOT)
        subprocess.run([maker, store, "folded"], check=True)
        start = time.monotonic()
        process = subprocess.Popen([STACKCTL, "fold", "-i", store, "--region", "pass", "-o", store + ".csv"])
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit("stackctl fold: status %d" % status)
        print("%7d %9.2f %12.0f" % (samples, time.monotonic() - start, usage.ru_maxrss / 1024))


PARTS = "curve", "lmp", "auto", "memory", "cost", "growth"


def main():
    names = [word for word in sys.argv[1:] if not word.isdigit()] or list(PARTS)
    runs = next((int(word) for word in sys.argv[1:] if word.isdigit()), 5)
    for name in names:
        if name not in PARTS:
            sys.exit(__doc__)
        with tempfile.TemporaryDirectory(prefix="stackd-fold-") as folder:
            globals()[name](folder, runs)


if __name__ == "__main__":
    main()
