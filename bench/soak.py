#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a service for long beside programs that come and go: soak.py SECONDS

Two stackds record at the same time:

  the service  the whole machine, with the unit's options, but windows of a minute and a small limit
               for its store, so that windows end and are deleted all the time. Once in five minutes it
               is stopped for ten seconds, once in ten minutes killed and started again.
  the victim   records one process, and is killed (SIGKILL) after a random time, again and again.
               What the store has then is all that the ring had delivered up to a commit, which was
               a second or two before.

Beside them: processes that start and end as fast as they can on one CPU, at a low priority;
cgroups that come and go; a program whose call paths are nearly all new; users and accidents that harm
the service (harm.py); this machine's own work.

Prints a line each half minute; memory is that of stackd itself, and beside it that of its workers,
for which the service has no limit (docs/SERVICE.md). The exit status is 1 if memory or the disk
exceeded its limit, if a sample that was committed or that the ring had delivered before is missing
after a kill, if a closed window has changed, if the service ended, if its last commit was older than
ten seconds, if its memory grew, or if it took more CPU time than its budget, from a minute after its
start on. What was lost is shown. It needs a machine that has little else to do: all that others start
is work for the service as well.
"""

import contextlib
import ctypes
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import harm as harms

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STACKD, STACKCTL = ROOT + "/build/stackd", ROOT + "/build/stackctl"
CHAIN = ROOT + "/build/workloads/chain"
KEEP = 8 << 20
RESIDENT = KERNEL = 64 << 20
GROWTH = 8 << 20  # of the largest memory, from the first third of the time to the last
AGE = 10  # seconds since the last commit
BUDGET, SETTLED = 0.01, 60  # a share of a core; seconds after a start from which it holds
SERVICE = ["--all", "--quiet", "-F", "99", "--max-cpu", "%g%%" % (100 * BUDGET), "--window", "60s", "--keep-bytes",
           str(KEEP)]
TICK = os.sysconf("SC_CLK_TCK")
NOBODY = 65534
NEW_PATHS = """
import random
def go(n, seed):
    return n and (a if seed & 1 else b)(n - 1, seed >> 1)
def a(n, seed): return go(n, seed) or sum(range(50))
def b(n, seed): return go(n, seed) or sum(range(60))
while True: go(30, random.getrandbits(30))
"""

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def start(command, niceness=0, **more):
    """Starts a program that does not outlive this one, however this one ends."""
    def prepare():
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.nice(niceness)

    return subprocess.Popen(command, preexec_fn=prepare, **more)


def adversary(folder, kind, own):
    """Runs tests/live/adversary.c as a user without rights, with the lowest priority. `kind`: of its kinds, "NAME:N".
    None: this machine does not let it."""
    program = folder + "/adversary"
    if not os.path.exists(program):
        subprocess.run(["gcc", "-O1", "-D_GNU_SOURCE", "-pthread", "-o", program, ROOT + "/tests/live/adversary.c"], check=True)
        os.chmod(program, 0o755)
    name, _, number = kind.partition(":")
    process = start(["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups", "--", program, name, own,
                     number or "1000"], 19, stdout=subprocess.PIPE)
    if process.stdout.readline() == b"READY\n":
        return process
    process.kill()
    process.wait()
    return None


def cgroup_root():
    """Where cgroups of version 2 are; None: nowhere."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        return next((line.split()[1] for line in mounts if line.split()[2] == "cgroup2"), None)


faults = []


def fail(text):
    faults.append(text)
    print("FAULT", text, flush=True)


def recordings(store):
    done = subprocess.run([STACKCTL, "list", "--json", "-i", store], capture_output=True, text=True)
    return {r["recording"]: r for r in json.loads(done.stdout)["recordings"]} \
        if done.returncode == 0 else {}


def stats(store):
    done = subprocess.run([STACKCTL, "stats", "--prometheus", "-i", store], capture_output=True,
                          text=True)
    found = {}
    for line in done.stdout.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            found[name.split("{")[0]] = found.get(name.split("{")[0], 0) + float(value)
    return found


def family(pid):
    """A process and those that it has started."""
    found = [pid]
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            for child in file.read().split():
                found += family(int(child))
    return found


def resident(pids):
    total = 0
    for one in pids:
        with contextlib.suppress(OSError), open("/proc/%d/smaps_rollup" % one, encoding="ascii") as file:
            total += int(re.search(r"^Pss:\s+(\d+)", file.read(), re.MULTILINE)[1]) << 10
    return total


def cpu(pid):
    """Seconds of CPU time of a process, its threads, and children that live or were waited for."""
    total = 0
    for one in family(pid):
        with contextlib.suppress(OSError), open("/proc/%d/stat" % one, encoding="ascii") as file:
            words = file.read().rsplit(")", 1)[1].split()
            total += sum(int(word) for word in words[11:15]) / TICK
    return total


def kernel(pid):
    """Bytes of its BPF maps and perf rings."""
    maps, rings = {}, 0
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            found = dict(re.findall(r"^(\w+):\s+(\d+)$", file.read(), re.MULTILINE))
            if "map_id" in found:
                maps[found["map_id"]] = int(found["memlock"])
    with contextlib.suppress(OSError), open("/proc/%d/maps" % pid, encoding="ascii") as file:
        for line in file:
            if "anon_inode:[perf_event]" in line:
                start, end = line.split()[0].split("-")
                rings += int(end, 16) - int(start, 16)
    return sum(maps.values()) + rings


def disk(store):
    return sum(os.path.getsize(path) for path in (store, store + "-wal") if os.path.exists(path))


def check_kept(what, before, after):
    """All that was committed is there, but for windows that retention has deleted."""
    oldest = min(after, default=0)
    for number, row in before.items():
        left = after.get(number)
        if left is None and number >= oldest:
            fail("%s: recording %d is gone" % (what, number))
        elif left and left["samples"] < row["samples"]:
            fail("%s: recording %d has %d samples, had %d" % (what, number, left["samples"],
                                                              row["samples"]))
        elif left and row["state"] == "done" and left != row:
            fail("%s: closed recording %d has changed" % (what, number))


class Beside:
    """What goes on beside the service, until it is stopped."""

    def __init__(self, folder):
        self.folder, self.is_over = folder, False
        self.counts = {"kills": 0, "processes": 0, "cgroups": 0}
        self.ages, self.samples = [], 0  # seconds from a last commit to the kill; what was left
        self.threads = [threading.Thread(target=work) for work in
                        (self.kill, self.fork, self.cgroup, self.paths)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()

    def kill(self):
        dice, store = random.Random(1), self.folder + "/victim.db"
        with start([CHAIN, "1000000"], 19, stdout=subprocess.DEVNULL) as process:
            while not self.is_over:
                with start([STACKD, "-q", "-F", "997", "-o", store, "--window", "2s",
                            "--keep-bytes", "1M", "--pid", str(process.pid)],
                           stderr=subprocess.DEVNULL, start_new_session=True) as victim:
                    time.sleep(dice.uniform(0.2, 5))
                    before = recordings(store)
                    time.sleep(dice.uniform(0, 0.05))
                    victim.kill()
                    at = time.time()
                    victim.wait()
                after = recordings(store)
                check_kept("kill %d" % self.counts["kills"], before, after)
                self.check_delivered(store, after, at)
                self.counts["kills"] += 1
            process.kill()

    def check_delivered(self, store, rows, at):
        """What the last recording of a victim has is what had been read from the ring: it counts
        both at the same commit. Of what the kernel half had put there by then nothing is lost."""
        last = max(rows, default=0)
        done = subprocess.run([STACKCTL, "stats", "--json", "-i", store, "--recording", str(last)],
                              capture_output=True, text=True)
        found = json.loads(done.stdout) if done.returncode == 0 else None
        if not found or not found["counters"]:  # killed before its first commit
            return
        count = found["counters"]
        if not found["samples"] == count["received"]:
            fail("kill %d: %d samples of %d that were received" %
                 (self.counts["kills"], found["samples"], count["received"]))
        self.samples += found["samples"]
        self.ages.append(at - (found["start_unix_ns"] + found["duration_ns"]) / 1e9)

    def fork(self):
        text = "n=0; while :; do /bin/true; n=$((n+1)); [ $((n % 10)) = 0 ] && echo; done"
        with start(["taskset", "-c", "0", "sh", "-c", text], 5, stdout=subprocess.PIPE) as shell:
            while not self.is_over and shell.stdout.readline():
                self.counts["processes"] += 10
            shell.kill()

    def cgroup(self):
        root = cgroup_root()
        while not self.is_over and root and os.access(root + "/cgroup.procs", os.W_OK):
            name = "%s/stackd-soak-%d-%d.service" % (root, os.getpid(), self.counts["cgroups"])
            os.mkdir(name)
            subprocess.run(["sh", "-c", "echo $$ > %s/cgroup.procs; exec timeout 0.2 %s 1" %
                            (name, CHAIN)], stdout=subprocess.DEVNULL)
            os.rmdir(name)
            self.counts["cgroups"] += 1

    def paths(self):
        with start([sys.executable, "-c", NEW_PATHS], 19) as process:
            while not self.is_over:
                time.sleep(0.5)
            process.kill()


class Service:
    def __init__(self, store):
        self.store, self.spent, self.seconds, self.oldest = store, 0, 0, 0
        self.residents = []  # bytes, once a second
        self.peaks = {"resident": 0, "workers": 0, "kernel": 0, "disk": 0}
        self.start()

    def start(self):
        # In a session of its own, as systemd starts it: the kernel shares CPUs among sessions first.
        self.process = start([STACKD, "-o", self.store, *SERVICE], start_new_session=True)
        self.begun, self.settled, self.quiet_until = time.monotonic(), None, time.monotonic() + 20

    def settle(self):
        """Adds up the CPU time since the service had settled."""
        at, spent = time.monotonic(), cpu(self.process.pid)
        if at - self.begun < SETTLED:
            return
        if self.settled and spent >= self.settled[1]:
            self.seconds += at - self.settled[0]
            self.spent += spent - self.settled[1]
        self.settled = at, spent

    def look_at_commit(self):
        """A service that was just started, or stopped for a while, has none yet."""
        at = time.time()  # before stackctl reads the store, which takes seconds beside what harms the service
        last = stats(self.store).get("stackd_last_commit_time_seconds")
        age = at - last if last else 0
        if time.monotonic() < self.quiet_until:
            return
        self.oldest = max(self.oldest, age)
        if age > AGE:
            fail("the last commit was %.1f s ago" % age)
            self.quiet_until = time.monotonic() + 30

    def kill(self):
        before = recordings(self.store)
        self.process.kill()
        self.process.wait()
        check_kept("the service", before, recordings(self.store))
        self.start()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(10)
        self.process.send_signal(signal.SIGCONT)
        self.quiet_until = time.monotonic() + 10

    def look(self):
        """Looks at what is bounded: once a second."""
        if self.process.poll() is not None:
            fail("the service ended: status %d" % self.process.returncode)
            self.start()
        first, *workers = family(self.process.pid)
        now = {"resident": resident([first]), "workers": resident(workers), "kernel": kernel(first),
               "disk": disk(self.store)}
        for name, value in now.items():
            self.peaks[name] = max(self.peaks[name], value)
        self.residents.append(now["resident"])
        self.settle()
        self.look_at_commit()
        return now


def line(start, service, beside, now, before):
    spent, at = cpu(service.process.pid), time.monotonic()
    figures = stats(service.store)
    share = (spent - before[0]) / (at - before[1]) if spent >= before[0] else float("nan")
    print("%6d %9.1f %8.1f %9.1f %8.2f %7.2f%% %5d %8d %6d %8d %6d %7d %5.1f" %
          (at - start, now["resident"] / 2**20, now["workers"] / 2**20, now["kernel"] / 2**20, now["disk"] / 2**20,
           100 * share, figures.get("stackd_rate_hertz", 0), figures.get("stackd_samples_total", 0),
           figures.get("stackd_lost_total", 0), beside.counts["processes"],
           beside.counts["cgroups"], beside.counts["kills"], os.getloadavg()[0]), flush=True)
    return spent, at


def soak(folder, seconds):
    service = Service(folder + "/service.db")
    beside, harm = Beside(folder), harms.Harm(sys.modules[__name__], service, folder)
    if harm.missing:
        print("not here: %s" % " ".join(harm.missing))
    start = time.monotonic()
    before, printed, paused, killed = (0, start), 0, 0, 0
    print("%6s %9s %8s %9s %8s %8s %5s %8s %6s %8s %6s %7s %5s" %
          ("second", "resident", "workers", "kernel", "disk MiB", "CPU", "Hz", "samples", "lost", "processes",
           "groups", "kills", "load"))
    try:
        while time.monotonic() - start < seconds:
            time.sleep(1)
            now, passed = service.look(), time.monotonic() - start
            harm.look()
            if passed >= printed + 30:
                before, printed = line(start, service, beside, now, before), passed
            if passed >= paused + 300:
                paused = passed
                service.pause()
            if passed >= killed + 600:
                killed = passed
                service.kill()
                before = (0, time.monotonic())
    finally:
        beside.stop()
        harm.stop()
    print(harm.counts)
    service.process.send_signal(signal.SIGTERM)
    if service.process.wait(60):
        fail("the service: status %d" % service.process.returncode)
    return service, beside


def judge(service):
    windows = recordings(service.store)
    size = disk(service.store)
    most = max((row["samples"] for row in windows.values()), default=0)
    total = sum(row["samples"] for row in windows.values()) or 1
    limits = {"resident": RESIDENT, "kernel": KERNEL, "disk": KEEP + size * most // total}
    print("workers: peak %.1f MiB" % (service.peaks["workers"] / 2**20))
    for name, limit in limits.items():
        print("%s: peak %.1f MiB, limit %.1f" % (name, service.peaks[name] / 2**20, limit / 2**20))
        if service.peaks[name] > limit:
            fail(name + " exceeded its limit")
    third = len(service.residents) // 3
    first, last = max(service.residents[:third], default=0), max(service.residents[-third:], default=0)
    print("resident: %.1f MiB in the first third, %.1f in the last" % (first / 2**20, last / 2**20))
    if last > first + GROWTH:
        fail("memory grew")
    share = service.spent / service.seconds if service.seconds else 0
    print("CPU: %.2f %% of a core in %.0f s; the oldest last commit was %.1f s old" %
          (100 * share, service.seconds, service.oldest))
    if share > BUDGET:
        fail("it took more than its budget")


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) == 2 else 3600
    folder = tempfile.mkdtemp(prefix="stackd-soak-")
    os.chmod(folder, 0o755)
    try:
        service, beside = soak(folder, seconds)
        judge(service)
        ages = sorted(beside.ages) or [0]
        print("kills: %d samples left; from the last commit to the kill %.2f s in the middle, %.2f s at "
              "most" % (beside.samples, ages[len(ages) // 2], ages[-1]))
        print(beside.counts, "faults: %d" % len(faults))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
