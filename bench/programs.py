# SPDX-License-Identifier: MIT
"""The six programs of bench/, all from Debian's packages, and MORE that nobody tuned for.

`size` scales the work: 1 is a second or two of CPU each. `prepare` writes inputs into the work
folder first. `work`, if there is one, finds in the output how much was done in a fixed time;
CPU is then counted per unit of it."""

import collections
import glob
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
MELT = "/usr/share/lammps/examples/melt/in.melt"

Program = collections.namedtuple("Program", "name command prepare work needs")


def melt_input(work, size):
    """LAMMPS's own example with a bigger box, for more steps."""
    with open(MELT, encoding="ascii") as file:
        text = file.read()
    text = re.sub(r"block 0 10 0 10 0 10", "block 0 20 0 20 0 20", text)
    text = re.sub(r"(?m)^run\s.*$", "run %d" % (150 * size), text)
    with open(work + "/in.melt", "w", encoding="ascii") as file:
        file.write(text)


def index_input(work, size):
    """From some size on it is done over and over, for a larger table would not fit in memory."""
    rows = 400000 * min(size, 6)
    with open(work + "/index.sql", "w", encoding="ascii") as file:
        for _ in range(max(1, size // 6)):
            file.write("""
DROP TABLE IF EXISTS t;
CREATE TABLE t (a INTEGER, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < %d)
INSERT INTO t SELECT i * 7919 %% 400009, hex(i * 2654435761 %% 4294967296), i * 0.37 FROM n;
CREATE INDEX by_text ON t (b, a);
CREATE INDEX by_number ON t (c, b);
SELECT count(*) FROM t WHERE b > 'A';
""" % rows)


def sources(work, size):
    """A command that compiles n files, without a shell around it, whose maps confuse perf's
    unwinder."""
    for number in range(size):
        shutil.copy(HERE + "/templates.cc", "%s/t%d.cc" % (work, number))


def compiler(program):
    return Program(program, [program, "-O2", "-std=c++17", "-DDEPTH=%(depth)d", "-c", "%(files)s"],
                   sources, None, program)


PROGRAMS = [
    Program("lmp", ["lmp", "-in", "in.melt", "-log", "none", "-screen", "none"],
            melt_input, None, "lmp"),
    compiler("g++"),
    compiler("clang++"),
    Program("python3", ["/usr/bin/python3", HERE + "/recursive.py", "%(rounds)d"], None, None,
            "/usr/bin/python3"),
    Program("openssl", ["openssl", "speed", "-seconds", "%(size)d", "-bytes", "1024", "sha256"],
            None, re.compile(r"Doing sha256 .*: (\d+) sha256"), "openssl"),
    Program("sqlite3", ["sqlite3", ":memory:", ".read index.sql"], index_input,
            None, "sqlite3"),
]


POD = """for (1 .. shift) { for my $file (@ARGV) {
    my $man = Pod::Man->new; $man->output_string(\\my $text); $man->parse_file($file) } }"""
PODS = sorted(glob.glob("/usr/share/perl/5*/**/*.pm", recursive=True), key=os.path.getsize)[-60:]


def repository(work, size):
    """A git repository of this project's sources, whose commits change them here and there."""
    git = ["git", "-C", work, "-c", "user.name=bench", "-c", "user.email=bench"]
    sources_of_lib = sorted(glob.glob(HERE + "/../lib/**/*.c", recursive=True))
    subprocess.run([*git, "init", "-q"], check=True)
    for number in range(20 * size):
        for source in sources_of_lib[::2]:
            with open(source, encoding="utf-8") as file:
                lines = file.read().splitlines(True)
            with open(work + "/" + os.path.basename(source), "w", encoding="utf-8") as file:
                file.writelines(line for at, line in enumerate(lines) if (at + number) % 17)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", str(number)], check=True)


def large_source(work, size):
    """A large C file: functions with loops, switches and calls of one another."""
    with open(work + "/large.c", "w", encoding="ascii") as file:
        file.write("unsigned f0(unsigned a, unsigned *p) { return a + *p; }\n")
        for number in range(1, 300 * size):
            file.write("""
unsigned f%d(unsigned a, unsigned *p)
{
	unsigned s = a * %du;
	for (unsigned i = 0; i < (a & 63); i++) {
		switch ((p[i] + i) %% 5) {
		case 0: s += p[i] << (i & 7); break;
		case 1: s ^= f%d(s, p + i); break;
		case 2: p[i] = s / (i + 3); break;
		case 3: s -= f%d(i, p) * p[i + 1]; break;
		default: if (s & 1) return s + p[i] %% 7;
		}
	}
	return s;
}
""" % (number, number * 7 + 1, number - 1, number // 2))


TREES = ["/usr/include", "/usr/lib/python3", "/usr/share/perl", "/usr/lib/gcc"]

MORE = [
    Program("perl", ["perl", "-MPod::Man", "-e", POD, "%(size)d", *PODS], None, None, "perl"),
    Program("git", ["git", "-c", "pack.threads=1", "gc", "-q", "--aggressive"], repository, None,
            "git"),
    Program("rg", ["rg", "-j1", "-c", r"\w+(alloc|free)\w*\([^)]*(size|len|\d+)", "%(trees)s"], None, None,
            "rg"),
    Program("gcc", ["gcc", "-O2", "-c", "large.c"], large_source, None, "gcc"),
]


def cost_of(program, seconds, output):
    """CPU seconds of a run whose output is in a file; or those of a unit of work, if it takes a fixed
    time."""
    if not program.work:
        return seconds
    with open(output, encoding="utf-8", errors="replace") as log:
        return seconds / int(program.work.search(log.read())[1])


def command_of(program, size):
    """To be run in the work folder."""
    values = {"size": size, "depth": 4 if size == 1 else 12, "rounds": 1000 * size}
    words = []
    for word in program.command:
        if word == "%(files)s":
            words += ["t%d.cc" % number for number in range(size)]
        elif word == "%(trees)s":
            words += TREES * size
        else:
            words.append(word % values if "%(" in word else word)
    return words
