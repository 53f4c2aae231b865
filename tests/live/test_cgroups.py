# SPDX-License-Identifier: MIT
"""Where samples were taken: the cgroup of each, by unit and by container, also of cgroups that are made
while stackd runs, or have gone, or that a thread moves to."""

import contextlib
import json
import os
import subprocess
import time

import chains
from chains import Expectation
from harness import (DONE, NO_SAMPLES, SIGCONT, SIGINT, SIGSTOP, STACKCTL, WORKLOADS, Daemon, Recording, Skip, check, check_chains,
                     live, moment, run, scratch, user_frames, wait_cpu, workload)

CHAIN = Expectation.of_source("chain")
ID = "5" * 64
JOBS = 200


@contextlib.contextmanager
def slices():
    """A folder of cgroups for a test, which is removed with what is in it. Makes of a path below it a
    cgroup."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        mount = next((line.split()[1] for line in mounts if line.split()[2] == "cgroup2"), None)
    if not mount:
        raise Skip("no cgroup2 hierarchy is mounted")
    top = "%s/stackd-test-%d.slice" % (mount, os.getpid())
    made = []

    def make(path=""):
        os.mkdir(top + path)
        made.append(top + path)
        return top + path

    try:
        make()
    except OSError as error:
        raise Skip("cannot make a cgroup: %s" % error) from None
    try:
        yield make
    finally:
        for path in reversed(made):
            with contextlib.suppress(FileNotFoundError):
                os.rmdir(path)


def move(pid, group):
    with open(group + "/cgroup.procs", "w", encoding="utf-8") as file:
        file.write(str(pid))


def by(store, kind, *options):
    """Samples by part."""
    result = run(STACKCTL, "report", "-i", store, "--json", "--by", kind, *options)
    check(result.status == DONE, "report: status %d" % result.status, result.err)
    return {part[kind]: part["samples"] for part in json.loads(result.out)["parts"]}


def remove(group):
    """Removes a cgroup whose processes have just ended."""
    for _ in range(100):
        with contextlib.suppress(OSError):
            return os.rmdir(group)
        time.sleep(0.02)
    return os.rmdir(group)


def check_number(samples, least, most, what):
    """Samples at 997 Hz of something that had a CPU time between these, in seconds: as many as that,
    but for where in a period it begins to run, and ends."""
    low, high = 997 * least, 997 * most
    check(low - 4 * low ** 0.5 <= samples <= high + 4 * high ** 0.5,
          "%d samples of %s, not %.0f to %.0f" % (samples, what, low, high))


def check_exports(store, path):
    """The path is a label of exports, and a part of the flame graph."""
    for form in ("--json", "--speedscope"):
        check(path in run(STACKCTL, "export", form, "-i", store).out, "%s lacks %s" % (form, path))
    page = run(STACKCTL, "flamegraph", "--by", "unit", "-i", store, "-o", store + ".svg")
    check(page.status == DONE, "flamegraph", page.err)
    with open(store + ".svg", encoding="utf-8") as svg:
        check("unit before.service" in svg.read(), "the flame graph lacks the unit")


@live
def test_cgroups():
    """Every sample has the unit that its thread was in at that time."""
    with scratch() as folder, slices() as make, contextlib.ExitStack() as stack:
        store, before = folder + "/s.db", make("/before.service")
        process = stack.enter_context(workload("chain"))
        move(process.pid, before)
        cpu = [moment(process)[1]]
        with Daemon(store, "-F", 997, "--all") as daemon:
            daemon.wait_recording()
            cpu.append(moment(process)[1])
            wait_cpu(process.pid, 0.5)
            after = make("/after.scope")
            cpu.append(moment(process)[1])
            move(process.pid, after)
            cpu.append(moment(process)[1])
            wait_cpu(process.pid, 0.5)
            with workload("chain") as short:
                gone = make("/docker-%s.scope" % ID)
                move(short.pid, gone)
                short_cpu = [moment(short)[1]]
                wait_cpu(short.pid, 0.3)
                short_cpu.append(moment(short)[1])
            remove(gone)
            cpu.append(moment(process)[1])
            result = daemon.finish(SIGINT)
            check(result.status == DONE, "status %d" % result.status, result.err)
            cpu.append(moment(process)[1])
        units = by(store, "unit")
        check("[unknown]" not in units, "some have no cgroup", units)
        mine = by(store, "unit", "--pid", str(process.pid))
        check(set(mine) == {"before.service", "after.scope"}, "units", mine)
        check_number(mine["before.service"], cpu[2] - cpu[1], cpu[3] - cpu[0], "before.service")
        check_number(mine["after.scope"], cpu[4] - cpu[3], cpu[5] - cpu[2], "after.scope")
        containers = by(store, "container")
        check_number(containers.get("docker " + ID[:12], 0), short_cpu[1] - short_cpu[0],
                     short_cpu[1] + 0.1, "the container that has gone")
        mine = by(store, "unit", "--unit", "before")
        check(set(mine) == {"before.service"} and mine["before.service"] == units["before.service"],
              "--unit", mine)
        top = by(store, "unit", "--unit", "stackd-test-%d.slice" % os.getpid())
        check(set(top) == {"before.service", "after.scope", "docker-%s.scope" % ID}, "--unit", top)
        none = run(STACKCTL, "report", "-i", store, "--unit", "none.service")
        check(none.status == NO_SAMPLES, "--unit none.service: status %d" % none.status)
        check_exports(store, "/before.service")
        check_chains(Recording(store).samples("--comm", "chain"), CHAIN)


@live
def test_cgroups_windows():
    """A window knows the cgroups of threads that it did not see enter them."""
    with scratch() as folder, slices() as make, workload("chain", share=0.25) as process:
        store = folder + "/s.db"
        move(process.pid, make("/w.service"))
        with Daemon(store, "-F", 3989, "--window", "1s", "--pid", process.pid) as daemon:
            daemon.wait_recording()
            time.sleep(3.5)
            wait_cpu(process.pid, 0.1)
            result = daemon.finish(SIGINT)
            check(result.status == DONE, "status %d" % result.status, result.err)
        whole = by(store, "unit", "--since", "10m")
        check(set(whole) == {"w.service"}, "of all windows", whole)
        for window in range(1, 4):
            one = by(store, "unit", "--recording", str(window))
            check(set(one) == {"w.service"}, "of window %d" % window, one)


def wait_command(pid, name, seconds=15):
    """Waits until a process is this program."""
    end = time.monotonic() + seconds
    with open("/proc/%d/comm" % pid, encoding="utf-8") as comm:
        while comm.read().strip() != name:
            check(time.monotonic() < end, "it is not %s" % name)
            comm.seek(0)
            time.sleep(0.001)


@live
def test_cgroup_exec():
    """What enters a cgroup, and is another program before stackd can read its mappings, has no names of
    that one, whose code is at the same addresses. stackd is stopped meanwhile."""
    with scratch() as folder, slices() as make:
        store, group = folder + "/s.db", make("/entered.service")
        with Daemon(store, "-F", 3989, "--cgroup", group) as daemon:
            daemon.wait_recording()
            daemon.process.send_signal(SIGSTOP)
            entering = subprocess.Popen([WORKLOADS + "/entering_static", group + "/cgroup.procs",
                                         WORKLOADS + "/chain_static", "0.2"])
            wait_command(entering.pid, "chain_static")
            daemon.process.send_signal(SIGCONT)
            check(entering.wait() == DONE, "status %d" % entering.returncode)
            check(daemon.finish(SIGINT).status == DONE, "stackd's status")
        samples = Recording(store).samples()
    early = [s for s in samples if s.frames[0].symbol.startswith("[incomplete")]
    named = [chains.text_of(s.frames) for s in early
             if any(frame.object.endswith("chain_static") for frame in user_frames(s))]
    print(len(early), "early of", len(samples))
    check(not named, "%d of %d samples" % (len(named), len(early)), *named[:5])
    check_chains([s for s in samples if s.comm == "chain_static" and s not in set(early)], CHAIN)
    check(len(early) >= 3, "hardly any sample was early enough", len(early))


@live(long=True)
def test_cgroups_many():
    """Cgroups that come and go have names, all of those in which something ran long enough."""
    with scratch() as folder, slices() as make:
        store, spin = folder + "/s.db", "i=0; while [ $i -lt 12000 ]; do i=$((i+1)); done"
        long = set()
        with Daemon(store, "-F", 997, "--ring-bytes", "64M", "--all") as daemon:
            daemon.wait_recording()
            for i in range(JOBS):
                group = make("/job%d.service" % i)
                shell = subprocess.Popen(["sh", "-c", "echo $$ > '%s/cgroup.procs'; %s" % (group, spin)])
                used = os.wait4(shell.pid, 0)[2]
                if used.ru_utime + used.ru_stime >= 0.005:
                    long.add("job%d.service" % i)
                remove(group)
            result = daemon.finish(SIGINT)
            check(result.status == DONE, "status %d" % result.status, result.err)
        lost = Recording(store).stats()["lost"]
        check(lost == 0, "%d samples were lost, which may be a job's" % lost)
        units = by(store, "unit")
        jobs = {unit for unit in units if unit.startswith("job")}
        check("[unknown]" not in units, "some have no name", units.get("[unknown]"))
        print("%d jobs took five periods, %d have samples" % (len(long), len(jobs)))
        check(len(long) > JOBS * 0.9, "only %d jobs took five periods" % len(long))
        check(long <= jobs, "without samples:", sorted(long - jobs))
