#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tries arm64 in an emulated machine: run.py [--logs DIR] [--workloads NAME...] [MACHINE...]

The programs and workloads that root.sh builds for arm64 are booted with Debian's kernels for arm64 in
qemu-system-aarch64. init.sh records there and sends the stores out; they are judged here, by this
machine's stackctl and by the criteria of the live tests, as those of tests/kernels. So a store that
was made on arm64 is also reported on another processor.

A MACHINE is KERNEL-CPU: 6.1-a72 (no pointer authentication), 6.12-max (with it). Prints a line a test as
tests/check.sh does. The console is in DIR/arm64-MACHINE-console.log, what was sent in DIR/arm64-MACHINE/."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
for folder in ("live", "kernels"):
    sys.path.insert(0, os.path.join(HERE, "..", folder))

import harness  # noqa: E402
import images  # noqa: E402
import run as kernels  # noqa: E402
from harness import Skip, check  # noqa: E402

BUILD = os.path.join(harness.BUILD, "arm64")
SYSTEM = os.path.join(harness.BUILD, "roots", "arm64")
FOLDERS = ("lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/aarch64-linux-gnu/lib")
EMULATOR = "qemu-system-aarch64"

# Without impdef, the emulator takes most of its time for signatures.
CPUS = {"a72": "cortex-a72", "max": "max,pauth-impdef=on"}
KERNELS = {"6.1": "linux-image-cloud-arm64", "6.12": "linux-image-6.12-cloud-arm64"}
MACHINES = ("6.1-a72", "6.12-max")

# The first of tests/kernels/run.py.
WORKLOADS = ("chain", "chain_static", "chain_nonpie", "chain_static_pie", "recursion", "deep", "threads",
             "dlopen_dlclose", "fork_exec", "signal_handler")


# --- the parts of the machine --------------------------------------------------------------------

def root(*arguments, log):
    """Runs a command of root.sh."""
    status = subprocess.run([os.path.join(HERE, "root.sh"), *arguments], stdout=log, stderr=log, check=False,
                            stdin=subprocess.DEVNULL).returncode
    if status == 77:
        raise Skip("no root for arm64 can be made here")
    check(status == 0, "root.sh %s: status %d" % (arguments[0], status))


def build(workloads, log):
    root("build", log=log)
    root("within", "make", "-s", "-C", "tests/workloads", "B=%s/workloads" % BUILD,
         "WCC=aarch64-linux-gnu-gcc", "WCXX=aarch64-linux-gnu-g++", "ONLY=" + " ".join(workloads), log=log)


def package(name, log):
    """The path of a package's file for arm64, which is kept beside the kernels."""
    folder = os.path.join(images.CACHE, "arm64")
    os.makedirs(folder, exist_ok=True)
    found = [file for file in os.listdir(folder) if file.startswith(name + "_")]
    if not found:
        root("within", "sh", "-c", "cd build/kernels/arm64 && apt-get -qq -o APT::Sandbox::User=root download %s:arm64"
             % name, log=log)
        found = [file for file in os.listdir(folder) if file.startswith(name + "_")]
    if not found:
        raise Skip("the package %s for arm64 cannot be had here" % name)
    return os.path.join(folder, max(found))


def image(version, log):
    """The path of a kernel."""
    path = os.path.join(images.CACHE, "arm64", "vmlinuz-" + version)
    if not os.path.exists(path):
        out = subprocess.run([os.path.join(HERE, "root.sh"), "within", "apt-cache", "depends",
                              KERNELS[version] + ":arm64"], stdout=subprocess.PIPE, check=False, text=True).stdout
        name = re.search(r"Depends: (linux-image-[^\s:]+)", out)
        if not name:
            raise Skip("the kernel %s for arm64 cannot be had here" % version)
        check(images.take_image(package(name[1], log), path), "there is no kernel in " + name[1])
    return path


def needed(path):
    """The names of the libraries that a program asks for, and its loader."""
    out = harness.run("readelf", "-dl", path).out
    return re.findall(r"\(NEEDED\).*\[(.*)\]", out) + re.findall(r"interpreter: (\S+)\]", out)


def add_libraries(folder, programs):
    """Copies the libraries of programs, and those of these, to where the loader looks."""
    waiting, seen = list(programs), set()
    to = os.path.join(folder, "lib/aarch64-linux-gnu")
    os.makedirs(to)
    while waiting:
        for name in needed(waiting.pop()):
            base = os.path.basename(name)
            paths = [os.path.join(SYSTEM, place, base) for place in FOLDERS] + [os.path.join(BUILD, "workloads", base)]
            path = next((path for path in paths if os.path.exists(path)), None)
            if base in seen or not path:
                continue
            seen.add(base)
            waiting.append(path)
            shutil.copy(path, to)
            if base.startswith("ld-linux"):
                shutil.copy(path, os.path.join(folder, "lib"))


def initramfs(folder, workloads, log):
    """Builds the machine's file system in a folder: the path of its archive."""
    top = os.path.join(folder, "root")
    os.makedirs(top + "/bin")
    os.makedirs(top + "/workloads")
    for name, path in (("busybox-static", "./bin/busybox"), ("dash", "./bin/dash")):
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package(name, log)], stdout=subprocess.PIPE) as unpacker:
            subprocess.run(["tar", "-x", "-C", top, path], stdin=unpacker.stdout, check=True)
    for name in ("stackd", "stackctl"):
        shutil.copy(os.path.join(BUILD, name), top + "/bin")
    libraries = [file for file in os.listdir(BUILD + "/workloads") if file.startswith("lib")]
    for name in (*workloads, *libraries):
        shutil.copy(os.path.join(BUILD, "workloads", name), top + "/workloads")
    shutil.copy(os.path.join(HERE, "init.sh"), top + "/init")
    os.chmod(top + "/init", 0o755)
    with open(top + "/workloads/pairs", "w", encoding="utf-8") as file:
        for pair in zip(workloads[::2], workloads[1::2] + ("",) * (len(workloads) % 2)):
            file.write(" ".join(pair) + "\n")
    add_libraries(top, [top + "/bin/" + name for name in ("dash", "stackd", "stackctl")]
                  + [top + "/workloads/" + name for name in workloads])
    archive = os.path.join(folder, "root.cpio.gz")
    subprocess.run("cd '%s' && find . | cpio -o -H newc -R 0:0 --quiet | gzip -1 > '%s'" % (top, archive),
                   shell=True, check=True)
    return archive


def boot(kernel, cpu, archive, console, sent):
    """Runs the machine to its end. The interrupt of an emulated PMU would make the kernel lower its rate."""
    command = ["nice", EMULATOR, "-machine", "virt", "-cpu", CPUS[cpu] + ",pmu=off", "-smp", "2", "-m", "1024",
               "-kernel", kernel, "-initrd", archive,
               "-append", "console=ttyAMA0 quiet panic=-1 oops=panic kpti=off mitigations=off",
               "-display", "none", "-nodefaults", "-no-reboot", "-serial", "file:" + console,
               "-chardev", "file,id=sent,path=" + sent, "-device", "pci-serial,chardev=sent"]
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said) as machine:
            try:
                kernels.wait_for(machine, console)
            finally:
                machine.kill()
        said.seek(0)
        check(machine.returncode == 0, "qemu: status %d" % machine.returncode, said.read())


# --- judging -------------------------------------------------------------------------------------

def without_old_pages(samples, expectation):
    """The samples but for those whose stack could not be read: the pages of a process that fork has made are `old` to
    these processors until it touches them, and the kernel half may not. Each is the end of a right path."""
    return harness.without_cut(samples, expectation, "unreadable")


def is_exit(sample):
    """In exit(). The kernel's own walk on arm64 leaves out the caller of a function without a frame, so the names by which
    the live tests know an exit can be missing."""
    return any(frame.symbol in ("__arm64_sys_exit", "__arm64_sys_exit_group", "do_group_exit", "do_task_dead")
               for frame in sample.frames)


def check_workload(sent, workload):
    expectation = kernels.expectation_of(workload)
    samples = [sample for sample in sent.samples("started", kernels.commands_of(workload))
               if harness.user_frames(sample) or not is_exit(sample)]
    whole = without_old_pages(harness.without_cut(samples, expectation, "no_time"), expectation)
    print("%s: %d samples, %d of them whole" % (workload, len(samples), len(whole)))
    harness.check_chains(whole, expectation, kernels.AT_LEAST)


def check_counters(sent):
    """Every sample is accounted for, and each walk of the kernel half is the daemon's."""
    counters = sent.recording("started").stats()["counters"]
    print(counters)
    check(counters["started"] == counters["sent"] + counters["lost_ring"] + counters["idle"],
          "started samples are neither sent, lost nor idle", counters)
    kernels.check_judged(sent, "started", counters)
    check(counters["kernel_walks"] - counters["kernel_fallbacks"] >= kernels.AT_LEAST * len(WORKLOADS),
          "hardly any walk came to its end in the kernel", counters)


def try_machine(machine, logs, workloads):
    """The lines of all tests of one machine."""
    version, _, cpu = machine.rpartition("-")
    name = "arm64-" + machine
    folder = os.path.join(logs, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    data = os.path.join(folder, "sent.tar.gz")

    def run_machine():
        with tempfile.TemporaryDirectory(prefix="stackd-root-") as made:
            boot(image(version, log), cpu, initramfs(made, workloads, log),
                 os.path.join(logs, name + "-console.log"), data)
        kernels.unpack(data, folder)

    def records(sent):
        sent.recording("started")

    tests = [(workload, lambda sent, workload=workload: check_workload(sent, workload))
              for workload in workloads]
    with open(os.path.join(logs, name + ".log"), "w", encoding="utf-8") as log:
        sent = kernels.Sent(folder)
        lines = list(kernels.lines_of(name, sent, log, run_machine, [("records", records)]))
        yield from lines
        if lines[-1].startswith("PASS"):
            for test, function in [("counters", check_counters)] + tests:
                yield kernels.line_of(name + "-" + test, lambda function=function: function(sent), log)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", help="a folder of no other run (default: a new one)")
    parser.add_argument("--workloads", nargs="+", default=list(WORKLOADS))
    parser.add_argument("machines", nargs="*", default=list(MACHINES))
    options = parser.parse_args()
    for machine in options.machines:
        if machine.rpartition("-")[0] not in KERNELS or machine.rpartition("-")[2] not in CPUS:
            parser.error("no such machine: " + machine)
    if not options.logs:
        options.logs = tempfile.mkdtemp(prefix="stackd-arm64-")
        print("logs:", options.logs, flush=True)
    os.makedirs(options.logs, exist_ok=True)

    def make():
        if not shutil.which(EMULATOR):
            raise Skip(EMULATOR + " is not installed")
        build(options.workloads, log)

    with open(os.path.join(options.logs, "arm64-build.log"), "w", encoding="utf-8") as log:
        lines = [kernels.line_of("arm64-build", make, log)]
    print(lines[0], flush=True)
    failed = lines[0].startswith("FAIL")
    for machine in options.machines if lines[0].startswith("PASS") else ():
        for line in try_machine(machine, options.logs, tuple(options.workloads)):
            failed += line.startswith("FAIL")
            print(line, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
