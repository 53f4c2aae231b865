# SPDX-License-Identifier: MIT
"""Makes a function, runs it once and frees it, over and over: its code object lies where the one before was.

LIBRARY OUT CPU_SECONDS: cell_NN calls leaf_NN alone, so the leaf of a sample says which function has called it. Some do so by
the same function, shared(), and by C code, so that only the functions further out differ. OUT gets how many code objects
lay where the one before, of another name, had been.
"""

import ctypes
import sys
import time

SOURCES = ("""def cell_{0}(leaf, turns, shared):
    leaf(turns)
""", """def cell_{0}(leaf, turns, shared):
    shared(leaf, turns)
""", """def cell_{0}(leaf, turns, shared):
    list(map(shared, (leaf,), (turns,)))
""")


def shared(leaf, turns):
    leaf(turns)


def run_cell(code, leaf):
    """Runs a copy of a function's code, and returns the address where it was."""
    copy = code.replace()
    type(run_cell)(copy, {})(leaf, 100000, shared)
    return id(copy)


def main(library, out, cpu_seconds):
    leaves, last, others = ctypes.PyDLL(library), 0, 0
    codes = [compile(source.format(number), "<cell>", "exec").co_consts[0] for source in SOURCES for number in ("00", "01")]
    cells = list(zip(codes, (leaves.leaf_00, leaves.leaf_01) * len(SOURCES)))
    while time.process_time() < float(cpu_seconds):
        for cell in cells:
            address = run_cell(*cell)
            others += address == last
            last = address
    with open(out, "w", encoding="utf-8") as file:
        file.write(str(others))


main(*sys.argv[1:])
