# SPDX-License-Identifier: MIT
"""The waits of a program by the kernel's own trace of its scheduler (tracefs): a judge of `--wait`.

The other clocks are no judge of single switches. What the scheduler counts as runnable
(/proc/PID/schedstat), and a thread's CPU time, begin and end where it reads its clock: at the begin
of a wake-up or a switch, before it raises interrupts and sets timers. On a virtual machine each of
these may leave the processor to the host, for milliseconds, before the event that is traced."""

import collections
import contextlib
import os
import re

from harness import Skip, check, run, scratch

EVENTS = {
    "sched_switch": "prev_comm == %s || next_comm == %s",
    "sched_wakeup": "comm == %s",
    "sched_process_fork": "parent_comm == %s",
}
BUFFER_KIB = 16384  # of a CPU

LINE = re.compile(r"^ .*\[\d+\] \S+ +(\d+)\.(\d{6}): (sched_\w+): (.*)$")
SWITCH = re.compile(r"prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> .* next_pid=(\d+) ")


class Thread:
    """What a thread's events add up to, in nanoseconds. Not all are whole: after a processor was
    off line, the kernel does not trace its switches from idle."""

    def __init__(self):
        self.blocked = self.runnable = self.events = 0
        self.state, self.since, self.woken = None, 0, None
        self.is_whole = True
        self.delays = []  # runnable times after a wake-up

    def leave(self, now, state):
        self.is_whole = self.is_whole and not self.state
        self.state, self.since, self.woken = state, now, None
        self.events += 1

    def take(self, now):
        ready = self.since if self.state == "R" else self.woken or now
        self.is_whole = self.is_whole and bool(self.state)
        if self.state:
            self.blocked += ready - self.since
            self.runnable += now - ready
            if self.state != "R":
                self.delays.append(now - ready)
        self.state = None
        self.events += 1


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def read_events(path):
    """{thread: what its events add up to}"""
    threads = collections.defaultdict(Thread)
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            found = LINE.match(line)
            if not found:
                check("LOST" not in line, "the trace lost events", line)
                continue
            now, event, text = int(found[1] + found[2]) * 1000, found[3], found[4]
            if event == "sched_switch":
                before, state, after = SWITCH.search(text).groups()
                threads[int(before)].leave(now, state[0])
                threads[int(after)].take(now)
            elif event == "sched_wakeup":
                threads[int(re.search(r" pid=(\d+) ", text)[1])].woken = now
            else:
                threads[int(re.search(r"child_pid=(\d+)", text)[1])].leave(now, "R")
    return threads


class Trace:
    """Of the threads with this name; `threads` when it has ended."""

    def __init__(self, folder, comm):
        self.folder, self.threads = folder, {}
        write(folder + "/trace_clock", "mono")
        write(folder + "/buffer_size_kb", str(BUFFER_KIB))
        for event, which in EVENTS.items():
            where = "%s/events/sched/%s/" % (folder, event)
            write(where + "filter", which.replace("%s", '"%s"' % comm))
            write(where + "enable", "1")

    def end(self):
        write(self.folder + "/tracing_on", "0")
        self.threads = read_events(self.folder + "/trace")


@contextlib.contextmanager
def traced(comm):
    """Traces while the body runs. Skips where there is no tracefs."""
    with scratch() as mount:
        if run("mount", "-t", "tracefs", "none", mount).status:
            raise Skip("no tracefs here")
        instance = "%s/instances/stackd-%d" % (mount, os.getpid())
        try:
            os.mkdir(instance)
            try:
                trace = Trace(instance, comm)
                yield trace
                trace.end()
            finally:
                os.rmdir(instance)
        finally:
            run("umount", mount)
