# SPDX-License-Identifier: MIT
"""Forks processes that go on with functions of their own, and call others at their exit: LIBRARY COUNT"""

import atexit
import ctypes
import os
import sys
import threading

TURNS = 3000000


class Last:
    def __del__(self):
        self.leaf(TURNS)


def child(leaves):
    leaves.leaf_00(TURNS)


def thread(leaves):
    leaves.leaf_01(TURNS)


def at_exit(leaves):
    leaves.leaf_02(TURNS)


def parent(leaves):
    leaves.leaf_03(TURNS)


def main(library, count):
    leaves = ctypes.PyDLL(library)
    for _ in range(int(count)):
        pid = os.fork()
        if not pid:
            child(leaves)
            other = threading.Thread(target=thread, args=(leaves,))
            other.start()
            other.join()
            atexit.register(at_exit, leaves)
            Last.leaf, Last.kept = leaves.leaf_04, Last()
            sys.exit()
        parent(leaves)
        os.waitpid(pid, 0)


main(*sys.argv[1:])
