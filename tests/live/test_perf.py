# SPDX-License-Identifier: MIT
"""Agreement with `perf record --call-graph dwarf` on a real program."""

import bisect
import collections
import functools
import math
import os
import re
import shutil

import perf_script
from harness import ROOT, STACKD, PATIENCE, Recording, Skip, check, live, run, scratch, user_frames

SOURCE = os.path.join(ROOT, "bench", "templates.cc")

# Eight seconds of CPU on any machine give some 16,000 samples. Where a function has half of them,
# the difference between the two profiles has a standard error of 0.56 points.
RECURSE = """
import sys, time
sys.argv[1:] = ["20"]
with open(%r) as file:
    code = compile(file.read(), "recursive.py", "exec")
while time.process_time() < 8:
    exec(code, {})
""" % os.path.join(ROOT, "bench", "recursive.py")

PROGRAMS = {
    "compiler": ("g++", "cc1plus", "toplev::main",
                 ["g++", "-O2", "-std=c++17", "-DDEPTH=12", "-c", SOURCE, "-o", "/dev/null"]),
    "interpreter": ("/usr/bin/python3", "python3", "Py_BytesMain",
                    ["/usr/bin/python3", "-c", RECURSE]),
}

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


@functools.lru_cache(maxsize=None)
def aliases(path):
    """{name: the first in the alphabet of all names at its address}. glibc's memcpy is its memmove,
    and each profiler prints the name that it likes."""
    debug = "/usr/lib/debug/.build-id/%s/%s.debug"
    found = re.search(r"Build ID: (..)(\S+)", run("readelf", "-n", path).out)
    at, addresses = {}, {}
    for file, option in ((path, "-D"), (path, "-a"), (found and debug % found.groups(), "-a")):
        if not file or not os.path.exists(file):
            continue
        for line in run("nm", "--quiet", option, file).out.splitlines():
            address, kind, *name = line.split()[:3]
            if name and kind in "tTiWw":
                at.setdefault(address, set()).add(bare(name[0]))
                addresses.setdefault(bare(name[0]), set()).add(address)
    return {name: min(at[address]) for name, (address, *more) in addresses.items() if not more}


def name_of(frame):
    symbol = bare(frame.symbol)
    return aliases(frame.object).get(symbol, symbol) if frame.object.startswith("/") else symbol


def self_names(frames):
    return {name_of(frames[-1])}


def inclusive_names(top, frames):
    """The stacks that reach the program's top function: perf's often break in libc, below or above
    it, and it copies 32 KiB of a stack at most."""
    names = {name_of(frame) for frame in frames}
    return names - BELOW_MAIN if top in names else None


def beside(samples, others, top):
    """Those of `samples` whose neighbour in time among `others` reaches the top function. What perf
    cuts are the deep stacks, so that its other stacks are no fair sample of the whole run."""
    others = sorted(others, key=lambda sample: sample.time)
    times = [sample.time for sample in others]
    whole = [inclusive_names(top, user_frames(sample)) is not None for sample in others]

    def neighbour(time):
        after = bisect.bisect_left(times, time)
        return min((at for at in (after - 1, after) if 0 <= at < len(times)),
                   key=lambda at: abs(times[at] - time))
    return [sample for sample in samples if whole[neighbour(sample.time)]]


def record_both(folder, command):
    """perf's text and our recording of one process. Two runs would compare the machine's minutes as
    well: the shares of a compiler's phases differ from run to run by more than 3 points, under perf,
    under stackd and under neither. perf asks for build-ids since stackd does: the kernel marks
    perf's own records of mappings as having them if any profiler of the process asks, and perf 6.1
    aborts over one that has none."""
    data, store = folder + "/perf.data", folder + "/s.db"
    perf = run("perf", "record", "-q", "--no-bpf-event", "-k", "mono", "--buildid-mmap",
               "-e", "cpu-clock:u", "-F", 1997, "--call-graph", "dwarf,32768", "-o", data, "--",
               STACKD, "-e", "perf::CPU-CLOCK:u", "-F", 1997, "-o", store, "--", *command,
               timeout=PATIENCE)
    check(os.path.exists(store), "stackd has no recording", perf.err)
    text = run("perf", "script", "--no-inline", "--max-stack", 4096, "-i", data, timeout=PATIENCE)
    if perf.status or text.status:
        print(perf.err, text.err)
        raise Skip("perf itself fails here: status %d, %d" % (perf.status, text.status))
    return text.out, Recording(store)


def agreement(program, comm, top, command):
    if not shutil.which("perf") or not shutil.which(program):
        raise Skip("perf or %s is not installed" % program)
    with scratch() as folder:
        text, recording = record_both(folder, command)
        both = [[sample for sample in samples if sample.comm == comm]
                for samples in (recording.samples(), perf_script.read(text.split("\n")))]
    ours, theirs = both
    far = compare("self", self_names, ours, theirs)
    far += compare("inclusive", functools.partial(inclusive_names, top),
                   beside(ours, theirs, top), theirs)
    check(not far, "%d of the top functions differ" % len(far), *far)


def compare(what, key, ours, theirs):
    """The functions whose shares differ, with what was compared."""
    (a, n_a), (b, n_b) = shares(ours, key), shares(theirs, key)
    check(n_a > 1000 and n_b > 1000, "too few samples: %d, perf's %d" % (n_a, n_b))
    hot = {name for share in (a, b)
           for name in sorted(share, key=share.get, reverse=True)[:10]} - {"?"}
    print("%s: %d of %d samples, perf's %d of %d"
          % (what, n_a, len(ours), n_b, len(theirs)))
    print(*("%-9s %-45s %6.2f %6.2f" % (what, name, a.get(name, 0), b.get(name, 0))
            for name in sorted(hot, key=lambda n: -a.get(n, 0))), sep="\n")
    return [(what, name) for name in sorted(hot)
            if abs(a.get(name, 0) - b.get(name, 0)) > max(3, 100 * chance_of(a.get(name, 0) / 100, n_a,
                                                                             b.get(name, 0) / 100, n_b))]


def chance_of(share, number, other_share, other_number):
    """How far chance takes the shares of one function in two profiles apart: six standard errors of their
    difference, which matter below 20,000 samples. One of 40 functions exceeds that in one of 12 million runs."""
    pooled = (share * number + other_share * other_number) / (number + other_number)
    return 6 * math.sqrt(pooled * max(1 - pooled, 0) * (1 / number + 1 / other_number))


def register(name, program, comm, top, command):
    def test():
        """The ten hottest functions of either, by self and by inclusive share: within 3 points
        of perf's."""
        agreement(program, comm, top, command)
    live(test, name="agrees-with-perf-" + name, alone=True, long=True)


for _name, _arguments in PROGRAMS.items():
    register(_name, *_arguments)
