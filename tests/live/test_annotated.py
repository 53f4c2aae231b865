# SPDX-License-Identifier: MIT
"""--annotated counts the passes through regions that a program names by stackd_region.h."""

import json
import os

from harness import BUILD, NO_SAMPLING, check, live, made_once, record, run, scratch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HERE = os.path.join(ROOT, "tests", "live", "annotated")
N = 500
STEP = "a step (1/2): x+y_#.-"

# name -> (passes, of which left, innermost callers), of a program that is said to make them
EXPECTED = {
    "whole": (1, 1, {"main"}), STEP: (2 * N, 0, {"step"}), "inner": (7 * N + 5, 0, {"inner", "count_in_c"}),
    "deep": (63, 0, {"deep"}),  # of 100, within "whole": 64 have room
    "thrown": (20, 0, {"throw_it"}), "outer": (20, 0, {"leave"}), "left": (20, 0, {"leave"}), "in C": (N, 0, {"count_in_c"}),
    "child": (10, 0, {"end_by_exit"}), "exits": (1, 1, {"end_by_exit"}), "aborts": (1, 1, {"end_by_abort"})}


def make(path):
    include = ["-I", os.path.join(ROOT, "arch", os.uname().machine)]
    made = run("gcc", "-O2", "-g", "-Wall", "-Wextra", "-Werror", *include, "-c", "-o", path + ".o", os.path.join(HERE, "in_c.c"))
    check(made.status == 0, "C", made.err)
    made = run("g++", "-O2", "-g", "-Wall", "-Wextra", "-Werror", *include, "-o", path, os.path.join(HERE, "named.cc"), path + ".o",
               "-pthread")
    os.unlink(path + ".o")
    check(made.status == 0, "C++", made.err)


@live
def annotated():
    """Passes, whole paths and times, however threads and processes end."""
    program = made_once(BUILD + "/for-tests/named-regions", make)
    with scratch() as folder:
        recording, result = record(folder + "/store", *NO_SAMPLING, "--annotated", "--", program, str(N))
        rows = json.loads(recording.text("report", "--view", "regions", "--json"))["regions"]
        seen = {row["name"]: (row["visits"], sum(path["left"] for path in row["paths"]),
                              {path["callers"][-1].partition("(")[0] for path in row["paths"]}) for row in rows}
        check(seen == EXPECTED, "regions", seen, EXPECTED, result.err)
        for row in rows:
            check(row["cpu_ns"] <= row["total_ns"] == row["own_ns"], "times", row)
            check(all(path["callers"][0] == "_start" or path["left"] or row["name"] in (STEP, "inner")
                      for path in row["paths"]), "whole paths", row)
        counters = recording.stats()["counters"]
        check(counters["calls_open"] == 3 and not counters["calls_unplaced"] and not counters["regions_lost_ring"],
              "counters", counters)
