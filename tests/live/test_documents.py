# SPDX-License-Identifier: MIT
"""The walks of docs/find/: each command is run, and must print what the page shows.

What a page shows are figures of one run. What must be the same in every run are the functions: each line of the page that
names functions of the program, its threads or what they waited for, has a line in the output that names them all.
"""

import os
import re
import shlex
import shutil

from harness import DONE, NATIVE, NO_SAMPLES, ROOT, STACKCTL, STACKD, Recording, Skip, check, live, run, scratch

FOLDER = os.path.join(ROOT, "docs", "find")
# More processes than CPUs: what Open MPI 5 heeds has another name.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


def commands_of(page):
    """Each command of a page, with the lines of output below it."""
    found = []
    for line in page.splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
        elif line.startswith("    ") and found:
            found[-1][1].append(line[4:])
    return found


def threads_of(source):
    """The names that a program gives its threads."""
    return set(re.findall(r'pthread_self\(\), "(\w+)"', source))


def keywords(source):
    """What names a line of output: the functions of a program, those that it calls, names of threads, kinds of waits."""
    functions = set(re.findall(r"(\w+)\(", source)) - {"sizeof", "for", "if", "while", "main"}
    names = "|".join(sorted(map(re.escape, functions | threads_of(source)), key=len, reverse=True))
    return re.compile(r"(?<![\w\[])(?:%s)\b|\[(?:futex|sleep)\]" % names)


def busiest_step(output):
    """The range of the step with most samples of the view `time`."""
    width = float(re.search(r"steps of ([\d.]+) s", output)[1])
    rows = re.findall(r"^ +([\d.]+) +(\d+) ", output, re.MULTILINE)
    begin = max(((int(samples), float(begin)) for begin, samples in rows))[1]
    return "--from %f --to %f" % (begin, begin + width)


def words_of(command, folder, chosen):
    """A command of a page as it is run here: with this build, a store of its own, and what an earlier output chose."""
    command = re.sub(r"--from [\d.]+ --to [\d.]+", lambda _: chosen, command)
    words = shlex.split(command)
    if words[0] == "sudo":
        words = words[1:]
    store = [] if "-i" in words or "-o" in words or words[1] == "diff" else [os.path.join(folder, "store.db")]
    if words[0] == "stackd":
        return [STACKD, *NATIVE, *(["-o", *store] if store else []), *words[1:]]
    if words[0] == "stackctl":
        return [STACKCTL, words[1], *(["-i", *store] if store else []), *words[2:]]
    return words


def check_shown(command, output, wanted, threads, recording):
    """A line of a command's output has all that is wanted of it. Names of threads come by events."""
    def has_line(words):
        return any(all(word in line for word in words) for line in output.splitlines())
    for words, by_events in ([word for word in wanted if word not in threads], None), (wanted, recording):
        check(not words or has_line(words), "%s: no line has %s" % (command, words), output, by_events=by_events)


def follow(name):
    with open(os.path.join(FOLDER, name + ".md"), encoding="utf-8") as file:
        page = file.read()
    with open(os.path.join(FOLDER, name + ".c"), encoding="utf-8") as file:
        source = file.read()
    marks, threads = keywords(source), threads_of(source)
    checked, chosen = 0, None
    with scratch() as folder:
        shutil.copy(os.path.join(FOLDER, name + ".c"), folder)
        for command, shown in commands_of(page):
            words = words_of(command, folder, chosen)
            result = run(*words, cwd=folder, env=AS_ROOT)
            recording = Recording(folder + "/store.db")
            unnamed = result.status == NO_SAMPLES and any("no thread named '%s'" % word in result.err for word in threads)
            check(not unnamed, command, result.err, by_events=recording)
            if unnamed:
                continue
            check(result.status == DONE, command, result.status, result.err, result.out)
            if "--view time" in command:
                chosen = busiest_step(result.out)
            if words[1:2] == ["timeline"]:
                continue  # on a busy machine, a routine's time may be cut into pieces too short to be listed
            for line in shown:
                wanted = marks.findall(line)
                check_shown(command, result.out, wanted, threads, recording)
                checked += bool(wanted)
    check(checked, "no output is compared")


@live
def test_find_lock():
    """Waits for a lock, by object, by who ended them, and of the holder."""
    follow("lock")


@live
def test_find_leak():
    """The heap over time, and what was never freed."""
    follow("leak")


@live
def test_find_hiccup():
    """The step of a recording with most samples, and what ran in it."""
    follow("hiccup")


@live
def test_find_regression():
    """What a new version spends more."""
    follow("regression")


@live(long=True)
def test_find_imbalance():
    """Ranks of an MPI job that wait for another."""
    if not shutil.which("mpicc") or not shutil.which("mpirun"):
        raise Skip("no MPI here (Debian packages libopenmpi-dev, openmpi-bin)")
    follow("imbalance")
