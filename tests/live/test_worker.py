# SPDX-License-Identifier: MIT
"""The processes that read files: what they may do, and that stackd outlives whatever a file makes of
them. A stackd that is built for it (daemon/worker/fault_injection.c) has its worker crash, hang, take memory,
or try forbidden system calls, when it comes to the file of a build-id."""

import os
import re
import shutil
import subprocess
import time

from chains import Expectation
from harness import (DONE, FAILED, NATIVE, SIGINT, WORKLOADS, PATIENCE, Daemon, Failed, Recording, build_id, check,
                     check_chains, faulty_stackd, live, run, scratch, wait_cpu, workload)

# What, where: the words of the refusal, its counter, and how many restarts there may be.
FAULTS = {
    ("crash", "table"): ("crashed", "worker_crash"),
    ("kill", "table"): ("killed by somebody else, twice", "worker_killed"),
    ("crash", "walk"): ("crashed", "worker_crash"),
    ("crash", "names"): ("crashed", "worker_crash"),
    ("hang", "walk"): ("slept", "worker_hang"),
    ("spin", "walk"): ("CPU time", "worker_time"),
    ("memory", "table"): ("more memory", "worker_memory"),
    ("open", "table"): ("system call", "worker_syscall"),
    ("socket", "identity"): ("system call", "worker_syscall"),
}


def register(what, where, words, counter):
    def test():
        stackd = faulty_stackd()
        with scratch() as folder:
            store, program = folder + "/s.db", shutil.copy(WORKLOADS + "/chain", folder + "/hit")
            fault = "%s:%s:%s" % (what, where, build_id(program))
            # The kernel half may have all tables before the first sample, and walk them all.
            walk = ("--walk", "daemon") if where == "walk" else ()
            result = run(stackd, *NATIVE, "-F", 997, *walk, "-o", store, "--", program, 0.5,
                         env={"STACKD_FAULT": fault}, timeout=PATIENCE)
            print(result.err)
            check(result.status == DONE, "status %d" % result.status, result.err)
            check(re.search(r"hit was refused: .*%s" % words, result.err), "not said", result.err)
            check(result.err.count("was refused") == 1, "refused more than once", result.err)
            # The first time that somebody kills a worker is not the file's fault.
            excused = result.err.count("hit, which is read again")
            check(excused == (what == "kill"), "%d times excused" % excused, result.err)
            stats = Recording(store).stats()
            counters = {**stats, **stats.get("counters", {})}
            print(counters)
            check(stats["lost"] == 0 and stats["samples"] > 20, "samples are missing", stats)
            check(counters.get("received") == counters["started"] - counters.get("idle", 0),
                  "samples are not accounted for", stats)
            check(counters.get("refused." + counter) == 1, "not counted", counters)
            check(counters["worker_restarts"] <= 2, "many restarts", counters)
    live(test, name="worker-%s-%s" % (what, where))


for (_what, _where), (_words, _counter) in FAULTS.items():
    register(_what, _where, _words, _counter)


@live(long=True)
def test_worker_slow():
    """A worker takes 1.8 seconds of CPU time over its first walks: the ring, which has room for 1.2, is
    read meanwhile, and all samples come, with the paths that are theirs."""
    stackd = faulty_stackd()
    with scratch() as folder:
        store, program = folder + "/s.db", shutil.copy(WORKLOADS + "/chain", folder + "/hit")
        result = run(stackd, *NATIVE, "-F", 331, "--walk", "daemon", "--ring-bytes", "256K", "-o", store, "--",
                     program, 3, env={"STACKD_FAULT": "slow:walk:" + build_id(program)}, timeout=PATIENCE)
        print(result.err)
        check(result.status == DONE, "status %d" % result.status, result.err)
        check("refused" not in result.err, "the file is refused", result.err)
        stats = Recording(store).stats()
        print(stats)
        check(stats["lost"] == 0 and stats["samples"] > 40, "samples are missing", stats)
        check_chains(Recording(store).samples(), Expectation.of_source("chain"))


@live
def test_worker_held():
    """A worker is ended after 2 seconds of CPU time in which it did not identify the program. The loop, which
    waits for it, reads the ring meanwhile: this has room for 1.4 seconds, and no sample is lost."""
    stackd = faulty_stackd()
    with scratch() as folder:
        store, program = folder + "/s.db", shutil.copy(WORKLOADS + "/chain", folder + "/hit")
        result = run(stackd, *NATIVE, "-F", 997, "--walk", "daemon", "--ring-bytes", "512K", "-o", store, "--",
                     program, 3, env={"STACKD_FAULT": "spin:identity:" + build_id(program)}, timeout=PATIENCE)
        print(result.err)
        check(result.status == DONE, "status %d" % result.status, result.err)
        check(re.search("hit was refused: .*CPU time", result.err), "it was not held", result.err)
        stats = Recording(store).stats()
        print(stats)
        check(stats["lost"] == 0 and stats["samples"] > 40, "samples are missing", stats)


HOSTILE = 12


@live(long=True)
def test_worker_many_held():
    """A user has many files at which a worker computes until it is ended, each of which the loop waits for. That user's
    files are not read any more after some of them: two seconds each, and a twentieth of the time."""
    stackd, marker, own = faulty_stackd(), b"\xa5" * 16, 65534
    with scratch() as folder:
        store, words = folder + "/s.db", []
        with open(folder + "/program.c", "w", encoding="ascii") as file:
            file.write("int main(void) { for (volatile int i = 0; i < 1000000; i++) ; return 0; }")
        built = run("gcc", "-O1", "-Wl,--build-id=0x" + marker.hex(), "-o", folder + "/program", folder + "/program.c")
        check(built.status == 0, "gcc", built.err)
        with open(folder + "/program", "rb") as file:
            image = file.read()
        check(image.count(marker) == 1, "the build-id is not in the file once")
        for i in range(HOSTILE):
            copy = "%s/copy%02d" % (folder, i)
            with open(copy, "wb") as file:
                file.write(image.replace(marker, b"\xa5" * 8 + (i + 1).to_bytes(8, "big")))
            os.chmod(copy, 0o755)
            words.append(copy)
        os.chmod(folder, 0o755)
        result = run(stackd, *NATIVE, "-F", 997, "-o", store, "--", "setpriv", "--reuid=%d" % own, "--clear-groups", "--",
                     "sh", "-c", "; ".join(words), env={"STACKD_FAULT": "spin:identity:a5a5a5a5"}, timeout=PATIENCE)
        print(result.err)
        check(result.status == DONE, "status %d" % result.status, result.err)
        stats = Recording(store).stats()
        asked, over = stats["counters"].get("refused.worker_time", 0), stats["counters"]["files_over_share"]
        print(asked, over, stats["duration_ns"])
        check(asked >= 1 and over >= HOSTILE - asked, "its files are all read: %d of %d" % (asked, HOSTILE), stats)
        most = 3 + 0.05 * stats["duration_ns"] / 1e9 / 2
        check(asked <= most, "the loop waited for %d files, for %.1f at most" % (asked, most))


def processes():
    """(pid, parent, name) of each process."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name, encoding="ascii", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        comm, rest = text.split("(", 1)[1].rsplit(")", 1)
        found.append((int(name), int(rest.split()[1]), comm))
    return found


def copier_of(pid):
    """The processes below a stackd that copy files from mounts that may not answer."""
    return [child for child, parent, name in processes() if parent == pid and name == "stackd-copier"]


def family_of(pid):
    """The processes below a stackd that read files, but for the copier: the keepers, the servers that they have forked,
    and the workers of these. Each is one list."""
    found = [(child, parent) for child, parent, name in processes() if name != "stackd-copier"]

    def below(parents):
        return [child for child, parent in found if parent in parents]
    keepers = below([pid])
    servers = below(keepers)
    return keepers, servers, below(servers)


def workers_of(pid):
    return sum(family_of(pid), [])


def kill(pids):
    for pid in pids:
        subprocess.run(["kill", "-9", str(pid)], check=False)


def status_of(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def autogroup_of(pid):
    """The group of sessions that the scheduler serves as one; "": the kernel has none."""
    try:
        with open("/proc/%d/autogroup" % pid, encoding="ascii") as file:
            return file.read().split(" nice")[0]
    except OSError:
        return ""


def check_session(pid, worker):
    """A worker gets a CPU when stackd does: priorities count within a session. Signals of the terminal
    go to stackd's process group, and not to the worker's."""
    check(os.getsid(worker) == os.getsid(pid), "worker %d has another session" % worker)
    check(autogroup_of(worker) == autogroup_of(pid), "its autogroup", autogroup_of(worker))
    check(os.getpgid(worker) != os.getpgid(pid), "worker %d is in stackd's group" % worker)


def has_ended(pid):
    try:
        return status_of(pid)["State"][0] in "ZX"
    except OSError:
        return True


def are_judged(judge, pids):
    """Judges each process, unless it ends meanwhile: stackd ends idle workers. Whether one was judged."""
    judged = 0
    for pid in pids:
        try:
            judge(pid)
            judged += 1
        except (OSError, Failed):
            if not has_ended(pid):
                raise
    return judged > 0


def check_rights(pid):
    status = status_of(pid)
    print(pid, status)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        check(int(status[name], 16) == 0, "it has capabilities", name, status)
    check(set(status["Uid"].split()) == set(status["Gid"].split()) and
          int(status["Uid"].split()[0]) >= 61184, "its user", status)
    check(not status["Groups"].strip(), "it has groups", status)
    check(status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", "limits", status)
    check(not os.listdir("/proc/%d/root" % pid), "its root is not empty")


def check_family(pid, judge, killed):
    """Judges the keepers, the servers and the workers of a stackd: at least one of each. Their ids."""
    end = time.monotonic() + PATIENCE
    while True:
        family = wait_family(pid, killed)
        if all([are_judged(judge, pids) for pids in family]):
            return sum(family, [])
        check(time.monotonic() < end, "they end before they are judged", family)


@live
def test_worker_rights():
    """Workers have no capability, no group, a user of their own, and a filter of system calls."""
    with scratch() as folder, workload("chain", 60) as process:
        # A worker that walks each sample is never idle.
        with Daemon(folder + "/s.db", "--pid", process.pid, "--walk", "daemon") as daemon:
            stackd = daemon.process.pid

            def judge(pid):
                check_session(stackd, pid)
                check_rights(pid)
            daemon.wait_recording()
            wait_cpu(process.pid, 0.2)
            workers = check_family(stackd, judge, set())
            check(len(copier_of(stackd)) == 1, "copiers")
            for pid in copier_of(stackd):
                status = status_of(pid)
                check(int(status["CapPrm"], 16) == 1 << 2, "not CAP_DAC_READ_SEARCH alone", status)
                check(status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", "limits", status)
                workers.append(pid)
            result = daemon.finish(SIGINT)
            check(result.status == DONE, "status %d" % result.status, result.err)
            end = time.monotonic() + PATIENCE
            while any(os.path.exists("/proc/%d" % pid) for pid in workers):
                check(time.monotonic() < end, "one is left", workers)
                time.sleep(0.05)


def wait_family(pid, killed):
    """The family of a stackd, once it has a server that was not killed, with a worker. How soon one is made, the
    machine decides."""
    end = time.monotonic() + PATIENCE
    while True:
        keepers, servers, workers = family_of(pid)
        if servers and workers and not killed & set(servers):
            return keepers, servers, workers
        check(time.monotonic() < end, "none is there", servers, workers)
        time.sleep(0.05)


@live
def test_worker_server_killed():
    """The process that makes workers, killed, is started again by its keeper, with the same limits:
    nothing is lost, and no file is refused for that. What is met afterwards has names."""
    with scratch() as folder, workload("chain", 60) as process:
        store = folder + "/s.db"
        with Daemon(store, "-F", 499, "--pid", process.pid, "--walk", "daemon") as daemon:
            daemon.wait_recording()
            killed = set()
            while len(killed) < 3:
                wait_cpu(process.pid, 0.3)
                servers = set(family_of(daemon.process.pid)[1]) - killed  # of which one may not be reaped yet
                check(len(servers) <= 1, "more than one", servers)
                kill(servers)
                killed |= servers
            check_family(daemon.process.pid, check_rights, killed)
            result = daemon.finish(SIGINT)
        check(result.status == DONE, "status %d" % result.status, result.err)
        check("makes workers has ended (signal 9)" in result.err, "not said", result.err)
        check("refused" not in result.err, "a file is refused", result.err)
        stats = Recording(store).stats()
        print(stats, result.err)
        check(stats["lost"] == 0 and stats["samples"] > 20, "samples are missing", stats)
        check(stats["counters"]["worker_server_restarts"] == 3, "not counted", stats)
        check_chains(Recording(store).samples(), Expectation.of_source("chain"))


@live
def test_worker_keeper_killed():
    """Without a process that could make them, a service ends, to be started again by systemd, and
    another recording goes on."""
    for arguments, expected in ((("--window", "1h"), FAILED), ((), DONE)):
        with scratch() as folder, workload("chain", 60) as process:
            with Daemon(folder + "/s.db", "-F", 499, *arguments, "--walk", "daemon", "--pid",
                        process.pid) as daemon:
                daemon.wait_recording()
                wait_cpu(process.pid, 0.3)
                keepers, servers, _ = family_of(daemon.process.pid)
                check(len(keepers) == 1 and len(servers) == 1, "not as expected", keepers, servers)
                kill(keepers + servers)
                wait_cpu(process.pid, 1)
                result = daemon.finish(SIGINT if expected == DONE else None)
            print(result.err)
            check(result.status == expected, "status %d" % result.status, result.err)
            check("cannot start a process to read files" in result.err, "not said", result.err)
            stats = Recording(folder + "/s.db").stats()
            check(stats["lost"] == 0 and stats["samples"] > 20, "samples are missing", stats)


@live
def test_worker_killed():
    """Workers that somebody kills are started again; nothing is lost."""
    with scratch() as folder, workload("chain", 60) as process:
        store = folder + "/s.db"
        with Daemon(store, "--pid", process.pid, "--walk", "daemon") as daemon:
            daemon.wait_recording()
            for _ in range(3):
                wait_cpu(process.pid, 0.3)
                kill(family_of(daemon.process.pid)[2])
            wait_cpu(process.pid, 0.3)
            result = daemon.finish(SIGINT)
        check(result.status == DONE, "status %d" % result.status, result.err)
        stats = Recording(store).stats()
        print(stats, result.err)
        check(stats["lost"] == 0 and stats["samples"] > 20, "samples are missing", stats)
