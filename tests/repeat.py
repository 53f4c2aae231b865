#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Repeats tests beside a load: repeat.py [--times N] [--spinners N] [--group GROUP]... [NAME-PART...]

A test that holds on any machine holds beside other work as well, and each time. So each test of the
groups live, cli, export and kernel runs N times in a row while as many processes as --spinners spin. Prints
a line a test: how often it passed, and what its failures said; their logs are kept as
build/repeat/NAME.N.log. Exits with 1 if any failed. It may take hours: names choose a part, also of
the tests of `make check-long`."""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOGS = os.path.join(ROOT, "build", "repeat")
PYTHON = "/usr/bin/python3"
RUNNERS = {"live": "tests/live/run.py", "export": "tests/exports/run.py"}
GROUPS = ("live", "cli", "export", "kernel")
KERNELS = {"kernel-6.1": ["--quick", "--compilers", "one", "6.1"], "kernel-own": ["--quick", "own"]}


def spinner():
    """A process that spins until its parent ends."""
    code = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n  sum(range(100000))\n"
    return subprocess.Popen([PYTHON, "-c", code])


def names_of(group, parts):
    """The names of a group's tests that contain one of the parts; without parts, of those of `make check`."""
    if group == "kernel":
        names = list(KERNELS)
    elif group == "cli":
        scripts = sorted(glob.glob("tests/cli/*.sh"))
        names = ["cli-" + os.path.basename(script)[:-3] for script in scripts
                 if parts or script != "tests/cli/dist.sh"]
    else:
        done = subprocess.run([PYTHON, RUNNERS[group], "--list"] + ["--long"] * bool(parts),
                              stdout=subprocess.PIPE, text=True, check=True)
        names = [line for line in done.stdout.split("\n") if line.startswith(group + "-")]
    return [name for name in names if not parts or any(part in name for part in parts)]


def command_of(group, name):
    if group == "kernel":
        return [PYTHON, "tests/kernels/run.py", "--logs", LOGS, *KERNELS[name]]
    if group == "cli":
        return ["tests/cli/%s.sh" % name[len("cli-"):]]
    return [PYTHON, RUNNERS[group], "--logs", LOGS, "--exact", name]


def run_script(name, number):
    """The same as run_once(), of a script, which says how it ended by its status."""
    environment = dict(os.environ, STACKD=os.path.abspath("build/stackd"), LC_ALL="C.UTF-8",
                       STACKCTL=os.path.abspath("build/stackctl"),
                       STORE_MAKER=os.path.abspath("build/tests/make_store"))
    path = os.path.join(LOGS, "%s.%d.log" % (name, number))
    with open(path, "w", encoding="utf-8") as log:
        done = subprocess.run(command_of("cli", name), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                              env=environment, check=False)
    if done.returncode in (0, 77):
        os.remove(path)
        return [], done.returncode == 77
    with open(path, encoding="utf-8", errors="replace") as log:
        return ["FAIL %s: status %d: %s" % (name, done.returncode, log.read()[-400:])], False


def run_once(group, name, number):
    """The lines of failures, and whether it was skipped."""
    if group == "cli":
        return run_script(name, number)
    done = subprocess.run(command_of(group, name), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    failures = re.findall("^FAIL .*", done.stdout, re.M)
    if done.returncode and not failures:
        failures = ["FAIL %s: the test broke off: %s" % (name, done.stdout[-200:])]
    if failures:
        log = os.path.join(LOGS, name + ".log")
        if os.path.exists(log):
            shutil.copy(log, os.path.join(LOGS, "%s.%d.log" % (name, number)))
    return failures, bool(re.search("^SKIP ", done.stdout, re.M)) and not failures


def repeat(group, name, times):
    """Whether it passed each time."""
    failures = []
    for number in range(1, times + 1):
        lines, is_skipped = run_once(group, name, number)
        if is_skipped:
            print("%s: skipped" % name, flush=True)
            return True
        failures.append(lines)
    failed = [lines for lines in failures if lines]
    print("%s: %d of %d passed" % (name, times - len(failed), times), flush=True)
    for lines in failed:
        print("    " + "\n    ".join(lines), flush=True)
    return not failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--spinners", type=int, default=2)
    parser.add_argument("--group", action="append", choices=GROUPS)
    parser.add_argument("names", nargs="*", help="only tests whose name contains one of these")
    options = parser.parse_args()
    os.chdir(ROOT)
    tests = [(group, name) for group in options.group or GROUPS
             for name in names_of(group, options.names)]
    if not tests:
        parser.error("no such test")
    os.makedirs(LOGS, exist_ok=True)
    spinners = [spinner() for _ in range(options.spinners)]
    failed = 0
    try:
        for group, name in tests:
            failed += not repeat(group, name, options.times)
    finally:
        for process in spinners:
            process.kill()
            process.wait()
    print("%d tests failed at least once" % failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
