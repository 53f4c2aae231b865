# SPDX-License-Identifier: MIT
"""A PostgreSQL server with pgbench's tables, which waits.py measures."""

import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "tests", "live")]

import harness  # noqa: E402

OWNER = "postgres"


def program(name):
    """Debian has some of them in no folder of $PATH."""
    found = shutil.which(name) or (sorted(glob.glob("/usr/lib/postgresql/*/bin/" + name)) or [None])[-1]
    if not found:
        raise harness.Skip("no %s here" % name)
    return found


def as_owner(*words):
    return ["runuser", "-u", OWNER, "--", *words]


class Database:
    def __init__(self, folder):
        self.folder, data = folder, folder + "/data"
        harness.check(harness.run("chown", OWNER, folder).status == 0, "no user " + OWNER)
        made = harness.run(*as_owner(program("initdb"), "-D", data, "-A", "trust", "-N"), timeout=120)
        harness.check(made.status == 0, "initdb", made.err)
        self.server = subprocess.Popen(
            as_owner(program("postgres"), "-D", data, "-k", folder, "-h", "", "-F"),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = None

    def fill(self):
        self.pid = self.number_of(self.folder + "/data/postmaster.pid")
        filled = self.pgbench("-i", "-q", "-s", "5")
        harness.check(filled.status == 0, "pgbench -i", filled.err)

    def stop(self):
        self.server.terminate()
        if self.pid:
            os.kill(self.pid, signal.SIGINT)  # a fast shutdown
        self.server.wait()

    def number_of(self, path):
        """The server's, once it takes connections."""
        for _ in range(300):
            with contextlib.suppress(FileNotFoundError), open(path, encoding="ascii") as file:
                lines = file.read().split("\n")
                if len(lines) > 7 and lines[7].strip() == "ready":
                    return int(lines[0])
            time.sleep(0.1)
        raise harness.Failed("postgres has not started")

    def pgbench(self, *options):
        return harness.run(*as_owner(program("pgbench"), "-h", self.folder, *options, "postgres"),
                           timeout=300)

    def transaction_us(self, seconds):
        """Microseconds a transaction of four clients that read."""
        done = self.pgbench("-S", "-c", "4", "-T", str(seconds))
        return 1e6 / float(re.search(r"tps = ([\d.]+)", done.out)[1])


@contextlib.contextmanager
def database():
    folder = tempfile.mkdtemp(prefix="stackd-database-", dir="/tmp")
    running = None
    try:
        running = Database(folder)
        running.fill()
        yield running
    finally:
        if running:
            running.stop()
        shutil.rmtree(folder, ignore_errors=True)
