#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Counts what a walk in the kernel costs, in numbers that no machine changes: cost.py [VERB].

  show           counts, of the recorded stacks in bench/stacks (the default)
  check          the same, compared with the table in docs/COST.md: fails where a program's sum, calls,
                 lines of data or of code are more than 5 % above what its line says
  update CHANGE  writes the table anew, and a line about the change into its history
  here           of the stacks of the programs of this machine, recorded now
  model          the time of a walk by the counts and by this machine's prices, and as measured
  record [NAME...]  records the stacks in bench/stacks anew

The program that stackd loads is interpreted (cost_vm.h). A sample's counts are means of those of a
program's samples. The sum adds them up at fixed prices: a unit is about a nanosecond, of no machine
in particular."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, HERE)

import cost_model  # noqa: E402
import cost_stacks  # noqa: E402

BUILD = cost_stacks.BUILD
STACKS = HERE + "/stacks"
TABLE = ROOT + "/docs/COST.md"
NAMES = [program.name for program in cost_stacks.ALL]
SIX = NAMES[:6]
TOLERANCE = 1.05
SKIP = 77

# Of a sample: (name, digits, price, what adds up to it).
COLUMNS = [
    ("frames", 1, 0, ["frames"]),
    ("new", 1, 0, ["new"]),
    ("misses", 2, 0, ["misses"]),
    ("instructions", 0, 0.3, ["instructions"]),
    ("subprograms", 1, 3, ["subprograms"]),
    ("loop bodies", 1, 3, ["bodies"]),
    ("helpers", 1, 5, ["helpers"]),
    ("user bytes", 0, 0.04, ["user_bytes"]),
    ("lines: own", 0, 4, ["lines_scratch", "lines_stack", "lines_ring", "lines_kernel"]),
    ("maps", 0, 4, ["lines_maps"]),
    ("user", 0, 4, ["lines_user"]),
    ("code", 0, 4, ["lines_code"]),
    ("pages", 1, 10, ["pages_code", "pages_scratch", "pages_stack", "pages_ring", "pages_kernel", "pages_maps",
                      "pages_user"]),
]


def build():
    """Makes the program and its interpreter."""
    if not shutil.which(os.environ.get("CLANG", "clang")):
        print("no clang here, which compiles the program")
        sys.exit(SKIP)
    made = subprocess.run(["make", "-s", "-C", ROOT, "B=" + BUILD, "cost-bench"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if made.returncode:
        sys.exit(made.stdout + "cost.py: `make cost-bench` failed")


def raw_counts(folder):
    """The compiler of the program, and {name: {what: mean of a sample}} of a folder's recordings."""
    names = [name for name in NAMES if os.path.exists("%s/%s" % (folder, name))]
    out = subprocess.check_output([BUILD + "/bench/cost", BUILD + "/gen/stackd.bpf.o",
                                   *["%s/%s" % (folder, name) for name in names]], text=True)
    compiler, *lines = out.splitlines()
    counts = {}
    for name, line in zip(names, lines):
        sums = {key: int(value) for key, value in re.findall(r" (\w+)=(\d+)", line)}
        counts[name] = {key: value / sums["samples"] for key, value in sums.items()}
    return compiler.removeprefix("compiler "), counts


def count(folder):
    """The same, {name: {column: number}}."""
    compiler, raw = raw_counts(folder)
    return compiler, {name: {column: sum(row[part] for part in parts)
                             for column, _, _, parts in COLUMNS} for name, row in raw.items()}


def sum_of(row):
    return sum(price * row[name] for name, _, price, _ in COLUMNS)


MEASURES = {
    "sum": sum_of,
    "calls": lambda row: row["subprograms"] + row["loop bodies"] + row["helpers"],
    "code": lambda row: row["code"],
    "lines": lambda row: row["lines: own"] + row["maps"] + row["user"],
}


def row_of(name, row):
    cells = ["%.*f" % (digits, row[column]) for column, digits, _, _ in COLUMNS]
    return "| %s | %s | %.0f |" % (name, " | ".join(cells), sum_of(row))


def table_of(counts):
    head = ["program", *[column for column, *_ in COLUMNS], "sum"]
    return "\n".join(["| %s |" % " | ".join(head), "|---" + "|---:" * (len(head) - 1) + "|",
                      *[row_of(name, row) for name, row in counts.items()]])


# --- the table in the docs ----------------------------------------------------------------------

def read_table():
    with open(TABLE, encoding="utf-8") as file:
        return file.read()


def compiler_in(text):
    return re.search(r"(?m)^Compiler of the program: (.*)\.$", text)[1]


def rows_in(text):
    """{name: {column: number}} of the first table."""
    rows = {}
    for line in re.search(r"(?s)\| program \|(.*?)\n\n", text)[1].split("\n")[2:]:
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows[name] = dict(zip((column for column, *_ in COLUMNS), map(float, cells)))
    return rows


def check():
    compiler, counts = count(STACKS)
    text = read_table()
    if compiler != compiler_in(text):
        print("the table is of the program by %s, this one is by %s: not to be compared"
              % (compiler_in(text), compiler))
        sys.exit(SKIP)
    before, failed = rows_in(text), False
    for name in NAMES:
        for what, measure in MEASURES.items():
            now, then = measure(counts[name]), measure(before[name])
            is_dearer = now > TOLERANCE * then
            failed = failed or is_dearer
            print("%-8s %-6s %9.1f, in the table %9.1f%s" % (
                name, what, now, then, "   DEARER" if is_dearer else ""))
    if failed:
        print("A walk costs more than docs/COST.md says. If that is meant, `bench/cost.py update "
              "\"CHANGE\"` writes its lines anew.")
    sys.exit(failed)


def mean_of_six(counts, what):
    return sum(MEASURES[what](counts[name]) for name in SIX) / len(SIX)


def update(change):
    """Replaces the compiler and the first table, and the history's line of that change."""
    compiler, counts = count(STACKS)
    text = re.sub(r"(?m)^Compiler of the program: .*$",
                  lambda _: "Compiler of the program: %s." % compiler, read_table())
    text = re.sub(r"(?s)\| program \|.*?\n\n", lambda _: table_of(counts) + "\n\n", text, count=1)
    line = "| %s | %s | %s | %.1f | %.0f |" % (
        time.strftime("%Y-%m-%d", time.gmtime()), change,
        " | ".join("%.0f" % sum_of(counts[name]) for name in NAMES), mean_of_six(counts, "calls"),
        mean_of_six(counts, "lines"))
    kept = [old for old in text.rstrip("\n").split("\n") if "| %s |" % change not in old]
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write("\n".join([*kept, line]) + "\n")


# --- recordings ---------------------------------------------------------------------------------

def record(folder, names):
    for program in cost_stacks.ALL:
        if names and program.name not in names:
            continue
        if not cost_stacks.is_here(program):
            print("%s: not here, or perf is not" % program.name)
            continue
        cost_stacks.record(program, folder)


def here():
    with tempfile.TemporaryDirectory(prefix="stackd-cost-") as folder:
        record(folder, [])
        show(folder)


def show(folder):
    compiler, counts = count(folder)
    print("A walk by the program of %s, for each sample:\n\n%s" % (compiler, table_of(counts)))


def main():
    verb, *words = sys.argv[1:] or ["show"]
    verbs = {"show": lambda: show(STACKS), "check": check, "here": here,
             "model": lambda: cost_model.compare(raw_counts(STACKS)[1]),
             "update": lambda: update(words[0]), "record": lambda: record(STACKS, words)}
    if verb not in verbs or (words and verb not in ("update", "record")) or \
            (verb == "update" and len(words) != 1) or not set(words) <= set(NAMES + words[:1]):
        sys.exit(__doc__)
    build()
    verbs[verb]()


if __name__ == "__main__":
    main()
