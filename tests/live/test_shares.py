# SPDX-License-Identifier: MIT
"""One user's processes make more work than there is time for, within --max-cpu: their share ends, and others' samples
keep their paths and names."""

import contextlib
import os
import subprocess

from chains import Expectation
from harness import (DONE, SIGTERM, Daemon, Recording, Skip, background, check, check_chains, live, run, scratch,
                     workload)
from test_cgroups import move, slices

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "adversary.c")
NOBODY = 65534


@contextlib.contextmanager
def adversaries(folder, group, *kinds):
    """Runs adversary.c, as a user without rights, in a cgroup."""
    program = folder + "/adversary"
    built = run("gcc", "-O1", "-D_GNU_SOURCE", "-o", program, SOURCE)
    check(built.status == 0, "gcc", built.err)
    os.chmod(folder, 0o755)
    with contextlib.ExitStack() as stack:
        for i, kind in enumerate(kinds):
            own = "%s/own%d" % (folder, i)
            os.mkdir(own)
            os.chmod(own, 0o777)
            words = ["setpriv", "--reuid=%d" % NOBODY, "--clear-groups", "--", program, kind[0], own, *kind[1:]]
            stack.enter_context(background("sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group, *words,
                                                 ready="READY"))
        yield


def samples_of(store, tid):
    return [sample for sample in Recording(store).samples() if sample.tid == tid]


@live
def test_shares():
    """Thousands of tiny files that a process maps, and a process that changes its name all the time."""
    if subprocess.run(["setpriv", "--version"], stdout=subprocess.DEVNULL, check=False).returncode:
        raise Skip("no setpriv")
    with scratch() as folder, slices() as make, workload("chain", 60) as chain:
        group = make("/shares.service")
        move(chain.pid, group)
        store = folder + "/s.db"
        with Daemon(store, "-F", 499, "--max-cpu", "50%", "--cgroup", group) as daemon:
            daemon.wait_recording()
            with adversaries(folder, group, ("files", "3000"), ("names",)):
                daemon.wait_counter("files_over_share", 1)
                before = len(samples_of(store, chain.pid))
                daemon.wait_for("samples of the other user", lambda: len(samples_of(store, chain.pid)) >= before + 20)
            result = daemon.finish(SIGTERM)
        check(result.status == DONE, "status %d" % result.status, result.err)
        check("map more new files than there is time for" in result.err, "the share is not told", result.err)
        recording = Recording(store)
        counters = recording.stats()["counters"]
        print(counters)
        check(not counters["sideband_lost"] or "events of processes and mappings lost" in result.err,
              "lost events are not told", result.err)
        check_chains(samples_of(store, chain.pid), Expectation.of_source("chain"), 20)
