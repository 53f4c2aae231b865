# SPDX-License-Identifier: MIT
"""Greenlets, which run on one stack in turns: python_greenlets.py LEAVES SECONDS

Each is switched to from two functions. The native function at the end of a path, one of the library LEAVES
(python_leaves.c), is another one for each of them, so it tells the whole path."""

import ctypes
import sys
import time

from greenlet import getcurrent, greenlet

library = ctypes.PyDLL(sys.argv[1])
leaves = [getattr(library, "leaf_%02o" % i) for i in range(9)]
site = 0  # 0: first(), 1: second() has switched to the greenlet that runs
TURNS = 100000


def inner():
    leaves[site](TURNS)


def plain():
    while True:
        inner()
        first_one.switch()


def mapped():
    while True:
        list(map(lambda v: leaves[2 + site](TURNS), [0]))
        first_one.switch()


def deepest():
    while True:
        leaves[4 + site](TURNS)
        outer_one.switch()


def nested():
    """Has a greenlet of its own."""
    inner_one = greenlet(deepest)
    while True:
        inner_one.switch()
        leaves[6 + site](TURNS)
        first_one.switch()


def first(one):
    global site
    site = 0
    one.switch()


def second(one):
    global site
    site = 1
    [one.switch() for _ in [0]]


def main():
    end = time.process_time() + float(sys.argv[2])
    ones = [greenlet(plain), greenlet(mapped), outer_one]
    while time.process_time() < end:
        for one in ones:
            first(one)
            second(one)
        leaves[8](TURNS)


first_one, outer_one = getcurrent(), greenlet(nested)
main()
