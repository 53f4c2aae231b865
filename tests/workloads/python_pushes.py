# SPDX-License-Identifier: MIT
"""Makes generators and calls functions all the time, so that frames of Python lie where others have ended: CPU_SECONDS

f_N_0 alone calls f_N_1, by a generator of its own, so all functions of one path but for the first ones have one N."""

import sys
import time

SOURCE = """
def f_%d_0(n):
    return any(f_%d_1(v) for v in (n,))
def f_%d_1(n):
    return n - n
"""


def main(seconds):
    scope, count, end = {}, 40, time.process_time() + float(seconds)
    exec(compile("".join(SOURCE % (i, i, i) for i in range(count)), "/made/pushes.py", "exec"), scope)
    roots = [scope["f_%d_0" % i] for i in range(count)]
    while time.process_time() < end:
        for root in roots:
            root(1)


main(sys.argv[1])
