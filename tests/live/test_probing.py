# SPDX-License-Identifier: MIT
"""Regions in programs and functions of every form, and what cannot be measured."""

import contextlib
import json
import os
import shutil
import subprocess
import time

from harness import (FAILED, SIGINT, STACKCTL, STACKD, WORKLOADS, Daemon, Recording, Skip, background, check,
                     check_fault, live, record, record_while, run, scratch, wait_cpu, workload)
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
        with Daemon(folder + "/s.db", *options, "--pid", process.pid) as daemon:
            daemon.wait_recording()
            process.communicate("\n", timeout=60)
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
            with Daemon(store + "/s.db", "--region", "inner@hidden", "--pid",
                        process.pid) as daemon:
                daemon.wait_recording()
                said = own_measures(process.communicate("\n", timeout=60)[0])
                daemon.finish()
            seen = visits_of(Recording(store + "/s.db"))
            check(seen == {"inner": said["inner"][0]}, "visits", seen, said)


@live
def probing_dlopen():
    """A library that is loaded, and unloaded, while the program runs."""
    with scratch() as folder, workload("dlopen_dlclose") as process:
        recording, result = record_while(folder + "/s.db", process.pid, 1, "--region",
                                         "one_leaf@libdl_one.so", "--pid", process.pid)
        paths = by_path(recording, "region.visits")
        seen = sum(count for path, count in paths.items()
                   if path.endswith("turn_one;one_entry;one_leaf"))
        check(seen > 10 and seen >= 0.99 * sum(paths.values()), "visits", paths, result.err)


def visits_from(store, moment, *options):
    """The visits of a recording from a moment of the clock on; 0 while there are none."""
    begun = json.loads(run(STACKCTL, "list", "--json", "-i", store).out)["recordings"][0]
    result = run(STACKCTL, "export", "--folded", "--metric", "region.visits", "-i", store, "--from",
                 "%.3f" % max(0, moment - begun["start_unix_ns"] / 1e9), *options)
    return sum(int(line.rsplit(" ", 1)[1]) for line in result.out.splitlines())


def wait_visits(store, moment, *options, seconds=60):
    """Waits for visits; how soon a library is probed depends on what else the machine does."""
    deadline = time.monotonic() + seconds
    while not visits_from(store, moment, *options):
        check(time.monotonic() < deadline, "no visits within %d s" % seconds)
        time.sleep(0.1)


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
                Daemon(folder + "/s.db", "--region", "one_leaf@libdl_one.so", "--pid",
                       process.pid) as daemon:
            daemon.wait_recording()
            wait_visits(folder + "/s.db", 0)
            os.rename(folder + "/new.so", folder + "/libdl_one.so")
            wait_cpu(process.pid, 0.2)  # the old one is closed some milliseconds after it is opened
            wait_visits(folder + "/s.db", time.time())
            check(process.poll() is None, "the program has ended", process.returncode)
            check(daemon.finish(SIGINT).status == 0, "stackd")


@live
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
        with Daemon(folder + "/s.db", "--region", "one_leaf@libdl_one.so", *options) as daemon:
            daemon.wait_recording()
            for pid in pids:
                wait_visits(folder + "/s.db", 0, "--pid", pid)
            check(daemon.finish(SIGINT).status == 0, "stackd")


@live
def probing_twice():
    """Two recordings of one region at the same time."""
    with scratch() as folder, started(os.path.join(WORKLOADS, "regions"), "40", "wait") as process:
        with Daemon(folder + "/a.db", "--region", "inner@regions", "--pid", process.pid) as one, \
                Daemon(folder + "/b.db", "--region", "inner@regions", "--pid", process.pid) as two:
            one.wait_recording()
            two.wait_recording()
            said = own_measures(process.communicate("\n", timeout=60)[0])
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
            check(counters["judged_right"] > 100 and counters["judged_wrong"] == 0, name, counters)


def refused(folder, region, program, *words):
    result = run(STACKD, "-o", folder + "/s.db", "--region", region, "--", program, 1)
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
        check(run("gcc", "-o", program, code, timeout=120).status == 0, "gcc")
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
        made = run("go", "build", "-o", folder + "/one", code, env=env, timeout=300)
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
        with Daemon(folder + "/s.db", "--region", "abs@libc.so.6", "--pid", process.pid) as daemon:
            daemon.wait_recording()
            process.communicate("\n", timeout=60)
            daemon.finish()
        seen = visits_of(Recording(folder + "/s.db"))
        check(seen.get("abs", 0) >= 100, "visits", seen)
        check(process.returncode == 0, "the program was ended", process.returncode)
