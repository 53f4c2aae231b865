# SPDX-License-Identifier: MIT
"""Every instruction of the workloads, one by one: what a profiler's clock hits once in a million
samples is met here each time. A workload runs under ptrace, a step at a time; each step switches
away from it, and each switch is a sample. Each is walked by the kernel half and by the
daemon, which must agree, and has the path that the workload promises."""

import ctypes
import errno
import os

from chains import Expectation
from harness import (SIGINT, SIGKILL, SIGSTOP, WORKLOADS as FOLDER, Daemon, Recording, Skip,
                     check, check_chains, differing, live, scratch, without_early, workload)

STEPS = 6000

# The workloads of one thread: switches to other threads or processes add no new paths.
DAEMONS = ("jit", "jit_bare")  # walked by the daemon alone: there is nothing to judge
WORKLOADS = ("chain", "chain_static", "recursion", "dlopen_dlclose", "plugin", "signal_handler",
             "vdso", "plt", "plt_ibt", "redzone", "alloca", "realigned",
             "realigned_fp", "ucontext", "tail_calls", "noreturn", "jit", "jit_bare", "registers",
             "rust_names", "cpp_names", "exceptions", "inlined")
SOURCES = {"chain_static": "chain", "plt_ibt": "plt", "realigned_fp": "realigned"}

# Requests of ptrace.
TRACEME, CONT, SINGLESTEP, DETACH, SEIZE, INTERRUPT = 0, 7, 9, 17, 0x4206, 0x4207


def ptrace(request, pid, data=0):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(request, pid, None, data):
        error = ctypes.get_errno()
        if request in (SEIZE, TRACEME) and error == errno.EPERM:
            raise Skip("ptrace is not allowed here")
        check(False, "ptrace(%d): %s" % (request, os.strerror(error)))


def signal_of(status, trap=5):
    """The signal that a stopped process is to get after all."""
    signal = os.WSTOPSIG(status)
    return signal if signal != trap else 0


def go(pid, steps, signal=0):
    """Lets a stopped process go on by so many instructions. False: that was its end."""
    for _ in range(steps):
        ptrace(SINGLESTEP, pid, signal)
        status = os.waitpid(pid, 0)[1]
        if not os.WIFSTOPPED(status):
            return False
        signal = signal_of(status)
    return True


def step(pid, steps):
    """Lets a process that has been seized go on by so many instructions."""
    ptrace(INTERRUPT, pid)
    check(go(pid, steps, signal_of(os.waitpid(pid, 0)[1])), "the workload has ended")
    ptrace(DETACH, pid)


def record_steps(name, steps, store):
    """The recording of so many steps of a workload."""
    with workload(name, share=None) as process:
        ptrace(SEIZE, process.pid)
        with Daemon(store, "-e", "context-switches", "-c", 1, "--judge", "--ring-bytes", "64M",
                    "--pid", process.pid) as daemon:
            daemon.wait_recording()
            step(process.pid, steps)
            result = daemon.finish(SIGINT)  # while the process has names of code that it made
            process.kill()
    check(result.status == 0, "stackd: status %d" % result.status, result.err)
    return Recording(store)


def judge(recording, expectation, is_made=False):
    """The number of judged walks of the kernel half, all of them right. `is_made`: code is made at run time."""
    stats = recording.stats()
    counters = stats["counters"]
    print(stats)
    check(differing(counters) == 0, "%d walks differ from the daemon's" % differing(counters))
    samples = recording.samples()
    check_chains(without_early(samples, expectation) if is_made else samples, expectation)
    return counters["judged_right"]


# Those that `make check` steps through: code with unwind information, frames of unknown size, stacks
# that are switched, code made at run time. The others are those of `make check-long`.
FIRST = ("chain", "realigned", "signal_handler", "ucontext", "tail_calls", "jit")


def stepped(name):
    """The first steps, until the kernel half has its tables, are the daemon's; and a busy machine
    loses some, as nothing holds them back. So it is tried until enough were judged."""
    def test():
        judged = 0
        with scratch() as folder:
            for turn in range(4):
                recording = record_steps(name, STEPS << turn, "%s/%d.db" % (folder, turn))
                judged = judge(recording, Expectation.of_source(SOURCES.get(name, name)), name in DAEMONS)
                if judged > STEPS / 3 or name in DAEMONS:
                    return
        check(False, "only %d walks judged" % judged)
    live(test, name="steps-" + name.replace("_", "-"), long=name not in FIRST)


def start_stopped(*command):
    """A traced process that has stopped itself, and becomes the command when it goes on."""
    pid = os.fork()
    if not pid:
        try:
            ptrace(TRACEME, 0)
            os.kill(os.getpid(), SIGSTOP)
            os.execv(command[0], command)
        finally:
            os._exit(127)
    if not os.WIFSTOPPED(os.waitpid(pid, 0)[1]):
        raise Skip("ptrace is not allowed here")
    return pid


def whole_life(name, steps, *command):
    """From exec on, through the loader or the start code of a static program: nothing is cut."""
    def test():
        with scratch() as folder:
            pid, is_over = start_stopped(*command), False
            try:
                with Daemon(folder + "/s.db", "-e", "context-switches", "-c", 1, "--judge",
                            "--ring-bytes", "64M", "--pid", pid) as daemon:
                    daemon.wait_recording()
                    ptrace(CONT, pid)
                    check(os.WIFSTOPPED(os.waitpid(pid, 0)[1]), "exec has failed")
                    is_over = not go(pid, steps)
                    result = daemon.finish(SIGINT)
            finally:
                if not is_over:
                    os.kill(pid, SIGKILL)
                    os.waitpid(pid, 0)
            check(result.status == 0, "stackd: status %d" % result.status, result.err)
            stats = Recording(folder + "/s.db").stats()
            print(stats)
            check(stats["samples"] + stats["lost"] > steps / 2, "hardly any samples")
            check(differing(stats["counters"]) == 0, "walks differ from the daemon's")
            check(stats["quality"]["partial"] == 0, "not every stack is complete",
                  stats["end_reasons"])
    live(test, name="steps-" + name, long=True)


for _name in WORKLOADS:
    stepped(_name)
whole_life("loader", 40000, "/bin/true")
whole_life("static", 30000, os.path.join(FOLDER, "chain_static"), "60")
