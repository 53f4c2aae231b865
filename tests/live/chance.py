# SPDX-License-Identifier: MIT
"""How far chance takes a sum of samples from what is true, at most: tests that compare such a sum with the
program's own count fail by chance in less than one of a million runs.

It is Chernoff's bound, which holds for few samples as for many. A test has 25 sums at most, and each may be
too large or too small: 25 * 2 * RARE = 1e-6. With many samples it is 5.95 standard errors."""

import math

RARE = 2e-8  # that a sum is farther off, in one direction


def farthest(chances):
    """The distance from the truth that a sum is at, or beyond, with a probability below RARE on each side.
    `chances`: (blocks, size, p) of independent blocks, each of which is sampled with probability p, and
    then stands for size / p, rounded by chance to a whole number."""
    chances = [(blocks, size, p) for blocks, size, p in chances
               if size and blocks * (1 - p) > RARE / 1e3]  # the others are sampled, all of them
    if not chances:
        return 0
    most = max(size / p for _, size, p in chances)

    def bound(theta):
        """Of the sum being above the truth by so much, or with a negative theta below it."""
        return (sum(blocks * (math.log1p(p * math.expm1(theta * size / p + theta ** 2 / 8)) - theta * size)
                    for blocks, size, p in chances) - math.log(RARE)) / abs(theta)
    thetas = [10 ** (k / 10) / most for k in range(-50, 16)]
    return max(min(map(bound, thetas)), min(bound(-theta) for theta in thetas))


def of_time(ns, period_ns):
    """Of a time that is sampled once in a period by chance: each nanosecond that is hit stands for a period.
    Or of bytes, and the mean distance of those that are hit."""
    return farthest([(ns, 1, 1 / period_ns)])
