#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Stops each stackd of a build for a second, now and then, until its parent ends: stops.py BUILD

A busy machine keeps a process from running for a while, anywhere. A test holds all the same, as long as what is sent in
that time fits into the ring (tests/live/harness.py: ROOM). It is not stopped while the kernel checks its programs, which
a signal has begin again, nor are its workers: stackd takes one that is stopped for one that hangs.

Whoever runs this ends it at any time. So each stop is made by a process of its own, in its own session, which lets what it has
stopped go on, even if this program was killed meanwhile: a test would wait for the stopped stackd until its time is over."""

import contextlib
import os
import random
import signal
import sys
import time

STOPPED, LOOK = 1, 0.05  # seconds
FIRST, NEXT = (0, 0.5), (0.5, 2.5)  # seconds until it is stopped, at random


def program_of(pid):
    return os.readlink("/proc/%s/exe" % pid)


def is_recording(pid, programs):
    """Whether a process is a stackd, and no worker of one, and has opened its events."""
    if program_of(pid) not in programs:
        return False
    with open("/proc/%s/stat" % pid, encoding="ascii") as file:
        parent = file.read().rpartition(")")[2].split()[1]
    files = "/proc/%s/fd/" % pid
    return program_of(parent) not in programs and any("perf_event" in os.readlink(files + fd) for fd in os.listdir(files))


def recording(programs):
    """The numbers of all that record."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if is_recording(pid, programs):
                yield int(pid)


def send(pids, number):
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def stop(pids):
    child = os.fork()
    if not child:
        os.setsid()
        send(pids, signal.SIGSTOP)
        time.sleep(STOPPED)
        send(pids, signal.SIGCONT)
        os._exit(0)
    os.waitpid(child, 0)


def main():
    build, parent, due = os.path.realpath(sys.argv[1]), os.getppid(), {}
    programs = [os.path.join(build, name) for name in ("stackd", "faults/stackd")]
    while os.getppid() == parent:
        now = time.monotonic()
        due = {pid: due.get(pid, now + random.uniform(*FIRST)) for pid in recording(programs)}
        chosen = [pid for pid, at in due.items() if at <= now]
        if chosen:
            stop(chosen)
            due.update((pid, time.monotonic() + random.uniform(*NEXT)) for pid in chosen)
        time.sleep(LOOK)


if __name__ == "__main__":
    main()
