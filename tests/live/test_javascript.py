# SPDX-License-Identifier: MIT
"""JavaScript (node): functions of the interpreter and of all compilers are named from the memory of the running program, in
order, with the inlined ones, and each at the line of its call."""

import os
import shutil

import js_judge
import js_source
from harness import MANAGED, Skip, check, live, record, scratch


MOVES_ALL = ("--stress-compaction",)  # so often that hardly any frame is proven, and a gap stands for it


def check_paths(node, seed, *ways, seconds=1):
    """Records the paths of a seed, and judges each sample's functions and lines. `node`: the program."""
    text, expected, last = js_source.make(seed)
    with scratch() as folder:
        source = os.path.join(folder, js_source.NAME + ".js")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        for i, way in enumerate(ways):
            store = "%s/%d.db" % (folder, i)
            recording, result = record(store, "-F", 1997, *MANAGED, "--ring-bytes", "64M", "--", node, *way, source, seconds)
            check(result.status == 0, "stackd", result.status, result.err)
            counts = js_judge.judge(store, expected, last)
            read = {name: count for name, count in recording.stats()["counters"].items() if name.startswith("jit_")}
            print(node, way, counts, read)
            check(counts["exact"] > 20 or way == MOVES_ALL, "few samples hit the end of a path", counts)
            check(counts["named"] + counts["unnamed"] > 100, "few samples", counts)
            check(read["jit_runtimes"] >= 1 and not read["jit_runtimes_unread"], "V8 is not read", read)


def needs_node():
    node = shutil.which("node")
    if not node:
        raise Skip("there is no node")
    return node


@live
def test_javascript():
    check_paths(needs_node(), 1, ())


@live(long=True)
def test_javascript_ways():
    for seed in range(2, 5):
        check_paths(needs_node(), seed, ("--no-opt", "--no-sparkplug"), ("--no-opt", "--always-sparkplug"), (),
                    ("--interpreted-frames-native-stack",), ("--gc-interval=2000",), MOVES_ALL)
