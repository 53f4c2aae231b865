#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a measured call of MPI costs the program: mpi_cost.py [RUNS [ROUNDS]]

A halo exchange (tests/live/mpi/halo.c: five calls a round, two of them receives whose bytes another
call tells) of one rank, which waits for nobody, and of two, and the cheapest call at a depth of 10 and
100 frames; in Open MPI and MPICH: without a tool, counted by a library that has only PMPI (the recorder of
tests/live, no paths), by libstackmpi (--mpi=library, with the whole path), and by probes (--mpi=probes). CPU time
of the program's own, the best of RUNS (5) in turn, and its ratio to that without a tool. The targets: 300 ns a
call with its path, and a halo exchange within 5 %. The computing part of a round is some 10 us."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..")
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "tests", "live"), os.path.join(ROOT, "tests")]

import test_mpi  # noqa: E402

STACKD = os.path.join(ROOT, "build", "stackd")
POINTS = "8000"
CALLS_A_ROUND = 5


def numbers_of(command):
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return [float(word) for word in done.stdout.split()]


def ways(kind, ranks, rounds, folder):
    """Name -> the command that prints what a round and a call take."""
    program = (test_mpi.build(kind, "halo.c"), str(rounds), POINTS)
    few = (program[0], str(rounds // 20), POINTS)  # a probe costs a hundred times as much
    stackd = [STACKD, "-e", "none", "--no-managed", "--ring-bytes", "64M", "-o", folder + "/store.db"]
    preloaded = test_mpi.recorder_settings(folder, test_mpi.build_recorder(kind))
    return {
        "no tool": test_mpi.launch(kind, ranks, *program),
        "PMPI alone": test_mpi.launch(kind, ranks, *program, env=preloaded),
        "--mpi=library": [*stackd, "--mpi=library", "--", *test_mpi.launch(kind, ranks, *program)],
        "--mpi=probes": [*stackd, "--mpi=probes", "--region-limit", "0", "--", *test_mpi.launch(kind, ranks, *few)],
    }


def compare(kind, ranks, runs, rounds, folder):
    """Prints a line for each way. Returns whether a target was missed."""
    commands = ways(kind, ranks, rounds, folder)
    best = {name: [float("inf")] * 3 for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            best[name] = [min(pair) for pair in zip(best[name], numbers_of(command))]
    plain = best["no tool"]
    for name, (halo, shallow, deep) in best.items():
        print("%-7s %d rank%s %-15s halo exchange %8.1f ns a round, %6.3f times, %+7.1f ns a call; a call at depth 10 "
              "%+7.1f ns, at 100 %+7.1f ns" % (kind, ranks, "s" if ranks > 1 else " ", name, halo, halo / plain[0],
                                               (halo - plain[0]) / CALLS_A_ROUND, shallow - plain[1], deep - plain[2]))
    counted = best["--mpi=library"]
    return counted[0] > 1.05 * plain[0] or max(counted[1] - plain[1], counted[2] - plain[2]) > 300


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 100000
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    missed = False
    with tempfile.TemporaryDirectory(prefix="stackd-mpi-cost-") as folder:
        for kind in "openmpi", "mpich":
            for ranks in 1, 2:
                missed |= compare(kind, ranks, runs, rounds, folder)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
