# SPDX-License-Identifier: MIT
"""Agreement with `perf record --call-graph dwarf` on a real program."""

import collections
import functools
import os
import re
import shutil
import time

import perf_script
from harness import ROOT, Recording, Skip, check, live, record, run, scratch, user_frames

SOURCE = os.path.join(ROOT, "bench", "templates.cc")

# Work of a fixed size: what runs for fixed times shifts its shares with the machine's load.
PROGRAMS = {
    "compiler": ("g++", "toplev::main",
                 ["g++", "-O2", "-std=c++17", "-DDEPTH=12", "-c", SOURCE, "-o", "/dev/null"]),
    "interpreter": ("/usr/bin/python3", "Py_BytesMain",
                    ["/usr/bin/python3", os.path.join(ROOT, "bench", "recursive.py"), "2000"]),
}


TRIES = 4
BELOW_MAIN = {"_start", "__libc_start_main", "__libc_start_call_main"}


def shares(samples, key):
    """{function: % of the samples}, by `key` of a sample's frames; samples of which it is None do
    not count."""
    counts, total = collections.Counter(), 0
    for sample in samples:
        frames = user_frames(sample)
        names = key(frames) if frames else None
        if names:
            total += 1
            counts.update(names)
    return {name: 100 * count / total for name, count in counts.items()}, total


def bare(symbol):
    """Without version, arguments and clone marks, which the two print differently."""
    return re.sub(r"(@@?.*|\(.*|\.(cold|part|isra|constprop).*)$", "", symbol or "?")


def self_names(frames):
    return {bare(frames[-1].symbol)}


def inclusive_names(top, frames):
    """The stacks that reach the program's top function: perf's often break in libc, below or above
    it."""
    names = {bare(frame.symbol) for frame in frames}
    return names - BELOW_MAIN if top in names else None


def perf_text(folder, command):
    """perf's samples as text. While another profiler asks the kernel for build-ids of all
    processes, as stackd --all does, the kernel marks perf's own records of mappings as having
    build-ids, too, which they have not, and perf 6.1 aborts over them. So these tests run alone,
    and perf is given four tries with pauses, since what else this machine records is not
    ours (other lanes of tests/check.sh among it)."""
    data = folder + "/perf.data"
    for pause in (0, 5, 20, 60):
        time.sleep(pause)
        perf = run("perf", "record", "-q", "--no-bpf-event", "--no-buildid", "-e",
                   "cpu-clock:u", "-F", 1997, "--call-graph", "dwarf,32768", "-o", data, "--",
                   *command, timeout=120)
        text = run("perf", "script", "--no-inline", "--max-stack", 4096, "-i", data, timeout=240)
        if perf.status == 0 and text.status == 0:
            return text.out
        print(perf.err, text.err)
    raise Skip("perf itself fails here: status %d, %d" % (perf.status, text.status))


def agreement(program, top, command):
    if not shutil.which("perf") or not shutil.which(program):
        raise Skip("perf or %s is not installed" % program)
    # The two runs are not at the same time, and what else the machine does has its share in them:
    # a difference counts if it is there each time, to the same side.
    far = None
    for _ in range(TRIES):
        more = compare_runs(top, command)
        far = more if far is None else far & more
        if not far:
            return
    check(False, "%d of the top functions differ by over 3 points" % len(far), *sorted(far))


def compare_runs(top, command):
    """{(what, function, side)} of those that differ."""
    far = set()
    with scratch() as folder:
        theirs = perf_text(folder, command)
        record(folder + "/s.db", "-e", "perf::CPU-CLOCK:u", "-F", 1997, "--", *command)
        ours = Recording(folder + "/s.db").samples()
        theirs = list(perf_script.read(theirs.split("\n")))
    for what, key in (("self", self_names), ("inclusive", functools.partial(inclusive_names, top))):
        a, n_a = shares(ours, key)
        b, n_b = shares(theirs, key)
        check(n_a > 1000 and n_b > 1000, "too few samples: %d, perf's %d" % (n_a, n_b))
        hot = {name for share in (a, b)
               for name in sorted(share, key=share.get, reverse=True)[:10]} - {"?"}
        rows = ["%-9s %-30s %6.2f %6.2f" % (what, name, a.get(name, 0), b.get(name, 0))
                for name in sorted(hot, key=lambda n: -a.get(n, 0))]
        print(*rows, sep="\n")
        far |= {(what, name, "more" if a.get(name, 0) > b.get(name, 0) else "less")
                for name in hot if abs(a.get(name, 0) - b.get(name, 0)) > 3}
    return far


def register(name, program, top, command):
    def test():
        """The ten hottest functions of either, by self and by inclusive share: within 3 points
        of perf's."""
        agreement(program, top, command)
    live(test, name="agrees-with-perf-" + name, alone=True)


for _name, (_program, _top, _command) in PROGRAMS.items():
    register(_name, _program, _top, _command)
