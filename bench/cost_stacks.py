# SPDX-License-Identifier: MIT
"""Records stacks of programs as text, in the form that bench/cost_stacks.h describes.

perf samples a program with registers and stack, cost_record walks the stacks, and what is kept are
successive stacks of the busiest thread, from the middle of its run, that came to the root. In front
of them are some that were made up: of those locations that the thread had been at before. They fill
the caches with what a recording in its middle has in them."""

import os
import shutil
import subprocess
import sys
import tempfile

import programs

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("STACKD_BUILD", HERE + "/../build"))
BEFORE, COUNTED = 20, 100  # samples
MADE_UP_FRAMES, MADE_UP_BYTES = 200, 50000  # of a stack, at most
EXACT, BYTES, CFA = 5, 6, 12  # fields of a frame's line
ROOT = "1"  # enum stackd_cfa: STACKD_CFA_END
ALL = programs.PROGRAMS + programs.MORE


def is_here(program):
    return bool(shutil.which(program.needs) and shutil.which("perf"))


def recorded(program, size=2):
    """The lines of cost_record for a program."""
    work = tempfile.mkdtemp(prefix="stackd-cost-")
    try:
        if program.prepare:
            program.prepare(work, size)
        subprocess.run(["perf", "record", "-q", "-N", "-B", "-d", "-e", "cpu-clock:u", "-F", "997",
                        "--call-graph", "dwarf,65528", "-o", work + "/perf.data", "--",
                        *programs.command_of(program, size)], cwd=work, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return subprocess.check_output([BUILD + "/bench/cost_record", work + "/perf.data"],
                                       text=True).splitlines()
    finally:
        shutil.rmtree(work)


def busiest(lines):
    """Of the thread with the most samples: (changes, mappings, frames leaf first) of each that came
    to the root, to the last that is kept; and {file: (rules, path)}."""
    tables, threads, head, frames = {}, {}, None, []
    for line in lines:
        kind, *words = line.split(" ")
        if kind == "table":
            tables[words[0]] = (int(words[1]), words[2])
        elif kind == "sample":
            head, frames = words, []
        elif kind == "frame":
            frames.append(tuple(words))
        elif words[1] == "1":
            threads.setdefault(words[0], []).append((int(head[1]), int(head[2]), frames))
    samples = max(threads.values(), key=len, default=[])
    wanted = BEFORE + COUNTED
    if len(samples) < wanted:
        sys.exit("only %d stacks came to the root, %d are wanted" % (len(samples), wanted))
    return samples[:(len(samples) + wanted) // 2], tables


class Text:
    """The lines of a recording, and the numbers of what they name."""

    def __init__(self, tables):
        self.lines, self.numbers, self.rules = [], {}, {}
        self.counts = {"file": 0, "at": -1}
        self.first_rule, base = {}, 3
        for name, (rules, _) in tables.items():
            self.first_rule[name] = base
            base += rules
        self.tables = tables
        self.path = []  # of the sample before

    def number(self, kind, key, line):
        """The number of a file or location, after its line, which is added the first time."""
        if (kind, key) not in self.numbers:
            self.counts[kind] += 1
            self.numbers[kind, key] = self.counts[kind]
            self.lines.append("%s %s" % (kind, line))
        return self.numbers[kind, key]

    def rule(self, table, number, rule):
        """The number of a rule, as the daemon would give it: each once, file by file."""
        if int(number) < 3:
            self.rules.setdefault(rule, int(number))
        if rule not in self.rules:
            self.rules[rule] = self.first_rule[table] + int(number)
        if ("rule", rule) not in self.numbers:
            self.numbers["rule", rule] = True
            self.lines.append("rule %d %s" % (self.rules[rule], " ".join(rule)))
        return self.rules[rule]

    def location(self, frame):
        (table, start, size, at, offset, exact, distance, begin, end, chunk, rows, number,
         *rule) = frame
        file = self.number("file", (table, start), "%s %s %s %s" % (
            start, size, at, os.path.basename(self.tables[table][1])))
        if ("chunk", file, chunk) not in self.numbers:
            self.numbers["chunk", file, chunk] = True
            self.lines.append("chunk %d %s %s" % (file, chunk, rows))
        number = self.rule(table, number, tuple(rule))
        return self.number("at", (file, offset, exact, distance), "%d %s %s %s %s %s %d" % (
            file, offset, exact, distance, begin, end, number))


    def sample(self, changes, frames):
        """Adds a sample, whose frames are root first."""
        path = [self.location(frame) for frame in frames]
        kept = min(len(os.path.commonprefix([self.path, path])), len(path) - 1)
        self.lines.append("sample %d %d %s" % (changes, kept, " ".join(map(str, path[kept:]))))
        self.path = path


def is_root(frame):
    return frame[CFA] == ROOT


def made_up(earlier, kept):
    """Stacks, root first, of the frames that are in both: leaves on their own, others together."""
    root = kept[0][2][-1]
    met = {frame for _, _, frames in earlier for frame in frames}
    stacks, waiting, seen = [], [root], set()
    for frame in (frame for _, _, frames in kept for frame in frames):
        if frame in seen or frame not in met or is_root(frame):
            continue
        seen.add(frame)
        if frame[EXACT] == "1":
            stacks.append([root, frame])
            continue
        waiting.append(frame)
        if len(waiting) > MADE_UP_FRAMES or sum(int(f[BYTES]) for f in waiting) > MADE_UP_BYTES:
            stacks.append(waiting)
            waiting = [root]
    return stacks + [waiting]


def text_of(lines, what):
    """A recording."""
    samples, tables = busiest(lines)
    earlier, kept = samples[:-BEFORE - COUNTED], samples[-BEFORE - COUNTED:]
    text = Text(tables)
    text.lines += ["# %s: made by bench/cost.py record; bench/cost_stacks.h says what it means"
                   % what, "mappings %d" % kept[0][1]]
    for frames in made_up(earlier, kept):
        text.sample(0, frames)
    changes = kept[0][0]
    for i, (now, _, frames) in enumerate(kept):
        if i == BEFORE:
            text.lines.append("count")
        text.sample(now - changes, frames[::-1])
        changes = now
    return "\n".join(text.lines) + "\n"


def version_of(program):
    """The program with its version, for a recording's first line."""
    for option in ("--version", "version", "-h"):
        try:
            out = subprocess.run([program.needs, option], stdin=subprocess.DEVNULL, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20,
                                 check=True).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            continue
        if out:
            return "%s, %s" % (program.name, out.splitlines()[0].strip())
    return program.name


def record(program, folder):
    """Writes a program's recording into a folder, and returns its name."""
    name = "%s/%s" % (folder, program.name)
    lines = recorded(program)
    with open(name, "w", encoding="utf-8") as file:
        file.write(text_of(lines, version_of(program)))
    return name
