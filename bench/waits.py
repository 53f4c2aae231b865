#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What waits cost, and whether they are right: waits.py [switch|perf|pgbench|seeds|exact|paths]... [RUNS]

  switch   nanoseconds that a switch of two threads in scope takes (wait_pair), alone and recorded;
           target with -e none: 200 more, which is 2 % of a CPU at 100,000 switches a second. And of
           threads out of scope, beside a recording of another process; target: 0.2 %, 20 ns
  perf     `perf bench sched pipe` and `messaging`, alone, by `perf record --off-cpu`, by
           offcputime of bcc's libbpf-tools, and by --wait, in turns
  pgbench  a transaction of PostgreSQL under pgbench, alone and recorded, and whether the paths of
           its waits are complete; targets: 2 %, 99.9 %
  seeds    RUNS recordings of the workload `waits`: how often the sums of blocked and runnable time
           are within 1.96 standard errors of what the kernel half has counted; target: 93 to 97 %
  exact    on-CPU, blocked and runnable time against wall time, and runnable against schedstat;
           targets: 0.1 % and 1 %
  paths    complete user paths of waits in the six programs of bench.py and `make -j4`; target: 99.9 %

Best and median of RUNS in turn (default 5; 200 for seeds)."""

import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "tests", "live"), os.path.join(ROOT, "tests"), HERE]

import database  # noqa: E402
import harness  # noqa: E402
import programs  # noqa: E402
import test_waits  # noqa: E402

STACKD = os.path.join(ROOT, "build", "stackd")
PAIR = os.path.join(ROOT, "build", "bench", "wait_pair")
RING = ["--ring-bytes", str(1 << 26)]


def recorders(folder):
    """{name: what stands before a command}"""
    store = ["-q", "-o", folder + "/s.db"]
    return {
        "alone": [],
        "samples": [STACKD, *store, "--"],
        "--wait": [STACKD, *store, "--wait", "--"],
        "--wait -e none": [STACKD, *store, "--wait", "-e", "none", "--"],
        "--wakers -e none": [STACKD, *store, "--wakers", "-e", "none", "--"],
    }


def perf_off_cpu(folder):
    """[]: perf has none, and would take the option and ignore it, as Debian's does."""
    said = subprocess.run(["perf", "record", "--off-cpu", "-h"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False).stdout
    if "ignored" in said:
        return []
    return ["perf", "record", "-q", "-g", "--off-cpu", "-e", "dummy", "-o", folder + "/perf.data", "--"]


def show(name, values, base):
    chosen, middle = min(values), statistics.median(values)
    print("  %-18s best %10.1f (%+6.1f %%)  median %10.1f (%+6.1f %%)" % (
        name, chosen, 100 * (chosen / min(base) - 1), middle,
        100 * (middle / statistics.median(base) - 1)))


def in_turns(runs, ways, measure):
    values = {name: [] for name in ways}
    for _ in range(runs):
        for name, way in ways.items():
            value = measure(way)
            if value is not None:
                values[name].append(value)
    return values


def pair_ns(kind):
    def measure(before):
        done = subprocess.run([*before, PAIR, "1", kind], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=True)
        return float(done.stdout)
    return measure


def switch(runs, folder):
    missed = False
    for kind in ("pipe", "futex"):
        values = in_turns(runs, recorders(folder), pair_ns(kind))
        print("ns a switch, %s:" % kind)
        for name, of in values.items():
            show(name, of, values["alone"])
        missed |= min(values["--wait -e none"]) - min(values["alone"]) > 200
    with harness.workload("threads", share=None) as other:
        base = [pair_ns("pipe")([]) for _ in range(runs)]
        with harness.Daemon(folder + "/o.db", "--wait", "-e", "none", "--pid", other.pid) as daemon:
            daemon.wait_recording()
            beside = [pair_ns("pipe")([]) for _ in range(runs)]
    show("out of scope", beside, base)
    return missed


def bench_seconds(*words):
    def measure(before):
        done = subprocess.run([*before, "perf", "bench", "sched", *words], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)
        found = re.search(r"Total time: ([\d.]+)", done.stdout)
        return float(found[1]) if found else None
    return measure


def beside_offcputime(measure):
    """Runs what is measured while offcputime traces all threads."""
    tracer = subprocess.Popen(["offcputime", "600"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        return measure([])
    finally:
        tracer.terminate()
        tracer.wait()


def others(runs, folder, measure):
    ways = recorders(folder)
    del ways["--wakers -e none"]
    off_cpu = perf_off_cpu(folder)
    if off_cpu:
        ways["perf --off-cpu"] = off_cpu
    values = in_turns(runs, ways, measure)
    if not off_cpu:
        values["perf --off-cpu"] = []
    if shutil.which("offcputime"):
        values["offcputime"] = [beside_offcputime(measure) for _ in range(runs)]
    for name, of in values.items():
        if of:
            show(name, of, values["alone"])
        else:
            print("  %-18s does not run here" % name)


def perf(runs, folder):
    for words in (("pipe", "-l", "100000"), ("messaging", "-l", "500")):
        print("perf bench sched %s, seconds:" % " ".join(words))
        others(runs, folder, bench_seconds(*words))


def pgbench(runs, folder):
    """Of the server and its processes, each of which waits for its client at every transaction."""
    seconds, partial, of = 5, 0, 0
    with database.database() as running:
        def measure(way):
            nonlocal partial, of
            if not way:
                return running.transaction_us(seconds)
            options = [word for word in way[1:] if word not in ("-q", "--")] + [*RING, "--pid", running.pid]
            del options[options.index("-o"):options.index("-o") + 2]
            with harness.Daemon(folder + "/s.db", *options) as daemon:
                daemon.wait_recording()
                value = running.transaction_us(seconds)
                daemon.finish(signal.SIGINT)
            counters = harness.Recording(folder + "/s.db").stats()["counters"]
            partial, of = partial + counters["waits_partial"], of + counters["waits_received"]
            os.remove(folder + "/s.db")
            return value

        values = in_turns(runs, recorders(folder), measure)
    print("pgbench -S -c 4, microseconds a transaction:")
    for name, took in values.items():
        show(name, took, values["alone"])
    print("%d waits, %d partial: %.3f %% complete" % (of, partial, 100 - 100 * partial / max(of, 1)))
    alone, waiting = (min(values[name]) for name in ("alone", "--wait -e none"))
    return waiting > 1.02 * alone or partial > of / 1000


def seeds(runs, folder):
    mean, within, total, off = 20000000, 0, 0, []
    for _ in range(runs):
        done, _ = harness.record(folder + "/seed.db", "--wait", "--wait-mean", "20ms", "-e", "none",
                                 "--", test_waits.PROGRAM, "20")
        counters = done.stats()["counters"]
        for metric, name in (("wait.blocked", "waits_blocked_ns"),
                             ("wait.runnable", "waits_runnable_ns")):
            # A wait of length d varies by d^2 (1 - p) / p, which is d times the mean at most, and
            # nearly that if it is much shorter, as most of these are.
            error = (counters[name] * mean) ** 0.5
            off.append((sum(test_waits.folded(done, metric).values()) - counters[name]) / error)
            within += abs(off[-1]) <= 1.96
            total += 1
        os.remove(folder + "/seed.db")
    print("%d of %d sums within 1.96 of their (largest possible) standard errors: %.1f %%" % (
        within, total, 100 * within / total))
    print("mean of all %+.3f, standard deviation %.3f of these errors" % (
        statistics.mean(off), statistics.stdev(off)))
    return within < 0.93 * total


def exact(runs, folder):
    missed_target = False
    for _ in range(runs):
        done, result = harness.record(folder + "/exact.db", "--wait", "--wait-mean", "0", "-e",
                                      "none", *RING, "--", test_waits.PROGRAM, "300")
        missed = done.stats()["counters"]["waits_missed_ns"]
        for words in map(str.split, result.out.splitlines()):
            way, tid, wall, cpu, queued = words[0], words[1], *map(int, words[2:])
            blocked, ready = (sum(value for stack, value in test_waits.folded(
                done, metric, "--tid", tid).items() if ";run;%s;" % way in stack)
                for metric in ("wait.blocked", "wait.runnable"))
            off = 100 * (cpu + blocked + ready - wall) / wall
            missed_target |= abs(off) > 0.1 + 100 * missed / wall
            print("%-8s %6.0f ms: sum %+.4f %%, runnable %+.4f %% of schedstat's" % (
                way, wall / 1e6, off, 100 * (ready - queued) / max(queued, 1)))
        print("missed: %.3f ms" % (missed / 1e6))
        os.remove(folder + "/exact.db")
    return missed_target


def complete(folder, name, *command, **more):
    store = folder + "/paths.db"
    subprocess.run([STACKD, "-q", "-o", store, "--wait", "-e", "none", *RING, "--", *command],
                   check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    counters = harness.Recording(store).stats()["counters"]
    of, partial = counters["waits_received"], counters["waits_partial"]
    print("%-10s %6d waits, %d partial: %.2f %% complete; %d lost, %d without the user's path" % (
        name, of, partial, 100 - 100 * partial / max(of, 1), counters["waits_lost_ring"],
        counters["waits_without_path"]))
    os.remove(store)
    return partial > of / 1000


def paths(_, folder):
    missed = False
    for program in programs.PROGRAMS:
        work = tempfile.mkdtemp(dir=folder)
        if program.prepare:
            program.prepare(work, 1)
        missed |= complete(folder, program.name, *programs.command_of(program, 1), cwd=work)
    missed |= complete(folder, "make -j4", "make", "-C", ROOT, "-j4", "B=" + folder + "/build",
                       folder + "/build/libstackd.a")
    return missed


PARTS = {"switch": (switch, 5), "perf": (perf, 5), "pgbench": (pgbench, 5), "seeds": (seeds, 200),
         "exact": (exact, 1), "paths": (paths, 1)}


def main():
    words = sys.argv[1:]
    runs = int(words.pop()) if words and words[-1].isdigit() else 0
    missed = False
    subprocess.run(["make", "-s", "-C", ROOT, "build/bench/wait_pair"], check=True)
    for name in words or PARTS:
        part, usual = PARTS[name]
        with tempfile.TemporaryDirectory() as folder:
            try:
                missed |= bool(part(runs or usual, folder))
            except harness.Skip as reason:
                print("%s: skipped: %s" % (name, reason))
    return missed


if __name__ == "__main__":
    sys.exit(main())
