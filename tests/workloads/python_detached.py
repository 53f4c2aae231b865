# SPDX-License-Identifier: MIT
"""Functions to which nothing leads (CPython 3.13): python_detached.py LEAVES DETACHED ENOUGH

LEAVES is the library of python_leaves.c, DETACHED that of python_detached.c. It runs until the file ENOUGH is there."""

import ctypes
import os
import sys

LAST_FRAME = 72  # in PyThreadState
TURNS = 100000
leaves = ctypes.PyDLL(sys.argv[1])
detached = ctypes.PyDLL(sys.argv[2]).detached
detached.argtypes, detached.restype = [ctypes.py_object, ctypes.c_long], None


def once():
    list(map(lambda v: leaves.leaf_00(TURNS), [0]))


def inner():
    leaves.leaf_01(TURNS)


def twice():
    detached(inner, LAST_FRAME)


def main():
    while not os.path.exists(sys.argv[3]):
        for function in once, twice:
            list(map(lambda v: detached(function, LAST_FRAME), [0]))
        leaves.leaf_02(TURNS)


main()
