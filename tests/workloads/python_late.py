# SPDX-License-Identifier: MIT
"""Calls late() in a thread of C that has not run Python before, but other code for long: LEAVES LATE CPU_SECONDS"""

import ctypes
import sys
import time


def late():
    LEAVES.leaf_00(100000000)


def early(end):
    while time.process_time() < end:
        LEAVES.leaf_01(100000)


LEAVES = ctypes.PyDLL(sys.argv[1])
early(time.process_time() + float(sys.argv[3]))
ctypes.CDLL(sys.argv[2]).run_late(ctypes.c_ulong(100000000), ctypes.CFUNCTYPE(None)(late))
