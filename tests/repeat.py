#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Repeats tests beside a load: repeat.py [--times N] [--spinners N] [--stops] [--part K/N] [--exact] [--group GROUP]... [NAME-PART...]
repeat.py --sum adds up what was done.

A test that holds on any machine holds beside other work as well, and each time. So each test of the
groups live, cli, export and kernel runs N times in a row while as many processes as --spinners spin, and with
--stops while each stackd is stopped for a second now and then (stops.py). Prints
a line a test: how often it passed, and what its failures said; their logs are kept as
build/repeat/NAME.N.log. Exits with 1 if any failed.

It takes hours, so it can be done in parts, over days: --part 3/10 is every tenth test from the third on, and
names choose others, also of the tests of `make check-long`. The end of each run is a line in a file of results
(--results, default build/repeat/results): the commit, the test, and how it ended. With that file, a part that was
broken off goes on where it was: a test has run --times times when so many of its lines have this commit. --sum prints
how often each test has passed and failed at each commit, and which tests have never run."""

import argparse
import collections
import fractions
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


def commit():
    """What is tested; a + behind it if files of it were changed."""
    def git(*words):
        return subprocess.run(["git", *words], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    return git("rev-parse", "--short=10", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def read_results(path):
    """{test: {commit: Counter of passed, failed, skipped}}"""
    found = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                at, name, how = line.rstrip("\n").split("\t")[:3]
                found[name][at][how] += 1
    return found


def print_sum(path, tests):
    """A line a test and commit, those with failures first, and the tests that have no line."""
    found = read_results(path)
    rows = [(name, at, counts) for name, by_commit in sorted(found.items()) for at, counts in by_commit.items()]
    for name, at, counts in sorted(rows, key=lambda row: -row[2]["failed"]):
        print("%-44s %-11s %s" % (name, at, ", ".join("%d %s" % (counts[how], how)
                                                      for how in ("passed", "failed", "skipped") if counts[how])))
    never = [name for _, name in tests if name not in found]
    total = sum((counts for _, _, counts in rows), collections.Counter())
    print("%d runs of %d tests: %d failed" % (sum(total.values()), len(found), total["failed"]))
    print("%d tests have not run: %s" % (len(never), " ".join(never)))


def spinner():
    """A process that spins until its parent ends."""
    code = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n  sum(range(100000))\n"
    return subprocess.Popen([PYTHON, "-c", code])


def names_of(group, parts, is_exact):
    """The names of a group's tests that contain one of the parts, or are one; without parts, of those of `make check`."""
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
    return [name for name in names if not parts or name in parts or not is_exact and any(part in name for part in parts)]


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


def repeat(group, name, times, note):
    """Runs a test so many times, and calls note() with the result of each run. Returns whether all passed."""
    failed = 0
    for number in range(1, times + 1):
        lines, is_skipped = run_once(group, name, number)
        note(name, "failed" if lines else "skipped" if is_skipped else "passed")
        if is_skipped:
            print("%s: skipped" % name, flush=True)
            return True
        failed += bool(lines)
        for line in lines:
            print("    " + line, flush=True)
    print("%s: %d of %d passed" % (name, times - failed, times), flush=True)
    return not failed


def part_of(tests, part):
    """Every Nth of them from the Kth on, of K/N: each part has tests of each group."""
    first, _, step = part.partition("/")
    return tests[int(first) - 1::int(step)]


def options_of(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--spinners", type=int, default=2)
    parser.add_argument("--stops", action="store_true", help="stop each stackd for a second, now and then")
    parser.add_argument("--group", action="append", choices=GROUPS)
    parser.add_argument("--part", default="1/1", help="K/N: only every Nth test, from the Kth on")
    parser.add_argument("--results", default=os.path.join(LOGS, "results"), help="a file that lines are added to")
    parser.add_argument("--exact", action="store_true", help="the names are whole ones")
    parser.add_argument("--sum", action="store_true", help="runs nothing: adds up the file of results")
    parser.add_argument("names", nargs="*", help="only tests whose name contains one of these")
    options = parser.parse_args(words)
    if not re.fullmatch("[1-9][0-9]*/[1-9][0-9]*", options.part) or fractions.Fraction(options.part) > 1:
        parser.error("--part: K/N, as 3/10")
    options.results = os.path.abspath(options.results)
    os.chdir(ROOT)
    options.tests = part_of([(group, name) for group in options.group or GROUPS
                             for name in names_of(group, options.names, options.exact)], options.part)
    if not options.tests:
        parser.error("no such test")
    return options


def main():
    options = options_of(sys.argv[1:])
    if options.sum:
        return print_sum(options.results, options.tests)
    os.makedirs(LOGS, exist_ok=True)
    os.makedirs(os.path.dirname(options.results), exist_ok=True)
    at, done = commit(), read_results(options.results)
    spinners = [spinner() for _ in range(options.spinners)]
    spinners += [subprocess.Popen([PYTHON, "tests/stops.py", "build"])] if options.stops else []
    failed = 0

    def note(name, how):
        with open(options.results, "a", encoding="utf-8") as file:
            file.write("%s\t%s\t%s\n" % (at, name, how))
    try:
        for group, name in options.tests:
            before = done[name][at] if not at.endswith("+") else collections.Counter()
            left = 0 if before["skipped"] else options.times - sum(before.values())
            if left > 0:
                failed += not repeat(group, name, left, note) or before["failed"] > 0
            else:
                print("%s: has run before%s" % (name, ": %(failed)d failed" % before if before["failed"] else ""), flush=True)
                failed += before["failed"] > 0
    finally:
        for process in spinners:
            process.kill()
            process.wait()
    print("%d tests failed at least once" % failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
