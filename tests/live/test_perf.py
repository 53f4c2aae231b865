# SPDX-License-Identifier: MIT
"""Agreement with `perf record --call-graph dwarf` on a real program."""

import collections
import re
import shutil

import perf_script
from harness import Recording, Skip, check, live, record, run, scratch, user_frames

COMMAND = ["openssl", "speed", "-seconds", "2", "-bytes", "1024", "sha256", "aes-128-cbc",
           "rsa2048"]


def shares(samples, key):
    """{function: % of the samples}, by `key` of a sample's frames."""
    counts, total = collections.Counter(), 0
    for sample in samples:
        frames = user_frames(sample)
        if frames:
            total += 1
            counts.update(key(frames))
    return {name: 100 * count / total for name, count in counts.items()}, total


def bare(symbol):
    """Without version, arguments and clone marks, which the two print differently."""
    return re.sub(r"(@@?.*|\(.*|\.(cold|part|isra|constprop).*)$", "", symbol or "?")


def self_names(frames):
    return {bare(frames[-1].symbol)}


def inclusive_names(frames):
    return {bare(frame.symbol) for frame in frames}


@live
def test_agrees_with_perf():
    """The ten hottest functions of either, by self and by inclusive share: within 3 points."""
    if not shutil.which("perf") or not shutil.which("openssl"):
        raise Skip("perf or openssl is not installed")
    with scratch() as folder:
        perf = run("perf", "record", "-q", "-F", 997, "--call-graph", "dwarf,16384", "-o",
                   folder + "/perf.data", "--", *COMMAND, timeout=120)
        check(perf.status == 0, "perf record", perf.err)
        theirs = run("perf", "script", "--no-inline", "-i", folder + "/perf.data", timeout=240)
        record(folder + "/s.db", "-F", 997, "--", *COMMAND)
        ours = Recording(folder + "/s.db").samples()
        theirs = list(perf_script.read(theirs.out.split("\n")))
        for what, key in (("self", self_names), ("inclusive", inclusive_names)):
            a, n_a = shares(ours, key)
            b, n_b = shares(theirs, key)
            check(n_a > 1000 and n_b > 1000, "too few samples: %d, perf's %d" % (n_a, n_b))
            top = {name for share in (a, b)
                   for name in sorted(share, key=share.get, reverse=True)[:10]} - {"?"}
            rows = ["%-9s %-30s %6.2f %6.2f" % (what, name, a.get(name, 0), b.get(name, 0))
                    for name in sorted(top, key=lambda n: -a.get(n, 0))]
            print(*rows, sep="\n")
            far = [row for row in rows
                   if abs(float(row.split()[-1]) - float(row.split()[-2])) > 3]
            check(not far, "%d of the top functions differ by over 3 points" % len(far), *far)
