# SPDX-License-Identifier: MIT
"""--mpi counts the calls of MPI's functions as MPI's own interface for tools does, in Open MPI and
MPICH, from C and Fortran."""

import os
import shutil

from harness import WORKLOADS, Skip, check, live, record, run, scratch
from mpi_recorder import source

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpi")
ROUNDS = 300
LAUNCH = {"openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"],
          "mpich": ["mpiexec.mpich"]}


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip("%s is not there" % program)


def launch(kind, ranks, *command, env=()):
    """The command that runs an MPI program."""
    settings = ["env", *env] if env else []
    return [*LAUNCH[kind], "-n", str(ranks), *settings, *command]


def build(kind, folder):
    """The program and the library that counts its calls."""
    needs("mpicc." + kind, LAUNCH[kind][0])
    mpicc = "mpicc." + kind
    program, library = os.path.join(folder, "calls"), os.path.join(folder, "recorder.so")
    header = os.path.join(folder, "header.c")
    with open(header, "w", encoding="utf-8") as file:
        file.write("#include <mpi.h>\n")
    declared = run(mpicc, "-E", "-P", header)
    check(declared.status == 0, "mpi.h cannot be read", declared.err)
    with open(os.path.join(folder, "recorder.c"), "w", encoding="utf-8") as file:
        file.write(source(declared.out))
    for command in ((mpicc, "-O2", "-g", "-o", program, os.path.join(HERE, "calls.c")),
                    (mpicc, "-O1", "-w", "-shared", "-fPIC", "-o", library, file.name)):
        made = run(*command)
        check(made.status == 0, "does not compile", command, made.err)
    return program, library


def counted(folder, library, command):
    """What the recorder counts, of all ranks: function -> calls, bytes sent and received."""
    counts = os.path.join(folder, "counts")
    shutil.rmtree(counts, ignore_errors=True)
    os.mkdir(counts)
    done = run(*command(("LD_PRELOAD=" + library, "MPI_COUNTS=" + counts)))
    check(done.status == 0, "the program failed", done.err)
    sums = {}
    for name in os.listdir(counts):
        with open(os.path.join(counts, name), encoding="utf-8") as file:
            for function, *numbers in (line.split() for line in file):
                sums[function] = [a + int(b) for a, b in zip(sums.get(function, [0] * 3), numbers)]
    return sums


def by_function(recording, metric):
    """The sum of a metric over all ranks by function; nothing if the recording lacks it."""
    if metric not in recording.stats()["metrics"]:
        return {}
    sums = {}
    for line in recording.text("export", "--folded", "--metric", metric).splitlines():
        stack, value = line.rsplit(" ", 1)
        function = stack.rsplit(";", 1)[1]
        sums[function] = sums.get(function, 0) + int(value)
    return sums


def visits(recording):
    """What stackd counts: function -> calls of all ranks."""
    sums = by_function(recording, "region.visits")
    counters = recording.stats()["counters"]
    for name in ("lost_ring", "unmatched", "too_deep", "partial", "without_path", "left"):
        check(counters["regions_" + name] == 0, "regions_" + name, counters)
    return sums


def check_counts(kind):
    with scratch() as folder:
        program, library = build(kind, folder)

        def command(env=()):
            return launch(kind, 2, program, str(ROUNDS), os.path.join(folder, "written"), env=env)

        expected = counted(folder, library, command)
        check(expected["MPI_Allreduce"] == [2 * ROUNDS, 16 * ROUNDS, 16 * ROUNDS], "the recorder",
              expected)
        check(expected["MPI_File_write_at_all"][0] == 2, "the recorder", expected)
        recording, result = record(os.path.join(folder, "store"), "--mpi", "--", *command())
        check(visits(recording) == {name: numbers[0] for name, numbers in expected.items()},
              "calls", visits(recording), expected, result.err)
        check_bytes(recording, expected, kind)


def check_bytes(recording, expected, kind):
    """MPI_Ssend has a derived type, whose size MPICH's handle does not tell."""
    unknown = {"MPI_Ssend": ROUNDS} if kind == "mpich" else {}
    check(by_function(recording, "mpi.unknown") == unknown, "unknown",
          by_function(recording, "mpi.unknown"))
    for metric, number in (("mpi.sent", 1), ("mpi.received", 2)):
        sums = {name: numbers[number] for name, numbers in expected.items()
                if numbers[number] and name not in unknown}
        check(by_function(recording, metric) == sums, metric, by_function(recording, metric), sums)


@live
def mpi_open_mpi():
    check_counts("openmpi")


@live
def mpi_mpich():
    check_counts("mpich")


def check_fortran(kind):
    """Fortran's functions call those of C, which are a part of them."""
    needs("mpif90." + kind, "gfortran", LAUNCH[kind][0])
    with scratch() as folder:
        program = os.path.join(folder, "calls")
        made = run("mpif90." + kind, "-O2", "-o", program, os.path.join(HERE, "calls.f90"))
        check(made.status == 0, "does not compile", made.err)
        recording, result = record(os.path.join(folder, "store"), "--mpi", "--",
                                   *launch(kind, 2, program))
        expected = {"mpi_init": 2, "mpi_comm_rank": 2, "mpi_send": 100, "mpi_recv": 100,
                    "mpi_allreduce": 200, "mpi_finalize": 2}
        seen = {name.lower().rstrip("_"): n for name, n in visits(recording).items()}
        check(seen == expected, "calls", seen, expected, result.err)
        sent = {name.lower().rstrip("_"): n for name, n in by_function(recording, "mpi.sent").items()}
        check(sent == {"mpi_send": 40000, "mpi_allreduce": 1600}, "bytes", sent)
        check(not by_function(recording, "mpi.unknown"), "what is unknown")


@live
def mpi_fortran_open_mpi():
    check_fortran("openmpi")


@live
def mpi_fortran_mpich():
    check_fortran("mpich")


@live
def mpi_without_mpi():
    """A program without MPI is sampled, and the user is told that nothing else is."""
    with scratch() as folder:
        result = record(os.path.join(folder, "store"), "--mpi", "--",
                        os.path.join(WORKLOADS, "chain"), "1")[1]
        check("no MPI library is mapped" in result.err, "what is said", result.err)
