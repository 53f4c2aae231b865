# SPDX-License-Identifier: MIT
"""A service whose store cannot be written to for a while: sampling goes on, what is lost is counted,
and writing begins again. Two services at one store."""

import errno
import json
import os
import re
import threading
import time

from chains import Expectation
from harness import (DONE, FAILED, NATIVE, PATIENCE, SIGINT, STACKCTL, STACKD, Daemon, Recording, Result, check,
                     check_chains, check_fault, live, run, scratch, small_disk, wait_cpu, workload)
from test_faults import fill_up

CHAIN = Expectation.of_source("chain")
SHARE = 0.1  # of the time, in which programs run that are waited with
DROPPED = "samples are dropped until"
WINDOWS = ("-F", 4999, "--window", "2s")


UNWRITABLE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#define WRITE(name)                                                                           \
	ssize_t name(int fd, const void *data, size_t size, off64_t at)                        \
	{                                                                                      \
		ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, #name); \
		if (access(getenv("UNWRITABLE"), F_OK))                                        \
			return real(fd, data, size, at);                                       \
		errno = atoi(getenv("WRITE_ERROR"));                                           \
		return -1;                                                                     \
	}
WRITE(pwrite)
WRITE(pwrite64)

ssize_t write(int fd, const void *data, size_t size)
{
	ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
	struct stat st;

	if (access(getenv("UNWRITABLE"), F_OK) || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return real(fd, data, size);
	errno = atoi(getenv("WRITE_ERROR"));
	return -1;
}
"""


class Talker(Daemon):
    """A running stackd whose messages are read as they come."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.lines, self.start = [], time.monotonic()
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr))
        self.reader.start()

    def said(self):
        return "".join(self.lines)

    def seconds(self):
        return time.monotonic() - self.start

    def finish(self, number=None, timeout=PATIENCE):
        self.process.send_signal(number)
        self.process.wait(timeout)
        self.reader.join()
        return Result(self.process.returncode, "", self.said())

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stderr.close()


def recordings(store):
    result = run(STACKCTL, "list", "--json", "-i", store)
    return json.loads(result.out)["recordings"] if result.status == DONE else []


def wait_for(what, condition, daemon):
    """Waits for a condition while stackd goes on."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        check(daemon.process.poll() is None, "stackd ended while waited for " + what)
        check(time.monotonic() < deadline, "waited in vain for " + what)
        time.sleep(0.1)


def wait_said(words, daemon, count=1):
    wait_for("'%s'" % words, lambda: daemon.said().count(words) >= count, daemon)


def check_all(store, result, least_lost):
    """Each sample is in the store, with its path, or counted as unwritten."""
    check(result.status == DONE, "status %d" % result.status, result.err)
    windows = recordings(store)
    stats = [json.loads(run(STACKCTL, "stats", "--json", "-i", store, "--recording",
                            window["recording"]).out) for window in windows]
    for window in windows:
        if window["samples"]:
            check_chains(Recording(store, window["recording"]).samples(), CHAIN, at_least=0)
    lost = sum(one["counters"].get("unwritten", 0) for one in stats)
    check(lost >= least_lost, "%d counted as unwritten" % lost, result.err)
    check(sum(one["lost"] for one in stats) == lost, "not among the lost ones", stats)
    check("%d lost" % lost in result.err.splitlines()[-1], "the summary", lost, result.err)
    complete = re.search(r" ([0-9.]+)% complete", result.err.splitlines()[-1])
    check(complete and 90 < float(complete.group(1)) <= 100, "the summary's share", result.err)
    check(windows[-1]["state"] == "done", "the last window", windows)


@live(long=True)
def test_outage_small_disk():
    """A disk that is full for longer than commits are put off, and has room again. (Until its WAL has no room left,
    SQLite can commit a little, as soon as it begins it anew.)"""
    with small_disk("16m") as folder, workload("chain", 300, share=SHARE) as process:
        store = folder + "/s.db"

        def is_dropped():
            fill_up(folder)
            return DROPPED in daemon.said()

        with Talker(store, *WINDOWS, "--pid", process.pid) as daemon:
            wait_for("windows", lambda: len(recordings(store)) >= 3, daemon)
            wait_for("an outage", is_dropped, daemon)
            wait_cpu(process.pid, SHARE)
            check("is full; sampling goes on" in daemon.said(), "not said", daemon.said())
            again = daemon.said().count("is written to again")
            os.unlink(folder + "/filler")
            wait_said("is written to again", daemon, again + 1)
            n = len(recordings(store))
            wait_for("windows", lambda: len(recordings(store)) >= n + 2, daemon)
            result = daemon.finish(SIGINT)
        check_all(store, result, 100)


def delete_while_recording(window, is_deleted):
    """The store's files, or some of them, are deleted: another is made, with all that comes from then on."""
    with scratch() as folder, workload("chain", 300, share=SHARE) as process:
        store = folder + "/s.db"

        def samples():
            return sum(window["samples"] for window in recordings(store))

        with Talker(store, "-F", 4999, "--window", window, "--pid", process.pid) as daemon:
            wait_for("samples", lambda: samples() > 1000, daemon)
            for name in os.listdir(folder):
                if is_deleted(name):
                    os.unlink(os.path.join(folder, name))
            wait_said("cannot write to " + store, daemon)
            wait_said("is written to again", daemon)
            wait_for("samples", lambda: samples() > 1500, daemon)
            result = daemon.finish(SIGINT)
        check_all(store, result, 0)
        check(result.err.count("cannot write") == 1, "failed again", result.err)
        check(os.stat(store).st_mode & 0o777 == 0o600, "its mode")


@live(long=True)
def test_outage_deleted():
    delete_while_recording("2s", lambda name: name.startswith("s.db"))


@live
def test_outage_deleted_alone():
    """Its WAL stays, with the WAL's index: they are not the new store's."""
    delete_while_recording("1h", lambda name: name == "s.db")


def fail_to_write(error, words):
    """Each write to a file fails with this error from one moment on, for longer than commits are put off."""
    with scratch() as folder, workload("chain", 300, share=SHARE) as process:
        store, flag = folder + "/s.db", folder + "/unwritable"
        with open(folder + "/shim.c", "w", encoding="ascii") as file:
            file.write(UNWRITABLE)
        made = run("cc", "-shared", "-fPIC", "-o", folder + "/shim.so", folder + "/shim.c")
        check(made.status == 0, "the library cannot be made", made.err)
        with Talker(store, *WINDOWS, "--pid", process.pid,
                    env={"LD_PRELOAD": folder + "/shim.so", "UNWRITABLE": flag, "WRITE_ERROR": str(error)}) as daemon:
            wait_for("windows", lambda: len(recordings(store)) >= 2, daemon)
            open(flag, "w", encoding="ascii").close()
            wait_said(words, daemon)
            wait_said(DROPPED, daemon)
            wait_cpu(process.pid, SHARE)
            os.unlink(flag)
            wait_said("is written to again", daemon)
            n = len(recordings(store))
            wait_for("windows", lambda: len(recordings(store)) >= n + 2, daemon)
            result = daemon.finish(SIGINT)
        check_all(store, result, 100)


@live
def test_outage_full_disk():
    """The disk is full, simulated by a library: how much SQLite can still write to one that is, is chance."""
    fail_to_write(errno.ENOSPC, "is full; sampling goes on")


@live(long=True)
def test_outage_read_only():
    """The store's file system becomes read-only, as one with errors does under its programs, and
    writable again: simulated by a library, since files that are open would keep it writable."""
    fail_to_write(errno.EROFS, "sampling goes on")


@live(long=True)
def test_two_services():
    """The second one at a store says so, and ends; the first goes on. One that is not cut into
    windows may record into the same store."""
    with scratch() as folder, workload("chain", 300, share=SHARE) as process:
        store = folder + "/s.db"
        with Talker(store, *WINDOWS, "--pid", process.pid) as daemon:
            daemon.wait_recording()
            for _ in range(2):
                second = run(STACKD, *NATIVE, "-o", store, *WINDOWS, "--pid", process.pid)
                check_fault(second, FAILED, store, "another stackd records")
            third = run(STACKD, *NATIVE, "-o", store, "--duration", 1, "--pid", process.pid)
            check(third.status == DONE, "status %d" % third.status, third.err)
            check(len({window.get("run") for window in recordings(store)}) == 2, "its recording")
            result = daemon.finish(SIGINT)
        check(result.status == DONE and not recordings(store)[0]["lost"], "the first", result.err)
        fourth = run(STACKD, *NATIVE, "-o", store, *WINDOWS, "--duration", 1, "--pid", process.pid)
        check(fourth.status == DONE, "after the first: status %d" % fourth.status, fourth.err)
