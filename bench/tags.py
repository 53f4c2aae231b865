#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures the costs and savings of tags, beside Besnard et al. (2019): tags.py quick|full [PART...]

  trie      frames hashed and found each second, on the paths of recordings of the six programs
  storage   these recordings beside arrays of addresses: 8 bytes for each frame of each sample
  call      a call of a function that calls itself, with the plugin and with
            -finstrument-functions, less one without tags (the paper's figure 5)
  programs  two real C++ programs with the plugin, CPU time relative to that without (full only)
  decode    random graphs (tags.c)

Ends with 1 if a target is missed."""

import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import programs  # noqa: E402
import tag_programs  # noqa: E402

BUILD = os.path.abspath(os.environ.get("STACKD_BUILD", HERE + "/../build"))
FREQUENCY = 997
TAG_LIBRARY = ["-L" + BUILD, "-Wl,-rpath," + BUILD, "-Wl,--no-as-needed", "-lstacktag"]
PLUGIN = "-fplugin=" + BUILD + "/stacktag.so"
WITHOUT_SMALL = "-fplugin-arg-stacktag-min-size=30"  # statements, after optimisation

LEAST_FRAMES_PER_S, MOST_NODE_BYTES = 20e6, 40
MOST_CALL_RATIO, PAPER_CALL_NS = 0.5, 4.76
LEAST_STORAGE_RATIO = 20

# The parts of a store that hold paths: numbers of chunks (lib/record/store/table_codec.h), and in chunks of
# samples the columns of nodes (lib/record/store/sample_codec.c).
LOCATIONS, NODES, SAMPLES, SIZES = 2, 4, 5, 7
NODE_COLUMNS = (5, 6, 7)

misses = []


def target(holds, what):
    if not holds:
        misses.append(what)
    return "met" if holds else "MISSED"


def output_of(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more).stdout


# --- recordings ----------------------------------------------------------------------------------

def record(program, size, work):
    """The store of a run."""
    folder = os.path.join(work, program.name)
    os.makedirs(folder)
    if program.prepare:
        program.prepare(folder, size)
    output_of(BUILD + "/stackd", "-q", "-e", "perf::CPU-CLOCK:u", "-F", FREQUENCY, "-o",
              folder + ".db", "--", *programs.command_of(program, size), cwd=folder)
    return folder + ".db"


def trie_rows(stores):
    print("\nchain hashing and trie insert: whole paths of real recordings, one core\n"
          "%-9s %9s %9s %6s %9s %12s %12s %7s" % (
              "program", "samples", "frames", "depth", "nodes", "first M/s", "again M/s", "B/node"))
    rows = output_of(BUILD + "/bench/tag_trie", *stores.values()).splitlines()
    worst, most = float("inf"), 0.0
    for name, row in zip(stores, rows):
        first, again, nodes, size, samples, frames = (float(word) for word in row.split())
        worst, most = min(worst, again), max(most, size)
        print("%-9s %9d %9d %6.1f %9d %12.1f %12.1f %7.1f" % (
            name, samples, frames, frames / samples, nodes, first / 1e6, again / 1e6, size))
    print("slowest: %.1f M frames/s (target: at least %d) %s; %.1f B a node (target: at most %d) %s"
          % (worst / 1e6, LEAST_FRAMES_PER_S / 1e6,
             target(worst >= LEAST_FRAMES_PER_S, "trie: frames/s"), most, MOST_NODE_BYTES,
             target(most <= MOST_NODE_BYTES, "trie: bytes a node")))


def columns_of(blob):
    """Sizes of the columns of a chunk: each is a frame behind its length as a varint."""
    at = 0
    while at < len(blob):
        start, length, shift = at, 0, 0
        while True:
            byte, at = blob[at], at + 1
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        at += length
        yield at - start


def path_bytes(store):
    """Bytes of a store that hold the samples' paths (their nodes, the nodes' table, the locations),
    and of all of its chunks."""
    database = sqlite3.connect("file:%s?mode=ro" % store, uri=True)
    paths = 0
    for kind, blob in database.execute("SELECT kind, data FROM chunks"):
        if kind in (LOCATIONS, NODES, SIZES):
            paths += len(blob)
        elif kind == SAMPLES:
            sizes = list(columns_of(blob))
            paths += sum(sizes[column] for column in NODE_COLUMNS)
    database.close()
    return paths


def frames_of(store):
    """Samples and their frames, all added up."""
    depth, samples, frames = {"0" * 16: 0}, 0, 0
    for line in output_of(BUILD + "/stackctl", "export", "--tags", "-i", store).split("\n"):
        fields = line.split("\t")
        if fields[0] == "tag":
            depth[fields[1]] = depth[fields[2]] + 1
        elif fields[0] == "sample":
            samples += int(fields[4])
            frames += int(fields[4]) * depth[fields[1]]
    return samples, frames


def storage_rows(stores, is_judged):
    print("\nstorage: the paths of all samples with their dictionary (paths, and locations as files "
          "and offsets), and\nwhole files (times, processors, objects, names and lines too), beside "
          "8 bytes a frame\n%-9s %9s %12s %10s %7s %8s %10s %7s" % (
              "program", "samples", "arrays B", "paths B", "ratio", "B/sample", "file B", "ratio"))
    total = [0, 0, 0, 0]
    for name, store in stores.items():
        samples, frames = frames_of(store)
        row = [samples, 8 * frames, path_bytes(store), os.path.getsize(store)]
        total = [a + b for a, b in zip(total, row)]
        storage_row(name, row)
    storage_row("all", total)
    ratio = total[1] / total[2]
    verdict = target(ratio >= LEAST_STORAGE_RATIO, "storage") if is_judged else \
        "(runs of a second are all dictionary: only full ones count)"
    print("paths: %.1f times smaller (target: at least %d; paper: 4.96 to 6.89) %s; whole files, with "
          "times and names: %.1f" % (ratio, LEAST_STORAGE_RATIO, verdict, total[1] / total[3]))


def storage_row(name, row):
    samples, arrays, paths, file = row
    print("%-9s %9d %12d %10d %7.1f %8.2f %10d %7.1f" % (
        name, samples, arrays, paths, arrays / paths, paths / samples, file, arrays / file))


# --- programs with tags --------------------------------------------------------------------------

def call_rows(work):
    depths = (1, 10, 100, 1000, 10000)
    kinds = {"plain": [], "plugin": [PLUGIN], "functions": ["-finstrument-functions"]}
    ns = {}
    for kind, flags in kinds.items():
        path = "%s/call-%s" % (work, kind)
        output_of("gcc", "-O2", *flags, "-o", path, HERE + "/tag_call.c", *TAG_LIBRARY)
        ns[kind] = [float(line) for line in output_of(path, *depths).split()]
    print("\nan instrumented call, in ns: recursion, best of 40 runs; less a call without tags\n"
          "%-9s %7s %8s %10s | %8s %10s %6s" % (
              "depth", "plain", "plugin", "functions", "plugin", "functions", "ratio"))
    worst, cost = 0.0, 0.0
    for depth, plain, plugin, functions in zip(depths, *ns.values()):
        own, other = plugin - plain, functions - plain
        worst, cost = max(worst, own / other), max(cost, own)
        print("%-9d %7.2f %8.2f %10.2f | %8.2f %10.2f %6.2f" % (depth, plain, plugin, functions,
                                                                own, other, own / other))
    print("plugin: at most %.2f of -finstrument-functions (target: at most %.1f) %s; at most %.2f "
          "ns (paper: %.2f)" % (worst, MOST_CALL_RATIO,
                                target(worst <= MOST_CALL_RATIO, "cost of a call"), cost,
                                PAPER_CALL_NS))


def cpu_seconds(command, work):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=work, check=False, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def program_row(source, folder, work, rounds):
    kinds = {"plain": [], "full": [PLUGIN], "large": [PLUGIN, WITHOUT_SMALL]}
    seconds = {kind: [] for kind in kinds}
    source.prepare(work)
    for kind, flags in kinds.items():
        tag_programs.build(source, folder, "%s/%s-%s" % (work, source.name, kind), flags,
                           TAG_LIBRARY if flags else [])
    for _ in range(rounds):
        for kind, runs in seconds.items():
            runs.append(cpu_seconds(["%s/%s-%s" % (work, source.name, kind), *source.arguments],
                                    work))
    plain, *others = (statistics.median(runs) for runs in seconds.values())
    print("%-9s %8.2f s" % (source.name, plain) +
          "".join(" %9.1f %%" % (100 * (other / plain - 1)) for other in others), flush=True)


def program_rows(work):
    print("\nslowdown of real C++ programs, CPU time, medians of 5 (paper: 12.5 %% full, "
          "2.4 %% without small functions)\n%-9s %10s %11s %11s" % (
              "program", "without", "full", "no small"))
    try:
        folders = tag_programs.fetch(work)
    except OSError as error:
        print("their sources cannot be had here: %s" % error)
        return
    for source in tag_programs.SOURCES:
        program_row(source, folders[source.name], work, 5)


def decode_rows(kind):
    sys.stdout.flush()
    if subprocess.run([BUILD + "/bench/tags", kind], check=False).returncode:
        misses.append("decoding")


def main():
    if "STACKD_BUILD" not in os.environ:
        output_of("make", "-s", "-C", HERE + "/..", "all", "build/bench/tags", "build/bench/tag_trie")
    full = sys.argv[1:2] != ["quick"]
    parts = sys.argv[2:] or ["trie", "storage", "call", "decode"] + full * ["programs"]
    with tempfile.TemporaryDirectory(prefix="stackd-bench-") as work:
        if {"trie", "storage"} & set(parts):
            stores = {program.name: record(program, 3 if full else 1, work)
                      for program in programs.PROGRAMS}
            trie_rows(stores)
            storage_rows(stores, full)
        if not os.path.exists(BUILD + "/stacktag.so"):
            print("\nno GCC plugin headers here (gcc-N-plugin-dev): no programs with tags")
        else:
            if "call" in parts:
                call_rows(work)
            if "programs" in parts:
                program_rows(work)
    if "decode" in parts:
        decode_rows("full" if full else "quick")
    for miss in misses:
        print("missed: " + miss)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
