#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tries the program on other kernels: run.py [--logs DIR] [--quick] [--compilers all|one] [VERSION...]

The kernel half must load and be right on every kernel from 6.1 on, and each has another verifier
and other structures. So Debian's kernels are booted in an emulated machine (qemu without KVM: it works
wherever this runs), with a file system in memory that holds just the programs, the workloads and
their libraries. init.sh, the machine's only script, makes recordings there and sends the stores
out; they are judged here, by the criteria of the live tests.

The compiler's code decides whether a verifier accepts the program. In the same boot the
programs of the other compilers that are there (compilers.py) make short recordings: of all of them,
or with `--compilers one` of the newest. "own" is the kernel of this machine, on which they do that
without an emulator. The stacks that the programs take are added up as the strictest verifier does it
(stacks.py). With --quick an emulated machine makes the recordings in which kernels differ most: it loads
each of the programs, and records the most different workloads, of this machine's compiler.

Prints a line a test as tests/check.sh does. The machine's console is in DIR/kernel-VERSION.log,
and the files that it sent in DIR/kernel-VERSION/."""

import argparse
import collections
import contextlib
import glob
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))

import chains  # noqa: E402
import compilers  # noqa: E402
import harness  # noqa: E402
import images  # noqa: E402
import stacks  # noqa: E402
import test_alloc  # noqa: E402
import test_regions  # noqa: E402
import test_waits  # noqa: E402
from harness import Failed, Skip, check  # noqa: E402

OWN = "own"  # the machine's kernel, without an emulator

# The longest time without new output of a machine: in CPU time of its emulator, which does not
# depend on the load here; and on the clock, for a machine that hangs idle.
SILENT_CPU_SECONDS = 240
SILENT_SECONDS = 900

REGION_ROUNDS = 10  # of the workload, in init.sh
MOVED_ROUNDS = 200 # as in init.sh
WAIT_ROUNDS = 40
HERE_SECONDS = 0.5  # of CPU time that a workload has on this machine, without an emulator
ALLOC_ROUNDS = 50
LIBRARY = os.path.join(harness.BUILD, "libstackalloc.so")
ALLOCS = ("--alloc=%d" % test_alloc.DISTANCE, "--alloc-limit", "0")
MOST_PARTIAL_WAITS = 2  # of a thread's first moments
OTHERS = (*harness.MANAGED, *harness.NO_SAMPLING)  # of recordings without samples, beside those of samples

# Run two at a time, in this order; the source that has the promises, if it has another name.
WORKLOADS = ("chain", "chain_static", "chain_nonpie", "chain_static_pie", "recursion", "deep",
             "threads", "dlopen_dlclose", "fork_exec", "signal_handler", "plugin", "vdso", "plt",
             "plt_ibt", "redzone", "alloca", "realigned", "ucontext", "tail_calls", "noreturn",
             "jit", "registers", "exceptions", "inlined", "cpp_names", "rust_names", "memfd")
SOURCES = {"chain_static": "chain", "chain_nonpie": "chain", "chain_static_pie": "chain",
           "plt_ibt": "plt"}
# What is read in the regions as well.
COUNTERS = ("--counter", "page-faults", "--counter", "context-switches", "--counter", "minor-faults")

# The most different workloads, as pairs, which the programs of other compilers record.
SHORT = ("chain", "threads", "signal_handler", "alloca", "ucontext", "plugin")

# What --quick records on an emulated kernel: these, and what differs by processor state and memory.
QUICK = SHORT + ("deep", "fork_exec", "registers", "jit")

# Those that make code: where in its page each function begins and ends.
MADE = {"jit": {"jit_outer": (0, 11), "jit_leaf": (16, 31)}}

# Those with functions that replace the stack under themselves.
TORN = ("ucontext", "exceptions")

# The thread names of their samples, if not the first 15 letters of their own.
NAMES = {"fork_exec": {"fork_exec", "exe"}, "memfd": {"memfd", "memfd:chain"}}

# The speed of an emulated machine depends on the load here. So there are few samples at times, and
# starting takes long against the second of the steady state; but none may be wrong.
AT_LEAST = 25


# --- the parts of the machine --------------------------------------------------------------------

def libraries(programs):
    """The shared libraries of programs, the loader among them, by the paths where they look."""
    found = set()
    for program in programs:
        found.update(re.findall(r"(?:=> |^\s*)(/\S+) \(0x", harness.run("ldd", program).out,
                                re.M))
    return found


def write_short(path, seconds):
    with open(path, "w", encoding="ascii") as file:
        for pair in zip(SHORT[::2], SHORT[1::2]):
            file.write("".join("${WORKLOADS:-/workloads}/%s %g &\n" % (name, seconds) for name in pair)
                       + "wait\n")


def initramfs(folder, daemons, quick):
    """Builds the machine's file system in a folder, with the daemons of these compilers {name: path}: the path
    of its archive."""
    workloads = QUICK if quick else WORKLOADS
    root = os.path.join(folder, "root")
    os.makedirs(root + "/bin")
    shutil.copy("/bin/busybox", root + "/bin")
    shutil.copy("/bin/dash", root + "/bin")  # busybox has no unwind information
    shutil.copy(harness.STACKD, root + "/bin")
    shutil.copy(harness.STACKCTL, root + "/bin")
    os.makedirs(root + "/lib/stackd")  # where stackd looks for what it preloads
    shutil.copy(LIBRARY, root + "/lib/stackd")
    # The emulator takes long to unpack what is large, and nothing runs here.
    unused = ["tagged-functions", "much_code"] + (["tagged-plugin"] if quick else [])
    shutil.copytree(harness.WORKLOADS, root + "/workloads", ignore=shutil.ignore_patterns(*unused))
    shutil.copy(os.path.join(HERE, "init.sh"), root + "/init")
    os.chmod(root + "/init", 0o755)
    with open(root + "/workloads/pairs", "w", encoding="utf-8") as file:
        for pair in zip(workloads[::2], workloads[1::2] + ("",)):
            file.write(" ".join(pair) + "\n")
    if quick:
        with open(root + "/workloads/quick", "w", encoding="ascii"):
            pass  # init.sh looks for it
    write_short(root + "/workloads/short.sh", 1)
    with open(root + "/workloads/regions.options", "w", encoding="ascii") as file:
        file.write(" ".join(test_regions.options("regions") + [*COUNTERS, "--mpi"]))
    with open(root + "/workloads/moved.options", "w", encoding="ascii") as file:
        file.write(" ".join(test_regions.options("moved", test_regions.MOVED)))
    with open(root + "/workloads/waits.options", "w", encoding="ascii") as file:
        file.write(" ".join(map(str, test_waits.WITH_WAKERS)))
    with open(root + "/workloads/allocs.options", "w", encoding="ascii") as file:
        file.write(" ".join(ALLOCS))
    for name, path in daemons.items():
        shutil.copy(path, root + "/bin/stackd-" + name)
    programs = ["/bin/dash", harness.STACKD, harness.STACKCTL] + glob.glob(
        harness.WORKLOADS + "/*") + glob.glob(harness.WORKLOADS + "/tagged-plugin/*")
    for library in libraries(programs):
        os.makedirs(root + os.path.dirname(library), exist_ok=True)
        shutil.copy(library, root + library)
        if library.startswith(harness.BUILD):  # a folder that may be hidden there, as /tmp is
            os.makedirs(root + "/lib", exist_ok=True)
            shutil.copy(library, root + "/lib")
    archive = os.path.join(folder, "root.cpio.gz")
    subprocess.run("cd '%s' && find . | cpio -o -H newc -R 0:0 --quiet | gzip -1 > '%s'"
                   % (root, archive), shell=True, check=True)
    return archive


def boot(image, archive, log, sent):
    """Runs the machine to its end. Its console goes to `log`, its files to `sent`.

    Both its processors run in one thread: with two, one of them can meet an int3 of the kernel's
    own code patching after it has been taken back, which is the kernel's end."""
    command = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=single",
               "-cpu", "max", "-smp", "2", "-m", "2048", "-kernel", image, "-initrd", archive,
               "-append", "console=ttyS0 quiet no_timer_check panic=-1 oops=panic",
               "-display", "none", "-nodefaults", "-no-reboot",
               "-serial", "file:" + log, "-serial", "file:" + sent]
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said,
                              stderr=said) as machine:
            try:
                wait_for(machine, log)
            finally:
                machine.kill()
        said.seek(0)
        check(machine.returncode == 0, "qemu: status %d" % machine.returncode, said.read())


def cpu_seconds(pid):
    """Processor time that a process has used."""
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(machine, log):
    """Waits until the machine ends, as long as it goes on printing."""
    size, since, cpu = -1, time.monotonic(), 0
    while machine.poll() is None:
        time.sleep(0.5)
        now = os.path.getsize(log) if os.path.exists(log) else 0
        if machine.poll() is None and now != size:
            size, since, cpu = now, time.monotonic(), cpu_seconds(machine.pid)
        silent = time.monotonic() - since
        check(machine.poll() is not None or silent < SILENT_SECONDS,
              "the machine has said nothing for %d s, see %s" % (silent, log))
        check(machine.poll() is not None
              or cpu_seconds(machine.pid) - cpu < SILENT_CPU_SECONDS,
              "the machine has said nothing in %d s of processor time, see %s"
              % (SILENT_CPU_SECONDS, log))


# --- judging -------------------------------------------------------------------------------------

class Sent:
    """The files that a machine sent."""

    def __init__(self, folder):
        self.folder = folder
        self.samples_of = {}

    def status(self, name):
        with open(os.path.join(self.folder, name + ".status"), encoding="utf-8") as file:
            return int(file.read())

    def log(self, name):
        with open(os.path.join(self.folder, name + ".log"), errors="replace",
                  encoding="utf-8") as file:
            return file.read()

    def recording(self, name):
        """A recording that ended well."""
        check(self.status(name) == 0, "stackd: status %d" % self.status(name),
              self.log(name)[-4000:])
        return harness.Recording(os.path.join(self.folder, name + ".db"))

    def samples(self, name, commands=None):
        """The samples of processes with one of these names, or of all."""
        if name not in self.samples_of:
            by_command = collections.defaultdict(list)
            for sample in self.recording(name).samples():
                by_command[sample.comm].append(sample)
            self.samples_of[name] = by_command
        by_command = self.samples_of[name]
        return [sample for command in commands or by_command for sample in by_command.get(command, ())]


def commands_of(workload):
    return NAMES.get(workload, {workload[:15]})


def expectation_of(workload):
    return chains.Expectation.of_source(SOURCES.get(workload, workload))


def is_ending(sample):
    """In the handler that ends the workload, whose memory is gone before it can be read: which frame
    of code made at run time the signal met is not known. How many samples there are of that is a
    matter of how fast the machine is."""
    return (sample.frames[0].symbol.startswith("[incomplete: runtime_code")
            and harness.is_at_end(sample))


def is_early(sample):
    """Below code made at run time, before the kernel half knew of it: check_workload() judges each path."""
    return sample.comm in MADE and sample.frames[0].symbol.startswith("[incomplete: runtime_code")


def is_unasked(sample):
    """An emulated machine takes so long for checks that their CPU time is used up: check_workload() judges each path."""
    return sample.frames[0].symbol.startswith("[incomplete: no_time")


def is_torn(sample):
    """Within a function that replaces the stack under itself."""
    expectations = (expectation_of(workload) for workload in TORN if sample.comm in commands_of(workload))
    return any(expectation.is_torn_end(harness.user_frames(sample)[1:]) for expectation in expectations)


def is_bare(sample):
    """In busybox, which has no unwind information."""
    return any(os.path.basename(frame.object) == "busybox" for frame in sample.frames)


def with_names(sample, functions):
    """Code made at run time has its names from a file of the process, in which the daemon looks once a second
    while the process lives, and an emulated machine may leave it no time for that. What is judged here is where
    the walk has been; the live tests judge the names."""
    def named(frame):
        for name, (begin, end) in functions.items():
            if frame.object == "[jit]" and frame.symbol is None and begin <= frame.ip % 4096 < end:
                return frame._replace(symbol=name)
        return frame
    return sample._replace(frames=tuple(map(named, sample.frames)))


def check_workload(sent, recording, workload, at_least=AT_LEAST):
    expectation = expectation_of(workload)
    samples = sent.samples(recording, commands_of(workload))
    if workload in MADE:
        samples = [with_names(sample, MADE[workload]) for sample in samples]
        samples = harness.without_early(samples, expectation)
    whole = harness.without_cut(samples, expectation, "no_time")
    judged = len(samples) - len(whole)  # already, as ends of right paths
    harness.check_chains(whole, expectation, max(at_least - judged, 1))


def check_judged(sent, name, counters):
    """No walk was wrong, or too short. The first ones that were are in the log, root first."""
    wrong = re.findall(r"^judge: .*\n.*\n.*", sent.log(name), re.M)
    count = harness.differing(counters)
    check(count == 0, "%d walks are wrong, %d right: %s"
          % (count, counters["judged_right"], " ".join(" ".join(wrong[:1]).split())),
          *wrong[:20])


def check_counters(sent, name, is_lossy=False, is_judged=True):
    """Every sample is accounted for, walked in the kernel, and judged right by the daemon."""
    least = 0 if is_lossy else 40
    stats = sent.recording(name).stats()
    counters = stats["counters"]
    print(stats)
    check(counters["started"] == counters["sent"] + counters["lost_ring"] + counters["idle"],
          "started samples are neither sent, lost nor idle", counters)
    check(counters["received"] == counters["sent"], "sent is not what was received", counters)
    check(bool(counters["lost_ring"]) == is_lossy and bool(stats["lost"]) == is_lossy,
          "%d samples are lost" % stats["lost"], counters)
    check(counters["kernel_walks"] - counters["kernel_fallbacks"] >= least,
          "hardly any walk came to its end in the kernel", counters)
    check_judged(sent, name, counters)
    check(counters["judged_right"] >= least or not is_judged,
          "only %(judged_right)d walks are judged" % counters, counters)
    check_complete(sent, name)
    return counters


def check_complete(sent, name):
    """Stacks are complete but for the moments in which no walk can be: how many samples meet those, of
    how many in all, is a matter of how fast the machine is."""
    partial = [s for s in sent.samples(name) if harness.is_incomplete(s) and
               not (harness.is_moment(s) or is_ending(s) or is_early(s) or is_unasked(s) or
                    is_torn(s) or is_bare(s))]
    check(not partial, "%d stacks are not complete" % len(partial),
          *["%s %s" % (s.comm, chains.text_of(s.frames)) for s in partial[:10]])


def check_kernel_half(counters, at_least):
    """The kernel half has made walks to their end. Which share of them it has is a matter of how soon
    tables come: of time, and this machine is emulated."""
    ended = counters["kernel_walks"] - counters["kernel_fallbacks"]
    check(ended >= at_least, "the kernel half has ended %d of %%(kernel_walks)d walks" % ended % counters,
          counters)


def check_started(sent):
    """Each program runs for a while, so there is a number of walks of each to judge."""
    counters = check_counters(sent, "started")
    least = 35 * len(set(sample.comm for sample in sent.samples("started")))
    check(counters["judged_right"] > least, "only %(judged_right)d walks judged" % counters)
    check_kernel_half(counters, least)


def check_attached(sent):
    check_counters(sent, "attached")
    check_workload(sent, "attached", "threads")


def check_all(sent):
    counters = check_counters(sent, "all", is_judged=False)
    check_kernel_half(counters, 200)
    check_workload(sent, "all", "chain")
    check_workload(sent, "all", "plugin")


def check_cgroup(sent):
    check_counters(sent, "cgroup", is_judged=False)
    check_workload(sent, "cgroup", "threads")
    check(not sent.samples("cgroup", {"chain"}), "samples from outside of the cgroup")


def check_alternate(sent):
    """A handler on a stack of its own: the kernel walks over it."""
    counters = sent.recording("stacks").stats()["counters"]
    check_judged(sent, "stacks", counters)
    expectation = expectation_of("signal_handler")
    samples = sent.samples("stacks", {"sigaltstack"})
    marked = [s for s in samples if harness.is_incomplete(s) and not harness.is_at_end(s) and not harness.is_moment(s)]
    harness.check_chains([s for s in samples if not harness.is_incomplete(s) or harness.is_moment(s)], expectation,
                         AT_LEAST)
    wrong = [chains.text_of(s.frames) for s in marked
             if not expectation.ends_like(harness.user_frames(s)[1:])]
    check(not wrong, "%d cut stacks are wrong" % len(wrong), *wrong[:5])


def check_unreadable(sent):
    """Pages of the stack that come and go: a path is complete, or ends at the unreadable page."""
    stats = sent.recording("stacks").stats()
    check_judged(sent, "stacks", stats["counters"])
    check(stats["lost"] == 0, "lost samples", stats)
    harness.check_covered(sent.samples("stacks", {"unreadable"}), AT_LEAST)


def check_lossy(sent):
    """A ring too small for what is sent: samples are lost completely, and none is wrong. The small
    ones, from before the steady state, are not."""
    check_counters(sent, "lossy", is_lossy=True)
    check_workload(sent, "lossy", "deep", 5)


def needs_tags(sent):
    if not os.path.exists(os.path.join(sent.folder, "tags.status")):
        raise Skip("no GCC plugin headers here (gcc-N-plugin-dev)")


def check_tags_judged(sent):
    """The tags that were read are those of the walks, sample by sample."""
    needs_tags(sent)
    counters = sent.recording("tags_judged").stats()["counters"]
    print(counters)
    check(counters["tags_wrong"] == 0, "%(tags_wrong)d walks differ from the tag" % counters)
    check(counters["tags_right"] + counters["tags_window"] >= AT_LEAST,
          "hardly any walk was compared with its tag", counters)
    for workload in ("chain", "threads", "plugin", "tail_calls"):
        check_workload(sent, "tags_judged", workload, 5)


def check_tags(sent):
    """Tags replaced walks, and the paths are right."""
    needs_tags(sent)
    counters = sent.recording("tags").stats()["counters"]
    print(counters)
    check(counters["tags_wrong"] == 0, "%(tags_wrong)d walks differ from the tag" % counters)
    check(counters["kernel_tags"] > 0, "tags are not made use of", counters)
    check_workload(sent, "tags", "chain")


def check_compiler(sent, name):
    """The program of another compiler is taken, and its walks are right."""
    check_counters(sent, name)
    for workload in SHORT:
        check_workload(sent, name, workload, 5)


def check_options(sent, name):
    """The same with options that compile much of the program out."""
    stats = sent.recording(name).stats()
    check(stats["samples"] >= AT_LEAST and not stats["lost"], "%(samples)d samples" % stats, stats)
    check(stats["counters"]["kernel_walks"] - stats["counters"]["kernel_fallbacks"] >= AT_LEAST,
          "hardly any walk came to its end in the kernel", stats)


def check_regions(sent, name):
    """Every instance is there, with the time that the program measures. Linux 7.2 gives new threads no memory
    at times, even in a machine with much of it: their passes are counted, and of their times nothing is judged."""
    recording = sent.recording(name)
    visits = test_regions.by_path(recording, "region.visits")
    test_regions.check_counts(recording, REGION_ROUNDS, may_refuse=sent.folder.endswith("sid"))
    counters = recording.stats()["counters"]
    returned = counters["regions_ended"] - counters["regions_left"]
    check(counters["readings"] >= returned and not counters["readings_lost"] and counters["event_passes"] and
          counters["event_passes"] + counters["event_passes_cut"] == returned, "readings of counters", counters)
    # An emulated processor's counter is no steady clock: the kernel has others, which differ.
    short = [path.split(";")[-1] for path, count in test_regions.PATHS.items()
             if visits.get(path, 0) != count * REGION_ROUNDS]
    test_regions.check_times(recording, test_regions.own_measures(sent.log(name)),
                             one_clock=sent.folder.endswith(OWN),
                             functions=[f for f in test_regions.TIMED if f not in short])


def check_allocs(sent, name):
    """What was allocated, by path, is what the program says."""
    log = sent.log(name)
    said = "".join(line + "\n" for line in log.splitlines() if re.fullmatch(r"[a-z_]+ \d+ \d+", line))
    test_alloc.check_amounts(sent.recording(name), said)


def check_waits(sent, name):
    """Every wait is there, and who ended it."""
    recording = sent.recording(name)
    test_waits.check_all_wakers(recording, WAIT_ROUNDS, MOST_PARTIAL_WAITS)


def check_waits_taken(sent, name):
    """No wait is lost. Who ended which wait depends on how the emulator's processors are scheduled; only a
    run without --quick judges that."""
    stats = sent.recording(name).stats()
    check(not stats["lost"] and stats["counters"]["waits_kept"] >= WAIT_ROUNDS, "waits", stats)


def compiler_tests(names, quick):
    for name in names:
        yield name + "-regions", lambda sent, name=name + "-regions": check_regions(sent, name)
        if quick:
            continue
        yield name, lambda sent, name=name: check_compiler(sent, name)
        yield name + "-options", lambda sent, name=name + "-options": check_options(sent, name)
        yield name + "-allocs", lambda sent, name=name + "-allocs": check_allocs(sent, name)
        yield name + "-waits", lambda sent, name=name + "-waits": check_waits(sent, name)


def check_doctor(sent):
    with open(os.path.join(sent.folder, "doctor.json"), encoding="utf-8") as file:
        check(sent.status("doctor") == 0, "the doctor: status %d" % sent.status("doctor"),
              file.read())


def tests(quick):
    """Name and function of each test of a kernel."""
    yield from (("doctor", check_doctor), ("counters", check_started))
    for workload in QUICK if quick else WORKLOADS:
        yield workload, lambda sent, workload=workload: check_workload(sent, "started", workload)
    yield from (("regions", lambda sent: check_regions(sent, "regions")),
                ("allocs", lambda sent: check_allocs(sent, "allocs")),
                ("waits", lambda sent: (check_waits_taken if quick else check_waits)(sent, "waits")))
    if not quick:
        yield from more_tests()


def more_tests():
    yield from (("sigaltstack", check_alternate), ("unreadable", check_unreadable),
                ("lossy", check_lossy), ("attached", check_attached), ("all", check_all),
                ("cgroup", check_cgroup),
                ("moved", lambda sent: test_regions.check_moved(sent.recording("moved"), MOVED_ROUNDS)),
                ("tags_judged", check_tags_judged), ("tags", check_tags))


# --- running -------------------------------------------------------------------------------------

def line_of(name, function, log):
    """Runs one test: its line."""
    try:
        with contextlib.redirect_stdout(log):
            log.write("\n--- %s\n" % name)
            function()
    except Skip as skip:
        return "SKIP %s: %s" % (name, skip)
    except Exception as error:  # pylint: disable=broad-except
        log.write("\n" + traceback.format_exc())
        return "FAIL %s: %s" % (name, " | ".join(str(error).split("\n"))[:1000])
    return "PASS " + name


def unpack(path, folder):
    with open(path, "rb") as file:
        data = file.read()
    check(data, "the machine sent nothing")
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as tar:
        for member in tar.getmembers():
            if member.isfile() and "/" not in member.name.replace("./", "", 1):
                tar.extract(member, folder)


def lines_of(name, sent, log, run_machine, more):
    """Lets the machine run, then judges what it sent."""
    line = line_of(name + "-runs", run_machine, log)
    yield line
    if line.startswith("PASS"):
        for test, function in more:
            yield line_of("%s-%s" % (name, test), lambda: function(sent), log)


def try_kernel(version, logs, daemons, quick):
    """The lines of all tests of one kernel, with the daemons of other compilers {name: path}."""
    name = "kernel-" + version
    folder = os.path.join(logs, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    console, data = os.path.join(logs, name + "-console.log"), os.path.join(folder, "sent.tar.gz")

    def run_machine():
        with tempfile.TemporaryDirectory(prefix="stackd-root-") as made:
            boot(images.kernel_image(version), initramfs(made, daemons, quick), console, data)
        unpack(data, folder)

    def run_here():
        short = os.path.join(folder, "short.sh")
        write_short(short, HERE_SECONDS)
        for compiler, path in daemons.items():
            shutil.copy(LIBRARY, os.path.dirname(path))
            record_here(folder, compiler, path, "--judge", "--ring-bytes", "64M", "--",
                        "/bin/dash", short)
            record_here(folder, compiler + "-options", path, "--depth", 8, "--heights",
                        "--lbr=anyway", "--", harness.WORKLOADS + "/deep", HERE_SECONDS)
            record_here(folder, compiler + "-regions", path, *harness.ROOM, *OTHERS, *test_regions.options("regions"),
                        *COUNTERS, "--mpi", "--", harness.WORKLOADS + "/regions", REGION_ROUNDS)
            record_here(folder, compiler + "-allocs", path, *OTHERS, *ALLOCS, "--",
                        harness.WORKLOADS + "/allocs_static", ALLOC_ROUNDS)
            record_here(folder, compiler + "-waits", path, *OTHERS, *test_waits.WITH_WAKERS, "--",
                        harness.WORKLOADS + "/waits", WAIT_ROUNDS)

    with open(os.path.join(logs, name + ".log"), "w", encoding="utf-8") as log:
        more = list(compiler_tests(daemons, quick and version != OWN))
        if version == OWN:
            yield from lines_of(name, Sent(folder), log, run_here, more)
        else:
            yield from lines_of(name, Sent(folder), log, run_machine, list(tests(quick)) + more)


def record_here(folder, name, daemon, *arguments):
    """Records like init.sh."""
    path = os.path.join(folder, name)
    result = harness.run(daemon, "-o", path + ".db", "-F", 997, *arguments, timeout=3600,
                         env={"STACKD_DEBUG": "1", "WORKLOADS": harness.WORKLOADS})
    for suffix, text in ((".log", result.err + result.out), (".status", str(result.status))):
        with open(path + suffix, "w", encoding="utf-8") as file:
            file.write(text)


def make_daemons(which, log, ret_lines):
    """The daemons of compilers other than the default, of all or of the newest: {name: path}; a failed
    compiler has a line."""
    daemons = {}
    others = {version: root for version, root in compilers.found().items() if version != compilers.default()}
    for version in sorted(others)[-1 if which == "one" else 0:]:
        root = others[version]

        def make(version=version, root=root):
            daemons["clang-%d" % version] = compilers.daemon(version, root)

        line = line_of("kernel-clang-%d" % version, make, log)
        if line.startswith("FAIL"):
            ret_lines.append(line)
    return daemons


def check_stacks(daemons):
    """No verifier would refuse the program of a compiler for its stack."""
    objects = [os.path.join(harness.BUILD, "gen/stackd.bpf.o")]
    objects += [os.path.dirname(path) + "/stackd.bpf.o" for path in daemons.values()]
    for path in objects:
        print("%s: %d bytes, %d functions: %s" % (path, *max(stacks.chains(path))))
        refused = stacks.refused(path)
        check(not refused, "the stack of " + path, *refused)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", help="a folder of no other run (default: a new one)")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--compilers", choices=("all", "one"), default="all")
    parser.add_argument("versions", nargs="*", default=list(images.KERNELS) + [OWN])
    options = parser.parse_args()
    for version in options.versions:
        if version != OWN and version not in images.KERNELS:
            parser.error("no such kernel: " + version)
    os.makedirs(images.CACHE, exist_ok=True)
    if not options.logs:
        options.logs = tempfile.mkdtemp(prefix="stackd-kernels-")
        print("logs:", options.logs, flush=True)
    os.makedirs(options.logs, exist_ok=True)
    lines = []
    with open(os.path.join(options.logs, "kernel-compilers.log"), "w", encoding="utf-8") as log:
        daemons = make_daemons(options.compilers, log, lines)
        lines.append(line_of("kernel-stacks", lambda: check_stacks(daemons), log))
    print(*lines, sep="\n", end="\n" if lines else "", flush=True)
    failed = sum(line.startswith("FAIL") for line in lines)
    for version in options.versions:
        for line in try_kernel(version, options.logs, daemons, options.quick):
            failed += line.startswith("FAIL")
            print(line, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
