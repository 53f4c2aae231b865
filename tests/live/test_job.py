# SPDX-License-Identifier: MIT
"""stackctl-mpi merges the stores of a job's nodes as stackctl merge does, to the byte, in Open MPI
and MPICH; a process that is killed or cannot read its store ends all, with its name, and leaves no
file."""

import json
import os
import re
import signal
import subprocess
import time

from harness import BUILD, ROOT, STACKCTL, PATIENCE, Skip, check, live, record, run, scratch
from test_mpi import LAUNCH, build, launch, needs, plain


def program(kind):
    path = os.path.join(BUILD, "mpi", kind, "stackctl-mpi")
    needs(LAUNCH[kind][0])
    if not os.path.exists(path):
        raise Skip("stackctl-mpi is not built for this MPI")
    return path


def content(path):
    with open(path, "rb") as file:
        return file.read()


def by_rank(*arguments):
    """What a report has of each rank: (rank, function) -> total."""
    shown = run(STACKCTL, "report", "--by", "rank", "--view", "flat", "--json", *arguments)
    check(shown.status == 0, "report", arguments, shown.err)
    shown = json.loads(shown.out)
    return {(part["rank"], plain(shown["symbols"][row["symbol"]]["name"])): row["total"]
            for part in shown["parts"] for row in part["functions"]}


def merge(kind, processes, *arguments, timeout=PATIENCE):
    return run(*launch(kind, processes, program(kind), "merge", *arguments), timeout=timeout)


def of_nodes(export, n):
    """The same export of so many nodes, which started one after the other: the paths."""
    text = content(export)
    check(text.count(b"\t1700000000\tnode1\t") == 1, "the recording")
    for i in range(n):
        with open("%s.%d" % (export, i), "wb") as file:
            file.write(text.replace(b"\t1700000000\tnode1\t", b"\t%d\tnode%d\t" % (1700000001 + i, i)))
    return ["%s.%d" % (export, i) for i in range(n)]


def check_sizes(kind, folder, nodes, sizes):
    """Fewer processes than inputs, and more, of a number that is no power of two."""
    inputs, whole = of_nodes(folder + "/other", nodes), folder + "/all"
    alone = run(STACKCTL, "merge", "-o", whole, *inputs)
    check(alone.status == 0, "stackctl merge", alone.err)
    for processes in sizes:
        done = merge(kind, processes, "-o", folder + "/out", *inputs, timeout=PATIENCE)
        check(done.status == 0, "stackctl-mpi merge", done.err)
        check(content(folder + "/out") == content(whole), "%d processes" % processes)


def check_merge(kind, folder):
    """A store of a job of three ranks, and an export of another one with four."""
    job, other, whole = folder + "/job.db", folder + "/other", folder + "/whole"
    record(job, "--mpi", "--", *launch(kind, 3, build(kind, "calls.c"), "20",
                                       folder + "/written"))
    made = run("python3", os.path.join(ROOT, "tests/cli/job.py"), other)
    check(made.status == 0, "an export", made.err)
    alone = run(STACKCTL, "merge", "-o", whole, job, other)
    check(alone.status == 0, "stackctl merge", alone.err)
    for processes in 1, 3:
        done = merge(kind, processes, "-o", folder + "/out", job, other)
        check(done.status == 0, "stackctl-mpi merge", done.err)
        check(content(folder + "/out") == content(whole), "%d processes" % processes)
    for metric in "region.visits", "mpi.sent":
        of_store = by_rank("-i", job, "--metric", metric)
        of_job = by_rank("-i", whole, "--metric", metric)
        check({key: of_job[key] for key in of_store} == of_store, metric, of_store, of_job)
        check({rank for rank, _ in of_store} >= {"0 of 3", "1 of 3", "2 of 3"}, metric, of_store)
    totals = [line.split(b"\t") for line in content(whole).splitlines() if line[:5] == b"total"]
    check(any(fields[2] == b"region.time" and fields[5] == b"3" for fields in totals), "totals")


def parent_of(pid):
    """None: it has ended."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return None


def children(pid):
    """The processes of stackctl-mpi that work for a job, by their rank: each has a parent."""
    found = {}
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/cmdline" % name, "rb") as file:
                words = file.read().split(b"\0")
            with open("/proc/%s/environ" % name, "rb") as file:
                environ = dict(word.partition(b"=")[::2] for word in file.read().split(b"\0"))
        except OSError:
            continue
        if b"/stackctl-mpi" in words[0] and environ.get(b"JOB_OF") == b"%d" % pid:
            rank = int(environ.get(b"OMPI_COMM_WORLD_RANK") or environ[b"PMI_RANK"])
            found.setdefault(rank, set()).add(int(name))
    workers = {rank: [pid for pid in pids if parent_of(pid) in pids] for rank, pids in found.items()}
    return {rank: pids[0] for rank, pids in workers.items() if len(pids) == 1}


def is_opening(pid):
    """Whether a process is in openat(). (One that is killed while MPI begins can leave Open MPI's launcher
    waiting for ever.)"""
    try:
        with open("/proc/%d/syscall" % pid, encoding="ascii") as file:
            return file.read().startswith("257 ")
    except OSError:
        return False


def are_waiting(found):
    """Whether all three stay where they wait for the pipe."""
    for _ in range(4):
        if len(found) < 3 or not all(is_opening(pid) for pid in found.values()):
            return False
        time.sleep(0.05)
    return True


def check_killed(kind, folder, rank):
    """A process that waits for its store, a pipe into which nobody writes, is killed."""
    out = folder + "/killed"
    command = launch(kind, 3, program(kind), "merge", "-o", out, *[folder + "/pipe"] * 3)
    job = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           env=dict(os.environ, JOB_OF=str(os.getpid())))
    try:
        found, end = {}, time.monotonic() + PATIENCE
        while not are_waiting(found) and time.monotonic() < end:
            time.sleep(0.05)
            found = children(os.getpid())
        check(are_waiting(found), "processes", found)
        os.kill(found[rank], signal.SIGKILL)
        text = job.communicate(timeout=PATIENCE)[0]
    finally:
        job.kill()
        job.wait()
    check(job.returncode != 0, "status", text)
    check(re.search(r"stackctl-mpi: process %d of 3 on \S+: killed by signal 9 " % rank, text),
          "who was killed", text)
    check(not [path for path in os.listdir(folder) if path.startswith("killed")], "files")


def check_unreadable(kind, folder):
    broken = folder + "/broken.db"
    with open(broken, "w", encoding="ascii") as file:
        file.write("no store")
    done = merge(kind, 2, "-o", folder + "/unread", folder + "/job.db", broken)
    check(done.status != 0, "status", done.err)
    check(re.search(r"stackctl-mpi: process 1 of 2 on \S+: cannot read " + broken, done.err),
          "which process and file", done.err)
    done = merge(kind, 2, "-o", folder + "/nowhere/unread", folder + "/job.db")
    check(done.status != 0 and "process 0 of 2" in done.err, "no folder", done.err)
    check(not os.path.exists(folder + "/unread"), "a file")


def check_job(kind, nodes, sizes):
    program(kind)
    with scratch() as folder:
        check_merge(kind, folder)
        check_sizes(kind, folder, nodes, sizes)
        check_unreadable(kind, folder)
        os.mkfifo(folder + "/pipe")
        check_killed(kind, folder, 1)


@live
def job_open_mpi():
    check_job("openmpi", 9, (3, 11))


@live(long=True)
def job_large_open_mpi():
    """Many more processes than there are processors."""
    program("openmpi")
    with scratch() as folder:
        made = run("python3", os.path.join(ROOT, "tests/cli/job.py"), folder + "/other")
        check(made.status == 0, "an export", made.err)
        check_sizes("openmpi", folder, 60, (16, 64))


@live(long=True)
def job_mpich():
    """Processes of MPICH spin while they wait: 64 of them would keep two processors for a minute and a half."""
    check_job("mpich", 60, (16,))
