#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares the names of Java's methods with those that the machine itself writes: bench/java_names.py [--java HOME] [--seconds S] [--seed N]

Runs a program of tests/live/java_source.py in which each method is compiled when it is first called and none is inlined, so the
perf map of `jcmd PID Compiler.perfmap` has every method that ran. Prints how many methods of the recording are in it, with how many
samples, and each one that is not: then it ends with status 1. What is written with numbers that differ from run to run (lambdas,
hidden classes) is compared without them. Methods that are not compiled have no entry: native ones, static initialisers, and what
these call, since a class's methods are compiled once it is initialised."""

import argparse
import collections
import os
import re
import subprocess
import sys
import time

from java_gaps import paths_of

import java_judge
import java_source
from harness import check, record_attached, run, scratch

OPTIONS = ("-Xcomp", "-XX:-Inline", "-XX:TieredStopAtLevel=1")


def plain(name):
    """A method's name without what differs from run to run, and without spaces between its parameters."""
    name = re.sub(r" \([\w$]+\.java:\d+\)$", "", name)  # of several methods with one name
    name = re.sub(r"(\$\$Lambda)(\$\d+)?([+/]0x[0-9a-f]+)*(/\d+)?", r"\1", name)
    name = re.sub(r"(LambdaForm\$\w+)([+/]0x[0-9a-f]+|/\d+)+", r"\1", name)
    return re.sub(r"[+/]0x[0-9a-f]+", "", name).replace(", ", ",")


def mapped(pid, kit):
    """The names in the perf map of a process."""
    result = run(os.path.join(kit, "bin", "jcmd"), str(pid), "Compiler.perfmap")
    path = "/tmp/perf-%d.map" % pid
    check(os.path.exists(path), "jcmd", result.out, result.err)
    with open(path, encoding="utf-8") as file:
        names = [line.rstrip("\n").split(" ", 2)[2] for line in file]
    os.remove(path)
    return {plain(name.split(" ", 1)[-1]) for name in names}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--java", default="/usr/lib/jvm/java-17-openjdk-amd64")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    text, _, _ = java_source.make(given.seed)
    with scratch() as folder:
        source, store = (os.path.join(folder, name) for name in (java_source.CLASS + ".java", "store.db"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        result = run("javac", "-d", folder, "--release", "17", source)
        check(result.status == 0, "javac", result.err)
        with subprocess.Popen([os.path.join(given.java, "bin", "java"), *OPTIONS, "-cp", folder, java_source.CLASS,
                               str(given.seconds * 4 + 20)], stdout=subprocess.DEVNULL) as target:
            try:
                time.sleep(2)
                record_attached(store, target, given.seconds, "-F", 1997, "--managed")
                known = mapped(target.pid, given.java)
            finally:
                target.kill()
        found, missing = collections.Counter(), collections.Counter()
        for path, count in paths_of(store):
            for frame in path:
                if "<clinit>" in frame[0]:
                    break
                if java_judge.is_method(frame) and frame[2]:
                    (found if plain(frame[0]) in known else missing)[frame[0]] += count
    print("%d methods (%d frames) are in the perf map, %d are not" % (len(found), sum(found.values()), len(missing)))
    for name, count in missing.most_common():
        print("%6d  %s" % (count, name))
    return 1 if missing else 0


sys.exit(main())
