# SPDX-License-Identifier: MIT
"""Calls itself FRAMES times, and then a native leaf, by two functions in turn: LIBRARY FRAMES TURNS."""

import ctypes
import sys
import threading

leaves = ctypes.PyDLL(sys.argv[1])


def first(frames, turns):
    if frames:
        first(frames - 1, turns)
    else:
        leaves.leaf_00(turns)


def second(frames, turns):
    if frames:
        second(frames - 1, turns)
    else:
        leaves.leaf_01(turns)


def main():
    frames, turns = map(int, sys.argv[2:4])
    for _ in range(8):
        first(frames, turns)
        second(frames, turns)


sys.setrecursionlimit(1000000)
threading.stack_size(256 << 20)
thread = threading.Thread(target=main)
thread.start()
thread.join()
