# SPDX-License-Identifier: MIT
"""stackd among other programs: ends, readers, several daemons, cgroups, systemd, sudo."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import threading
import time

import chains
import chance
from chains import Expectation
from harness import (DONE, NATIVE, NO_SAMPLES, NO_SUPPORT, PATIENCE, ROOT, SIGCONT, SIGINT, SIGSTOP, SIGTERM, STACKCTL,
                     STACKD, WORKLOADS, Daemon, Recording, Skip, check, check_chains, check_whole, is_momentary, live,
                     moment, record, record_while, run, scratch, wait_cpu, with_own_folder, workload)

CHAIN = Expectation.of_source("chain")
OWN_NS = 100000  # of a sample's interrupt, at most, with an emulated timer


def check_end(result):
    check(result.status == DONE, "status %d" % result.status, result.err)
    check("samples" in result.err, "no summary line", result.err)


def end_by_signal(number):
    with scratch() as folder, workload("chain", share=0.25) as process:
        with Daemon(folder + "/s.db", "-F", 3989, "--pid", process.pid) as daemon:
            daemon.wait_samples(0)
            behind = time.monotonic()  # a commit
            wait_cpu(process.pid, 0.05)
            check_end(daemon.finish(number))
        check(process.poll() is None, "the target ended, too")
        samples = check_whole(Recording(folder + "/s.db"))
        check_chains(samples, CHAIN)
        last = sum(sample.time > behind for sample in samples)
        check(last >= 40, "the last part is missing: only %d samples of it are there" % last)


@live(long=True)
def test_number_of_samples():
    """Samples stand for the program's CPU time between two moments, but for chance (chance.py), for what was stolen of
    it, which a sample can fall on the end of, and for their own interrupts, which need not have one."""
    period = 1000000000 // 997
    with scratch() as folder, workload("chain") as process:
        with Daemon(folder + "/s.db", "-F", 997, "--pid", process.pid) as daemon:
            daemon.wait_samples(0)
            begin, before = moment(process)
            wait_cpu(process.pid, 3)
            end, after = moment(process)
            check_end(daemon.finish(SIGINT))
        recording = Recording(folder + "/s.db")
        samples, stats = check_whole(recording), recording.stats()
        used = (after - before) * 1e9
        number = sum(begin <= sample.time < end for sample in samples)
        # Those that a clock missed are in the next sample.
        most = number + stats["counters"]["late_periods"]
        far, stolen = chance.of_time(used, period), stats["counters"]["stolen_ns"]
        print(number, "to", most, "samples of", used / period, "periods,", stolen, "ns stolen")
        check(used - far - OWN_NS * most <= most * period and number * period <= used + far + stolen,
              "%d to %d samples of %.2f s" % (number, most, used / 1e9))


def nice_of(pid, thread=None):
    with open("/proc/%d/task/%d/stat" % (pid, thread or pid), encoding="ascii") as file:
        return int(file.read().rsplit(")", 1)[1].split()[16])


def nice_values(pid):
    """Of the threads of a process, some of which may end meanwhile."""
    values = set()
    for name in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(OSError):
            values.add(nice_of(pid, int(name)))
    return values


@live
def test_priority():
    """The loop and the tables go before other programs of a busy machine; what nobody waits for,
    and the program that is recorded, do not. A priority of the user's own is kept."""
    with scratch() as folder:
        for own, loop, others in ((0, -10, {-10, 0}), (3, 3, {3})):
            with Daemon("%s/%d.db" % (folder, own), "--", WORKLOADS + "/chain", 600,
                        preexec_fn=lambda own=own: os.setpriority(os.PRIO_PROCESS, 0, own)) as daemon:
                daemon.wait_samples(0)  # the target has run
                pid = daemon.process.pid
                # A thread sets its own value, as soon as a busy machine lets it run.
                deadline = time.monotonic() + PATIENCE
                while True:
                    values = nice_values(pid)
                    if values == others | {loop} or time.monotonic() > deadline:
                        break
                    time.sleep(0.02)
                check(nice_of(pid) == loop, "the loop has nice %d" % nice_of(pid))
                check(values == others | {loop}, "threads have nice values %s" % values)
                target = int(run("pgrep", "-P", pid, "chain").out.split()[0])
                check(nice_of(target) == own, "the target has nice %d" % nice_of(target))
                check_end(daemon.finish(SIGINT))


@live
def test_end_sigint():
    end_by_signal(SIGINT)


@live
def test_end_sigterm():
    end_by_signal(SIGTERM)


@live
def test_end_duration():
    with scratch() as folder, workload("chain") as process:
        start = time.monotonic()
        recording, result = record(folder + "/s.db", "-F", 997, "--duration", 2, "--region",
                                   "malloc@libc.so.6", "--pid", process.pid)
        took = time.monotonic() - start
        check_end(result)
        samples, recorded = check_whole(recording), recording.stats()["duration_ns"] / 1e9
        span = samples[-1].time - samples[0].time
        # How late it ends, and whether the program runs all along, the machine decides. Samples come
        # while the region's probes are still being put: the recording has begun by then.
        check(2 <= recorded <= took and span <= recorded,
              "recorded %.2f s, samples of %.2f s, in %.2f s" % (recorded, span, took))


@live
def test_end_of_target():
    """stackd ends when the processes that it was attached to have ended."""
    with scratch() as folder:
        with workload("chain", 0.5) as first, workload("recursion", 0.75) as second:
            for process in (first, second):  # or they have ended before a starved stackd is attached
                process.send_signal(SIGSTOP)
            with Daemon(folder + "/s.db", "-F", 3989, "--pid", "%d,%d" % (first.pid, second.pid)) as daemon:
                daemon.wait_recording()
                for process in (first, second):
                    process.send_signal(SIGCONT)
                check_end(daemon.finish())
        samples = check_whole(Recording(folder + "/s.db"))
        check_chains([s for s in samples if s.comm == "chain"], CHAIN)
        check_chains([s for s in samples if s.comm == "recursion"],
                     Expectation.of_source("recursion"))


@live
def test_status_of_command():
    """The command's own failure is not stackd's: the recording is good."""
    with scratch() as folder:
        result = run(STACKD, *NATIVE, "-o", folder + "/s.db", "--", "sh", "-c",
                     "'%s/chain' 0.25; exit 7" % WORKLOADS)
        check_end(result)


def record_two(folder, one, two):
    """Two daemons at the same time, each until its process has been sampled enough."""
    with Daemon(folder + "/1.db", "-F", 3989, "--pid", one.pid) as first, \
            Daemon(folder + "/2.db", "-F", 1997, "--pid", two.pid) as second:
        first.wait_recording()
        second.wait_recording()
        for process in (one, two):
            wait_cpu(process.pid, 0.25)
        check_end(first.finish(SIGINT))
        check_end(second.finish(SIGINT))
    return [check_whole(Recording(folder + name)) for name in ("/1.db", "/2.db")]


@live(long=True)
def test_two_daemons():
    with scratch() as folder, workload("chain") as one, workload("recursion") as two:
        first, second = record_two(folder, one, two)
        check_chains(first, CHAIN)
        check_chains(second, Expectation.of_source("recursion"))


@live
def test_two_daemons_one_target():
    with scratch() as folder, workload("chain") as process:
        for samples in record_two(folder, process, process):
            check_chains(samples, CHAIN)


@live
def test_reader_while_writing():
    """Each reader sees a good moment of the store, later ones more; the writer loses nothing."""
    with scratch() as folder, workload("recursion", share=0.25) as process:
        store = folder + "/s.db"
        with Daemon(store, "-F", 7993, "--pid", process.pid) as daemon:
            daemon.wait_recording()
            counts = []
            for turn in range(100):
                if turn >= 12 and len(set(counts)) >= 3:
                    break
                stats = run(STACKCTL, "stats", "--json", "-i", store)
                check(stats.status in (DONE, NO_SAMPLES), "status %d" % stats.status, stats.err)
                if stats.status == DONE:
                    recording = Recording(store)
                    counts.append(sum(recording.folded().values()))
                time.sleep(0.3)
            check_end(daemon.finish(SIGINT))
        check(counts == sorted(counts) and len(set(counts)) >= 3, "not growing", counts)
        check_chains(check_whole(Recording(store)), Expectation.of_source("recursion"))


@live
def test_recordings_of_a_store():
    with scratch() as folder:
        store = folder + "/s.db"
        for name in ("chain", "recursion"):
            record(store, "-q", "-F", 3989, "--", "%s/%s" % (WORKLOADS, name), 0.25)
        check_chains(check_whole(Recording(store, 1)), CHAIN)
        check_chains(check_whole(Recording(store, 2)), Expectation.of_source("recursion"))
        check(Recording(store).folded() == Recording(store, 2).folded(), "the latest is the 2nd")
        result = run(STACKCTL, "report", "--recording", 3, "-i", store)
        check(result.status != DONE and "recording" in result.err, "no 3rd recording", result)


@live(alone=True)
def test_all():
    """System-wide: the workload's stacks are right among everything else."""
    with scratch() as folder, workload("recursion") as process:
        recording, result = record_while(folder + "/s.db", process.pid, 1, "-F", 997,
                                         "--ring-bytes", "64M", "--all")
        check_end(result)
        samples, stats = recording.samples(), recording.stats()
        # All that runs beside it decides how much of the ring is used: what is lost is counted.
        counters = stats["counters"]
        check(counters["started"] == counters["sent"] + counters["lost_ring"] + counters["idle"],
              "samples that are neither there nor counted", counters)
        check(stats["samples"] == counters["sent"] and stats["lost"] == counters["lost_ring"],
              "other samples are lost", stats)
        mine = [s for s in samples if s.comm == "recursion"]
        check_chains(mine, Expectation.of_source("recursion"))


class IdleTime:
    """The time that CPUs were idle, or waiting for a disk, as the kernel accounts it: read every
    few hundredths of a second, for between() any two moments."""

    def __init__(self):
        self.seen, self.is_over = [], threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def look(self):
        with open("/proc/stat", encoding="ascii") as file:
            words = file.readline().split()
        return (int(words[4]) + int(words[5])) / os.sysconf("SC_CLK_TCK")

    def watch(self):
        while not self.is_over.wait(0.03):
            self.seen.append((time.time(), self.look()))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    def between(self, start, end):
        """The least and the most that it can be: how soon after each other it is read, the machine decides."""
        def before(at):
            return max((one for one in self.seen if one[0] <= at), default=self.seen[0])[1]

        def after(at):
            return min((one for one in self.seen if one[0] >= at), default=self.seen[-1])[1]
        return max(before(end) - after(start), 0), after(end) - before(start)


def is_in_idle_loop(sample):
    """The idle loop itself: no interrupt has come in between."""
    names = [frame.symbol or "" for frame in sample.frames]
    return "do_idle" in names and not any("softirq" in name or name.startswith("asm_")
                                          for name in names)


def check_idle_samples(recording, *words):
    """Every sample is accounted for. How many were not idle."""
    stats = recording.stats()
    counters = stats["counters"]
    check(counters["started"] == counters["sent"] + counters["lost_ring"] + counters["idle"],
          "samples are neither sent, lost nor idle", counters)
    check(stats["idle"] == counters["idle"], "stats has another figure", stats)
    idle = [sample for sample in recording.samples() if is_in_idle_loop(sample)]
    if "--idle" in words:
        check(not stats["idle"], "idle samples are counted and recorded", stats)
        return stats["samples"] + stats["lost"] - len(idle)
    check(not idle, "%d idle samples are recorded" % len(idle), *idle[:5])
    return stats["samples"] + stats["lost"]


def check_idle(folder, *words):
    """The share of idle time is that of /proc/stat; what the samples say agrees, and none of it is
    in the call paths, unless it was asked for."""
    with IdleTime() as idle_time:
        recording, result = record(folder + "/s.db", "-F", 997, "--duration", 3, *words)
    check_end(result)
    stats = recording.stats()
    begun, lasted = stats["start_unix_ns"] / 1e9, stats["duration_ns"] / 1e9
    cpus_s = lasted * os.cpu_count()
    least, most = (seconds / cpus_s for seconds in idle_time.between(begun, begun + lasted))
    counters = stats["counters"]
    sampled = check_idle_samples(recording, *words)
    # Not all idle CPUs are sampled (daemon/base/idle_time.h), but all others are. Those that a clock missed, as a host
    # does that has taken the CPU away, are in the next sample, of whichever task.
    # And on a busy machine the recording's length has a second in which it is taken off the CPUs.
    times = [sample.time for sample in recording.samples()]
    fewest = 1 - (sampled + counters["late_periods"]) / 997 / ((max(times) - min(times)) * os.cpu_count())
    greatest = 1 - sampled / 997 / cpus_s
    reported = counters["idle_ns"] / counters["cpus_ns"]
    header = run(STACKCTL, "report", *recording.source).out.split("\n\n")[0]
    print(words, "idle: %.3f reported, %.3f to %.3f by samples, %.3f to %.3f by /proc/stat" %
          (reported, fewest, greatest, least, most))
    check(least - 0.05 < reported < most + 0.05, "reported are %.3f idle, and /proc/stat says %.3f to %.3f" %
          (reported, least, most))
    # Of 6000 moments, chance takes the share by less than 0.04 (chance.py).
    check(least - 0.1 < greatest and fewest < most + 0.1, "samples say %.3f to %.3f are idle, and /proc/stat says "
          "%.3f to %.3f" % (fewest, greatest, least, most))
    check("# idle: " in header, "no idle share", header)
    summary = re.search(r"idle ([0-9.]+)%", result.err)  # a moment later than the counters
    check(bool(summary) == bool(counters["idle_ns"]), "no idle share", result.err)
    check(not summary or abs(float(summary[1]) / 100 - reported) < 0.05, "another idle share",
          reported, result.err)


@live(long=True)
def test_demo():
    """The demo keeps its recording, and what it says to try works as it stands there."""
    if not shutil.which("g++"):
        raise Skip("no g++ to record")
    build = os.path.dirname(STACKD)
    env = {"B": build}
    try:
        shown = run(ROOT + "/docs/demo.sh", "--built", env=env, timeout=PATIENCE)
        check(shown.status == DONE, "status %d" % shown.status, shown.err)
        lines = shown.out[shown.out.index("Try, in "):].splitlines()[1:]
        commands = [line.strip() for line in lines if line.startswith("    ")]
        check([command.split()[1] for command in commands] == ["report", "flamegraph", "timeline"],
              "other commands", *commands)
        for command in commands:
            tried = run("sh", "-c", command, cwd=ROOT)
            check(tried.status == DONE, command, tried.err)
            check("flamegraph" in command or "cc1plus" in tried.out, command, tried.out)
        check(os.path.getsize(build + "/demo/flamegraph.html") > 10000, "no page")
    finally:
        shutil.rmtree(build + "/demo", ignore_errors=True)


@live(alone=True)
def test_idle():
    """Idle samples are counted and left out, or recorded with --idle."""
    with scratch() as folder, workload("chain", share=0.2):
        for words in (["--all"], ["--all", "--idle"]):
            recording, result = record(folder + "/s.db", "-F", 997, "--duration", 0.5, *words)
            check_end(result)
            check_idle_samples(recording, *words)


@live(alone=True, long=True)
def test_idle_share():
    """The share of idle time is that of /proc/stat, with and without --idle."""
    with scratch() as folder:
        for words in (["--all"], ["--all", "--idle"]):
            check_idle(folder, *words)


@live
def test_cgroup():
    """Only what runs in the cgroup, later arrivals included."""
    base = next((line.split()[1] for line in open("/proc/mounts", encoding="utf-8")
                 if line.split()[2] == "cgroup2"), None)
    if not base:
        raise Skip("no cgroup2 hierarchy is mounted")
    group = "%s/stackd-test-%d" % (base, os.getpid())
    try:
        os.mkdir(group)
    except OSError as error:
        raise Skip("cannot make a cgroup: %s" % error) from None
    try:
        with scratch() as folder, workload("chain", share=0.25):
            enter = "echo $$ > '%s/cgroup.procs' && exec '%s/%s' 30"
            with Daemon(folder + "/s.db", "-F", 3989, "--cgroup", group) as daemon:
                daemon.wait_recording()
                with subprocess.Popen(["sh", "-c", enter % (group, WORKLOADS, "recursion")],
                                      stdout=subprocess.DEVNULL) as inside:
                    wait_cpu(inside.pid, 0.5)
                    check_end(daemon.finish(SIGINT))
                    inside.kill()
            recording = Recording(folder + "/s.db")
            samples, stats = recording.samples(), recording.stats()
            check(not stats["lost"], "lost samples", stats)
            # A shell that comes from outside is another program before stackd can read its mappings.
            cut = [s for s in samples if s.comm == "recursion" and not is_momentary(s)
                   and (s.frames[0].symbol or "").startswith("[incomplete")]
            check(not cut, "not every stack is complete", *[chains.text_of(s.frames) for s in cut[:5]])
            comms = {s.comm for s in samples}
            check(comms <= {"recursion", "sh", ":%d" % inside.pid}, "others were recorded", comms)
            check_chains([s for s in samples if s.comm == "recursion"],
                         Expectation.of_source("recursion"))
    finally:
        os.rmdir(group)


def check_group():
    uid, gid, store, name = 64992, 64993, "/var/lib/stackd/0/store.db", "stackd-test-%d" % os.getpid()
    group = run("groupadd", "--system", "--non-unique", "--gid", gid, name)
    if group.status != DONE:
        raise Skip("cannot make a group: %s" % group.err)
    as_user = ["setpriv", "--reuid", uid, "--regid", uid, "--inh-caps=-all"]
    try:
        with scratch() as folder:
            program, env = shutil.copy(STACKCTL, folder), {"STACKD_STORE": None}
            os.chmod(folder, 0o755)
            result = run(STACKD, *NATIVE, "-F", 3989, "--group", name, "--", WORKLOADS + "/chain",
                         0.25, env=env)
            check(result.status == DONE, "status %d" % result.status, result.err)
            # Other programs of the machine may have filled the ring of events, which is said.
            check(not re.search("warning: (?!.* lost: )|cannot", result.err), "not shared", result.err)
            for suffix in ("", "-wal", "-shm"):
                info = os.stat(store + suffix)
                check((info.st_uid, info.st_gid, info.st_mode & 0o777) == (0, gid, 0o640),
                      "owner and mode of %s" % (store + suffix), info)
            member = run(*as_user, "--groups", gid, program, "report", env=env)
            check(member.status == DONE and "chain" in member.out, "a member's report", member.err)
            with workload("chain") as process, Daemon(store, "-F", 3989, "--group", name,
                                                      "--pid", process.pid) as daemon:
                daemon.wait_recording()
                end = time.monotonic() + PATIENCE
                member = None  # a commit comes once a second
                while not member or ("recording: 2" not in member.out and time.monotonic() < end):
                    wait_cpu(process.pid, 0.1)
                    member = run(*as_user, "--groups", gid, program, "report", env=env)
                check(member.status == DONE and "recording: 2" in member.out,
                      "a member's report while it is written", member.out[:300], member.err)
                check_end(daemon.finish(SIGINT))
            other = run(*as_user, "--clear-groups", program, "report", env=env)
            check(other.status == NO_SUPPORT and "usermod -aG stackd" in other.err,
                  "another user's report: status %d" % other.status, other.err)
            os.mkdir("/var/lib/stackd/%d" % uid)
            shutil.copy(store, "/var/lib/stackd/%d/store.db" % uid)
            os.chown("/var/lib/stackd/%d/store.db" % uid, uid, uid)
            own = run(*as_user, "--clear-groups", program, "list", env=env)
            check(own.status == DONE, "a user's own store", own.err)
    finally:
        run("groupdel", name)


@live
def test_group():
    """A member of the service's group reads its store without an option. Anyone else gets a message that
    names the group, or, with a store of their own, reads that one."""
    with_own_folder("/var/lib", check_group)


def check_sudo_store():
    uid = 64991
    env = {"SUDO_UID": str(uid), "SUDO_GID": str(uid), "STACKD_STORE": None}
    result = run(STACKD, *NATIVE, "-F", 3989, "--", WORKLOADS + "/chain", 0.25, env=env)
    check_end(result)
    check(os.stat("/var/lib/stackd/%d/store.db" % uid).st_uid == uid, "the store is not the user's")
    with scratch() as folder:
        os.chmod(folder, 0o755)
        program = shutil.copy(STACKCTL, folder + "/stackctl")
        os.chmod(program, 0o755)
        report = run("setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", program,
                     "report", env={"STACKD_STORE": None})
    check(report.status == DONE, "report: status %d" % report.status, report.err)
    check("alpha" in report.out and "chain" in report.out, "no report", report.out)


@live
def test_sudo_store():
    """The user's `stackctl report` finds and may read the recording of `sudo stackd`."""
    with_own_folder("/var/lib", check_sudo_store)


@live
def test_notify():
    """sd_notify: READY=1 once it samples, STOPPING=1 at the end."""
    with scratch() as folder, workload("chain") as process:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(folder + "/notify")
            listener.settimeout(PATIENCE)
            with Daemon(folder + "/s.db", "--pid", process.pid,
                        env={"NOTIFY_SOCKET": folder + "/notify"}) as daemon:
                said = listener.recv(4096).decode()
                while "READY=1" not in said:
                    said += listener.recv(4096).decode()
                wait_cpu(process.pid, 0.1)
                check_end(daemon.finish(SIGTERM))
                while "STOPPING=1" not in said:
                    said += "\n" + listener.recv(4096).decode()
        check_whole(Recording(folder + "/s.db"))


@live(needs_bpf=False)
def test_systemd_unit():
    """The installed unit is valid, and hardened."""
    if not shutil.which("systemd-analyze"):
        raise Skip("systemd-analyze is not installed")
    with scratch() as folder:
        unit = folder + "/stackd.service"
        with open(ROOT + "/systemd/stackd.service", encoding="utf-8") as file:
            text = file.read().replace("@PREFIX@", folder)
        os.mkdir(folder + "/sbin")
        shutil.copy(STACKD, folder + "/sbin/stackd")
        with open(unit, "w", encoding="utf-8") as file:
            file.write(text)
        verify = run("systemd-analyze", "verify", unit)
        lines = [line for line in verify.err.splitlines() if "stackd.service" in line]
        check(verify.status == 0 and not lines, "verify: %d" % verify.status, verify.err)
        security = run("systemd-analyze", "security", "--offline=yes", "--threshold=60", unit)
        check(security.status == 0, "exposure is over 6.0", security.out[-400:], security.err)


@live
def test_summary():
    """The line at the end has samples, lost, quality and where they are."""
    with scratch() as folder:
        store = folder + "/s.db"
        recording, result = record(store, "-F", 3989, "--", WORKLOADS + "/chain", 0.25)
        for word in (str(recording.stats()["samples"]), "lost", "complete", store):
            check(word in result.err, "the summary lacks '%s'" % word, result.err)
        report = recording.text("report")
        for word in ("alpha", "beta", "leaf", os.uname().nodename, os.uname().release, "lost",
                     "complete"):
            check(word in report, "the report lacks '%s'" % word, report)


@live
def test_report_outlives_program():
    """A store is self-contained: the same report when the program and its libraries are gone."""
    with scratch() as folder:
        program = shutil.copy(WORKLOADS + "/chain", folder + "/program")
        recording, _ = record(folder + "/s.db", "-F", 3989, "--", program, 0.25)
        before = recording.text("report")
        os.unlink(program)
        check(recording.text("report") == before, "the report has changed")


@live
def test_stdout_full():
    """A report that cannot be written is a failure, not silence."""
    with scratch() as folder:
        record(folder + "/s.db", "-q", "-F", 3989, "--", WORKLOADS + "/chain", 0.25)
        for words in (["report"], ["export", "--folded"], ["export", "--perf-script"],
                      ["export", "--tags"], ["stats", "--json"]):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([STACKCTL] + words + ["-i", folder + "/s.db"], stdout=full,
                                      stderr=subprocess.PIPE, check=False)
            check(done.returncode == 1, "%s: status %d" % (words, done.returncode), done.stderr)
