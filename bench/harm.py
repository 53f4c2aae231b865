# SPDX-License-Identifier: MIT
"""Users and accidents that harm a service, all at once, for bench/soak.py: what tests/live/adversary.c does; a program on
a file system that stops answering; a program whose map of JIT code leads to the kernel's log; and a worker that
somebody kills now and then."""

import contextlib
import glob
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

KINDS = ["files:18000", "names", "maps", "programs", "forks", "mounts:2000", "execs", "chain", "lives:300", "threads",
         "ranges:60000", "writes:300", "sections", "sparse"]
KILL_S, STUCK_S = 15, 60

# A user without rights, in namespaces of their own: /proc/kmsg is mounted over the map of a program with JIT code.
MAP_SCRIPT = ": > /tmp/perf-$$.map; mount --bind /proc/kmsg /tmp/perf-$$.map; exec %s 1000000"


def workers_of(pid):
    """The processes below a stackd that read files."""
    found = []
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            children = [int(word) for word in file.read().split()]
        for child in children:
            with contextlib.suppress(OSError), open("/proc/%d/comm" % child, encoding="ascii") as file:
                if file.read().startswith("stackd-worker"):
                    found += [child, *workers_of(child)]
    return found


class Harm:
    """`soak`: that module; `service`: its service, which is started again now and then."""

    def __init__(self, soak, service, folder):
        self.soak, self.service, self.folder = soak, service, folder
        self.is_over, self.counts = False, {"killed": 0, "stuck": 0}
        self.harms = {kind: self.begin(kind) for kind in KINDS}
        self.missing = [kind for kind, process in self.harms.items() if not process]
        self.threads = [threading.Thread(target=work) for work in (self.kill, self.stick, self.map)]
        for thread in self.threads:
            thread.start()

    def begin(self, kind):
        own = tempfile.mkdtemp(prefix="own-", dir=self.folder)
        os.chmod(own, 0o777)
        return self.soak.adversary(self.folder, kind, own)

    def look(self):
        """Starts those again that have ended, as where the disk was full for a moment."""
        for kind, process in self.harms.items():
            if process and process.poll() is not None:
                self.harms[kind] = self.begin(kind)

    def sleep(self, seconds):
        end = time.monotonic() + seconds
        while not self.is_over and time.monotonic() < end:
            time.sleep(0.2)

    def kill(self):
        dice = random.Random(2)
        while not self.is_over:
            self.sleep(KILL_S)
            workers = workers_of(self.service.process.pid)[2:]  # behind the keeper and the server
            if workers:
                with contextlib.suppress(OSError):
                    os.kill(dice.choice(workers), 9)
                    self.counts["killed"] += 1

    def stick(self):
        server = self.soak.ROOT + "/tests/live/stuck_files.py"
        while not self.is_over and os.path.exists("/dev/fuse"):
            mount = tempfile.mkdtemp(prefix="stuck-", dir=self.folder)
            words = ["unshare", "--mount", "--propagation", "private", sys.executable, server, mount, self.soak.CHAIN, "all"]
            with self.soak.start(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as serving:
                if serving.stdout.readline() == b"READY\n":
                    program = self.soak.start(["nsenter", "--mount=/proc/%d/ns/mnt" % serving.pid, mount + "/program", "1000000"],
                                              19, stdout=subprocess.PIPE)
                    program.stdout.readline()
                    serving.stdin.write(b"stop\n")
                    serving.stdin.flush()
                    self.counts["stuck"] += 1
                    self.sleep(STUCK_S)
                    program.kill()
                serving.kill()

    def map(self):
        script = MAP_SCRIPT % (self.soak.ROOT + "/build/workloads/jit")
        words = ["setpriv", "--reuid=%d" % self.soak.NOBODY, "--regid=%d" % self.soak.NOBODY, "--clear-groups", "--",
                 "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
        with self.soak.start(words, 19, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while not self.is_over:
                time.sleep(0.5)
            process.kill()

    def stop(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()
        for process in filter(None, self.harms.values()):
            process.kill()
            process.wait()
        for path in glob.glob(self.folder + "/own-*"):
            shutil.rmtree(path, ignore_errors=True)
