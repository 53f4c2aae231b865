# SPDX-License-Identifier: MIT
"""Makes functions from source, runs and frees them, and reloads a module of two sources: LIBRARY FOLDER COUNT

made_NN calls leaf_NN alone, and is made from its source COUNT times in all. The module has one function, work(), which calls
leaf_00 at line 4 in one of its sources, and leaf_01 at line 9 in the other."""

import ctypes
import importlib
import os
import sys

MADE = "def made_%s(leaf, turns):\n    leaf(turns)\n"
SOURCES = ("\n\ndef work(leaves, turns):\n    leaves.leaf_00(turns)\n",
           "\n\n\n\n\n\n\ndef work(leaves, turns):\n    leaves.leaf_01(turns)\n")


def reload(folder, source):
    with open(os.path.join(folder, "reloaded.py"), "w", encoding="ascii") as file:
        file.write(source)
    importlib.invalidate_caches()
    if "reloaded" in sys.modules:
        importlib.reload(sys.modules["reloaded"])
    return importlib.import_module("reloaded")


def main(library, folder, count):
    leaves, work = ctypes.PyDLL(library), None
    sys.dont_write_bytecode = True
    sys.path.insert(0, folder)
    for i in range(int(count)):
        if i % 200 == 0:
            work = reload(folder, SOURCES[i // 200 % 2])
        if i % 50 == 0:
            work.work(leaves, 100000)
        scope, number = {}, "%02d" % (i % 2)
        exec(compile(MADE % number, "/made/%d.py" % (i % 7), "exec"), scope)
        scope.pop("made_" + number)(getattr(leaves, "leaf_" + number), 10000)


main(*sys.argv[1:])
