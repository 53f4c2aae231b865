# SPDX-License-Identifier: MIT
"""--annotated counts the passes through regions that a program names by stackd_region.h."""

import json
import os
import shutil

from harness import BUILD, NO_SAMPLING, STACKD, Skip, check, live, made_once, record, run, scratch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HERE = os.path.join(ROOT, "tests", "live", "annotated")
N = 300
STEP = "a step (1/2): x+y_#.-"

PLUGINS = "first_plugin", "second_plugin"

# (name, innermost caller) -> (passes, of which left) of tests/live/annotated/named.cc
EXPECTED = {
    ("whole", "main"): (1, 1), (STEP, "step"): (2 * N + 201, 0), ("inner", "inner"): (3 * (2 * N + 201) + 5 + 200000, 0),
    ("inner", "count_in_c"): (N, 0), ("in C", "count_in_c"): (N, 0),
    ("namesake", "namesake"): (N, 0),
    # Left by longjmp(). When 64 are open, one that begins farther from the root than the last has no room; the next one ends all.
    ("jumped deeper", "jump_deeper"): (499, 0), ("jumped", "jump"): (1500, 15),
    ("deep", "deep"): (64, 0),  # of 100
    ("thrown", "throw_it"): (20, 0), ("outer", "leave"): (20, 0), ("left", "leave"): (20, 0),
    ("plugin", "first_plugin"): (200, 0), ("plugin", "second_plugin"): (200, 0),
    ("child", "end_by_exit"): (10, 0), ("exits", "end_by_exit"): (1, 1), ("aborts", "end_by_abort"): (1, 1)}


def compiled(*command):
    made = run(*command, "-g", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(ROOT, "arch", os.uname().machine))
    check(made.status == 0, "compiles", command, made.err)


def make(path):
    # A linker that folds functions of the same code must not take one region for another.
    folding = ["-fuse-ld=gold", "-Wl,--icf=all"] if shutil.which("ld.gold") else []
    compiled("gcc", "-O2", "-c", "-o", path + ".o", os.path.join(HERE, "in_c.c"))
    compiled("g++", "-O0", "-o", path, os.path.join(HERE, "named.cc"), path + ".o", "-pthread", "-ldl", *folding)
    os.unlink(path + ".o")


@live
def annotated():
    """Passes, whole paths and times, however threads and processes end, and whatever is unloaded."""
    program = made_once(BUILD + "/for-tests/named-regions", make)
    with scratch() as folder:
        plugins = [os.path.join(folder, name + ".so") for name in PLUGINS]
        for name, plugin in zip(PLUGINS, plugins):
            compiled("gcc", "-O1", "-shared", "-fPIC", "-DNAME=" + name, "-o", plugin, os.path.join(HERE, "plugin.c"))
        recording, result = record(folder + "/store", *NO_SAMPLING, "--annotated", "--ring-bytes", "64M", "--", program, str(N), *plugins)
        rows = json.loads(recording.text("report", "--view", "regions", "--json"))["regions"]
        paths = {}
        for row in rows:
            for path in row["paths"]:
                key = row["name"], path["callers"][-1].partition("(")[0]
                visits, left = paths.get(key, (0, 0))
                paths[key] = visits + path["visits"], left + path["left"]
            check(row["cpu_ns"] <= row["total_ns"] == row["own_ns"], "times", row)
        check(paths == EXPECTED, "passes", paths, EXPECTED, result.err)
        roots = {path["callers"][0] for row in rows for path in row["paths"] if not path["left"]}
        check(roots <= {"_start", "clone3", "__clone3", "clone", "__clone"}, "whole paths", roots)
        counters = recording.stats()["counters"]
        check(counters["regions_named_too_deep"] == 36 + 1 and "37 passes were not counted" in result.err, "no room", result.err)
        check(counters["calls_open"] == 3 + 15 and not counters["calls_unplaced"] and not counters["regions_lost_ring"],
              "counters", counters)
        # A thread's table has room for 512 paths: the plugins' 200, but not for three that are new after each of 200 unloadings.
        # What is walked takes microseconds, so the program's table is there before a half of the passes was walked.
        check(counters["calls_summed"] > sum(visits for visits, _ in paths.values()) / 2, "most passes were walked", counters)


@live
def annotated_musl():
    """Programs of another C library start with the libraries that stackd preloads."""
    if not shutil.which("musl-gcc"):
        raise Skip("no musl-gcc here")
    with scratch() as folder:
        with open(folder + "/prints.c", "w", encoding="ascii") as source:
            source.write("#include <stdio.h>\nint main(void)\n{\n\treturn puts(\"prints\") < 0;\n}\n")
        compiled("musl-gcc", "-o", folder + "/prints", folder + "/prints.c")
        for library in "libstackregion.so", "libstackmpi.so", "libstackalloc.so":
            result = run("env", "LD_PRELOAD=" + os.path.join(BUILD, library), folder + "/prints")
            check(result.status == 0 and result.out == "prints\n" and not result.err, "starts", library, result.out, result.err)


@live
def annotated_unseen():
    """A warning says that no region was seen, with samples and without."""
    program = made_once(BUILD + "/for-tests/named-regions", make)
    with scratch() as folder:
        for more in NO_SAMPLING, ():
            result = run(STACKD, "-o", folder + "/store", *more, "--annotated", "--", "env", "-i", program, "1")
            check("--annotated: no region that a program names was seen" in result.err, "warning", more, result.err)
