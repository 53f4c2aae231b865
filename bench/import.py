#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the speed of stackctl import beside perf script on the same recordings of perf:
bench/import.py [quick|full]

A real recording of call chains (frame pointers, changing stacks) is made once, and its samples
are repeated with later times until there are enough of them. Importing is done by one thread, so
its processor time is what is counted; perf's is given in the same unit. Branch records are emulated
ones of perl (tests/emulator), with 32 entries, alone: perf script prints call paths in
call-stack mode, and the records themselves otherwise.
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


def emulated(folder):
    """Recordings of branch records alone: their names, files and options of perf script."""
    sys.path.insert(0, os.path.join(ROOT, "tests/emulator"))
    from emulate import PROGRAMS, emulate
    prefix = emulate("perl", *PROGRAMS["perl"], folder, 2000)
    yield "branch records, call-stack mode", prefix + ".ring32.data", []
    yield "branch records of every kind (-b)", prefix + ".any.data", ["-F", "+brstack"]


def measure(name, source, options, wanted, runs, folder):
    """Prints a row; whether it is on target."""
    large, store = os.path.join(folder, "large"), os.path.join(folder, "s.db")
    count = repeat(source, large, wanted)
    ours = max(seconds([STACKCTL, "import", large, "-o", store]) for _ in range(runs))
    theirs = min(seconds(["perf", "script", "--no-inline", "-i", large, *options])
                 for _ in range(runs))
    size = os.path.getsize(large)
    os.unlink(store)
    print("  %-34s %9d %7.0f %13.0f %12.2f" % (name, count, size / count, count / ours,
                                             ours / theirs), flush=True)
    return count / ours >= TARGET


def main():
    quick = sys.argv[1:] == ["quick"]
    wanted, runs = (200_000, 1) if quick else (1_000_000, 3)
    subprocess.run(["make", "-s", "-C", ROOT, "all", "emulator", "build/bench/changing"], check=True)
    print("import, one core, the slowest of %d runs; target: >= %d samples a second" % (runs, TARGET))
    print("  %-34s %9s %7s %13s %12s" % ("recorded", "samples", "bytes", "samples/s",
                                         "time / perf's"))
    with tempfile.TemporaryDirectory() as folder:
        chains = os.path.join(folder, "chains")
        record(chains)
        met = measure("call chains (-g)", chains, [], wanted, runs, folder)
        for name, source, options in emulated(folder):
            met &= measure(name, source, options, wanted // (1 if quick else 4), runs, folder)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
