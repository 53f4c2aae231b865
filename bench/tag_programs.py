# SPDX-License-Identifier: MIT
"""Two real C++ programs from Debian's source packages, built without and with tags.

  minisat    a SAT solver: few functions, deep loops, on a random formula
  clustalw   aligns protein sequences: some 1500 methods, many of a line or two"""

import random

import debian_source

Source = debian_source.Source


def formula(work):
    """A random 3-SAT formula without a solution: half a second or so."""
    rng = random.Random(5)
    variables, clauses = 250, 1150
    with open(work + "/in.cnf", "w", encoding="ascii") as file:
        file.write("p cnf %d %d\n" % (variables, clauses))
        for _ in range(clauses):
            chosen = rng.sample(range(1, variables + 1), 3)
            file.write(" ".join(str(v * rng.choice((1, -1))) for v in chosen) + " 0\n")


def sequences(work):
    """Relatives of one protein."""
    rng, letters = random.Random(5), "ACDEFGHIKLMNPQRSTVWY"
    base = [rng.choice(letters) for _ in range(300)]
    with open(work + "/in.fa", "w", encoding="ascii") as file:
        for number in range(40):
            text = [c if rng.random() > .25 else rng.choice(letters) for c in base
                    if rng.random() > .06]
            file.write(">s%d\n%s\n" % (number, "".join(text)))


SOURCES = [
    Source("minisat", "minisat2", ".", ["minisat/core/*.cc", "minisat/utils/*.cc"],
           ["-fpermissive", "-D__STDC_LIMIT_MACROS", "-D__STDC_FORMAT_MACROS"], ["-lz"], formula,
           ["-verb=0", "in.cnf"]),
    Source("clustalw", "clustalw", "src", ["*.cpp", "*/*.cpp", "*/*/*.cpp"],
           ["-DUNIX", "-DOS_UNIX"], [], sequences,
           ["-infile=in.fa", "-outfile=out.aln", "-newtree=out.dnd"]),
]


def fetch(work):
    """Unpacks all sources below `work`: {name: folder}. OSError if they cannot be had."""
    return debian_source.fetch(work, SOURCES)


build = debian_source.build
