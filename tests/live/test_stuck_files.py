# SPDX-License-Identifier: MIT
"""A program runs from a file system whose server stops answering. stackd sends no request to that file system,
so it goes on recording, and ends at SIGTERM."""

import contextlib
import ctypes
import os
import subprocess
import sys

from harness import DONE, SIGTERM, WORKLOADS, Daemon, Recording, Skip, background, check, live, scratch, wait_cpu

MNT_DETACH = 2
SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stuck_files.py")


@contextlib.contextmanager
def served(folder, operation, is_hidden):
    """Mounts a file system that has a program. Yields the program's command line, a function that makes the server
    stop answering, and a function that kills the server and returns the requests without an answer. `is_hidden`:
    the mount is in a mount namespace of its own, so that other programs of this machine do not touch it."""
    mount = folder + "/mount"
    os.mkdir(mount)
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
        yield [*words, mount + "/program"], stop, asked
    finally:
        server.kill()  # what waits for an answer fails then
        ctypes.CDLL(None).umount2(mount.encode(), MNT_DETACH)
        server.communicate()


def survive(operation, running, is_hidden=True):
    """`running`: stackd runs already when the server stops answering."""
    with scratch() as folder, served(folder, operation, is_hidden) as (words, stop, asked), \
            background(*words, 60, ready="READY") as stuck, \
            background(WORKLOADS + "/chain", 60, ready="READY") as other:
        if not running:
            stop()
        with Daemon(folder + "/s.db", "-F", 997, "--pid", "%d,%d" % (stuck.pid, other.pid)) as daemon:
            daemon.wait_samples(10)
            if running:
                stop()
            wait_cpu(stuck.pid, 0.3)
            wait_cpu(other.pid, 0.3)
            daemon.wait_samples(200)
            result = daemon.finish(SIGTERM)
            asking = [line for line in asked() if line.split()[-1] != str(stuck.pid)]
        check(result.status == DONE, "status %d" % result.status, result.err)
        check(not asking, "it asked a file system that does not answer", *asking)
        tids = {sample.tid for sample in Recording(folder + "/s.db").samples()}
        check({stuck.pid, other.pid} <= tids, "not both have samples", tids)


@live
def test_stuck_files():
    """It answers nothing any more."""
    survive("all", running=False)


@live(long=True)
def test_stuck_files_by_operation():
    for operation in ("all", "open", "read", "getattr", "statfs", "lookup"):
        for running in (False, True):
            survive(operation, running)
    survive("all", running=False, is_hidden=False)
