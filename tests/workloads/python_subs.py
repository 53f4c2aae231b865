# SPDX-License-Identifier: MIT
"""Runs functions in interpreters of its own within functions of other ones: LIBRARY CPU_SECONDS

leaf_0N is called by inner_N alone, in another interpreter than outer_N, which runs it. inner_2 is two interpreters away
from outer_2. leaf_03 is called by back(), in the first interpreter, between two calls of others."""

import ctypes
import sys
import time

try:
    import _interpreters as interpreters  # 3.13
except ImportError:
    import _xxsubinterpreters as interpreters

SOURCE = """
import ctypes, time
leaf = ctypes.PyDLL(%r).leaf_%02d
def inner_%d():
    list(map(leaf, [200000]))
"""
NESTED = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
other = %s
interpreters.run_string(other, %r)
def between():
    interpreters.run_string(other, "inner_2()")
"""


def create():
    """An interpreter that can load any extension."""
    if interpreters.__name__ == "_interpreters":
        return interpreters.create("legacy")
    return interpreters.create(isolated=False)


def outer_0(one):
    interpreters.run_string(one, "inner_0()")


def outer_1(one):
    list(map(lambda code: interpreters.run_string(one, code), ["inner_1()"]))


def outer_2(one):
    interpreters.run_string(one, "between()")


def back(leaf):
    leaf(200000)


def main(library, cpu_seconds):
    leaf, ones = ctypes.PyDLL(library).leaf_03, []
    for number in (0, 1):
        ones.append(create())
        interpreters.run_string(ones[-1], SOURCE % (library, number, number))
    ones.append(create())
    made = "interpreters.create('legacy')" if interpreters.__name__ == "_interpreters" else \
        "interpreters.create(isolated=False)"
    interpreters.run_string(ones[2], NESTED % (made, SOURCE % (library, 2, 2)))
    while time.process_time() < float(cpu_seconds):
        for outer, one in zip((outer_0, outer_1, outer_2), ones):
            outer(one)
            back(leaf)


main(*sys.argv[1:])
