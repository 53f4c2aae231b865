# SPDX-License-Identifier: MIT
"""Regions in programs and functions of every form, and what cannot be measured."""

import contextlib
import ctypes
import json
import os
import shutil
import struct
import subprocess
import time

import chains
from harness import (FAILED, NATIVE, NO_SAMPLING, PATIENCE, SIGINT, STACKCTL, STACKD, WORKLOADS, Daemon, Recording, Skip,
                     background, check, check_fault, differing, is_moment, live, perf_event, record, record_while, run,
                     scratch, wait_cpu, workload)
from test_regions import by_path, own_measures, regions_view

HITS = 100  # of workloads/probed.c
PROBED = os.path.join(WORKLOADS, "probed")


def visits_of(recording):
    return {name: region["visits"] for name, region in regions_view(recording).items()}


def started(*command, **more):
    """A process that has said READY and waits for a line."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               **more)
    check(process.stdout.readline() == "READY\n", "the workload")
    return process


@live
def probing_forms():
    """Tail calls end the caller's instance, functions of one and two bytes are passed through, and
    a thread that is inside at attach has no instance of that."""
    functions = ("first", "second", "two_bytes", "one_byte", "stay", "after")
    options = [word for name in functions for word in ("--region", name + "@probed")]
    with scratch() as folder, started(PROBED) as process:
        with Daemon(folder + "/s.db", *NO_SAMPLING, *options, "--pid", process.pid) as daemon:
            daemon.wait_recording()
            process.communicate("\n", timeout=PATIENCE)
            check(process.returncode == 0, "the program", process.returncode)
            daemon.finish()
        recording = Recording(folder + "/s.db")
        seen, counters = visits_of(recording), recording.stats()["counters"]
        check(seen == {name: HITS for name in functions if name != "stay"}, "visits", seen)
        check(counters["regions_unmatched"] == 1, "the one inside at attach", counters)
        paths = by_path(recording, "region.visits")
        check(all(path.endswith("main;" + path.rsplit(";", 1)[1]) for path in paths),
              "a tail call is no caller", paths)


@live
def probing_mount_namespace():
    """A program of a file system that only its own processes see."""
    with scratch() as folder:
        if run("unshare", "-m", "mount", "-t", "tmpfs", "none", folder).status != 0:
            raise Skip("no mounts can be made here")
        script = "mount -t tmpfs none %s && cp %s/regions %s/hidden && exec %s/hidden 40 wait" % (
            folder, WORKLOADS, folder, folder)
        with scratch() as store, started("unshare", "-m", "sh", "-c", script) as process:
            check(not os.path.exists(folder + "/hidden"), "the program is seen here")
            with Daemon(store + "/s.db", *NO_SAMPLING, "--region", "inner@hidden", "--pid",
                        process.pid) as daemon:
                daemon.wait_recording()
                said = own_measures(process.communicate("\n", timeout=PATIENCE)[0])
                daemon.finish()
            seen = visits_of(Recording(store + "/s.db"))
            check(seen == {"inner": said["inner"][0]}, "visits", seen, said)


@live
def probing_dlopen():
    """A library that is loaded, and unloaded, while the program runs: once its table is there, each
    path is complete."""
    with scratch() as folder, workload("dlopen_dlclose") as process:
        store = folder + "/s.db"
        with Daemon(store, *NO_SAMPLING, "--region", "one_leaf@libdl_one.so", "--pid", process.pid) as daemon:
            daemon.wait_recording()
            wait_visits(store, 0, "--focus", "steady")
            moment = time.time()
            wait_cpu(process.pid, 0.5)
            result = daemon.finish(SIGINT)
        paths = {}
        for line in run(STACKCTL, "export", "--folded", "--metric", "region.visits", "-i", store, "--from",
                        since(store, moment)).out.splitlines():
            path, count = line.rsplit(" ", 1)
            paths[path] = int(count)
        wrong = [path for path in paths if not path.endswith(";main;steady;turn_one;one_entry;one_leaf")]
        check(sum(paths.values()) > 10 and not wrong, "visits", paths, result.err)


def since(store, moment):
    """The range's begin that a moment of the clock is."""
    begun = json.loads(run(STACKCTL, "list", "--json", "-i", store).out)["recordings"][0]
    return "%.3f" % max(0, moment - begun["start_unix_ns"] / 1e9)


def visits_from(store, moment, *options):
    """The visits of a recording from a moment of the clock on; 0 while there are none."""
    result = run(STACKCTL, "export", "--folded", "--metric", "region.visits", "-i", store, "--from",
                 since(store, moment), *options)
    return sum(int(line.rsplit(" ", 1)[1]) for line in result.out.splitlines())


def wait_visits(store, moment, *options, seconds=PATIENCE):
    """Waits for visits; how soon a library is probed depends on what else the machine does."""
    deadline = time.monotonic() + seconds
    while not visits_from(store, moment, *options):
        check(time.monotonic() < deadline, "no visits within %d s" % seconds)
        time.sleep(0.1)


LONG_NOP = r"""#include <sys/wait.h>
#include <unistd.h>
__asm__(".text\n.type patched, @function\npatched: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
	"	mov %rdi, %rax\n	ret\n.size patched, .-patched\n"
	".type looping, @function\nlooping: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
	"1:	dec %rdi\n	jns 1b\n	ret\n.size looping, .-looping\n");
long patched(long n), looping(long n);
int main(void)
{
	int status = 0;
	for (long i = 0; i < 100; i++)
		patched(i), looping(i);
	if (!fork()) {
		for (long i = 0; i < 100; i++)
			patched(i), looping(i);
		_exit(0);
	}
	return wait(&status) < 0 || status;
}
"""


@live
def probing_long_nop():
    """A function that begins with a nop of five bytes, which Linux makes a call of where it has a probe. Children of
    a fork do not have what it calls, and would die."""
    with scratch() as folder:
        source, program = folder + "/nop.c", folder + "/nop"
        with open(source, "w", encoding="ascii") as file:
            file.write(LONG_NOP)
        built = run(os.environ.get("CC", "cc"), "-O1", "-o", program, source)
        check(built.status == 0, "nop.c", built.err)
        for kind in "--region", "--mark":
            recording, result = record(folder + "/s.db", *NO_SAMPLING, kind, "patched@nop", "--", program)
            seen = sum(by_path(recording, "region.visits").values())
            check(result.status == 0 and seen == (200 if kind == "--region" else 198), "visits", kind, seen,
                  result.err)
            os.unlink(folder + "/s.db")
        result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--region", "looping@nop", "--", program)
        check_fault(result, FAILED, "looping", "no probe can be at one of its instructions")


LOOP = r"""#include <stdio.h>
__asm__(".text\n.type patched, @function\npatched:\n	.cfi_startproc\n	.byte 0x0f, 0x1f, 0x44, 0, 0\n"
	"	mov %rdi, %rax\n	ret\n	.cfi_endproc\n.size patched, .-patched\n");
long patched(long n);
static __attribute__((noinline)) long caller(long n)
{
	return patched(n) + 1;
}
int main(void)
{
	puts("READY");
	fflush(stdout);
	for (volatile long i = 0;; i++)
		caller(i);
}
"""
UPROBES = "/sys/bus/event_source/devices/uprobe/type"


@contextlib.contextmanager
def others_probe(path, offset):
    """A probe in a file that somebody else counts the hits of."""
    with open(UPROBES, encoding="ascii") as file:
        kind = int(file.read())
    name = ctypes.create_string_buffer(path.encode())
    attr = struct.pack("<IIQQQQQIIQQ", kind, 128, 0, 0, 0, 0, 0, 0, 0, ctypes.addressof(name), offset)
    events = [perf_event(attr, -1, cpu) for cpu in sorted(os.sched_getaffinity(0))]
    try:
        yield
    finally:
        for event in events:
            os.close(event)


@live
def probing_calls():
    """A thread within somebody else's probe at a nop of five bytes, which Linux 6.18 makes a call of, is in the
    function that has it."""
    if not os.path.exists(UPROBES):
        raise Skip("the kernel has no uprobes")
    with scratch() as folder:
        with open(folder + "/loop.c", "w", encoding="ascii") as file:
            file.write(LOOP)
        built = run(os.environ.get("CC", "cc"), "-O1", "-fno-pie", "-no-pie", "-o", folder + "/loop", folder + "/loop.c")
        check(built.status == 0, "loop.c", built.err)
        symbol = [line for line in run("nm", folder + "/loop").out.splitlines() if line.endswith(" t patched")]
        offset = int(symbol[0].split()[0], 16) - 0x400000
        with others_probe(folder + "/loop", offset), background(folder + "/loop", ready="READY") as process:
            recording, _ = record_while(folder + "/s.db", process.pid, 0.5, "-F", 9973, "--pid", process.pid)
        samples = [sample for sample in recording.samples() if not is_moment(sample)]
        texts = [chains.text_of(sample.frames) for sample in samples]
        within = [text for text in texts if "sys_uprobe" in text]
        print("%d samples, %d in the probe's system call" % (len(texts), len(within)))
        for text in texts:
            check("incomplete" not in text and "unknown" not in text, "a walk", text)
        for text in within:
            check("main;caller;patched;" in text, "the path", text)
        with open("/proc/kallsyms", encoding="ascii") as file:
            makes_calls = any(line.endswith(" __x64_sys_uprobe\n") for line in file)
        check(len(within) > 100 or not makes_calls, "no sample is in the probe", texts[:3])


@live
def probing_replaced():
    """A library whose file is replaced while it is probed: the program goes on, and the one that it
    loads then is measured, too."""
    with scratch() as folder:
        for name in ("dlopen_dlclose", "libdl_one.so", "libdl_two.so"):
            shutil.copy(os.path.join(WORKLOADS, name), folder)
        made = run("objcopy", "--add-section", ".other=/etc/hostname", folder + "/libdl_one.so",
                   folder + "/new.so")
        check(made.status == 0, "objcopy", made.err)
        with background(folder + "/dlopen_dlclose", 60, ready="READY", cwd=folder,
                        env=dict(os.environ, LD_LIBRARY_PATH=folder)) as process, \
                Daemon(folder + "/s.db", *NO_SAMPLING, "--region", "one_leaf@libdl_one.so", "--pid",
                       process.pid) as daemon:
            daemon.wait_recording()
            wait_visits(folder + "/s.db", 0)
            os.rename(folder + "/new.so", folder + "/libdl_one.so")
            wait_cpu(process.pid, 0.2)  # the old one is closed some milliseconds after it is opened
            wait_visits(folder + "/s.db", time.time())
            check(process.poll() is None, "the program has ended", process.returncode)
            check(daemon.finish(SIGINT).status == 0, "stackd")


@live(long=True)
def probing_copies():
    """Two processes with copies of one library: each copy has probes of its own, and the function's
    name is not ambiguous."""
    with scratch() as folder, contextlib.ExitStack() as stack:
        pids = []
        for place in (folder + "/one", folder + "/two"):
            os.mkdir(place)
            for name in ("dlopen_dlclose", "libdl_one.so", "libdl_two.so"):
                shutil.copy(os.path.join(WORKLOADS, name), place)
            process = stack.enter_context(
                background(place + "/dlopen_dlclose", 60, ready="READY", cwd=place,
                           env=dict(os.environ, LD_LIBRARY_PATH=place)))
            pids.append(process.pid)
        options = [word for pid in pids for word in ("--pid", pid)]
        with Daemon(folder + "/s.db", *NO_SAMPLING, "--region", "one_leaf@libdl_one.so", *options) as daemon:
            daemon.wait_recording()
            for pid in pids:
                wait_visits(folder + "/s.db", 0, "--pid", pid)
            check(daemon.finish(SIGINT).status == 0, "stackd")


@live
def probing_twice():
    """Two recordings of one region at the same time."""
    with scratch() as folder, started(os.path.join(WORKLOADS, "regions"), "40", "wait") as process:
        with Daemon(folder + "/a.db", *NO_SAMPLING, "--region", "inner@regions", "--pid", process.pid) as one, \
                Daemon(folder + "/b.db", *NO_SAMPLING, "--region", "inner@regions", "--pid", process.pid) as two:
            one.wait_recording()
            two.wait_recording()
            said = own_measures(process.communicate("\n", timeout=PATIENCE)[0])
            one.finish()
            two.finish()
        for name in ("a", "b"):
            seen = visits_of(Recording("%s/%s.db" % (folder, name)))
            check(seen == {"inner": said["inner"][0]}, "visits", seen, said)


@live
def probing_judged():
    """Walks stay true where functions are probed: the kernel half's are the daemon's."""
    for name in ("redzone", "signal_handler"):
        # A probe is on a file, and so in all processes that have it: here, in its own.
        with scratch() as folder, \
                workload(shutil.copy(os.path.join(WORKLOADS, name), folder)) as process:
            recording, _ = record_while(folder + "/s.db", process.pid, 0.4, "--judge", "-F", 4999,
                                        "--region", "*@" + name, "--pid", process.pid)
            counters = recording.stats()["counters"]
            check(counters["judged_right"] > 100 and differing(counters) == 0, name, counters)


def refused(folder, region, program, *words):
    result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--region", region, "--", program, 1)
    check_fault(result, FAILED, *words)


@live
def probing_refused():
    with scratch() as folder:
        refused(folder, "broken@probed", PROBED, "broken of .*/probed", "cannot be decoded")
        refused(folder, "data@probed", PROBED, "data", "no function")
        stripped = folder + "/stripped"
        check(run("strip", "-o", stripped, PROBED).status == 0, "strip")
        refused(folder, "after@stripped", stripped, "stripped", "debug symbols")
        code, program = folder + "/many.s", folder + "/many"
        with open(code, "w", encoding="ascii") as file:
            file.write(".globl main\nmain: ret\n")
            file.write("".join(".type many_%d, @function\nmany_%d: ret\n.size many_%d, 1\n"
                               % (i, i, i) for i in range(10001)))
        check(run("gcc", "-o", program, code, timeout=PATIENCE).status == 0, "gcc")
        refused(folder, "many_*", program, "more than 10000 functions", "narrower")


@live
def probing_go():
    """Go moves its stacks: refused, with that reason."""
    if not shutil.which("go"):
        raise Skip("no Go compiler here")
    with scratch() as folder:
        code = folder + "/one.go"
        with open(code, "w", encoding="ascii") as file:
            file.write("package main\nfunc main() { println(1) }\n")
        env = dict(os.environ, GOCACHE=folder + "/cache", HOME=folder)
        made = run("go", "build", "-o", folder + "/one", code, env=env, timeout=PATIENCE)
        check(made.status == 0, "go build", made.err)
        refused(folder, "main.main@one", folder + "/one", "Go program", "stacks move")


@live
def probing_seccomp():
    """No probe here is a uretprobe, which kernels end filtered programs for (6.11 to 6.14)."""
    script = ("import ctypes, os, sys\n"
              "libc = ctypes.CDLL(None)\n"
              "n = getattr(libc, 'abs')\n"
              "sys.stdout.write('READY\\n'); sys.stdout.flush(); sys.stdin.readline()\n"
              "libc.prctl(22, 1, 0, 0, 0)\n"  # PR_SET_SECCOMP, SECCOMP_MODE_STRICT
              "for i in range(100): n(-1)\n"
              "libc.syscall(60, 0)\n")  # _exit(), which strict mode allows
    with scratch() as folder, started("python3", "-c", script) as process:
        with Daemon(folder + "/s.db", *NO_SAMPLING, "--region", "abs@libc.so.6", "--pid", process.pid) as daemon:
            daemon.wait_recording()
            process.communicate("\n", timeout=PATIENCE)
            daemon.finish()
        seen = visits_of(Recording(folder + "/s.db"))
        check(seen.get("abs", 0) >= 100, "visits", seen)
        check(process.returncode == 0, "the program was ended", process.returncode)
