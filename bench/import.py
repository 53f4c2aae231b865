#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How quickly stackctl imports what perf recorded, beside perf script on the same file:
bench/import.py [quick|full]

A real recording of call chains (frame pointers, changing stacks) is made once, and its samples
are repeated with later times until there are enough of them. Importing is done by one thread, so
its processor time is what is counted; perf's is given in the same unit.
"""

import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = 500_000  # samples a second
STACKCTL = os.path.join(ROOT, "build/stackctl")

ATTR_SAMPLE_TYPE, HEADER_WORDS, SAMPLE, FINISHED_ROUND, FINISHED_INIT = 24, 13, 9, 68, 82
IP_TID_TIME, IDENTIFIER = 7, 1 << 16


def record(path):
    """perf 6.1 aborts over mappings without build-ids while stackd runs: see perfdata_decode.c."""
    for _ in range(3):
        done = subprocess.run(["perf", "record", "-q", "--no-bpf-event", "--buildid-mmap", "-e",
                               "cpu-clock", "-F", "10000", "-g", "-o", path, "--",
                               os.path.join(ROOT, "build/bench/changing"), "3"],
                              stderr=subprocess.DEVNULL, check=False)
        if done.returncode in (0, -signal.SIGALRM):  # perf ends as its program does
            return
    sys.exit("bench/import.py: perf record fails here: status %d" % done.returncode)


def records(data, at, end):
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        yield kind, data[at:at + size]
        at += size


def repeat(source, target, wanted):
    """Writes `source` with its samples repeated. The number of samples written."""
    with open(source, "rb") as file:
        data = file.read()
    header = struct.unpack_from("<%dQ" % HEADER_WORDS, data)
    attrs, (start, size), bits = header[3], header[5:7], header[9:13]
    sample_type, = struct.unpack_from("<Q", data, attrs + ATTR_SAMPLE_TYPE)
    assert sample_type & IP_TID_TIME == IP_TID_TIME
    time_at = 8 + (8 if sample_type & IDENTIFIER else 0) + 16
    before, samples = [], []
    for kind, body in records(data, start, start + size):
        if kind == SAMPLE:
            samples.append((struct.unpack_from("<Q", body, time_at)[0], body))
        elif kind not in (FINISHED_ROUND, FINISHED_INIT) and not samples:
            before.append(body)
    samples.sort(key=lambda sample: sample[0])
    span = samples[-1][0] - samples[0][0] + 1_000_000
    times = wanted // len(samples) + 1
    end_of_round = struct.pack("<IHH", FINISHED_ROUND, 0, 8)
    written = 0
    with open(target, "wb") as out:
        out.write(data[:start])
        written += out.write(b"".join(before))
        for turn in range(times):
            written += out.write(b"".join(
                body[:time_at] + struct.pack("<Q", time + turn * span) + body[time_at + 8:]
                for time, body in samples) + end_of_round)
        count = sum(bin(word).count("1") for word in bits)
        place = start + written + 16 * count
        features = []
        for i in range(count):
            offset, length = struct.unpack_from("<QQ", data, start + size + 16 * i)
            features.append(data[offset:offset + length])
            out.write(struct.pack("<QQ", place, length))
            place += length
        out.write(b"".join(features))
        out.seek(48)  # the size of the records
        out.write(struct.pack("<Q", written))
    return times * len(samples)


def seconds(command):
    """Processor time of a command, its system calls included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    quick = sys.argv[1:] == ["quick"]
    with tempfile.TemporaryDirectory() as folder:
        small, large, store = (os.path.join(folder, name) for name in ("a", "b", "s.db"))
        record(small)
        count = repeat(small, large, 200_000 if quick else 1_000_000)
        ours, theirs = [], []
        for _ in range(1 if quick else 3):
            ours.append(seconds([STACKCTL, "import", large, "-o", store]))
            theirs.append(seconds(["perf", "script", "--no-inline", "-i", large]))
        size = os.path.getsize(large)
    speed, ratio = count / max(ours), max(ours) / min(theirs)
    print("import of %d samples with call chains, %.0f bytes each; the slowest of %d runs:"
          % (count, size / count, len(ours)))
    print("  %-44s %10.0f   target >= %d" % ("samples a second of processor time", speed, TARGET))
    print("  %-44s %10.2f" % ("time, as a part of perf script's", ratio))
    return 0 if speed >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
