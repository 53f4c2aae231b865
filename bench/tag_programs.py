# SPDX-License-Identifier: MIT
"""Two real C++ programs from Debian's source packages, built without and with tags.

  minisat    a SAT solver: few functions, deep loops, on a random formula
  clustalw   aligns protein sequences: some 1500 methods, many of a line or two

Sources come through apt, with a list of sources made from those that the machine has."""

import collections
import glob
import os
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor

Source = collections.namedtuple("Source", "name package folder files flags libraries prepare arguments")


def formula(work):
    """A random 3-SAT formula, too loose to be hard."""
    rng = random.Random(5)
    variables, clauses = 14000, 56500
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
    targets = subprocess.run(["apt-get", "indextargets", "--format",
                              "$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)",
                              "Created-By: Packages"], capture_output=True, text=True, check=True)
    lines = {"deb-src " + line.split(" ", 1)[1] for line in targets.stdout.splitlines()
             if line.startswith("Debian ")}
    os.makedirs(work + "/lists/partial", exist_ok=True)
    with open(work + "/sources.list", "w", encoding="ascii") as file:
        file.write("\n".join(sorted(lines)) + "\n")
    apt = ["apt-get", "-qq", "-o", "Dir::Etc::SourceList=" + work + "/sources.list",
           "-o", "Dir::Etc::SourceParts=/dev/null", "-o", "Dir::State::Lists=" + work + "/lists",
           "-o", "APT::Sandbox::User=root"]
    for command in (["update"], ["source", "--download-only"] + [s.package for s in SOURCES]):
        done = subprocess.run(apt + command, cwd=work, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(done.stderr.strip().split("\n")[0])
    return {source.name: unpack(source, work) for source in SOURCES}


def unpack(source, work):
    archive = glob.glob("%s/%s_*.orig.tar.*" % (work, source.package))[0]
    subprocess.run(["tar", "xf", archive], cwd=work, check=True)
    return glob.glob("%s/%s-*/" % (work, source.package))[0] + source.folder


def build(source, folder, output, flags, libraries):
    """Compiles a program to `output`, on all processors."""
    objects = output + ".objects"
    os.makedirs(objects, exist_ok=True)
    files = [name for pattern in source.files for name in sorted(glob.glob(pattern,
                                                                           root_dir=folder))]

    def compile_one(name):
        path = objects + "/" + name.replace("/", "_") + ".o"
        subprocess.run(["g++", "-O2", "-w", "-I.", *source.flags, *flags, "-c", name, "-o", path],
                       cwd=folder, check=True)
        return path
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = list(pool.map(compile_one, files))
    subprocess.run(["g++", "-o", output, *paths, *source.libraries, *libraries], check=True,
                   stderr=subprocess.DEVNULL)
