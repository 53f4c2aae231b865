#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A program that has loaded all the libraries that it can: libraries.py find|load FILE [SECONDS].

  find   writes to FILE the libraries of the machine's library folders that can be loaded together,
         one a line, and prints how many are then in memory, and how many MiB their files have
  load   loads those, and computes for so many seconds

Libraries that replace functions of the C library (sanitizers, allocators, preloads) or that connect
to a launcher when loaded (MPI) are excluded by name; those that cannot be loaded are left out; those
that end the program or hang are found by retrying without them."""

import ctypes
import glob
import os
import re
import subprocess
import sys
import time

FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/llvm-*/lib")
UNWELCOME = re.compile(r"/lib(([ahlt]|ub)w?a?san|jemalloc|tcmalloc|mimalloc|[^/]*preload|[^/]*mpi|"
                       r"open-(rte|pal)|pmix|c_malloc_debug|memusage|pcprofile|SegFault)[^/]*$")
LOAD_SECONDS = 120
MAX_TRIALS = 20


def candidates():
    """Real files, each once: of a library's names, the one with its version."""
    found = [name for folder in FOLDERS for name in sorted(glob.glob(folder + "/*.so.*"))]
    real = dict.fromkeys(map(os.path.realpath, found))
    return [name for name in real if os.path.isfile(name) and not UNWELCOME.search(name)]


def load(names, said):
    """Loads what can be, and says before each and after each."""
    for name in names:
        said.write("try %s\n" % name)
        try:
            ctypes.CDLL(name, mode=os.RTLD_LAZY)
        except OSError:
            continue
        said.write("has %s\n" % name)


def mapped():
    """Libraries in memory: those that others brought along, too."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        words = [line.rstrip("\n").split(None, 5) for line in file]
    return {word[5] for word in words if len(word) == 6 and ".so" in word[5]}


def trial(names):
    """The loaded libraries, the mapped ones, and the one that ended or hung the program."""
    process = subprocess.Popen([sys.executable, __file__, "try"], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    try:
        said = process.communicate("\n".join(names), timeout=LOAD_SECONDS)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        said = process.communicate()[0]
    lines = {"try": [], "has": [], "map": []}
    for line in said.splitlines():
        word, _, name = line.partition(" ")
        if word in lines:  # libraries may print, too
            lines[word].append(name)
    return lines["has"], lines["map"], None if lines["map"] else lines["try"][-1]


def find(file):
    names = candidates()
    for _ in range(MAX_TRIALS):
        has, there, culprit = trial(names)
        if not culprit:
            break
        names.remove(culprit)
    else:
        sys.exit("libraries.py: too many libraries end the program that loads them")
    with open(file, "w", encoding="utf-8") as out:
        out.write("".join(name + "\n" for name in has))
    print(len(there), sum(os.path.getsize(name) for name in there if os.path.exists(name)) >> 20)


def main():
    what, *rest = sys.argv[1:]
    if what == "find":
        find(rest[0])
        return
    if what == "try":
        said = os.fdopen(os.dup(1), "w", 1)
        load(sys.stdin.read().split("\n"), said)
        said.write("".join("map %s\n" % name for name in mapped()))
    else:
        with open(rest[0], encoding="utf-8") as file, open(os.devnull, "w", 1) as nobody:
            load(file.read().splitlines(), nobody)
        end = time.monotonic() + float(rest[1])
        while time.monotonic() < end:
            sum(range(1000))
    os._exit(0)  # not their destructors, which expect programs of their own


main()
