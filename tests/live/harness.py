# SPDX-License-Identifier: MIT
"""Helpers of the live tests: run programs under stackd, and read the recordings.

A test is a function with @live; it passes by returning, fails by raising Failed (or anything),
and is skipped by raising Skip with the reason. Tests run one after the other, for they measure.
"""

import collections
import concurrent.futures
import contextlib
import ctypes
import errno
import fcntl
import json
import multiprocessing
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time

import chains
import perf_script

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("STACKD_BUILD", os.path.join(ROOT, "build"))
STACKD = os.path.join(BUILD, "stackd")
STACKCTL = os.path.join(BUILD, "stackctl")
WORKLOADS = os.path.join(BUILD, "workloads")
LONG = "STACKD_LONG" in os.environ  # `make check-long`: some programs run for longer there
RUN = "%d at %.6f" % (os.getpid(), time.time())  # of tests: each is in a fork of one process

# Seconds after which a program counts as one that hangs. A machine that is busy, or whose processors are
# taken away, makes a test slower and not wrong, so this says nothing of how fast anything is.
PATIENCE = 600

# Without what reads the functions of Python programs, which is off for a process that has none: with it the kernel's
# verifier takes twice as long for each program that walks stacks. `make check-long` has it in all tests, `make check`
# in those of Python and Java, and in the shapes, baits and crowds, waits, regions and allocations that say so: MANAGED.
NATIVE = () if LONG else ("--no-managed",)
MANAGED = ("--managed",)

# Room for all that the program of a test sends while stackd is kept from running, whole stacks before there are
# tables included: a test that loses nothing on an idle machine loses nothing on any. An option behind it prevails.
ROOM = ("--ring-bytes", "64M", *NATIVE)

# Of a test that judges no samples: the kernel's verifier takes a fifth of a second for their program.
NO_SAMPLING = ("-e", "none")

DONE, FAILED, USAGE, NO_SAMPLES, NO_SUPPORT = 0, 1, 2, 3, 4  # exit statuses of the contract


class Skip(Exception):
    """The machine cannot do what the test needs."""


class Failed(Exception):
    """The project does not do what it promises."""


# What this test could not judge, for want of events. The kernel reports the processes and mappings of the whole machine in
# rings that all programs share, so one that maps thousands of files can take the room from those of a test. stackd counts
# that in each recording (`sideband_lost`), and does not know then what the events would have told.
UNJUDGED = []


def run_test(function):
    """Runs a test to its end: what it could not judge (check()) makes it a skipped one only if all else is right."""
    UNJUDGED.clear()
    function()
    if UNJUDGED:
        raise Skip("not judged: " + UNJUDGED[0])


Test = collections.namedtuple("Test", "name run needs_bpf alone long")
TESTS = []


def live(function=None, *, name=None, needs_bpf=True, alone=False, long=False):
    """Registers a test under its function's name, `test_` stripped. `alone`: it changes
    the machine, or records all of it, which costs much beside builds, servers and emulated machines:
    nothing else of `make check` may run beside it. `long`: it takes long for what it tells, and is one of `make check-long`."""
    def register(function):
        TESTS.append(Test("live-" + (name or function.__name__.replace("test_", "", 1)), function,
                          needs_bpf, alone, long))
        return function
    return register(function) if function else register


def check(condition, message, *details, by_events=None):
    """`details`: what is shown of a failure; of counters, those that have counted.
    `by_events`: a Recording that must have what only events tell, a thread's name or a mapping. If this recording has
    lost some, the check says nothing: the test goes on, and is skipped at its end. Statuses, sums, what is wrong rather
    than missing, and what a test loses by its own programs are judged without it."""
    if not condition:
        text = message + "".join("\n" + str(without_zeros(detail)) for detail in details)
        lost = by_events.stats()["counters"]["sideband_lost"] if by_events else 0
        if not lost:
            raise Failed(text)
        print(text)  # to the test's log
        UNJUDGED.append("%s (the kernel had no room for events of processes and mappings: sideband_lost is %d)" % (message, lost))


def without_zeros(detail):
    return {key: value for key, value in detail.items() if value != 0} if isinstance(detail, dict) else detail


# --- what this machine can do --------------------------------------------------------------------

def _syscall(number, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(number, *args)
    return result, os.strerror(ctypes.get_errno())


PERF_FLAG_PID_CGROUP = 4


def perf_event(attributes, pid, cpu, flags=0):
    """Opens a perf event. Returns its descriptor."""
    fd, error = _syscall(298, ctypes.create_string_buffer(attributes, 128), pid, cpu, -1, flags)
    if fd < 0:
        raise OSError(ctypes.get_errno(), error)
    return fd


def cpu_clock(pid, cpu, flags, period=0):
    """Opens the perf event cpu-clock, which counts nanoseconds."""
    return perf_event(struct.pack("<IIQQ", 1, 128, 0, period), pid, cpu, flags)


def why_no_bpf():
    """The reason for which BPF programs on perf events cannot run here, or None. Found out by
    system calls of this test's own, so that a fault of stackd is never taken for one of the
    machine."""
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "the kernel has no BTF (/sys/kernel/btf/vmlinux)"
    code = ctypes.create_string_buffer(struct.pack("<QQ", 0xB7, 0x95), 16)  # r0 = 0; exit
    licence = ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("<IIQQIIQII16sIIIIQII", 7, 2, ctypes.addressof(code),
                       ctypes.addressof(licence), 0, 0, 0, 0, 0, b"probe", 0, 0, 0, 0, 0, 0, 0)
    attr = ctypes.create_string_buffer(attr, 120)
    fd, error = _syscall(321, 5, attr, 120)
    while fd < 0 and ctypes.get_errno() == errno.EAGAIN:  # there was a signal
        fd, error = _syscall(321, 5, attr, 120)
    if fd < 0:
        return "no rights to load BPF programs (%s)" % error
    os.close(fd)
    try:
        os.close(cpu_clock(-1, 0, 0, period=1000000))
    except OSError as error:
        return "no rights to open perf events (%s)" % error.strerror
    return None


# --- programs ------------------------------------------------------------------------------------

Result = collections.namedtuple("Result", "status out err")


def run(*command, timeout=PATIENCE, env=None, **more):
    """Runs to the end; never raises for its status. A signal is a negative status."""
    environment = dict(os.environ, **(env or {}))
    for key in [key for key, value in environment.items() if value is None]:
        del environment[key]
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                          env=environment, errors="replace", check=False, **more)
    return Result(done.returncode, done.stdout, done.stderr)


@contextlib.contextmanager
def background(*command, ready=None, **more):
    """Starts a program; ends it at the end of the block if it still runs. With `ready`, waits for
    that line on its stdout first."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE if ready else subprocess.DEVNULL, text=True,
                               errors="replace", **more)
    try:
        if ready:
            check(select.select([process.stdout], [], [], PATIENCE)[0] and
                  process.stdout.readline().strip() == ready,
                  "%s did not say %s" % (command[0], ready))
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        with contextlib.suppress(FileNotFoundError):  # one that was killed could not remove it
            os.unlink("/tmp/perf-%d.map" % process.pid)
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


TURN = 0.05  # seconds, in which a sparing program runs once


@contextlib.contextmanager
def sparing(process, share):
    """Lets a process run for that share of the time only, a few milliseconds in each turn, and stops it
    for the rest: where a test waits for what takes its time anyway, such a process has samples all
    along, and at a higher rate as many, but does not keep a processor busy."""
    end = threading.Event()

    def pace():
        while not end.wait(TURN * share):
            process.send_signal(signal.SIGSTOP)
            end.wait(TURN * (1 - share))
            process.send_signal(signal.SIGCONT)

    pacer = threading.Thread(target=pace)
    pacer.start()
    try:
        yield process
    finally:
        end.set()
        pacer.join()
        process.send_signal(signal.SIGCONT)


ATTENDED = []  # the workloads of this test that run only while they are recorded: attend()


def attend(number):
    """Stops (SIGSTOP) or continues (SIGCONT) the test's workloads. What keeps a processor busy while stackd starts,
    and while a recording is judged, tells nothing, and makes all other tests slower."""
    for process in ATTENDED:
        if process.poll() is None:
            process.send_signal(number)


@contextlib.contextmanager
def attended(process):
    ATTENDED.append(process)
    attend(signal.SIGSTOP)
    try:
        yield process
    finally:
        ATTENDED.remove(process)


@contextlib.contextmanager
def workload(name, seconds=60, *arguments, share=1, **more):
    """A running, steady workload. It runs while a Daemon records, and where wait_cpu() waits for it. With a share,
    it runs all the time, for that much of it: sparing(). With share=None, it is never stopped: stackd is attached to
    a program that is on a processor."""
    with background(os.path.join(WORKLOADS, name), seconds, *arguments, ready="READY",
                    **more) as process:
        with contextlib.nullcontext() if share is None else \
                attended(process) if share == 1 else sparing(process, share):
            yield process


def cpu_seconds(pid):
    """The CPU time that a process has had, and its children that have ended, in seconds."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return sum(int(word) for word in words[11:15]) / os.sysconf("SC_CLK_TCK")


def moment(process):
    """The time, and the CPU time that a process of one thread has had, both exact."""
    with open("/proc/%d/schedstat" % process.pid, encoding="ascii") as file:
        return time.monotonic(), int(file.read().split()[0]) / 1e9


LOOK = 0.02  # seconds between two looks at a process


def wait_cpu(pid, seconds):
    """Waits until a process has had so much more CPU time, and so can have had as many samples,
    however busy the machine is. A host that takes a processor away for long can have that counted as time of
    the program that is on it, which has no samples then: so no look counts for more than a fifth."""
    for process in ATTENDED:
        if process.pid == pid:
            process.send_signal(signal.SIGCONT)
    last, had, most = cpu_seconds(pid), 0, max(LOOK, seconds / 5)
    while had < seconds:
        time.sleep(LOOK)
        now = cpu_seconds(pid)
        had += min(now - last, most)
        last = now


def wait_asleep(pid):
    """Waits until a process is in nanosleep(): how soon a program has started, the machine decides."""
    end = time.monotonic() + PATIENCE
    while True:
        with open("/proc/%d/syscall" % pid, encoding="ascii") as file:
            if file.read().split()[0] in ("35", "230"):  # nanosleep, clock_nanosleep
                return
        check(time.monotonic() < end, "the process does not sleep")
        time.sleep(0.01)


def made_once(path, make):
    """The path of a file that tests share: the first test of a run that asks for it has it made, by make(path). Two
    tests at a time must not make it, nor one run what the other is making."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".lock", "a+", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        if lock.read() != RUN or not os.path.exists(path):
            make(path)
            lock.truncate(0)
            lock.write(RUN)
    return path


def faulty_stackd():
    """The path of a stackd that does what STACKD_FAULT says (daemon/worker/fault_injection.h)."""
    def make(path):
        result = run("make", "-s", "-C", ROOT, "B=" + BUILD, path, timeout=PATIENCE)
        check(result.status == 0, "it cannot be linked", result.err)
    return made_once(BUILD + "/faults/stackd", make)


def build_id(path):
    out = run("readelf", "-n", path).out
    found = re.search(r"Build ID: ([0-9a-f]+)", out)
    check(found, "no build-id", path)
    return found[1]


def recordings_in(store):
    """How many recordings have begun in a store. The file is made before, while nothing is recorded yet."""
    if not os.path.exists(store):
        return 0
    result = run(STACKCTL, "list", "--json", "-i", store)
    return len(json.loads(result.out)["recordings"]) if result.status == DONE else 0


class Daemon:
    """A running stackd; `before`: words of a command that becomes it. While it records, the test's workloads run."""

    running = set()

    def __init__(self, store, *arguments, env=None, stackd=STACKD, before=(), **more):
        environment = dict(os.environ, **(env or {}))
        self.store, self.before = store, recordings_in(store)
        self.process = subprocess.Popen(
            [*before, stackd, "-o", store, *ROOM] + [str(word) for word in arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
            errors="replace", **more)
        self.running.add(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stderr.close()
        self.has_ended()

    def has_ended(self):
        """Stops the workloads, unless another one records them."""
        self.running.discard(self)
        if not self.running:
            attend(signal.SIGSTOP)

    def wait_recording(self, seconds=PATIENCE):
        """Waits until the store has a recording of this stackd."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            check(self.process.poll() is None, "stackd ended", self.process.poll())
            if recordings_in(self.store) > self.before:
                return attend(signal.SIGCONT)
            time.sleep(0.05)
        raise Failed("stackd did not begin to record within %d s" % seconds)

    def wait_for(self, what, condition):
        """Waits for a condition while stackd goes on."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            check(self.process.poll() is None, "stackd ended while waited for " + what)
            check(time.monotonic() < deadline, "waited in vain for " + what)
            time.sleep(0.1)

    def wait_counter(self, name, least):
        """Waits until a counter of the store's latest recording, which has samples, is so large."""
        def is_there():
            result = run(STACKCTL, "stats", "--json", "-i", self.store)
            return result.status == DONE and json.loads(result.out)["counters"][name] >= least
        self.wait_for(name, is_there)

    def wait_samples(self, least, seconds=PATIENCE):
        """Waits until more than so many samples are in the store; how many. How soon that is
        depends on what else the machine does."""
        attend(signal.SIGCONT)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            result = run(STACKCTL, "stats", "--json", "-i", self.store)
            samples = json.loads(result.out)["samples"] if result.status == DONE else 0
            if samples > least:
                return samples
            time.sleep(0.1)
        raise Failed("not %d samples within %d s" % (least, seconds))

    def finish(self, number=None, timeout=PATIENCE):
        """Sends a signal, if given, and waits for the end: Result."""
        if number is not None:
            self.process.send_signal(number)
        else:
            attend(signal.SIGCONT)
        try:
            _, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Failed("stackd did not end within %d s" % timeout) from None
        self.has_ended()
        return Result(self.process.returncode, "", err)


# --- what was recorded ---------------------------------------------------------------------------

class Recording:
    """One recording of a store, read through stackctl: what was observed, unless asked for what
    alignment completes."""

    OBSERVED = ["--no-reconstructed"]

    def __init__(self, store, number=None):
        self.source = ["-i", store] + (["--recording", str(number)] if number else [])
        self.store = store

    def text(self, *words, expected=DONE):
        result = run(STACKCTL, *words, *self.source, timeout=PATIENCE)
        check(result.status == expected, "stackctl %s: status %d" % (" ".join(words),
                                                                     result.status), result.err)
        return result.out

    def stats(self, inferred=False):
        return json.loads(self.text("stats", "--json", *([] if inferred else self.OBSERVED)))

    def samples(self, *options, inferred=False):
        text = self.text("export", "--perf-script", *options, *([] if inferred else self.OBSERVED))
        return list(perf_script.read(text.split("\n")))

    def folded(self):
        lines = self.text("export", "--folded", *self.OBSERVED).splitlines()
        pairs = [line.rsplit(" ", 1) for line in lines]
        return {stack: int(count) for stack, count in pairs}


def user_frames(sample):
    return tuple(frame for frame in sample.frames if not perf_script.is_kernel(frame))


def is_in_kernel(sample, name):
    """Has the kernel's part of a stack a function of that name, a regular expression?"""
    return any(perf_script.is_kernel(frame) and re.fullmatch(name, frame.symbol or "") for frame in sample.frames)


def may_be_in_kernel(sample, name):
    """As is_in_kernel(), or it is not known: the kernel's own unwinder did not come to a second frame, or to one
    behind a retpoline, which an interrupt can hit (__x86_indirect_thunk_r11, __indirect_thunk_start)."""
    kernel = [frame for frame in sample.frames if perf_script.is_kernel(frame)]
    return is_in_kernel(sample, name) or bool(kernel) and (len(kernel) == 1 or "thunk" in (kernel[0].symbol or ""))


def is_cut(sample, reason, leaf_only=False):
    """Does a stack end early for that reason? `leaf_only`: right above its innermost user frame."""
    return (bool(sample.frames) and sample.frames[0].symbol == "[incomplete: %s]" % reason
            and (not leaf_only or len(user_frames(sample)) == 2))


def is_momentary(sample):
    """A moment in which no walk can come to its end: in a page fault, which can be the stack's own; while a page
    of the stack is copied, or split from a huge one; while the kernel splits the mapping of the stack, so that its
    tree of mappings has neither; or while the kernel restores a thread's registers from a
    signal's frame, one by one, so that no caller can be found. Such a stack is cut, and marked."""
    return is_cut(sample, "unreadable") and (
        may_be_in_kernel(sample, "exc_page_fault|do_wp_page|wp_page_copy|__split_huge_pmd.*|__split_vma")
        or is_cut(sample, "unreadable", leaf_only=True) and is_in_kernel(sample, ".*_sys_rt_sigreturn"))


def is_exiting(sample):
    """Within its exit, a process loses its memory and its mappings; events of CPUs sample that, too."""
    return is_incomplete(sample) and may_be_in_kernel(sample, "do_exit")


def is_at_end(sample):
    """Within the signal handler that ends a workload: its frames are in no promised path."""
    return any((frame.symbol or "").startswith("workload_end") for frame in sample.frames)


def is_incomplete(sample):
    return bool(sample.frames) and str(sample.frames[0].symbol).startswith("[incomplete")


def is_moment(sample):
    """One of the moments in which no walk can come to its end. The machine decides how many samples hit those."""
    return is_incomplete(sample) and (is_momentary(sample) or is_exiting(sample))


def is_unmapped(sample):
    """Is the path no more than the thread's own instruction, of which no mapping is known? That a return address has
    none can be a fault of the walk."""
    return is_cut(sample, "no_mapping", leaf_only=True)


def check_whole(recording, is_excused=lambda sample: False, by_events=None):
    """Nothing lost, everything complete that can be, or excused, and all exports agree on the number. The
    samples. `by_events`, as in check(): a path may lack what an event would have told the mapping for."""
    stats, samples = recording.stats(), recording.samples()
    check(stats["lost"] == 0, "lost samples", stats)
    check(stats["samples"] == len(samples), "stats and perf-script differ: %d and %d"
          % (stats["samples"], len(samples)))
    folded = sum(recording.folded().values())
    check(folded == stats["periods"], "folded sums up to %d, not %d" % (folded, stats["periods"]))
    times = [sample.time for sample in samples]
    check(times == sorted(times), "perf-script is not in time order")
    quality = stats["quality"]
    cut = [sample for sample in samples if is_incomplete(sample)]
    odd = [sample for sample in cut if not is_moment(sample) and not is_excused(sample)]
    check(quality["complete"] + quality["partial"] == len(samples) and quality["partial"] == len(cut),
          "not every cut stack is marked", quality, len(cut))
    for found, lacking in ([s for s in odd if not is_unmapped(s)], None), (odd, by_events):
        check(not found, "not every stack is complete", quality, stats["end_reasons"],
              *[chains.text_of(sample.frames) for sample in found[:5]], by_events=lacking)
    return samples


def without_cut(samples, expectation, reason):
    """The samples but for those that are cut for a reason. Each of these has the end of a right path."""
    cut = {s for s in samples if s.frames and str(s.frames[0].symbol).startswith("[incomplete: " + reason)}
    wrong = [chains.text_of(s.frames) for s in cut
             if not is_at_end(s) and not is_exiting(s) and not expectation.ends_like(user_frames(s)[1:])]
    print(len(cut), "are cut for", reason, "of", len(samples))
    check(not wrong, "%d marked stacks are wrong" % len(wrong), *wrong[:5])
    return [s for s in samples if s not in cut]


def without_early(samples, expectation):
    """The samples but for those that are cut at code made at run time: the daemon tells the kernel half in
    which memory a process makes code, and how soon it gets to that is the machine's."""
    return without_cut(samples, expectation, "runtime_code")


def has_no_user(sample, is_first):
    """A stack of the kernel alone is right in a process that has given back its memory: within its exit, or
    an exec. It is right as well in a new thread that has not been in user mode yet (ret_from_fork), and in the page
    fault by which it first touches its stack, which can be in its first samples alone. In all other moments the
    kernel has the registers of user mode."""
    return may_be_in_kernel(sample, "do_exit|.*execve.*" + "|exc_page_fault|ret_from_fork(_asm)?" * is_first)


def judge_sample(sample, expectation, is_first):
    """What a sample's path is: 'right', 'outside' of the steady state, 'kernel', 'torn', 'cut' in a moment in
    which no walk can be, or 'wrong'. `is_first`: the thread had none with frames of the user's before."""
    frames = user_frames(sample)
    if not frames:
        return "kernel" if has_no_user(sample, is_first) else "wrong"
    if not is_incomplete(sample):
        return expectation.judge(frames)
    if expectation.is_torn_end(frames[1:]):
        return "torn"
    return "cut" if is_moment(sample) and expectation.can_be_end(frames[1:]) else "wrong"


def check_chains(samples, expectation, at_least=40, by_events=None):
    """Every sample has the path that the workload promises, or one of the moments before, behind and between. How many
    have it. The machine decides how many samples the others have: each new page may be an exit to a hypervisor.
    `by_events`, as in check(): a path may lack what an event would have told the mapping for."""
    verdicts, odd, threads = collections.Counter(), collections.Counter(), set()
    for sample in samples:
        verdict = judge_sample(sample, expectation, sample.tid not in threads)
        threads.update([sample.tid] if user_frames(sample) else [])
        if verdict == "wrong" and is_unmapped(sample):
            verdict = "unmapped"
        verdicts[verdict] += 1
        if verdict in ("wrong", "unmapped"):
            odd[chains.text_of(sample.frames)[-600:]] += 1
    listed = ["%6d %s" % (count, text) for text, count in odd.most_common(10)]
    print(dict(verdicts), *listed, sep="\n")
    check(not verdicts["wrong"], "%d of %d stacks are wrong" % (verdicts["wrong"], len(samples)))
    check(not verdicts["unmapped"], "%d of %d stacks end where no mapping is known" % (verdicts["unmapped"], len(samples)),
          by_events=by_events)
    check(verdicts["right"] + verdicts["unmapped"] >= at_least, "only %d samples of the steady state, want %d"
          % (verdicts["right"], at_least))
    return verdicts["right"]


def differing(counters):
    """How many walks of the kernel half are other than the daemon's (--judge), or end before. A daemon that was kept
    from running until the kernel had no room for more events of mappings does not know all of those, and is no judge."""
    return 0 if counters["sideband_lost"] else counters["judged_wrong"] + counters["judged_less"]


def check_judged(stats, least, proven=0):
    """At least `least` steps out of code made at run time were judged (--judge), none is wrong, and `proven` of
    them are proven. A step is proven only where no stale word on the stack looks like a return address."""
    judged = {name: stats["counters"]["judged_made_" + name]
              for name in ("right", "nearest", "unproven", "wrong")}
    print(judged)
    check(judged["wrong"] == 0, "steps are wrong", judged)
    check(sum(judged.values()) >= least, "there were hardly any steps", judged)
    check(judged["right"] >= proven, "hardly any step is proven", judged)


def check_covered(samples, at_least=40):
    """The workload that makes its callers' frames unreadable, and readable again: a path is
    complete, or ends at the unreadable frame with the reason. The leaf determines which."""
    expectation = chains.Expectation.of_source("unreadable")
    whole, cut = [], []
    for sample in samples:
        if not is_moment(sample) and not is_at_end(sample):
            (cut if is_incomplete(sample) else whole).append(sample)
    cut = [s for s in cut if not expectation.is_torn_end(user_frames(s)[1:])]
    wrong = [s for s in cut if s.frames[0].symbol != "[incomplete: unreadable]"
             or not expectation.is_covered(user_frames(s)[1:])]
    wrong += [s for s in whole if user_frames(s) and user_frames(s)[-1].symbol == "covered_leaf"]
    wrong += [s for s in cut if user_frames(s)[-1].symbol == "open_leaf"]
    print({"cut": len(cut), "wrong": len(wrong)})
    check(not wrong, "%d stacks are wrong" % len(wrong),
          *[chains.text_of(s.frames) for s in wrong[:10]])
    check(len(cut) >= at_least, "only %d cut stacks" % len(cut))
    check_chains(whole, expectation, at_least)


def check_fault(result, status, *words):
    """A clear error: the promised status, and a message that has all the words."""
    check(result.status == status, "status %d, expected %d" % (result.status, status), result.err)
    for word in words:
        check(re.search(word, result.err + result.out, re.I), "the message lacks '%s'" % word,
              result.err)
    check("Sanitizer" not in result.err, "sanitizer report", result.err)


@contextlib.contextmanager
def small_disk(size):
    """A file system of its own, of that size, that goes away."""
    with scratch() as folder:
        mount = run("mount", "-t", "tmpfs", "-o", "size=" + size, "none", folder)
        if mount.status != 0:
            raise Skip("cannot mount a file system: " + mount.err.strip().split("\n")[0])
        try:
            yield folder
        finally:
            run("umount", "-l", folder)


CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000


def call_in_own_folder(folder, function):
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.unshare(CLONE_NEWNS) or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None)
            or libc.mount(b"none", folder.encode(), b"tmpfs", 0, None)):
        raise Skip("no mount namespaces here: " + os.strerror(ctypes.get_errno()))
    function()


def with_own_folder(folder, function):
    """Calls a function of a module in a process of its own, for which, and for the programs that it starts, a folder
    is empty at first. What is in the machine's folder is not seen, and nothing is left there, even if the
    test is killed."""
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        pool.submit(call_in_own_folder, folder, function).result()


@contextlib.contextmanager
def scratch():
    """A folder that goes away."""
    path = tempfile.mkdtemp(prefix="stackd-test-", dir="/tmp")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def record(store, *arguments, timeout=PATIENCE, env=None, **more):
    """Runs stackd to its end, which must be a good one; the recording, and stackd's Result."""
    attend(signal.SIGCONT)
    result = run(STACKD, "-o", store, *ROOM, *arguments, timeout=timeout, env=env, **more)
    check(result.status == DONE, "stackd: status %d" % result.status, result.err)
    return Recording(store), result


def record_made(store, *arguments):
    """Like record(), of a workload that makes code: the file that names it stays until stackd has read it, which it
    does once a second, and when the program has ended."""
    recording, result = record(store, *arguments, env={"KEEP_PERF_MAP": "1"})
    for process in json.loads(recording.text("report", "--json"))["processes"]:
        with contextlib.suppress(FileNotFoundError):
            os.unlink("/tmp/perf-%d.map" % process["pid"])
    return recording, result


def record_while(store, pid, seconds, *arguments):
    """Runs stackd until a process has had so many seconds of CPU time, however long that takes on a
    busy machine; the recording, and stackd's Result."""
    with Daemon(store, *arguments) as daemon:
        daemon.wait_recording()
        wait_cpu(pid, seconds)
        result = daemon.finish(signal.SIGINT)
    check(result.status == DONE, "stackd: status %d" % result.status, result.err)
    return Recording(store), result


def record_attached(store, process, seconds, *arguments):
    """Records a running process until it has had so many seconds of CPU time: record_while()."""
    return record_while(store, process.pid, seconds, *arguments, "--pid", process.pid)


def until_enough(record_and_judge, is_enough, most=20):
    """Records and judges a program again until there is enough of what is judged, and returns the sum of the Counters: how
    many samples it has in its CPU time, and how soon stackd knows it, the machine decides. What is wrong fails at once."""
    found = collections.Counter()
    for _ in range(most):
        found.update(record_and_judge())
        if is_enough(found):
            return found
    raise Failed("hardly anything of what is judged in %d recordings: %s" % (most, dict(found)))


def record_until(store, what, is_met, enough, *arguments):
    """Records a command that ends when the file `enough` is there. It is made when is_met() finds in the store what the
    test judges, as of some commit: how soon stackd knows a program, the machine decides."""
    def is_met_at_a_commit():
        time.sleep(0.9)
        return recordings_in(store) and is_met()

    with Daemon(store, *arguments) as daemon:
        daemon.wait_for(what, is_met_at_a_commit)
        open(enough, "w", encoding="ascii").close()
        result = daemon.finish()
    check(result.status == DONE, "stackd: status %d" % result.status, result.err)
    return Recording(store), result


SIGINT, SIGTERM, SIGSTOP, SIGCONT, SIGKILL = (signal.SIGINT, signal.SIGTERM, signal.SIGSTOP,
                                              signal.SIGCONT, signal.SIGKILL)
