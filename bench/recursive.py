# SPDX-License-Identifier: MIT
"""A recursive program for bench/: Ackermann's function, and the ways to colour a small graph."""

import sys


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def colourings(graph, colours, chosen):
    node = len(chosen)
    if node == len(graph):
        return 1
    return sum(colourings(graph, colours, chosen + [colour]) for colour in range(colours)
               if all(chosen[other] != colour for other in graph[node] if other < node))


def main():
    rounds = int(sys.argv[1])
    sys.setrecursionlimit(20000)
    ring = [((node - 1) % 9, (node + 1) % 9, (node + 4) % 9) for node in range(9)]
    total = 0
    for _ in range(rounds):
        total += ackermann(2, 40) + colourings(ring, 3, [])
    print(total)


main()
