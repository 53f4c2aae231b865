# SPDX-License-Identifier: MIT
"""Allocations: sums over sampled ones, by call path, as far as chance takes them from what the program
itself has counted (chance.py)."""

import json
import math
import os
import subprocess
import time

import chains
from chance import farthest, of_time
from harness import (DONE, FAILED, MANAGED, NATIVE, NO_SAMPLES, NO_SAMPLING, PATIENCE, SIGCONT, SIGINT, SIGSTOP,
                     STACKCTL, STACKD, WORKLOADS, Daemon, Recording, Skip, check, check_fault, cpu_seconds, is_moment,
                     live, record, run, scratch)
from test_outages import Talker, wait_said

PROGRAM = os.path.join(WORKLOADS, "allocs")
SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "workloads")
LIBRARY = os.path.join(os.path.dirname(os.path.realpath(STACKD)), "libstackalloc.so")
ROUNDS, DISTANCE, USUAL_DISTANCE = 2000, 65536, 512 << 10
PARENTS = {"small": "one", "medium": "one", "large": "one", "huge": "other", "aligned": "other",
           "resized": "other", "handed_over": "threads", "in_child": "forks"}


def said_by(text):
    """What the program says: function -> [(blocks, size)]."""
    said = {}
    for function, blocks, size in (line.split() for line in text.splitlines() if " " in line):
        said.setdefault(function, []).append((int(blocks), int(size)))
    return said


def by_function(recording, metric):
    """The sum over each function of the workload, whose leaf it is or, where a wrapper of the
    library stands above it, the last but one; checks that it has its one path."""
    sums = {}
    for line in recording.text("export", "--folded", "--metric", metric).splitlines():
        stack, value = line.rsplit(" ", 1)
        frames = [frame for frame in stack.split(";") if frame in PARENTS]
        if not frames:
            continue
        check("main;%s;%s" % (PARENTS[frames[0]], frames[0]) in stack, "the path", stack)
        sums[frames[0]] = sums.get(frames[0], 0) + int(value)
    return sums


def hit(size, distance=DISTANCE):
    """The probability that a block of so many bytes is sampled."""
    return -math.expm1(-size / distance) if size else 1


def expected(said, distance=DISTANCE):
    """function -> (bytes, blocks, and how far the two may be off)"""
    result = {}
    for function, kinds in said.items():
        chances = [(blocks, size, hit(size, distance)) for blocks, size in kinds]
        result[function] = (
            sum(blocks * size for blocks, size, _ in chances),
            sum(blocks for blocks, _, _ in chances),
            farthest(chances),
            farthest([(blocks, 1, p) for blocks, _, p in chances]))
    return result


def check_amounts(recording, text, distance=DISTANCE):
    """Bytes and blocks by function are what the program says, but for chance."""
    amounts, blocks = (by_function(recording, name) for name in ("alloc.bytes", "alloc.objects"))
    for function, (size, count, *far) in expected(said_by(text), distance).items():
        check_sum("bytes of " + function, amounts.get(function, 0), size, far[0] + 2)
        check_sum("blocks of " + function, blocks.get(function, 0), count, far[1] + 2)


def check_sum(what, is_, truth, far):
    print("%-24s %14d of %14d: %+5.2f of what is allowed" % (what, is_, truth, (is_ - truth) / max(far, 1)))
    check(abs(is_ - truth) <= far, "%s: %d, not %d +- %d" % (what, is_, truth, far))


def check_estimates(recording, text, distance=DISTANCE):
    check_amounts(recording, text, distance)
    counters = recording.stats()["counters"]
    check(counters["allocations"] + counters["frees"] == counters["regions_received"] > 1000, "lost",
          counters)
    for name in ("frees_unknown", "frees_missed", "allocations_untracked"):
        check(counters[name] == 0, name, counters)
    check(counters["allocations_lost"] == counters["regions_partial"] == 0, "lost", counters)


@live
def test_alloc_command():
    """A command, which stackd preloads the library into, and its children. With --full, its CPU time and its waits
    are recorded as well."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "--full", "--wait-mean=0", "--", "sh", "-c",
                                   "%s %d; sleep 0.02" % (PROGRAM, ROUNDS))
        check_estimates(recording, result.out, USUAL_DISTANCE)
        check(recording.stats()["samples"] > 0, "CPU time")
        check("ended by allocs" in recording.text("report", "--view", "wakers"), "waits, with who ended them")


CONSTRUCTORS = """
#include <pthread.h>
#include <stdlib.h>
#define BLOCKS(function) __attribute__((noinline)) static void function(void) { \\
	for (int i = 0; i < 1000; i++) { char *volatile p = malloc(1000); *p = 1; } }
BLOCKS(in_init)
BLOCKS(in_constructor)
BLOCKS(in_thread)
static void *thread(void *none) { in_thread(); return none; }
void old_init(void) { in_init(); }
__attribute__((constructor)) static void construct(void) {
	pthread_t t; in_constructor(); pthread_create(&t, NULL, thread, NULL); pthread_join(t, NULL); }
"""


@live
def test_alloc_constructors():
    """What libraries allocate before main() is sampled at the distance that was asked for, exactly where
    that is a byte."""
    with scratch() as folder:
        for name, text, words in (
                ("libcons.so", CONSTRUCTORS, ["-shared", "-fPIC", "-Wl,-init,old_init"]),
                ("main", "int main(void) { return 0; }",
                 ["-Wl,--no-as-needed", "-L" + folder, "-lcons", "-Wl,-rpath," + folder])):
            with open(folder + "/source.c", "w", encoding="ascii") as source:
                source.write(text)
            built = run("gcc", "-O1", "-fno-builtin", "-o", "%s/%s" % (folder, name), folder + "/source.c",
                        *words, "-pthread")
            check(built.status == 0, "the program", built.err)
        recording, _ = record(folder + "/s.db", *NO_SAMPLING, "--alloc=1", "--", folder + "/main")
        sums = {}
        for line in recording.text("export", "--folded", "--metric", "alloc.bytes").splitlines():
            stack, value = line.rsplit(" ", 1)
            for frame in stack.split(";"):
                sums[frame] = sums.get(frame, 0) + int(value)
        for function in ("in_init", "in_constructor", "in_thread"):
            check(sums.get(function) == 1000000, "its bytes", function, sums)


@live
def test_alloc_before_exec():
    """What stackd's own child does before it executes the command is none of the command's, also where stackd
    itself has the library and its child allocates."""
    env = dict(os.environ, LD_PRELOAD=LIBRARY, STACKALLOC_BYTES="1")
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", *NO_SAMPLING, "--alloc=1", "--", PROGRAM, 1, env=env)
        result = run(STACKCTL, "report", "--json", "--metric", "alloc.bytes", "--by", "command", *recording.source)
        commands = {part["comm"] for part in json.loads(result.out)["parts"]}
        check(commands == {"allocs"}, "commands", commands, result.err)


HEAP = ("kept", "grown", "shrunk", "passing")


def check_heap(recording, metric, said):
    """The sum over each function is that of its blocks, but for chance."""
    sums = dict.fromkeys(HEAP, 0)
    for line in recording.text("export", "--folded", "--metric", metric).splitlines():
        stack, value = line.rsplit(" ", 1)
        for frame in stack.split(";"):
            if frame in sums:
                sums[frame] += int(value)
    for function, (blocks, size) in said.items():
        check_sum("%s of %s" % (metric, function), sums[function], blocks * size,
                  farthest([(blocks, size, hit(size))]) + 2)


@live
def test_alloc_at_probe():
    """CPU samples that hit the library's probes are in the function of the probe, with their whole path, whatever
    the kernel has put in place of its nops."""
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", *MANAGED, "-F", 19973, "--alloc=64", "--", PROGRAM, ROUNDS)
        samples = recording.samples()
        hit = [s for s in samples if any(frame.symbol in ("probe_alloc", "probe_free") for frame in s.frames)]
        check(len(hit) > 100, "%d of %d samples at probes" % (len(hit), len(samples)))
        for sample in samples:
            text = chains.text_of(sample.frames)
            check("uprobes-trampoline" not in text, "a walk", text)
            check("[incomplete" not in text or is_moment(sample), "a walk", text)


@live
def test_alloc_heap():
    """What is live at the end and at the peak, by path."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", *NO_SAMPLING, "--alloc=%d" % DISTANCE, "--",
                                   os.path.join(WORKLOADS, "heap"))
        said = {words[0]: list(map(int, words[1:]))
                for words in (line.split() for line in result.out.splitlines())}
        check(set(said) == set(HEAP), "the workload", said)
        check_heap(recording, "heap.live", {name: numbers[:2] for name, numbers in said.items()})
        check_heap(recording, "heap.peak", {name: numbers[2:] for name, numbers in said.items()})
        counters = recording.stats()["counters"]
        for name in ("frees_unknown", "frees_missed", "allocations_untracked", "allocations_lost"):
            check(counters[name] == 0, name, counters)
        shown = json.loads(recording.text("heap", "--json"))["processes"][0]
        far = of_time(shown["peak"], DISTANCE)
        check(abs(shown["peak"] - max(shown["over_time"])) <= far, "over time", shown)
        check(max(shown["over_time"]) > shown["live"] > 0, "what is live", shown)


@live
def test_alloc_running():
    """A process that was started with the library, beside another that is not in scope."""
    env = dict(os.environ, LD_PRELOAD=LIBRARY, STACKALLOC_BYTES=str(DISTANCE))
    with scratch() as folder, subprocess.Popen(
            [PROGRAM, str(ROUNDS), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=env) as process:
        check(process.stdout.readline() == "READY\n", "the workload")
        with Daemon(folder + "/s.db", *NO_SAMPLING, "--alloc", "--pid", process.pid) as daemon:
            daemon.wait_recording()
            run(PROGRAM, ROUNDS, env=env)
            said, _ = process.communicate("\n", timeout=PATIENCE)
            daemon.finish()
        check_estimates(Recording(folder + "/s.db"), said)


def check_all_ended(recording):
    """The program frees all it has, the C library all but the table of thread-local storage of a thread's
    stack, which it keeps for the next thread: a sample hits that once in some 200 runs."""
    counters = recording.stats()["counters"]
    left = counters["allocations"] - counters["frees"]
    live_ones = recording.text("export", "--folded", "--metric", "heap.objects").splitlines() if left else []
    check(left >= 0 and all(";_dl_allocate_tls;" in line for line in live_ones), "all that was sampled ended",
          live_ones, counters)


@live
def test_alloc_attached():
    """A process without the library: its allocator is probed, for it alone."""
    with scratch() as folder, subprocess.Popen(
            [PROGRAM, str(ROUNDS // 4), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True) as process:
        check(process.stdout.readline() == "READY\n", "the workload")
        with Daemon(folder + "/s.db", *NO_SAMPLING, "--alloc=%d" % DISTANCE, "--alloc-limit", "0", "--pid",
                    process.pid) as daemon:
            daemon.wait_recording()
            run(PROGRAM, ROUNDS)
            said, _ = process.communicate("\n", timeout=PATIENCE)
            daemon.finish()
        recording = Recording(folder + "/s.db")
        # Probes on a library are for the process, not for its children.
        check_estimates(recording, "".join(line for line in said.splitlines(True)
                                           if not line.startswith("in_child")))
        check_all_ended(recording)
        calls = recording.stats()["counters"]["allocator_calls"]
        check(0 < calls < 2 * 140 * ROUNDS, "its own calls", calls)


ALLOCATORS = ("libtcmalloc_minimal.so.4", "libmimalloc.so", "libjemalloc.so.2")


def allocator_path(name):
    """Where the dynamic linker finds a library, of whatever minor version; None: it is not installed."""
    for line in run("/sbin/ldconfig", "-p").out.splitlines():
        if line.strip().startswith(name):
            return line.rsplit("=> ", 1)[1]
    return None


@live(long=True)
def test_alloc_attached_others():
    """Processes with another allocator, whose functions have several names at one address."""
    tested = 0
    for path in filter(None, map(allocator_path, ALLOCATORS)):
        tested += 1
        with scratch() as folder, subprocess.Popen(
                [PROGRAM, str(ROUNDS // 20), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                text=True, env=dict(os.environ, LD_PRELOAD=path)) as process:
            check(process.stdout.readline() == "READY\n", "the workload")
            with Daemon(folder + "/s.db", "-e", "none", "--alloc=%d" % 4096, "--alloc-limit", "0", "--pid",
                        process.pid) as daemon:
                daemon.wait_recording()
                said, _ = process.communicate("\n", timeout=PATIENCE)
                daemon.finish()
            recording = Recording(folder + "/s.db")
            check_amounts(recording, "".join(line for line in said.splitlines(True)
                                             if not line.startswith("in_child")), 4096)
            counters = recording.stats()["counters"]
            check(counters["frees_unknown"] == counters["allocations_untracked"] == 0, path, counters)
            check(counters["allocations"] >= counters["frees"] > 1000, "frees", path, counters)
            leaves = run(STACKCTL, "export", "--folded", "--metric", "heap.live", "-i", folder + "/s.db").out
            check(not any(";%s" % name in leaves for name in PARENTS), "the program has freed all", path, leaves)
    if not tested:
        raise Skip("no other allocator is installed")


OWN_NAMES = """
#include <stddef.h>
#include <stdio.h>
static char arena[1 << 20];
static size_t used;
__attribute__((noinline)) void *%(make)s(size_t n) { used = (used + n + 15) %% (1 << 19) & ~15ul; return arena + used; }
__attribute__((noinline)) void %(end)s(void *p) { __asm__ volatile ("" : : "r"(p)); }
%(more)s
__attribute__((noinline)) void uses(void) {
	for (int i = 0; i < 1000; i++) { char *volatile p = %(make)s(1000); %(end)s(p); }
}
int main(void) { char line[9]; setvbuf(stdin, arena + (1 << 19), _IOFBF, 4096);
	if (!fgets(line, 9, stdin)) return 1; uses(); fgets(line, 9, stdin); return 0; }
"""
ALIASES = "".join("extern __typeof__(free) %s __attribute__((alias(\"free\")));\n" % name
                  for name in ("cfree", "a_free", "z_free", "_ZdlPv"))


def record_own(folder, make, end, more, *options):
    """Attaches to a program with an allocator of its own under these names; what stackd said, and its
    recording."""
    with open(folder + "/own.c", "w", encoding="ascii") as source:
        source.write(OWN_NAMES % {"make": make, "end": end, "more": more})
    built = run("gcc", "-O1", "-g", "-fno-builtin", "-w", "-o", folder + "/own", folder + "/own.c")
    check(built.status == 0, "the program", built.err)
    with subprocess.Popen([folder + "/own"], stdin=subprocess.PIPE, text=True) as process:
        with Daemon(folder + "/s.db", *options, "--alloc=1", "--alloc-limit", "0", "--pid", process.pid) as daemon:
            daemon.wait_recording()
            process.stdin.write("\n")
            process.stdin.flush()
            process.communicate("\n", timeout=PATIENCE)
            result = daemon.finish()
    return result.status, result.err, Recording(folder + "/s.db")


@live
def test_alloc_own_names():
    """Allocators in a program's own file: by their own names alone, with more names for one function than
    one, and under names that nobody knows, which is an error."""
    for make, end, more in (("_rjem_malloc", "_rjem_free", ""), ("malloc", "free", ALIASES),
                            ("pool_get", "pool_put", "")):
        with scratch() as folder:
            status, said, recording = record_own(folder, make, end, more, *(() if make == "pool_get" else NO_SAMPLING))
            total = sum(int(line.rsplit(" ", 1)[1]) for line in recording.text(
                "export", "--folded", "--metric", "alloc.bytes").splitlines() if ";uses " in line) \
                if make != "pool_get" else 0
            if make == "pool_get":
                check(status == NO_SAMPLES and "libc.so.6 was called" in said, "what is said", status, said)
            else:
                check(total == 1000000, "its blocks", make, total, said)


@live
def test_alloc_static():
    """Static programs, whose own functions are probed, with their children's: amounts, and what is
    live."""
    with scratch() as folder:
        for name in ("allocs", "heap"):
            built = run("gcc", "-static", "-O1", "-g", "-w", "-o", "%s/%s" % (folder, name),
                        os.path.join(SOURCES, name + ".c"))
            check(built.status == 0, "the program", built.err)
        recording, result = record(folder + "/s.db", *NO_SAMPLING, "--alloc=%d" % DISTANCE, "--alloc-limit", "0",
                                   "--", folder + "/allocs", ROUNDS // 10)
        check("static program" in result.err and "probed" in result.err, "what is done",
              result.err)
        check_estimates(recording, result.out)
        recording, result = record(folder + "/h.db", *NO_SAMPLING, "--alloc=%d" % DISTANCE, "--alloc-limit", "0",
                                   "--", folder + "/heap")
        said = {words[0]: list(map(int, words[1:]))
                for words in (line.split() for line in result.out.splitlines())}
        check_heap(recording, "heap.live", {name: numbers[:2] for name, numbers in said.items()})
        check_heap(recording, "heap.peak", {name: numbers[2:] for name, numbers in said.items()})


@live(long=True)
def test_alloc_too_often():
    """Where the allocator is called too often to be probed, memory is recorded instead."""
    with scratch() as folder, subprocess.Popen(
            [os.path.join(WORKLOADS, "touched")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True) as process:
        check(process.stdout.readline() == "READY\n", "the workload")
        with Daemon(folder + "/s.db", "--alloc=%d" % DISTANCE, "--alloc-limit", "100", "--pid",
                    process.pid) as daemon:
            daemon.wait_recording()
            said, _ = process.communicate("\n", timeout=PATIENCE)
            result = daemon.finish()
        check("times a second, more than --alloc-limit (100)" in result.err, "what it says",
              result.err)
        recording, size = Recording(folder + "/s.db"), int(said)
        sums = {"mapped": 0, "touched": 0}
        for metric, function in (("memory.mapped", "mapped"), ("memory.touched", "touched")):
            text = recording.text("export", "--folded", "--metric", metric)
            for line in text.splitlines():
                stack, value = line.rsplit(" ", 1)
                if ";%s" % function in stack:
                    check(";main;" in stack, "the path", stack)
                    sums[function] += int(value)
        check(sums["mapped"] == size, "mapped", sums)
        check_sum("touched", sums["touched"], size, farthest([(size / 4096, 4096, hit(4096))]))


@live
def test_alloc_limit():
    """Where the allocator begins to be called too often, heap says until when it was counted."""
    with scratch() as folder:
        with open(folder + "/source.c", "w", encoding="ascii") as source:
            source.write("#include <stdlib.h>\n#include <stdio.h>\n#include <unistd.h>\n"
                         "static void *volatile p;\n"
                         "int main(void) { getchar(); for (int i = 0; i < 100; i++) { p = malloc(100); usleep(10000); }\n"
                         "while (!usleep(1000)) for (int i = 0; i < 1000; i++) { free(p); p = malloc(100); } }\n")
        built = run("gcc", "-fno-builtin", "-o", folder + "/program", folder + "/source.c")
        check(built.status == 0, "the program", built.err)
        with subprocess.Popen([folder + "/program"], stdin=subprocess.PIPE, text=True) as process:
            try:
                with Talker(folder + "/s.db", *NO_SAMPLING, "--alloc=1", "--alloc-limit", "2000", "--pid", process.pid) as daemon:
                    daemon.wait_recording()
                    process.stdin.write("\n")
                    process.stdin.flush()
                    wait_said("more than --alloc-limit (2000)", daemon)
                    result = daemon.finish(SIGINT)
            finally:
                process.kill()
        check(result.status == DONE, "stackd", result.err)
        recording = Recording(folder + "/s.db")
        until = json.loads(recording.text("heap", "--json"))["counted_until_s"]
        check(0 < until <= recording.stats()["duration_ns"] / 1e9, "until when", until)
        check("counted until %.3f s" % until in recording.text("heap"), "what heap says")


OBSTACLES = {"asan": (["-fsanitize=address"], "-fsanitize=address"),
             "own_malloc": (["-Dother=malloc"], "has a malloc.. of its own")}


@live(long=True)
def test_alloc_obstacles():
    """Programs that the library has no part in: their allocator is probed, or they are refused, with
    the reason; a script is none."""
    with scratch() as folder:
        with open(folder + "/program.c", "w", encoding="ascii") as source:
            source.write("#include <stdlib.h>\n#include <time.h>\n"
                         "void *other(size_t n) { static char b[9999]; return b + n % 9; }\n"
                         "int main(void) { for (int i = 0; i < 1000; i++) free(calloc(70, 1000));\n"
                         "while (clock() < CLOCKS_PER_SEC / 10) ; return 0; }\n")
        for name, (words, reason) in OBSTACLES.items():
            program = os.path.join(folder, name)
            built = run("gcc", "-fno-builtin", *words, "-o", program, folder + "/program.c")
            check(built.status == 0, "the program", built.err)
            arguments = ("--alloc=%d" % DISTANCE, "-o", folder + "/s.db", "--", program)
            if name == "own_malloc":
                # There is no free() with it.
                check_fault(run(STACKD, *NATIVE, *arguments), FAILED, "--alloc", reason)
            else:
                check_probed(*record(folder + "/s.db", *arguments[:1], *arguments[3:]), reason)
        program = os.path.join(folder, "setuid")
        built = run("gcc", "-fno-builtin", "-o", program, folder + "/program.c")
        check(built.status == 0, "the program", built.err)
        os.chown(program, 12345, 12345)
        os.chmod(program, 0o4755)
        check_probed(*record(folder + "/u.db", "--alloc=%d" % DISTANCE, "--", program), "setuid")
        with open(folder + "/script", "w", encoding="ascii") as script:
            script.write("#!/bin/sh\nexec %s 200\n" % PROGRAM)
        os.chmod(folder + "/script", 0o755)
        recording, _ = record(folder + "/s.db", "--alloc=%d" % DISTANCE, "--", folder + "/script")
        check(recording.stats()["counters"]["allocations"] > 100, "a script's program")


def check_probed(recording, result, reason):
    """The program's 1,000 blocks of 70,000 bytes are there, but for chance."""
    check(reason in result.err and "is probed instead" in result.err, "what is said", result.err)
    total = sum(int(line.rsplit(" ", 1)[1]) for line in recording.text(
        "export", "--folded", "--metric", "alloc.bytes").splitlines() if ";main" in line)
    check_sum("its blocks", total, 70000000, farthest([(1000, 70000, hit(70000))]))


@live
def test_alloc_lost():
    """Where the ring has no room for a sample, the thread's next one stands for it, too; of the last ones
    it is counted what they stood for."""
    env = dict(os.environ, LD_PRELOAD=LIBRARY, STACKALLOC_BYTES="2048")
    with scratch() as folder, subprocess.Popen(
            [PROGRAM, str(ROUNDS // 2), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=env) as process:
        check(process.stdout.readline() == "READY\n", "the workload")
        with Daemon(folder + "/s.db", *NO_SAMPLING, "--alloc", "--ring-bytes", "65536", "--pid", process.pid) as daemon:
            daemon.wait_recording()
            daemon.process.send_signal(SIGSTOP)
            process.stdin.write("\n")
            process.stdin.flush()
            goal = cpu_seconds(process.pid) + 0.05
            while process.poll() is None and cpu_seconds(process.pid) < goal:
                time.sleep(0.005)
            daemon.process.send_signal(SIGCONT)
            said, _ = process.communicate(timeout=PATIENCE)
            result = daemon.finish()
        check(result.status == DONE, "stackd", result.err)
        recording = Recording(folder + "/s.db")
        counters = recording.stats()["counters"]
        check(counters["regions_lost_ring"] > 0, "nothing was lost", counters)
        shown = json.loads(recording.text("report", "--json", "--metric", "alloc.bytes"))
        truth = sum(blocks * size for kinds in said_by(said).values()
                    for blocks, size in kinds)
        error = shown["standard_error"]
        left = counters["allocations_lost_bytes"] - counters["allocations_made_up_bytes"]
        print(counters["regions_lost_ring"], "lost;", shown["amount"], "and", left, "of", truth, "+-", error)
        check(counters["allocations_lost_bytes"] > 0 and left >= 0, "no bytes are lost", counters)
        # Of so many samples, a sum is farther off than five standard errors in one of 1.7 million runs.
        check(abs(shown["amount"] + left - truth) <= 5 * error, "the sum", shown["amount"], left, truth)
