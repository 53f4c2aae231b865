# SPDX-License-Identifier: MIT
"""Makes a function, runs it once and frees it, over and over: its code object lies where the one before was.

LIBRARY OUT CPU_SECONDS: cell_NN calls leaf_NN alone, so the leaf of a sample says which function has called it. OUT
gets how many code objects lay where the one before, of another name, had been.
"""

import ctypes
import sys
import time

SOURCE = """def cell_{0}(leaf, turns):
    leaf(turns)
"""


def run_cell(code, leaf):
    """Runs a copy of a function's code, and returns the address where it was."""
    copy = code.replace()
    type(run_cell)(copy, {})(leaf, 100000)
    return id(copy)


def main(library, out, cpu_seconds):
    leaves, last, others = ctypes.PyDLL(library), 0, 0
    codes = [compile(SOURCE.format(number), "<cell>", "exec").co_consts[0] for number in ("00", "01")]
    cells = list(zip(codes, (leaves.leaf_00, leaves.leaf_01)))
    while time.process_time() < float(cpu_seconds):
        for cell in cells:
            address = run_cell(*cell)
            others += address == last
            last = address
    with open(out, "w", encoding="utf-8") as file:
        file.write(str(others))


main(*sys.argv[1:])
