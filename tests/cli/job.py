# SPDX-License-Identifier: MIT
"""Writes an export of an MPI job of four ranks on one node, with a process that has no rank: FILE.
Written from docs/TAGS.md alone. Run by job.sh."""
import sys

from tag_hash import chain, location_id

FUNCTIONS = ["main", "work", "only", "kernel"]
PATHS = [["main"], ["main", "work"], ["main", "only"], ["main", "work", "kernel"]]
# By path, samples of each rank: main 400 of 1000 at rank 3, work 300 of 600, only 100 of 100.
SAMPLES = {0: [100, 50, 50, 100], 1: [50, 50, 50, 150], 2: [0, 0, 100, 0], 3: [50, 50, 50, 150]}


def main(path):
    ids = {f: location_id(0x1234, 16 * n + 16) for n, f in enumerate(FUNCTIONS)}
    lines = ["stackd-tags 1", "recording\t1\t1700000000\tnode1\t6.1.0\tcpu-clock",
             "object\t0\telf\t0000000000001234\tabcd\t/bin/solver"]
    lines += [f"location\t{ids[f]:016x}\t0\t{16 * n + 16:x}\tcall\t{f}\tx.c\t7"
              for n, f in enumerate(FUNCTIONS)]
    tags = {(): 0}
    for p in PATHS:
        tags[tuple(p)] = chain(tags[tuple(p[:-1])], ids[p[-1]])
        lines.append(f"tag\t{tags[tuple(p)]:016x}\t{tags[tuple(p[:-1])]:016x}\t{ids[p[-1]]:016x}")
    lines += [f"process\t{r}\t{100 + r}\t1\tsolver\t/bin/solver" for r in range(5)]
    lines += [f"rank\t{r}\t{r}\t4" for r in range(4)]
    for n, counts in SAMPLES.items():
        for r, count in enumerate(counts):
            if count:
                lines.append(f"sample\t{tags[tuple(PATHS[n])]:016x}\t{r}\tsolver\t{count}\t{count * 7}"
                             f"\t{100 + r}\tentry\tcomplete\t0")
    lines.append(f"sample\t{tags['main',]:016x}\t4\torted\t50\t1\t104\tentry\tcomplete\t0")
    # In another thread of rank 1, and with two threads of it one total.
    lines += [f"value\t{tags['main', 'work']:016x}\t1\tt{t}\talloc.bytes\t2\t64\t{200 + t}\tentry\t"
              "complete\t0" for t in range(2)]
    with open(path, "w") as out:
        out.write("\n".join([*lines, "end", ""]))


main(sys.argv[1])
