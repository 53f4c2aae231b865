# SPDX-License-Identifier: MIT
"""Every instruction of the workloads, one by one: what a profiler's clock hits once in a million
samples is met here each time. A workload runs under ptrace, a step at a time; each step switches
away from it, and each switch is a sample. Each is walked by the kernel half and by the daemon's
libdw, which must agree, and has the path that the workload promises."""

import ctypes
import os

from chains import Expectation
from harness import SIGINT, Daemon, Recording, check, check_chains, live, scratch, workload

STEPS = 6000

# Those that step through code of their own: a switch to another thread or process shows nothing.
WORKLOADS = ("chain", "chain_static", "recursion", "dlopen_dlclose", "plugin", "signal_handler",
             "vdso", "plt", "plt_ibt", "redzone", "alloca", "realigned", "ucontext",
             "tail_calls", "noreturn", "jit", "registers", "rust_names", "cpp_names",
             "exceptions", "inlined")
SOURCES = {"chain_static": "chain", "plt_ibt": "plt"}

SINGLESTEP, SEIZE, INTERRUPT, DETACH = 9, 0x4206, 0x4207, 17  # requests of ptrace


def ptrace(request, pid, data=0):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    check(libc.ptrace(request, pid, None, data) == 0,
          "ptrace(%d): %s" % (request, os.strerror(ctypes.get_errno())))


def signal_of(status, trap=5):
    """The signal that a stopped process is to get after all."""
    signal = os.WSTOPSIG(status)
    return signal if signal != trap else 0


def step(pid, steps):
    """Lets a process that has been seized go on by so many instructions."""
    ptrace(INTERRUPT, pid)
    signal = signal_of(os.waitpid(pid, 0)[1])
    for _ in range(steps):
        ptrace(SINGLESTEP, pid, signal)
        status = os.waitpid(pid, 0)[1]
        check(os.WIFSTOPPED(status), "the workload has ended")
        signal = signal_of(status)
    ptrace(DETACH, pid)


def stepped(name):
    def test():
        with scratch() as folder, workload(name) as process:
            store = folder + "/s.db"
            ptrace(SEIZE, process.pid)
            with Daemon(store, "-e", "context-switches", "-c", 1, "--judge", "--ring-bytes", "64M",
                        "--pid", process.pid) as daemon:
                daemon.wait_recording()
                step(process.pid, STEPS)
                process.kill()
                result = daemon.finish(SIGINT)
            check(result.status == 0, "stackd: status %d" % result.status, result.err)
            judge(Recording(store), Expectation.of_source(SOURCES.get(name, name)))
    live(test, name="steps-" + name.replace("_", "-"))


def judge(recording, expectation):
    stats = recording.stats()
    counters = stats["counters"]
    print(stats)
    check(counters["judged_wrong"] == 0, "%(judged_wrong)d walks differ from libdw's" % counters)
    # The first ones, until the kernel half has its tables, are the daemon's.
    check(counters["judged_right"] > STEPS / 3, "only %(judged_right)d walks judged" % counters)
    check(stats["lost"] == 0, "lost samples", stats)
    # Steps, unlike a clock, are as many in a library's switch of stacks as there are
    # instructions in it: how many says nothing.
    if not expectation.torn_percent:
        expectation.outside_percent = 100
        check_chains(recording.samples(), expectation)


for _name in WORKLOADS:
    stepped(_name)
