# SPDX-License-Identifier: MIT
"""How far a sum of samples can be from the true sum by chance. Tests that compare such a sum with the
program's own count fail by chance in less than one of a million runs.

This is Chernoff's bound, which holds for few samples as for many. A test compares at most 25 sums, and each may
be too large or too small: 25 * 2 * RARE = 1e-6. For many samples the bound is 5.95 standard errors."""

import math

RARE = 2e-8  # the probability that a sum is farther off, in one direction


def exponent(theta, blocks, size, p):
    """The logarithm of the mean of exp(theta * (sum - true sum)) over blocks: of each, with probability p, size / p,
    rounded up as often as it is nearer to that."""
    whole = math.floor(size / p)
    value = theta * whole + math.log1p((size / p - whole) * math.expm1(theta))
    return blocks * (math.log1p(p * math.expm1(value)) - theta * size)


def farthest(chances):
    """A distance that a sum exceeds with a probability of less than RARE on each side.
    `chances`: (blocks, size, p) of independent blocks, each of which is sampled with probability p, and
    then stands for size / p, rounded by chance to a whole number."""
    chances = [(blocks, size, p) for blocks, size, p in chances
               if size and blocks * (1 - p) > RARE / 1e3]  # the others are sampled, all of them
    if not chances:
        return 0
    most = max(size / p for _, size, p in chances)

    def bound(theta):
        """Of a sum that is too large, or with a negative theta too small."""
        return (sum(exponent(theta, *chance) for chance in chances) - math.log(RARE)) / abs(theta)
    thetas = [10 ** (k / 10) / most for k in range(-50, 16)]
    return max(min(map(bound, thetas)), min(bound(-theta) for theta in thetas))


def of_time(ns, period_ns):
    """The same for a time of which each nanosecond is sampled with probability 1 / period, and then stands for
    a period; or for bytes and their mean distance."""
    return farthest([(ns, 1, 1 / period_ns)])
