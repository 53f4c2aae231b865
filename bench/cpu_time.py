# SPDX-License-Identifier: MIT
"""CPU time of a command that something else runs: a recorder, or nothing."""

import subprocess
import sys

# Runs a command, whose output goes to a file, and writes the CPU seconds of it and of what it starts
# to another one.
TIMED = """import resource, subprocess, sys
subprocess.run(sys.argv[3:], check=True, stdout=open(sys.argv[1], "w"), stderr=subprocess.STDOUT)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[2], "w").write(str(used.ru_utime + used.ru_stime))
"""


def cpu_of(folder, before, command, **more):
    """CPU seconds of a command and what it starts, but not of what stands before it. Its output is in
    the file "output" of the folder."""
    told = folder + "/cpu"
    subprocess.run([*before, sys.executable, "-c", TIMED, folder + "/output", told, *command],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    with open(told, encoding="ascii") as file:
        return float(file.read())
