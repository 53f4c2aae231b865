# SPDX-License-Identifier: MIT
"""A program runs from a file system whose server stops answering. Of stackd's processes only those that copy files
ask that file system, so stackd goes on recording, and ends at SIGTERM."""

import contextlib
import ctypes
import os
import subprocess
import sys

from harness import DONE, SIGTERM, WORKLOADS, Daemon, Recording, Skip, background, check, live, run, scratch, user_frames, wait_cpu

MNT_DETACH = 2
COPIER = "stackd-copier"
SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stuck_files.py")


@contextlib.contextmanager
def served(folder, operation, is_hidden, is_under=False):
    """Mounts a file system that has a program. Yields the program's command line, a function that makes the server
    stop answering, and a function that kills the server and returns the requests without an answer. `is_hidden`:
    the mount is in a mount namespace of its own, so that other programs of this machine do not touch it. `is_under`:
    the program is run from an overlay on top of it, in that namespace."""
    mount = folder + "/mount"
    empty, over = folder + "/empty", folder + "/over"
    for name in (mount, empty, over):
        os.mkdir(name)
    if not os.path.exists("/dev/fuse"):
        raise Skip("no /dev/fuse")
    hidden = ["unshare", "--mount", "--propagation", "private"] if is_hidden else []
    server = subprocess.Popen([*hidden, sys.executable, SERVER, mount, WORKLOADS + "/chain", operation],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    words = ["nsenter", "--mount=/proc/%d/ns/mnt" % server.pid] if is_hidden else []

    def stop():
        server.stdin.write("stop\n")
        server.stdin.flush()
        check(server.stdout.readline() == "STOPPED\n", "the server did not stop")

    def asked():
        server.kill()
        return server.stdout.read().splitlines()
    try:
        check(server.stdout.readline() == "READY\n", "nothing was mounted")
        if is_under:
            run(*words, "mount", "-t", "overlay", "-o", "lowerdir=%s:%s" % (mount, empty), "over", over)
        yield [*words, (over if is_under else mount) + "/program"], stop, asked
    finally:
        server.kill()  # what waits for an answer fails then
        ctypes.CDLL(None).umount2(mount.encode(), MNT_DETACH)
        server.communicate()


def survive(operation, running, is_hidden=True, is_under=False):
    """`running`: stackd runs already when the server stops answering. Beside it, another server answers: of the
    program on its file system, paths and names are whole."""
    with scratch() as folder, scratch() as healthy_folder, served(folder, operation, is_hidden, is_under) as (words, stop, asked), \
            served(healthy_folder, "none", True) as (healthy_words, _, _), \
            background(*words, 60, ready="READY") as stuck, \
            background(*healthy_words, 60, ready="READY") as healthy, \
            background(WORKLOADS + "/chain", 60, ready="READY") as other:
        pids = {stuck.pid, healthy.pid, other.pid}
        if not running:
            stop()
        with Daemon(folder + "/s.db", "-F", 997, "--pid", ",".join(map(str, pids))) as daemon:
            daemon.wait_samples(10)
            if running:
                stop()
            for pid in pids:
                wait_cpu(pid, 0.3)
            daemon.wait_samples(200)
            result = daemon.finish(SIGTERM)
            of_stackd = {line for line in asked() if is_below(line, daemon.process.pid)}
        print(*sorted(of_stackd), sep="\n")
        asking = [line for line in of_stackd if name_of(line) != COPIER]
        check(result.status == DONE, "status %d" % result.status, result.err)
        check(not asking, "it asked a file system that does not answer", *asking)
        samples = Recording(folder + "/s.db").samples()
        check(pids <= {sample.tid for sample in samples}, "not all have samples")
        whole = [sample for sample in samples if sample.tid == healthy.pid and is_whole(sample)]
        check(whole, "the program on the other file system has no path")
        for pid in (healthy.pid, other.pid):
            ends = [sample for sample in samples if sample.tid == pid][-20:]
            check(all(map(is_whole, ends)), "paths are not whole", *ends[:3])


def is_below(line, pid):
    """Whether a line of stuck_files.py is about a thread of a process or its descendants: other programs of this machine
    may ask, too."""
    return str(pid) in line.rpartition(", of ")[2].split()


def name_of(line):
    """The thread's name in a line of stuck_files.py."""
    return line.rpartition(", of ")[0].split(" ", 3)[3]


def is_whole(sample):
    """The path begins with the program's entry, and has its functions' names."""
    symbols = [frame.symbol or "" for frame in user_frames(sample)]
    return symbols and symbols[0].startswith("_start") and any(name.startswith("main") for name in symbols)


@live
def test_stuck_files():
    """It answers nothing any more."""
    survive("all", running=False)


@live
def test_page_trap():
    """A program has code of its own and a file of such a file system in turn at the same address."""
    with scratch() as folder, served(folder, "read", True) as (words, stop, asked):
        stop()
        with background(*words[:-1], WORKLOADS + "/page_trap", 60, words[-1], ready="READY") as trap:
            with Daemon(folder + "/s.db", "-F", 1997, "--pid", trap.pid) as daemon:
                daemon.wait_samples(1000)
                result = daemon.finish(SIGTERM)
                asking = {line for line in asked() if is_below(line, daemon.process.pid) and name_of(line) != COPIER}
    check(result.status == DONE, "status %d" % result.status, result.err)
    check(not asking, "it asked a file system that does not answer", *asking)


@live(long=True)
def test_stuck_files_by_operation():
    for operation in ("all", "open", "read", "getattr", "statfs", "lookup"):
        for running in (False, True):
            survive(operation, running)
    survive("all", running=False, is_hidden=False)
    for running in (False, True):
        survive("all", running, is_under=True)
