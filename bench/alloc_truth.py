#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Samples of allocations beside a recorder that keeps all of them (bench/alloc_recorder.c), in the same
run of sqlite3, python3, g++ and redis-server under its benchmark: alloc_truth.py [NAME...]

Prints for the ten paths that truly have most of each metric (bytes allocated, live at the end, live at
the process's peak) how far the estimate is off, in standard errors. Paths are compared frame by frame:
by file and offset. Ends with 1 if one is off by more than four, or one that must have been sampled
is not there. A peak is that of the estimated sum: where two moments are nearly as high, sampling may
choose the other one, so these programs have one peak. Needs root; takes a minute or two."""

import collections
import math
import os
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
BUILD = os.environ.get("STACKD_BUILD", os.path.join(HERE, "..", "build"))
STACKD, STACKCTL, LIBRARY = (os.path.realpath(os.path.join(BUILD, name))
                             for name in ("stackd", "stackctl", "libstackalloc.so"))
DISTANCE = 65536
DEPTH, NAME = 96, 40
HEAD = struct.Struct("<QQ7dQ")  # as struct path of alloc_recorder.c
FRAME = struct.Struct("<%dsQ" % NAME)
SIZE = HEAD.size + DEPTH * FRAME.size
METRICS = ("alloc.bytes", "heap.live", "heap.peak")

SQL = """CREATE TABLE t (a INTEGER, b TEXT);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
INSERT INTO t SELECT i * 7919 % 400009, hex(i * 2654435761 % 4294967296) FROM n;
CREATE INDEX by_text ON t (b, a); SELECT count(*) FROM t WHERE b > 'A';"""
PYTHON = """import json, re, collections
kept = [json.loads(json.dumps({str(i): [i] * 20, 'x': 'y' * i})) for i in range(2000)]
words = collections.Counter(re.findall('[0-9]+', json.dumps(kept)))
big = [bytes(1000) for _ in range(20000)]; del big
"""
SOURCE = """#include <map>
#include <string>
#include <vector>
std::map<std::string, std::vector<int>> all;
int main() { for (int i = 0; i < 9; i++) all[std::to_string(i)].push_back(i); return all.size(); }
"""


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def commands(folder):
    write(folder + "/t.sql", SQL)
    write(folder + "/t.py", PYTHON)
    write(folder + "/t.cc", SOURCE)
    write(folder + "/redis.conf", "save ''\nport 0\nunixsocket %s/server.sock\nappendonly no\n" % folder)
    return {
        "sqlite3": ["sqlite3", ":memory:", ".read %s/t.sql" % folder],
        "python3": ["/usr/bin/python3", "-S", folder + "/t.py"],
        "g++": ["g++", "-std=c++17", "-O1", "-c", "-o", folder + "/t.o", folder + "/t.cc"],
        "redis": ["redis-server", folder + "/redis.conf"],
    }


def run_redis(folder):
    """The benchmark, then the end."""
    socket = folder + "/server.sock"
    for _ in range(600):
        if subprocess.run(["redis-cli", "-s", socket, "ping"], check=False, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0:
            break
        time.sleep(0.1)
    subprocess.run(["redis-benchmark", "-s", socket, "-n", "5000", "-r", "2000", "-d", "200", "-q",
                    "-t", "set,lpush,hset,sadd"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def record(folder, name, command, recorder):
    store = "%s/%s.db" % (folder, name)
    env = ["env", "LD_PRELOAD=%s:%s" % (LIBRARY, recorder), "RECORDER_OUT=%s/%s" % (folder, name),
           "RECORDER_DISTANCE=%d" % DISTANCE, "PYTHONHASHSEED=0"]
    os.mkdir("%s/%s" % (folder, name))
    daemon = subprocess.Popen([STACKD, "-q", "--alloc=%d" % DISTANCE, "--ring-bytes", "64M", "-o",
                               store, "--"] + env + command, stdout=subprocess.DEVNULL)
    if name == "redis":
        run_redis(folder)
    daemon.wait()
    return store


def read_truth(folder):
    """pid -> path -> the amounts and variances of METRICS."""
    truth = collections.defaultdict(dict)
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            file.seek(-8, os.SEEK_END)
            last, = struct.unpack("<Q", file.read(8))
            file.seek(0)
            while True:
                data = file.read(SIZE)
                if len(data) < SIZE:
                    break
                used, n, *numbers, _blocks, epoch = HEAD.unpack_from(data)
                if not used:
                    continue
                if epoch != last:
                    numbers[4:6] = numbers[2:4]
                frames = (FRAME.unpack_from(data, HEAD.size + i * FRAME.size) for i in range(n))
                path = tuple((plain(text.split(b"\0")[0].decode()), offset) for text, offset in frames)
                add(truth[int(name)], path, zip(numbers[::2], numbers[1::2]))
    return truth


def plain(name):
    """Without folders, and without versions, which symbolic links leave out."""
    return os.path.basename(name)[:NAME - 1].split(".so")[0]


def add(paths, path, amounts):
    before = paths.get(path, [(0, 0)] * len(METRICS))
    paths[path] = [(a + x, b + y) for (a, b), (x, y) in zip(before, amounts)]


def read_estimates(store, metric):
    """pid -> path -> the estimate, by the exchange format (docs/TAGS.md)."""
    result = subprocess.run([STACKCTL, "export", "--tags", "-i", store, "--metric", metric],
                            stdout=subprocess.PIPE, text=True, check=False)
    objects, locations, tags, processes = {}, {}, {}, {}
    estimates = collections.defaultdict(lambda: collections.defaultdict(int))
    for line in result.stdout.splitlines():
        kind, *words = line.split("\t")
        if kind == "object":
            objects[words[0]] = words[4]
        elif kind == "location":
            locations[words[0]] = (words[1], int(words[2], 16))
        elif kind == "tag":
            tags[words[0]] = (words[1], words[2])
        elif kind == "process":
            processes[words[0]] = (int(words[1]), words[4])
        elif kind == "value":
            pid, program = processes[words[1]]
            path, tag = [], words[0]
            while tag in tags:
                tag, location = tags[tag]
                number, offset = locations[location]
                name = objects.get(number, number)
                path.append(("program" if name == program else plain(name), offset))
            estimates[pid][tuple(path)] += int(words[5])
    return estimates


def top(truth, index):
    rows = [(amounts[index], pid, path) for pid, paths in truth.items()
            for path, amounts in paths.items() if amounts[index][0] > 0.5]
    return sorted(rows, reverse=True)[:10]


def compare(name, metric, rows, estimates):
    """Prints a line; returns the distances in standard errors of those with five samples or more on
    average: with fewer, they are not distributed as errors are."""
    off, judged = [], []
    for (bytes_, variance), pid, path in rows:
        error = max(math.sqrt(max(variance, 0)), 1e-9 * bytes_, 1)
        off.append((estimates[pid][path] - bytes_) / error)
        if bytes_ > 5 * DISTANCE:
            judged.append(off[-1])
    print("%-8s %-11s %2d paths, in standard errors: %s; within 2: %d; judged: %d" % (
        name, metric, len(rows), " ".join("%+.1f" % z for z in off), sum(abs(z) <= 2 for z in off),
        len(judged)))
    return judged


def main():
    everything, wanted = [], sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        recorder = folder + "/alloc_recorder.so"
        subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", recorder,
                        HERE + "/alloc_recorder.c", "-lm"], check=True)
        for name, command in commands(folder).items():
            if wanted and name not in wanted:
                continue
            store = record(folder, name, command, recorder)
            truth = read_truth("%s/%s" % (folder, name))
            for index, metric in enumerate(METRICS):
                everything += compare(name, metric, top(truth, index), read_estimates(store, metric))
    far = sum(abs(z) > 4 for z in everything)
    print("%d estimates, %d within 2 standard errors, %d off by more than 4: %s" % (
        len(everything), sum(abs(z) <= 2 for z in everything), far, "MISSED" if far else "met"))
    return 1 if far or not everything else 0


if __name__ == "__main__":
    sys.exit(main())
