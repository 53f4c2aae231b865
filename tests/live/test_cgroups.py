# SPDX-License-Identifier: MIT
"""Where samples were taken: the cgroup of each, by unit and by container, also of cgroups that are made
while stackd runs, or have gone, or that a thread moves to."""

import contextlib
import json
import os
import shutil
import subprocess
import time

import chains
from chains import Expectation
from harness import (DONE, NO_SAMPLES, PATIENCE, SIGCONT, SIGINT, SIGSTOP, STACKCTL, WORKLOADS, Daemon, Recording,
                     Skip, background, check, check_chains, is_incomplete, is_moment, live, run, scratch, user_frames, wait_cpu, workload)

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
    if result.status == NO_SAMPLES:
        return {}
    check(result.status == DONE, "report: status %d" % result.status, result.err)
    return {part[kind.split(":")[0]]: part["samples"] for part in json.loads(result.out)["parts"]}


def remove(group):
    """Removes a cgroup whose processes have just ended."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            return os.rmdir(group)
        time.sleep(0.02)
    return os.rmdir(group)


# One process runs programs in turn, each in a cgroup that it enters before: so a sample's program tells
# its cgroup. The second one's cgroup is made while stackd runs. (Other tests run these programs, too, by their names.)
FIRST, SECOND = ("%s-%d" % (turn, os.getpid()) for turn in ("first", "next"))
PROGRAMS_IN_TURN = """
echo $$ >{before}/cgroup.procs && {folder}/{first} 0.2
mkdir {second} && echo $$ >{second}/cgroup.procs
export OTEL_SERVICE_NAME=shop OTEL_RESOURCE_ATTRIBUTES=team=a%20b,service.name=no && exec {folder}/{next} 600
"""


def check_exports(store, path):
    """The path is a label of exports, and a part of the flame graph."""
    for form in ("--json", "--speedscope"):
        check(path in run(STACKCTL, "export", form, "-i", store).out, "%s lacks %s" % (form, path))
    page = run(STACKCTL, "flamegraph", "--by", "unit", "-i", store, "-o", store + ".svg")
    check(page.status == DONE, "flamegraph", page.err)
    with open(store + ".svg", encoding="utf-8") as svg:
        check("unit before.service" in svg.read(), "the flame graph lacks the unit")


def check_units(store, pid, lost):
    """`lost`: so many samples of the whole machine found no room, and may be those that are looked for."""
    def check_sum(found, least, what):
        check(found + lost >= least, what, found, lost)

    def check_set(found, wanted, what):
        check(found == wanted or (found < wanted and lost), what, found, lost)

    units = by(store, "unit")
    check("[unknown]" not in units, "some have no cgroup", units)
    check_set(set(by(store, "unit", "--pid", str(pid))), {"before.service", "after.scope"}, "units")
    check_sum(by(store, "container").get("docker " + ID[:12], 0), 1, "the container that has gone")
    for comm, unit in (FIRST, "before.service"), (SECOND, "second.scope"):
        mine = by(store, "unit", "--comm", comm)
        check_set(set(mine), {unit}, comm)
        check_sum(mine.get(unit, 0), 40, comm)
    mine = by(store, "unit", "--unit", "before")
    check_set(set(mine), {"before.service"}, "--unit")
    check(mine.get("before.service") == units.get("before.service"), "--unit", mine)
    top = by(store, "unit", "--unit", "stackd-test-%d.slice" % os.getpid())
    check_set(set(top), {"before.service", "after.scope", "second.scope", "docker-%s.scope" % ID}, "--unit")


def check_labels(store, units):
    """Labels of the program's environment, of the container's cgroup and of stackd's option."""
    check(by(store, "label:env") == {"test": sum(units.values())}, "--label env=test", by(store, "label:env"))
    for comm, service in (FIRST, "before"), (SECOND, "shop"):
        mine = by(store, "service", "--comm", comm)
        check(set(mine) <= {service}, "%s is of the service %s" % (comm, service), mine)
    check(by(store, "unit", "--label", "service=shop", "--label", "team=a b") == by(store, "unit", "--comm", SECOND), "--label")
    scope = "docker-%s.scope" % ID
    gone = by(store, "unit", "--label", "container.id=" + ID)
    check(gone == {scope: units[scope]} if scope in units else not gone, "the container's id", gone, units)


def check_cgroups(*target):
    """Every sample has the unit that its thread was in at that time. `target`: the whole machine, whose other programs
    may fill the ring, or {}: the cgroup that all of these are in, of which nothing may be lost."""
    with scratch() as folder, slices() as make, contextlib.ExitStack() as stack:
        store, before = folder + "/s.db", make("/before.service")
        second = os.path.dirname(before) + "/second.scope"
        stack.callback(lambda: os.path.exists(second) and remove(second))
        process = stack.enter_context(workload("chain"))
        move(process.pid, before)
        with Daemon(store, "-F", 997, "--label", "env=test", *[word.format(os.path.dirname(before)) for word in target]) as daemon:
            daemon.wait_recording()
            wait_cpu(process.pid, 0.2)
            after = make("/after.scope")
            move(process.pid, after)
            wait_cpu(process.pid, 0.2)
            with workload("threads") as short:
                gone = make("/docker-%s.scope" % ID)
                move(short.pid, gone)
                wait_cpu(short.pid, 0.2)
            remove(gone)
            for name, program in (FIRST, "recursion"), (SECOND, "redzone"):
                shutil.copy(os.path.join(WORKLOADS, program), os.path.join(folder, name))
            with background("sh", "-c", PROGRAMS_IN_TURN.format(before=before, second=second, folder=folder, first=FIRST,
                                                                next=SECOND)) as turns:
                # An environment is read while its program runs, and stackd may get to that late.
                daemon.wait_for("labels", lambda: turns.poll() is None and "shop" in by(store, "service", "--comm", SECOND))
                wait_cpu(turns.pid, 0.2)
                result = daemon.finish(SIGINT)
            check(result.status == DONE, "status %d" % result.status, result.err)
        lost = Recording(store).stats()["lost"]
        check(lost == 0 or "--all" in target, "lost", lost)
        check_units(store, process.pid, lost)
        check_labels(store, by(store, "unit"))
        samples = Recording(store).samples("--comm", "chain")
        whole = json.loads(run(STACKCTL, "report", "-i", store, "--json", "--comm", "chain").out)
        check(whole["samples"] == len(samples), "report and export differ", whole["samples"], len(samples))
        check(sum(by(store, "unit", "--comm", "chain").values()) == whole["periods"],
              "a sample has no cgroup, or two", whole["periods"])
        none = run(STACKCTL, "report", "-i", store, "--unit", "none.service")
        check(none.status == NO_SAMPLES, "--unit none.service: status %d" % none.status)
        check_exports(store, "/before.service")
        check_chains([s for s in samples if s.tid == process.pid], CHAIN, at_least=0 if lost else 40)  # other tests have programs of that name


@live
def test_cgroups():
    check_cgroups("--cgroup", "{}")


@live(long=True)
def test_cgroups_all():
    check_cgroups("--all")


def sampled_windows(store):
    """The windows with samples: a short one has none where the machine does not get to the program."""
    listed = json.loads(run(STACKCTL, "list", "--json", "-i", store).out)["recordings"]
    return [window["recording"] for window in listed if window["samples"]]


@live
def test_cgroups_windows():
    """A window knows the cgroups of threads that it did not see enter them."""
    with scratch() as folder, slices() as make, workload("chain", share=0.25) as process:
        store = folder + "/s.db"
        move(process.pid, make("/w.service"))
        with Daemon(store, "-F", 3989, "--window", "1s", "--pid", process.pid) as daemon:
            daemon.wait_recording()
            end = time.monotonic() + PATIENCE
            while len(sampled_windows(store)) < 4:
                check(time.monotonic() < end, "no windows with samples")
                time.sleep(0.2)
            result = daemon.finish(SIGINT)
            check(result.status == DONE, "status %d" % result.status, result.err)
        whole = by(store, "unit", "--since", "10m")
        check(set(whole) == {"w.service"}, "of all windows", whole)
        for window in sampled_windows(store):
            one = by(store, "unit", "--recording", str(window))
            check(set(one) == {"w.service"}, "of window %d" % window, one)


def wait_command(pid, name, seconds=PATIENCE):
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
            with background(WORKLOADS + "/entering_static", group + "/cgroup.procs", WORKLOADS + "/chain_static",
                            60) as entering:
                wait_command(entering.pid, "chain_static")
                wait_cpu(entering.pid, 0.03)  # in which it has some hundred samples
                daemon.process.send_signal(SIGCONT)
                wait_cpu(entering.pid, 0.2)
                check(entering.poll() is None, "status", entering.returncode)
                check(daemon.finish(SIGINT).status == DONE, "stackd's status")
        samples = Recording(store).samples()
        cpu_time = Recording(store).stats()["cpu_time"]
        check(cpu_time and cpu_time["waking_ns"] is not None and cpu_time["is_conserved"] is not None,
              "samples are not compared with the CPU time", cpu_time)
    early = [s for s in samples if is_incomplete(s) and not is_moment(s)]
    named = [chains.text_of(s.frames) for s in early
             if any(frame.object.endswith("chain_static") for frame in user_frames(s))]
    print(len(early), "early of", len(samples))
    check(not named, "%d of %d samples" % (len(named), len(early)), *named[:5])
    check_chains([s for s in samples if s.comm == "chain_static" and s not in set(early)], CHAIN)
    check(len(early) >= 3, "hardly any sample was early enough", len(early))


@live(long=True)
def test_cgroups_many():
    """Cgroups that come and go have names, all of those in which something ran long enough. If samples hit each moment
    by chance alone, a job of 30 periods has none in 1e-13 of the cases."""
    with scratch() as folder, slices() as make:
        store, long = folder + "/s.db", set()
        with Daemon(store, "-F", 1997, "--all") as daemon:
            daemon.wait_recording()
            for i in range(JOBS):
                group = make("/job%d.service" % i)
                job = subprocess.Popen(["sh", "-c", "echo $$ > '%s/cgroup.procs'; exec '%s/chain' 0.02"
                                        % (group, WORKLOADS)], stdout=subprocess.DEVNULL)
                used = os.wait4(job.pid, 0)[2]
                if used.ru_utime + used.ru_stime >= 0.018:  # of which some are before it enters the group
                    long.add("job%d.service" % i)
                remove(group)
            result = daemon.finish(SIGINT)
            check(result.status == DONE, "status %d" % result.status, result.err)
        lost = Recording(store).stats()["lost"]  # on a busy machine, and it may be a job's
        units = by(store, "unit")
        jobs = {unit for unit in units if unit.startswith("job")}
        check("[unknown]" not in units, "some have no name", units.get("[unknown]"))
        print("%d jobs took thirty periods, %d have samples, %d samples are lost" % (len(long), len(jobs), lost))
        check(len(long) >= 10, "only %d jobs took thirty periods" % len(long))
        check(lost or long <= jobs, "without samples:", sorted(long - jobs))
