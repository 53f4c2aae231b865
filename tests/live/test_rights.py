# SPDX-License-Identifier: MIT
"""The rights that stackd keeps after its start are the fewest: without each of its capabilities,
something that it promises fails. A stackd that is built for it (daemon/worker/fault_injection.h) drops one more
than it would. And it makes no system call beyond those that it leaves to itself: one that did would
be killed here."""

import contextlib
import os
import shutil
import time

from chains import Expectation, text_of
from harness import (DONE, FAILED, NATIVE, NO_SUPPORT, SIGINT, WORKLOADS, PATIENCE, Daemon, Recording, background, check,
                     check_chains, faulty_stackd, is_incomplete, judge_sample, live, recordings_in, run, scratch,
                     sparing, user_frames, wait_cpu, workload)

CHAIN = Expectation.of_source("chain")

CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, SETGID, SETUID, SYS_PTRACE = 0, 1, 2, 3, 6, 7, 19
SYSLOG, PERFMON, BPF, CHECKPOINT_RESTORE = 34, 38, 39, 40
NONE = 63
USER = 64991  # no account has it

# Those of the unit, for what DAC_OVERRIDE would do as well.
SERVICE = ("setpriv", "--bounding-set", "-all," + ",".join("+cap_%d" % number for number in (
    BPF, PERFMON, SYS_PTRACE, CHECKPOINT_RESTORE, DAC_READ_SEARCH, SYSLOG, SETUID, SETGID)))


def without(capability):
    return {"STACKD_FAULT": "few:without:%x" % capability}


def record(capability, store, *arguments, before=(), env=None):
    return run(*before, faulty_stackd(), *NATIVE, "-F", 3989, "-o", store, *arguments,
               env={**without(capability), **(env or {})}, timeout=PATIENCE)


def record_program(capability, mode=0o755, delete=False, before=()):
    """Records a user's running program; its samples, none if stackd fails."""
    with scratch() as folder:
        os.chmod(folder, 0o755)
        program = shutil.copy(WORKLOADS + "/chain", folder + "/mine")
        os.chmod(program, mode)
        os.chown(program, USER, USER)
        with background("setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", program, 60,
                        ready="READY") as process, sparing(process, 0.25):
            if delete:
                os.unlink(program)
            with Daemon(folder + "/s.db", "-F", 3989, "--pid", process.pid, stackd=faulty_stackd(), before=before,
                        env=without(capability)) as daemon:
                while daemon.process.poll() is None and not recordings_in(folder + "/s.db"):
                    time.sleep(0.05)
                wait_cpu(process.pid, 0.3)
                result = daemon.finish(SIGINT)
        print(result.status, result.err)
        return Recording(folder + "/s.db").samples() if result.status == DONE else []


def only_with(capability, **more):
    """With it each sample has its path, once one has; without, none has."""
    samples = record_program(NONE, **more)
    verdicts = [judge_sample(sample, CHAIN, False) for sample in samples]
    check("right" in verdicts, "it fails with it, too", verdicts)
    check_chains(samples[verdicts.index("right"):], CHAIN)
    right = [text_of(sample.frames) for sample in record_program(capability, **more)
             if any(frame.symbol == "steady" for frame in sample.frames) and not is_incomplete(sample)]
    check(not right, "%d samples are right without" % len(right), *right[:5])


@live
def test_rights_to_sample():
    """BPF, PERFMON: without, nothing is recorded at all. SYS_RESOURCE raises the limit of locked memory:
    without, the rings of events are as large as it allows."""
    for capability in (BPF, PERFMON):
        with scratch() as folder:
            result = record(capability, folder + "/s.db", "--", WORKLOADS + "/chain", 0.25)
            check(result.status == NO_SUPPORT, "status %d" % result.status, result.err)
    with scratch() as folder:
        result = record(NONE, folder + "/s.db", "--ring-bytes", "128M", "--", WORKLOADS + "/chain", 0.25,
                        before=("prlimit", "--memlock=%d" % (4 << 20), "setpriv", "--bounding-set", "-sys_resource"))
        check(result.status == DONE, "rings larger than the limit: status %d" % result.status, result.err)


@live(long=True)
def test_rights_to_see_processes():
    """SYS_PTRACE, CHECKPOINT_RESTORE: files of other users' processes that were deleted;
    DAC_READ_SEARCH: files that only their owner may read."""
    only_with(SYS_PTRACE, delete=True)
    only_with(CHECKPOINT_RESTORE, delete=True)
    only_with(DAC_READ_SEARCH, mode=0o700, before=SERVICE)


@contextlib.contextmanager
def hidden_addresses():
    path = "/proc/sys/kernel/kptr_restrict"
    with open(path, encoding="ascii") as file:
        before = file.read()
    with open(path, "w", encoding="ascii") as file:
        file.write("1")
    try:
        yield
    finally:
        with open(path, "w", encoding="ascii") as file:
            file.write(before)


@live(alone=True)
def test_rights_to_names_of_kernel():
    """SYSLOG: names of the kernel's functions, where their addresses are hidden. stackd opens them at its
    start, and drops it: it also lets a process empty the kernel's log."""
    with scratch() as folder, hidden_addresses():
        with background("dd", "if=/dev/zero", "of=/dev/null", "bs=1M") as process:
            with Daemon(folder + "/s.db", "-F", 3989, "--pid", process.pid) as daemon:
                daemon.wait_recording()
                with open("/proc/%d/status" % daemon.process.pid, encoding="ascii") as file:
                    rights = [int(line.split()[1], 16) for line in file if line.startswith(("CapEff", "CapPrm"))]
                check(len(rights) == 2 and not any(word >> SYSLOG & 1 for word in rights), "it has the right", rights)
                wait_cpu(process.pid, 1)
                result = daemon.finish(SIGINT)
        check(result.status == DONE, "status %d" % result.status, result.err)
        named = [frame for sample in Recording(folder + "/s.db").samples()
                 for frame in sample.frames if frame.symbol == "do_syscall_64"]
        check(len(named) > 20, "no names")


@live
def test_rights_to_stores():
    """DAC_OVERRIDE: stores in other users' folders; CHOWN: they are given to the user of sudo; FOWNER:
    and shared with a group."""
    def try_it(capability):
        with scratch() as folder:
            os.chmod(folder, 0o755)
            mine = folder + "/mine"
            os.mkdir(mine, 0o700)
            os.chown(mine, USER, USER)
            result = record(capability, mine + "/s.db", "--group", "nogroup", "--", WORKLOADS + "/chain",
                            0.25, env={"SUDO_UID": str(USER), "SUDO_GID": str(USER)})
            print(capability, result.status, result.err)
            state = os.stat(mine + "/s.db") if os.path.exists(mine + "/s.db") else None
            return (result.status, state and state.st_uid == USER,
                    state and state.st_mode & 0o777 == 0o640)
    check(try_it(NONE) == (DONE, True, True), "with all")
    check(try_it(DAC_OVERRIDE)[0] == FAILED, "it writes without")
    check(not try_it(CHOWN)[1], "it is given away without")
    check(not try_it(FOWNER)[2], "it is shared without")


@live(long=True)
def test_rights_to_calls():
    """A service and a recording of each kind, killed if they made a call that is not on the list."""
    for arguments in (("--all", "--window", "1h", "--max-cpu", "50%"), ("--wait",),
                      ("--region", "alpha")):
        # Probes are on a file, and so in all processes that have it: here, in its own.
        with scratch() as folder, \
                workload(shutil.copy(WORKLOADS + "/chain", folder), 60, share=0.2) as process:
            target = () if "--all" in arguments else ("--pid", process.pid)
            with Daemon(folder + "/s.db", "-F", 997, *arguments, *target, stackd=faulty_stackd(),
                        env={"STACKD_FAULT": "few:calls:0"}) as daemon:
                daemon.wait_recording(60)
                wait_cpu(process.pid, 0.2)
                with workload("threads", 1, share=0.2):
                    time.sleep(1)
                result = daemon.finish(SIGINT)
            check(result.status == DONE, "status %d" % result.status, arguments, result.err)
            samples = Recording(folder + "/s.db").samples()
            check(any(user_frames(sample) for sample in samples), "no samples", arguments)
