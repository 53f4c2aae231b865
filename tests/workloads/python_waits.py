# SPDX-License-Identifier: MIT
"""Waits, allocations and calls of native functions at lines that it knows: LIBRARY OUT SECONDS

It runs for so many seconds of CPU time. OUT gets, as JSON: the lines by name (LINES below), and how often first() and second() have called leaf_00.
"""

import ctypes
import inspect
import json
import sys
import threading
import time

lock = threading.Lock()
calls = {"first": 0, "second": 0}


def wait_for_lock(taken, near, done):
    taken.wait()
    near.set()
    with lock:  # LINE lock
        done.set()


def hold_lock():
    taken, near, done = threading.Event(), threading.Event(), threading.Event()
    thread = threading.Thread(target=wait_for_lock, args=(taken, near, done))
    thread.start()
    with lock:
        taken.set()
        while not near.is_set():
            nap()
        nap()
    thread.join()


def nap():
    time.sleep(0.02)  # LINE nap


def wait_for_gil(end):
    while time.process_time() < end:
        time.sleep(0.001)


def keep_gil(leaves, end):
    while time.process_time() < end:
        leaves.leaf_01(5000000)


def allocate():
    return bytearray(1 << 20)  # LINE allocate


def first(leaf):
    calls["first"] += 1
    leaf(100)  # LINE first


def second(leaf):
    calls["second"] += 1
    return list(map(leaf, [100]))  # LINE second


def main(library, out, seconds):
    leaves, end = ctypes.PyDLL(library), time.process_time() + float(seconds)
    thread = threading.Thread(target=wait_for_gil, args=(end,))
    thread.start()
    while time.process_time() < end:
        hold_lock()
        blocks = [allocate() for _ in range(8)]
        for _ in blocks:
            first(leaves.leaf_00)
            first(leaves.leaf_00)
            second(leaves.leaf_00)
        keep_gil(leaves, time.process_time() + 0.1)
    thread.join()
    source = inspect.getsource(sys.modules[__name__]).split("\n")
    lines = {line.split("# LINE ")[1]: number for number, line in enumerate(source, 1) if "  # LINE " in line}
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"lines": lines, "calls": calls}, file)


main(*sys.argv[1:])
