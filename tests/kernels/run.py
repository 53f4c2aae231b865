#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tries the program on other kernels: run.py [--logs DIR] [VERSION...]

The kernel half must load and be right on every kernel from 6.1 on, and each has another verifier
and other structures. So Debian 12's kernels are booted in an emulated machine (qemu without KVM:
it works wherever this runs), with a file system in memory that holds just the programs, the
workloads and their libraries. init.sh, the machine's only script, makes recordings there and sends
the stores out; they are judged here, by what the live tests judge by.

Prints a line a test as tests/check.sh does. What the machine printed is in DIR/kernel-VERSION.log,
and all it sent in DIR/kernel-VERSION/."""

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
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))

import chains  # noqa: E402
import harness  # noqa: E402
from harness import Failed, Skip, check  # noqa: E402

KERNELS = {  # version: the package that depends on the newest image
    "6.1": "linux-image-cloud-amd64",
    "6.12": "linux-image-6.12-cloud-amd64",
}
CACHE = os.path.join(harness.BUILD, "kernels")
BOOT_SECONDS = 280

# Run two at a time, in this order; the source that has the promises, if it has another name.
WORKLOADS = ("chain", "chain_static", "chain_nonpie", "chain_static_pie", "recursion", "deep",
             "threads", "dlopen_dlclose", "fork_exec", "signal_handler", "plugin", "vdso", "plt",
             "plt_ibt", "redzone", "alloca", "realigned", "ucontext", "tail_calls", "noreturn",
             "jit", "registers", "exceptions", "inlined", "cpp_names", "rust_names", "memfd")
SOURCES = {"chain_static": "chain", "chain_nonpie": "chain", "chain_static_pie": "chain",
           "plt_ibt": "plt"}
# Under which names their samples appear, where it is not the first 15 letters of their own.
NAMES = {"fork_exec": {"fork_exec", "exe"}, "memfd": {"memfd", "memfd:chain"}}

# How fast an emulated machine is depends on what else runs here. So there are few samples at times,
# starting takes long against the second of the steady state, and a function that replaces its stack
# is met more often; but none may be wrong.
AT_LEAST = 25
OUTSIDE_PERCENT = 70.0
TORN_PERCENT = 4.0


# --- the parts of the machine --------------------------------------------------------------------

def packages(*command):
    return harness.run(*command, timeout=120, env={"LC_ALL": "C"})


def image_package(meta):
    """The name of the newest image, as far as the lists here know."""
    found = re.search(r"Depends: (linux-image-\S+)", packages("apt-cache", "depends", meta).out)
    return found[1] if found else None


def download(package):
    """The path of a package's file, from CACHE if it is there; or None."""
    policy = packages("apt-cache", "policy", package).out
    version = re.search(r"Candidate: (\S+)", policy)
    if not version:
        return None
    name = "%s_%s_amd64.deb" % (package, version[1].replace(":", "%3a"))
    path = os.path.join(CACHE, name)
    if not os.path.exists(path):
        packages("sh", "-c", "cd '%s' && apt-get -qq -o APT::Sandbox::User=root download '%s'"
                 % (CACHE, package))
    return path if os.path.exists(path) else None


def kernel_image(version):
    """The path of the newest kernel of a version: taken out of its package, nothing installed."""
    meta = KERNELS[version]
    package = image_package(meta)
    file = download(package) if package else None
    if not file:  # the lists are not there, or are old
        packages("apt-get", "-qq", "update")
        package = image_package(meta)
        file = download(package) if package else None
    if not file:
        raise Skip("the package of the kernel, %s, cannot be had here" % (package or meta))
    image = os.path.join(CACHE, "vmlinuz-" + version)
    with open(image, "wb") as out:
        tar = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", file], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-xO", "--wildcards", "./boot/vmlinuz-*"], stdin=tar.stdout,
                       stdout=out, check=True)
        tar.stdout.close()
        tar.wait()
    return image


def libraries(programs):
    """The shared libraries of programs, the loader among them, by the paths where they look."""
    found = set()
    for program in programs:
        found.update(re.findall(r"(?:=> |^\s*)(/\S+) \(0x", harness.run("ldd", program).out,
                                re.M))
    return found


def initramfs():
    """Builds the machine's file system: the path of its archive."""
    root = os.path.join(CACHE, "root")
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root + "/bin")
    shutil.copy("/bin/busybox", root + "/bin")
    shutil.copy("/bin/dash", root + "/bin")  # busybox has no unwind information
    shutil.copy(harness.STACKD, root + "/bin")
    shutil.copy(harness.STACKCTL, root + "/bin")
    shutil.copytree(harness.WORKLOADS, root + "/workloads")
    shutil.copy(os.path.join(HERE, "init.sh"), root + "/init")
    os.chmod(root + "/init", 0o755)
    with open(root + "/workloads/pairs", "w", encoding="utf-8") as file:
        for pair in zip(WORKLOADS[::2], WORKLOADS[1::2] + ("",)):
            file.write(" ".join(pair) + "\n")
    programs = ["/bin/dash", harness.STACKD, harness.STACKCTL] + glob.glob(
        harness.WORKLOADS + "/*") + glob.glob(harness.WORKLOADS + "/tagged-plugin/*")
    for library in libraries(programs):
        os.makedirs(root + os.path.dirname(library), exist_ok=True)
        shutil.copy(library, root + library)
        if library.startswith(harness.BUILD):  # a folder that may be hidden there, as /tmp is
            os.makedirs(root + "/lib", exist_ok=True)
            shutil.copy(library, root + "/lib")
    archive = os.path.join(CACHE, "root.cpio.gz")
    subprocess.run("cd '%s' && find . | cpio -o -H newc -R 0:0 --quiet | gzip -1 > '%s'"
                   % (root, archive), shell=True, check=True)
    return archive


def boot(image, archive, log, sent):
    """Runs the machine to its end. What it said goes to `log`, what it sent to `sent`."""
    command = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi",
               "-cpu", "max", "-smp", "2", "-m", "2048", "-kernel", image, "-initrd", archive,
               "-append", "console=ttyS0 quiet no_timer_check panic=-1 oops=panic",
               "-display", "none", "-nodefaults", "-no-reboot",
               "-serial", "file:" + log, "-serial", "file:" + sent]
    try:
        result = harness.run(*command, timeout=BOOT_SECONDS)
    except subprocess.TimeoutExpired:
        raise Failed("the machine did not come to an end within %d s, see %s"
                     % (BOOT_SECONDS, log)) from None
    check(result.status == 0 and not result.err, "qemu: status %d" % result.status, result.err)


# --- judging -------------------------------------------------------------------------------------

class Sent:
    """What a machine sent."""

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

    def samples(self, name, commands):
        """Those of the processes with one of these names."""
        if name not in self.samples_of:
            by_command = collections.defaultdict(list)
            for sample in self.recording(name).samples():
                by_command[sample.comm].append(sample)
            self.samples_of[name] = by_command
        return [sample for command in commands for sample in self.samples_of[name][command]]


def commands_of(workload):
    return NAMES.get(workload, {workload[:15]})


def expectation_of(workload, outside_percent=OUTSIDE_PERCENT):
    expectation = chains.Expectation.of_source(SOURCES.get(workload, workload))
    expectation.outside_percent = max(expectation.outside_percent, outside_percent)
    if expectation.torn_percent:
        expectation.torn_percent = TORN_PERCENT
    return expectation


def is_incomplete(sample):
    return bool(sample.frames) and (sample.frames[0].symbol or "").startswith("[incomplete")


def is_moved(sample):
    """The page of the stack was just being copied on write, and for an instant nowhere."""
    return (sample.frames[0].symbol.startswith("[incomplete: unreadable")
            and any(frame.symbol in ("do_wp_page", "wp_page_copy") for frame in sample.frames))


def check_workload(sent, recording, workload, at_least=AT_LEAST, outside_percent=OUTSIDE_PERCENT):
    expectation = expectation_of(workload, outside_percent)
    samples = sent.samples(recording, commands_of(workload))
    moved = {s for s in samples if is_incomplete(s) and is_moved(s)}
    check(len(moved) <= len(samples) * 0.02, "%d stacks met while copied" % len(moved))
    samples = [s for s in samples if s not in moved]
    partial = [s for s in samples if is_incomplete(s)]
    check(len(partial) <= len(samples) * expectation.torn_percent / 100,
          "%d of %d stacks are not complete" % (len(partial), len(samples)),
          *[chains.text_of(s.frames) for s in partial[:10]])
    harness.check_chains(samples, expectation, at_least)


def check_judged(sent, name, counters):
    """No walk was wrong. The first ones that were are in the log, root first."""
    wrong = re.findall(r"^judge: .*\n.*\n.*", sent.log(name), re.M)
    check(counters["judged_wrong"] == 0, "%d walks are wrong, %d right: %s"
          % (counters["judged_wrong"], counters["judged_right"],
             " ".join(" ".join(wrong[:1]).split())),
          *wrong[:20])


def check_counters(sent, name, is_lossy=False, is_judged=True, partial_percent=0.1):
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
    check(stats["quality"]["partial"] <= stats["samples"] * partial_percent / 100,
          "not every stack is complete", stats["quality"], stats["end_reasons"])
    return counters


def check_started(sent):
    counters = check_counters(sent, "started")
    check(counters["judged_right"] > 1000, "only %(judged_right)d walks judged" % counters)
    check(counters["kernel_fallbacks"] < 0.6 * counters["kernel_walks"],
          "%(kernel_fallbacks)d of %(kernel_walks)d walks fell back" % counters, counters)


def check_attached(sent):
    check_counters(sent, "attached")
    check_workload(sent, "attached", "threads")


def check_all(sent):
    # busybox has no unwind information.
    check_counters(sent, "all", is_judged=False, partial_percent=5)
    check_workload(sent, "all", "chain")
    check_workload(sent, "all", "plugin")


def check_cgroup(sent):
    check_counters(sent, "cgroup", is_judged=False)
    check_workload(sent, "cgroup", "threads")
    check(not sent.samples("cgroup", {"chain"}), "samples from outside of the cgroup")


def check_alternate(sent):
    """A handler on a stack of its own: the kernel walks over it."""
    counters = sent.recording("alternate").stats()["counters"]
    check_judged(sent, "alternate", counters)
    expectation = expectation_of("signal_handler")
    samples = sent.samples("alternate", {"sigaltstack"})
    marked = [s for s in samples if is_incomplete(s) and not harness.is_at_end(s)]
    harness.check_chains([s for s in samples if not is_incomplete(s)], expectation,
                         AT_LEAST)
    wrong = [chains.text_of(s.frames) for s in marked
             if not expectation.ends_like(harness.user_frames(s)[1:])]
    check(not wrong, "%d cut stacks are wrong" % len(wrong), *wrong[:5])


def check_unreadable(sent):
    """Pages of the stack that come and go: a path is whole, or what can be known of it."""
    stats = sent.recording("unreadable").stats()
    check_judged(sent, "unreadable", stats["counters"])
    check(stats["lost"] == 0, "lost samples", stats)
    samples = [s for s in sent.samples("unreadable", {"unreadable"})
               if not (is_incomplete(s) and is_moved(s))]
    harness.check_covered(samples, AT_LEAST, OUTSIDE_PERCENT)


def check_lossy(sent):
    """A ring too small for what is sent: whole samples are lost, and none is wrong. The small
    ones, from before the steady state, are not."""
    if not sent.recording("lossy").stats()["lost"]:
        raise Skip("the ring was large enough: nothing was lost")
    check_counters(sent, "lossy", is_lossy=True)
    check_workload(sent, "lossy", "deep", 5, 100.0)


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
    """Tags took the place of walks, and the paths are right."""
    needs_tags(sent)
    counters = sent.recording("tags").stats()["counters"]
    print(counters)
    check(counters["tags_wrong"] == 0, "%(tags_wrong)d walks differ from the tag" % counters)
    check(counters["kernel_tags"] > 0, "tags are not made use of", counters)
    check_workload(sent, "tags", "chain")


def check_doctor(sent):
    with open(os.path.join(sent.folder, "doctor.json"), encoding="utf-8") as file:
        check(sent.status("doctor") == 0, "the doctor: status %d" % sent.status("doctor"),
              file.read())


def tests():
    """Name and function of each test of a kernel."""
    yield from (("doctor", check_doctor), ("counters", check_started))
    for workload in WORKLOADS:
        yield workload, lambda sent, workload=workload: check_workload(sent, "started", workload)
    yield from (("sigaltstack", check_alternate), ("unreadable", check_unreadable),
                ("lossy", check_lossy), ("attached", check_attached), ("all", check_all),
                ("cgroup", check_cgroup), ("tags_judged", check_tags_judged),
                ("tags", check_tags))


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
        return "FAIL %s: %s" % (name, str(error).split("\n", maxsplit=1)[0][:1000])
    return "PASS " + name


def unpack(path, folder):
    with open(path, "rb") as file:
        data = file.read()
    check(data, "the machine sent nothing")
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as tar:
        for member in tar.getmembers():
            if member.isfile() and "/" not in member.name.replace("./", "", 1):
                tar.extract(member, folder)


def try_kernel(version, logs):
    """The lines of all tests of one kernel."""
    name = "kernel-" + version
    folder = os.path.join(logs, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    console, data = os.path.join(logs, name + "-console.log"), os.path.join(folder, "sent.tar.gz")
    sent = Sent(folder)

    def run_machine():
        boot(kernel_image(version), initramfs(), console, data)
        unpack(data, folder)

    with open(os.path.join(logs, name + ".log"), "w", encoding="utf-8") as log:
        line = line_of(name + "-boot", run_machine, log)
        yield line
        if not line.startswith("PASS"):
            return
        for test, function in tests():
            yield line_of("%s-%s" % (name, test), lambda: function(sent), log)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", default=tempfile.gettempdir() + "/stackd-kernels")
    parser.add_argument("versions", nargs="*", default=list(KERNELS))
    options = parser.parse_args()
    os.makedirs(CACHE, exist_ok=True)
    failed = 0
    for version in options.versions or KERNELS:
        for line in try_kernel(version, options.logs):
            failed += line.startswith("FAIL")
            print(line, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
