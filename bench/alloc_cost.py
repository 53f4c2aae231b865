#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What sampling allocations costs: alloc_cost.py [attached|programs|beside]... [RUNS]

  attached  a pair of malloc() and free() of a process without libstackalloc, which stackd attaches
            to, beside an empty uprobe and uretprobe of malloc() and an empty uprobe of free() in
            the same run; target: 1.5 times that
  programs  CPU time of the six programs of bench/ with `stackd --alloc` (512 KiB) beside the same
            alone, best and median of RUNS in turns (default 7); target: 1 %
  beside    the same programs once more, alone, with `stackd --alloc`, heaptrack, jemalloc with its
            own sampling (at 512 KiB, beside jemalloc without) and bcc's memleak, in turns (RUNS
            default 3). heaptrack and memleak follow one process: of g++ they see none of the work

CPU time is the program's own: that of stackd and memleak is not in it, and heaptrack's interpreter is
left out. So is what is not installed. Needs root."""

import collections
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from cpu_time import cpu_of  # noqa: E402
from programs import PROGRAMS, command_of, cost_of  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..")
STACKD, STACKCTL = (os.path.join(ROOT, "build", name) for name in ("stackd", "stackctl"))
PAIR = os.path.join(ROOT, "build", "bench", "alloc_attached")
PAIRS = "200000"
HEAPTRACK = "/usr/lib/heaptrack/libheaptrack_preload.so"
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
MOST_SECONDS = 120


# --- attached ---------------------------------------------------------------------------------


def output(*command):
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def pair_attached(folder):
    """The nanoseconds of a pair while stackd listens."""
    store = folder + "/pair.db"
    with subprocess.Popen([PAIR, PAIRS, "wait"], stdout=subprocess.PIPE, text=True) as pair:
        with subprocess.Popen([STACKD, "-q", "-e", "none", "--alloc", "--alloc-limit", "0", "-o", store,
                               "--pid", str(pair.pid)], **QUIET) as stackd:
            while subprocess.run([STACKCTL, "list", "-i", store], check=False, **QUIET).returncode:
                time.sleep(0.1)
            time.sleep(1.5)
            pair.send_signal(signal.SIGUSR1)
            said = pair.communicate()[0]
            stackd.wait()
    os.remove(store)
    return float(said)


def attached(runs, folder):
    subprocess.run(["make", "-s", "-C", ROOT, "build/bench/alloc_attached"], check=True)
    bare, empty, own = [], [], []
    for _ in range(runs):
        bare.append(output(PAIR, PAIRS))
        empty.append(output(PAIR, PAIRS, "empty"))
        own.append(pair_attached(folder))
    price, other = min(own) - min(bare), min(empty) - min(bare)
    print("a pair alone %.1f ns, empty probes %.0f ns more, stackd %.0f ns more: %.2f times" % (
        min(bare), other, price, price / other))
    return price > 1.5 * other


# --- programs ---------------------------------------------------------------------------------


Job = collections.namedtuple("Job", "program folder command")


def seconds_of(job, before, env=()):
    """CPU seconds of the program; or of a unit of work, where a run is of fixed time."""
    seconds = cpu_of(job.folder, before, ["env", *env, *job.command], cwd=job.folder,
                     timeout=MOST_SECONDS)
    return cost_of(job.program, seconds, job.folder + "/output")


def with_stackd(job):
    store = job.folder + "/s.db"
    seconds = seconds_of(job, [STACKD, "-q", "-e", "none", "--alloc", "-o", store, "--"])
    os.remove(store)
    return seconds


def with_memleak(job):
    """The program stands still until memleak is there."""
    pid = os.fork()
    if not pid:
        os.chdir(job.folder)
        log = os.open("output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.execvp(job.command[0], job.command)
    with subprocess.Popen(["memleak-bpfcc", "-p", str(pid), str(MOST_SECONDS)], **QUIET) as memleak:
        time.sleep(8)
        alive = memleak.poll() is None
        os.kill(pid, signal.SIGCONT)
        used = os.wait4(pid, 0)[2]
        memleak.terminate()
    if not alive:
        return None
    return cost_of(job.program, used.ru_utime + used.ru_stime, job.folder + "/output")


def prepared():
    """Of those programs that are there."""
    for program in PROGRAMS:
        if not shutil.which(program.needs):
            print("%s: not installed" % program.name)
            continue
        folder = tempfile.mkdtemp()
        if program.prepare:
            program.prepare(folder, 1)
        try:
            yield Job(program, folder, command_of(program, 1))
        finally:
            shutil.rmtree(folder)


def programs(runs, _):
    missed = False
    for job in prepared():
        alone, own = [], []
        for _ in range(runs):
            alone.append(seconds_of(job, []))
            own.append(with_stackd(job))
        best, median = (100 * (f(own) / f(alone) - 1) for f in (min, statistics.median))
        print("%-8s %.3g s alone, --alloc %+.2f %% (best), %+.2f %% (medians)" % (
            job.program.name, min(alone), best, median), flush=True)
        missed |= best > 1
    return missed


def ways(job):
    """name -> a function that measures the CPU seconds."""
    sampling = ("LD_PRELOAD=" + JEMALLOC, "MALLOC_CONF=prof:true,lg_prof_sample:19")
    found = {"alone": lambda: seconds_of(job, []), "stackd": lambda: with_stackd(job)}
    if os.path.exists(HEAPTRACK):
        recording = ("LD_PRELOAD=" + HEAPTRACK, "DUMP_HEAPTRACK_OUTPUT=" + job.folder + "/heap")
        found["heaptrack"] = lambda: seconds_of(job, [], recording)
    if os.path.exists(JEMALLOC):
        found["jemalloc"] = lambda: seconds_of(job, [], sampling[:1])
        found["jemalloc, sampling"] = lambda: seconds_of(job, [], sampling)
    if shutil.which("memleak-bpfcc"):
        found["memleak"] = lambda: with_memleak(job)
    return found


def beside(runs, _):
    for job in prepared():
        seconds = {}
        for _ in range(runs):
            for name, measure in ways(job).items():
                try:
                    is_ = measure()
                except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
                    print("%s, %s: %s" % (job.program.name, name, type(error).__name__))
                    is_ = None
                if is_ is not None:
                    seconds.setdefault(name, []).append(is_)
        alone = min(seconds["alone"])
        print("%-8s %s" % (job.program.name, "; ".join(
            "%s %.3g s (%+.1f %%)" % (name, min(all_), 100 * (min(all_) / alone - 1))
            for name, all_ in seconds.items())), flush=True)
    return False


MEASURES = {"attached": (attached, 5), "programs": (programs, 7), "beside": (beside, 3)}


def main():
    names = [word for word in sys.argv[1:] if not word.isdigit()] or list(MEASURES)
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    missed = False
    for name in names:
        measure, runs = MEASURES[name]
        folder = tempfile.mkdtemp()
        try:
            missed |= measure(numbers[0] if numbers else runs, folder)
        finally:
            shutil.rmtree(folder)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
