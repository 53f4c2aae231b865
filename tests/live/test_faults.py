# SPDX-License-Identifier: MIT
"""Bad input and faults: a clear error and the promised exit status, never a crash, and nothing
lost without being counted."""

import contextlib
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import time

import chains
from chains import Expectation
from harness import (BUILD, DONE, FAILED, NATIVE, NO_SAMPLES, NO_SUPPORT, PATIENCE, ROOT, SIGCONT, SIGINT, SIGKILL,
                     SIGSTOP, STACKCTL, STACKD, USAGE, WORKLOADS, Daemon, Failed, Recording, Skip, check, check_chains,
                     check_fault, check_whole, is_incomplete, is_moment, live, record, record_attached, run, scratch,
                     small_disk, user_frames, wait_asleep, wait_cpu, workload)


# --- targets and options -------------------------------------------------------------------------

@live
def test_no_such_pid():
    process = subprocess.Popen(["true"])
    process.wait()
    with scratch() as folder:
        result = run(STACKD, *NATIVE, "-o", folder + "/s.db", "--pid", process.pid)
        check_fault(result, FAILED, str(process.pid))


@live(long=True)
def test_pid_ends_while_attaching():
    """At twenty moments around the start: each time an orderly end."""
    with scratch() as folder:
        for turn in range(20):
            process = subprocess.Popen(["sleep", str(turn * 0.005)])
            result = run(STACKD, *NATIVE, "-o", folder + "/s.db", "--duration", 5, "--pid", process.pid)
            process.wait()
            check(result.status in (DONE, FAILED, NO_SAMPLES), "status %d" % result.status,
                  result.err)
            if result.status == FAILED:
                check_fault(result, FAILED, str(process.pid))


@live
def test_no_rights():
    """A user without rights: exit 4, and the message names the remedy."""
    with scratch() as folder:
        os.chmod(folder, 0o777)
        program = shutil.copy(STACKD, folder + "/stackd")
        os.chmod(program, 0o755)
        result = run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                     "--inh-caps=-all", program, "-o", folder + "/s.db", "--", "true")
        check_fault(result, NO_SUPPORT, "root|sudo|CAP_")


@live(needs_bpf=False)
def test_unknown_event():
    with scratch() as folder:
        result = run(STACKD, *NATIVE, "-o", folder + "/s.db", "-e", "no_such_event", "--", "true")
        check_fault(result, USAGE, "no_such_event")


@live
def test_frequency_over_limit():
    with open("/proc/sys/kernel/perf_event_max_sample_rate", encoding="ascii") as file:
        limit = int(file.read())
    with scratch() as folder:
        result = run(STACKD, *NATIVE, "-o", folder + "/s.db", "-F", limit + 1, "--", "true")
        check(result.status in (FAILED, USAGE), "status %d" % result.status, result.err)
        check_fault(result, result.status, str(limit))


@live(needs_bpf=False)
def test_lbr_without_branch_records():
    if os.path.exists("/sys/bus/event_source/devices/cpu/caps/branches"):
        raise Skip("this CPU has branch records")
    with scratch() as folder:
        result = run(STACKD, *NATIVE, "-o", folder + "/s.db", "--lbr", "--", "true")
        check_fault(result, NO_SUPPORT, "branch")


@live(needs_bpf=False)
def test_lbr_software_event():
    """On a processor that is said to have branch records, events of the kernel have none."""
    with scratch() as folder:
        caps = folder + "/sys/bus/event_source/devices/cpu/caps"
        os.makedirs(caps)
        with open(caps + "/branches", "w", encoding="ascii") as file:
            file.write("32\n")
        result = run(STACKD, *NATIVE, "-o", folder + "/s.db", "--lbr", "-e", "cpu-clock", "--", "true",
                     env={"STACKD_SYS_ROOT": folder + "/sys"})
        check_fault(result, USAGE, "cpu-clock")


@live
def test_lbr_anyway():
    """Without branch records in the processor, the code that reads them runs all the same: the
    kernel returns none for each sample, and the walks are unchanged."""
    if os.path.exists("/sys/bus/event_source/devices/cpu/caps/branches"):
        raise Skip("this CPU has branch records")
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", "-F", 997, "--lbr=anyway", "--",
                              "/usr/bin/python3", "-c", "print(sum(i * i for i in range(2000000)))")
        counters = recording.stats()["counters"]
        check(counters["branch_records"] == 0, "branch records", counters)
        check(counters["branch_records_missing"] == counters["started"] > 20, "not asked for",
              counters)
        check_whole(recording)


@live(needs_bpf=False)
def test_usage():
    for words in ([], ["--pid", "x"], ["--pid", "0"], ["--freq", "-1", "--", "true"],
                  ["--no-such-option"], ["--all", "--pid", "1"]):
        result = run(STACKD, *words)
        check(result.status == USAGE, "stackd %s: status %d" % (words, result.status), result.err)
    for first, second in (("--freq=9", "--count=9"), ("--prefix=verified", "--depth=2"),
                          ("--depth=2", "--prefix=first"), ("--tags=off", "--judge-tags")):
        names = [word.split("=")[0] for word in (first, second)]
        check_fault(run(STACKD, first, second, "--", "true"), USAGE, *names, "exclude")


@live
def test_no_such_command():
    with scratch() as folder:
        result = run(STACKD, *NATIVE, "-o", folder + "/s.db", "--", folder + "/not-there")
        check_fault(result, FAILED, "not-there", "no such file")


@live
def test_command_not_executable():
    with scratch() as folder:
        with open(folder + "/plain", "w", encoding="ascii"):
            pass
        result = run(STACKD, *NATIVE, "-o", folder + "/s.db", "--", folder + "/plain")
        check_fault(result, FAILED, "cannot run", "plain", "permission denied")


@live
def test_no_samples():
    """A command that runs for less than a sampling interval: it is said to have run. One that goes
    on sleeping is not."""
    with scratch() as folder:
        result = run(STACKD, *NATIVE, "-o", folder + "/s.db", "-c", 10 ** 12, "--", "true")
        check_fault(result, NO_SAMPLES, "'true' ran and ended after [0-9.]+ ms of CPU time",
                    "a lower -c than 10{12}")
        result = run(STACKD, *NATIVE, "-o", folder + "/s.db", "-F", 1, "--", "true")
        check(result.status in (DONE, NO_SAMPLES), "status %d" % result.status, result.err)
        check(result.status == DONE or "a higher -F than 1\n" in result.err, "no remedy", result.err)
        with subprocess.Popen(["sleep", "600"]) as sleeper:
            wait_asleep(sleeper.pid)
            slept = run(STACKD, *NATIVE, "-o", folder + "/t.db", "--duration", 0.3, "--pid", sleeper.pid)
            sleeper.kill()
        check_fault(slept, NO_SAMPLES, "no samples: the target slept")
        unseen = run(STACKD, *NATIVE, "-o", folder + "/u.db", "-e", "none", "--region", "qsort@libc.so.6",
                     "--mark", "bsearch@libc.so.6", "--", "true")
        check_fault(unseen, NO_SAMPLES, "no pass of 'qsort@libc.so.6', no pass of 'bsearch@libc.so.6' was seen")
        report = run(STACKCTL, "report", "-i", folder + "/s.db")
        check(report.status == result.status, "report: status %d after stackd's %d"
              % (report.status, result.status), report.err)


def check_no_cgroup(path, *words):
    """It is said what the folder is, and where cgroups are."""
    result = run(STACKD, "--cgroup", path, "--duration", 1)
    check_fault(result, FAILED, "--cgroup '%s': " % path, *words,
                "cgroups of .* are (not )?mounted")


@live
def test_no_cgroup():
    with scratch() as folder:
        with open(folder + "/file", "w", encoding="ascii"):
            pass
        check_no_cgroup(folder, "a folder, not a cgroup")
        check_no_cgroup(folder + "/file", "a file, not a cgroup")
        check_no_cgroup(folder + "/none", "no such file")
        # A hierarchy of version 1 without controllers.
        os.mkdir(folder + "/old")
        if run("mount", "-t", "cgroup", "-o", "none,name=stackd-test", "none",
               folder + "/old").status:
            raise Skip("cgroups of version 1 cannot be mounted")
        try:
            check_no_cgroup(folder + "/old", r"a cgroup of version 1 \(name=stackd-test\)")
        finally:
            run("umount", folder + "/old")


# --- the machine ---------------------------------------------------------------------------------

@live  # without rights, it is they that are named
def test_no_btf():
    """A kernel without BTF, simulated by another root of /sys: stackd and doctor name it."""
    with scratch() as folder:
        os.mkdir(folder + "/sys")
        env = {"STACKD_SYS_ROOT": folder + "/sys"}
        check_fault(run(STACKD, *NATIVE, "-o", folder + "/s.db", "--", "true", env=env), NO_SUPPORT, "BTF")
        check_fault(run(STACKCTL, "doctor", env=env), NO_SUPPORT, "BTF")


@live
def test_doctor():
    result = run(STACKCTL, "doctor")
    check(result.status == DONE, "doctor: status %d where stackd works" % result.status,
          result.out, result.err)


# --- stores --------------------------------------------------------------------------------------

@live
def test_output_not_writable():
    with scratch() as folder:
        open(folder + "/file", "w", encoding="ascii").close()
        for path in (folder + "/missing/s.db", folder, "/proc/s.db", folder + "/file/s.db"):
            result = run(STACKD, *NATIVE, "-o", path, "--", "true")
            check_fault(result, FAILED, path)


def fill_up(folder):
    """Writes until there is no room left."""
    with open(folder + "/filler", "ab", buffering=0) as filler:
        try:
            while True:
                filler.write(b"x" * 4096)
        except OSError:
            pass


def wait_samples(store, least):
    """Waits until a running recording has so many samples: how many it has then."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if run(STACKCTL, "list", "-i", store).status == DONE:
            stats = run(STACKCTL, "stats", "--json", "-i", store)
            count = json.loads(stats.out)["samples"] if stats.status == DONE else 0
            if count >= least:
                return count
        time.sleep(0.1)
    raise Failed("no %d samples were committed" % least)


@live
def test_full_disk():
    """A clear error, and every recording made before is what it was."""
    with small_disk("4m") as folder:
        store = folder + "/s.db"
        record(store, "-q", "-F", 3989, "--", WORKLOADS + "/recursion", 0.25)
        before = Recording(store, 1).text("export", "--perf-script")
        fill_up(folder)
        result = run(STACKD, *NATIVE, "-o", store, "-F", 4000, "--", WORKLOADS + "/recursion", 3)
        check_fault(result, FAILED, "no space|full")
        os.unlink(folder + "/filler")
        after = Recording(store, 1).text("export", "--perf-script")
        check(before == after, "the earlier recording has changed")
        record(store, "-q", "-F", 3989, "--", WORKLOADS + "/recursion", 0.25)


@live
def test_disk_fills_while_recording():
    """The same when there was room at the start: what was committed can be read."""
    with small_disk("8m") as folder:
        store = folder + "/s.db"
        with Daemon(store, "-F", 2000, "--", WORKLOADS + "/recursion", 60) as daemon:
            daemon.wait_recording()
            committed = wait_samples(store, 1000)
            fill_up(folder)
            result = daemon.finish(timeout=PATIENCE)
            check_fault(result, FAILED, "no space|full")
        check(len(Recording(store).samples()) >= committed, "what was committed is gone")


def good_store(folder):
    """Records folder/good.db; its content, all in one file."""
    good = folder + "/good.db"
    record(good, "-q", "-F", 3989, "--", WORKLOADS + "/recursion", 0.25)
    with sqlite3.connect(good) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return open(good, "rb").read()


@live
def test_input_not_a_store():
    """Not a store, empty, cut short, garbled, from a newer version: exit 2 and the file named;
    stackd refuses to write into them and leaves them as they are."""
    with scratch() as folder:
        content = good_store(folder)
        bad = {"text": b"this is not a store\n" * 100, "cut": content[:len(content) // 2],
               "head": content[:100], "elf": open(STACKD, "rb").read(100000)}
        for name, data in bad.items():
            with open(folder + "/" + name, "wb") as file:
                file.write(data)
        shutil.copy(folder + "/good.db", folder + "/newer")
        newer = sqlite3.connect(folder + "/newer")
        newer.execute("PRAGMA user_version = 1000")
        newer.close()
        other = sqlite3.connect(folder + "/other")
        other.execute("CREATE TABLE t (x)")
        other.commit()
        other.close()
        for name in list(bad) + ["newer", "other", "missing"]:
            path = folder + "/" + name
            for words in (["report"], ["export", "--folded"], ["stats", "--json"], ["list"]):
                result = run(STACKCTL, *words, "-i", path)
                if name == "cut" and words == ["list"] and result.status == DONE:
                    continue  # the recordings' own table may lie in the half that is left
                check(result.status == USAGE, "%s of %s: status %d" % (words[0], name,
                                                                       result.status), result.err)
                check_fault(result, USAGE, name)
            if name in ("text", "elf", "newer", "other"):
                before = open(path, "rb").read()
                result = run(STACKD, *NATIVE, "-o", path, "--", "true")
                check(result.status in (FAILED, USAGE), "stackd into %s: status %d"
                      % (name, result.status), result.err)
                check(open(path, "rb").read() == before, "stackd changed " + name)


@live
def test_garbled_store():
    """A store with bytes changed at random: an answer or exit 2 or 3, never a crash or a hang."""
    with scratch() as folder:
        content = good_store(folder)
        dice = random.Random(7)
        for turn in range(60):
            data = bytearray(content)
            for _ in range(dice.choice((1, 10, 200))):
                data[dice.randrange(100 if turn % 2 else 4096, len(data))] = dice.randrange(256)
            with open(folder + "/bad.db", "wb") as file:
                file.write(data)
            result = run(STACKCTL, "export", "--folded", "-i", folder + "/bad.db", timeout=PATIENCE)
            check(result.status in (DONE, USAGE, NO_SAMPLES), "turn %d: status %d"
                  % (turn, result.status), result.err)


# --- losses --------------------------------------------------------------------------------------

@live
def test_ring_overflow():
    """A ring buffer that cannot hold what comes while stackd stands still: the losses are
    counted, and started == kept + lost to the last sample."""
    with scratch() as folder:
        store = folder + "/s.db"
        with workload("recursion") as process, \
                Daemon(store, "-F", 4000, "--ring-bytes", "64K", "--pid", process.pid) as daemon:
            daemon.wait_recording()
            wait_cpu(process.pid, 0.2)
            daemon.process.send_signal(SIGSTOP)
            wait_cpu(process.pid, 1.2)
            daemon.process.send_signal(SIGCONT)
            wait_cpu(process.pid, 0.2)
            result = daemon.finish(SIGINT)
        check(result.status == DONE, "status %d" % result.status, result.err)
        recording = Recording(store)
        stats, samples = recording.stats(), recording.samples()
        print(stats)
        check(stats["lost"] > 1000, "nothing was lost", stats)
        check(stats["samples"] == len(samples), "stats and export differ", stats, len(samples))
        counters = {**stats, **stats.get("counters", {})}
        check("started" in counters, "stats has no counter of started samples", stats)
        check(counters["started"] == stats["samples"] + stats["lost"],
              "started is not kept plus lost", stats)
        cut = [sample for sample in samples if is_incomplete(sample)]
        check(all(is_moment(sample) for sample in cut) and stats["quality"]["partial"] == len(cut),
              "a loss made others incomplete", stats)
        check_chains(samples, Expectation.of_source("recursion"))


# --- hostile programs ----------------------------------------------------------------------------

def section_ends(path):
    """{name: (offset, size)} of a library's sections."""
    out = run("readelf", "-SW", path).out
    found = {}
    for line in out.splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 6 and words[0].startswith("["):
            try:
                found[words[1]] = (int(words[4], 16), int(words[5], 16))
            except ValueError:
                pass
    return found


def overwrite(path, offset, data):
    """In place: the mapped file itself changes."""
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def lies():
    """name: what is done to the library's file while a program runs in it. Its code stays."""
    dice = random.Random(3)
    ends = section_ends(WORKLOADS + "/libdl_one.so")
    garbage = bytes(dice.randrange(256) for _ in range(1 << 16))
    symtab, strtab, eh = ends[".symtab"], ends[".strtab"], ends[".eh_frame"]
    yield "cut behind its segments", lambda p: os.truncate(p, symtab[0] + 24)
    yield "symbols of garbage", lambda p: overwrite(p, symtab[0], garbage[:symtab[1]])
    yield "names of garbage", lambda p: overwrite(p, strtab[0], garbage[:strtab[1]])
    yield "section headers far away", lambda p: overwrite(p, 40, b"\xff" * 7 + b"\x7f")
    yield "65535 sections", lambda p: overwrite(p, 58, b"\x40\x00\xff\xff\xfe\xff")
    yield "program headers far away", lambda p: overwrite(p, 32, b"\xf0" + b"\xff" * 6 + b"\x7f")
    yield "no ELF file at all", lambda p: overwrite(p, 0, b"#!/bin/sh\n" + garbage[:54])
    yield "header of garbage", lambda p: overwrite(p, 16, garbage[:48])
    yield "unwind information of garbage", lambda p: overwrite(p, eh[0], garbage[:eh[1]])
    yield "unwind information of ones", lambda p: overwrite(p, eh[0], b"\xff" * eh[1])
    yield "unwind information of zeroes", lambda p: overwrite(p, eh[0], b"\0" * eh[1])


def check_lie(name, samples):
    """The C library's functions are those that the program was in when it was stopped at its start."""
    check(len(samples) > 50, "%s: samples are missing" % name, len(samples))
    frames = [user_frames(s)[-1] for s in samples if user_frames(s)]
    leaves = {frame.symbol for frame in frames if os.path.basename(frame.object)[:4] not in ("libc", "ld-l")}
    known = {"one_leaf", "one_entry", "steady", "main", None}
    check(leaves <= known or name == "names of garbage", "%s: frames with names that are not theirs" % name,
          leaves - known)


@live(name="lying-elf")
def test_lying_elf():
    """Files of libraries that change under the programs that run in them: each has samples, with no name that
    is not theirs. One recording has a program for each of the lies, and they run one after the other."""
    with scratch() as folder, contextlib.ExitStack() as stack:
        programs = {}
        note, size = section_ends(WORKLOADS + "/libdl_one.so")[".note.gnu.build-id"]
        for number, (name, falsify) in enumerate(lies()):
            library = shutil.copy(WORKLOADS + "/libdl_one.so", "%s/lib%d.so" % (folder, number))
            overwrite(library, note + size - 8, bytes([number] * 8))  # a file of its own, not another's copy
            programs[name] = stack.enter_context(workload("plugin", 60, library, share=None))
            falsify(library)
            programs[name].send_signal(SIGSTOP)
        with Daemon(folder + "/s.db", "-F", 3989, "--pid",
                    ",".join(str(process.pid) for process in programs.values())) as daemon:
            daemon.wait_recording()
            for process in programs.values():
                process.send_signal(SIGCONT)
                wait_cpu(process.pid, 0.15)
                process.send_signal(SIGSTOP)
            result = daemon.finish(SIGINT)
        check(result.status == DONE, "status %d" % result.status, result.err)
        recording = Recording(folder + "/s.db")
        stats, samples = recording.stats(), recording.samples()
        print(stats, *list(recording.folded().items())[:40], sep="\n")
        check(stats["lost"] == 0, "samples are lost", stats)
        for name, process in programs.items():
            check(process.poll() is None, "%s: the program did not survive" % name)
            check_lie(name, [sample for sample in samples if sample.tid == process.pid])


@live
def test_hostile_jit_map():
    """/tmp/perf-PID.map full of nonsense: no crash, names cut to what is printable."""
    with scratch() as folder, workload("chain") as process:
        path = "/tmp/perf-%d.map" % process.pid
        try:
            with open(path, "wb") as file:
                file.write(b"zz yy nonsense\n0 ffffffffffffffff everything\n" + b"\xff" * 100000
                           + b"\n1000 10\n1000 10 \n" + b"7fff00000000 10 a\tb\x1b[31m\n")
            recording, _ = record_attached(folder + "/s.db", process, 0.5, "-F", 997)
        finally:
            os.unlink(path)
        check_chains(check_whole(recording), Expectation.of_source("chain"))


def daemon_that_is_refused(folder):
    """stackd with a program that writes to what a look-up gave before it is compared with NULL."""
    for name in ("bpf", "arch"):
        shutil.copytree(os.path.join(ROOT, name), folder + "/" + name)
    for name in ("Makefile", "CHANGELOG.md"):
        shutil.copy(os.path.join(ROOT, name), folder)
    with open(folder + "/bpf/stackd.bpf.c", encoding="utf-8") as file:
        source = file.read()
    looked_up = "s = CHECKED(bpf_map_lookup_elem(&scratches, &cpu));\n"
    check(looked_up in source, "the program has no such look-up")
    with open(folder + "/bpf/stackd.bpf.c", "w", encoding="utf-8") as file:
        file.write(source.replace(looked_up, "s = bpf_map_lookup_elem(&scratches, &cpu);\n"
                                  "\t*(volatile __u64 *)&s->stamp = 1;\n"))
    made = BUILD + "/bpf/refused"
    result = run("make", "-s", "-C", folder, "B=build", "build/gen/stackd.bpf.o")
    check(result.status == 0, "the program cannot be compiled", result.err)
    os.makedirs(made, exist_ok=True)
    shutil.copy(folder + "/build/gen/stackd.bpf.o", made + "/stackd.bpf.o")
    result = run("make", "-s", "-C", ROOT, "B=" + BUILD, made + "/stackd", timeout=PATIENCE)
    check(result.status == 0, "the daemon cannot be linked", result.err)
    return made + "/stackd"


@live(long=True)  # it compiles the kernel half
def test_refused():
    """A refusal by the verifier is reported as such, whatever the kernel's version and rights."""
    with scratch() as folder:
        result = run(daemon_that_is_refused(folder), "-o", folder + "/store.db", "--", "true",
                     env={"STACKD_DEBUG": None})
        lines = result.err.splitlines()
        check(result.status == NO_SUPPORT, "status %d" % result.status, result.err)
        for words in ("the verifier", "refused", "'map_value_or_null'", "processed ",
                      os.uname().release, "make CLANG="):
            check(words in result.err, "'%s' is not said" % words, result.err)
        check(re.search(r"compiled by .*[Cc]lang \d+\.\d+", result.err), "no version of clang", result.err)
        check("6.1 or later" not in result.err, "the kernel is said to be too old", result.err)
        check(3 <= len(lines) <= 12 and all(len(line) <= 400 for line in lines),
              "the verifier's words have no bounds", result.err)
        check(all(line.startswith("stackd: ") for line in lines), "lines of nobody's", result.err)


@live
def test_kill():
    """kill -9 at any moment: the store can be read, has all that was committed, and the reader
    finds the names that are not in it: after the first commit, that is all of them but the
    kernel's."""
    with scratch() as folder, workload("chain", 600, share=0.25) as process:
        store = folder + "/s.db"
        for turn, (wait, least) in enumerate(((0, None), (0.07, None), (0, 0), (0.6, 100)), 1):
            with Daemon(store, "-F", 3989, "--pid", process.pid) as daemon:
                daemon.wait_recording()
                wait_cpu(process.pid, wait)
                committed = daemon.wait_samples(least) if least is not None else 0
                daemon.finish(SIGKILL)
            listed = run(STACKCTL, "list", "-i", store)
            check(listed.status == DONE, "list: status %d" % listed.status, listed.err)
            report = run(STACKCTL, "report", "-i", store, "--recording", turn)
            check(report.status in (DONE, NO_SAMPLES), "report: status %d" % report.status,
                  report.err)
            samples = Recording(store, turn).samples() if report.status == DONE else []
            check(len(samples) >= committed, "%d of %d samples" % (len(samples), committed))
            check(not committed or any(f.object.endswith("/chain") for s in samples
                                       for f in s.frames), "no frames")
            unnamed = [s for s in samples if not all(f.symbol for f in s.frames
                                                     if f.object.endswith("/chain")
                                                     or f.object == "[kernel.kallsyms]")]
            check(not unnamed, "%d samples without names" % len(unnamed),
                  *[chains.text_of(s.frames) for s in unnamed[:5]])
            check_chains(samples, Expectation.of_source("chain"), at_least=40 if committed > 100 else 0)
        # Each daemon went on with what the killed one before it had left, and so can one that ends by itself.
        record_attached(store, process, 0.05, "-q", "-F", 3989)
        listed = json.loads(run(STACKCTL, "list", "--json", "-i", store).out)["recordings"]
        check(sorted(row["recording"] for row in listed) == list(range(1, turn + 2)), "recordings", listed)
