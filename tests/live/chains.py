# SPDX-License-Identifier: MIT
"""Compares stacks with the paths that the workloads declare (tests/workloads/workload.h).

A path of the EXPECT lines becomes a list of words, each a test of one frame. A stack is run
through all paths of its workload at once, as through a small automaton: it is right if it walks
along a path and stops anywhere at or behind the first function named `steady...`.
"""

import os
import re

WORKLOADS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads")


def base_name(symbol):
    """Without a version, the mark of a cold part, and the hashes of Rust."""
    if not symbol:
        return symbol
    symbol = re.sub(r"@@?[A-Z].*$", "", symbol)
    symbol = re.sub(r"( \[clone \.cold\]| \(\.cold\)|\.cold)$", "", symbol)
    return re.sub(r"::h[0-9a-f]{16}$|(?<=\w)\[[0-9a-f]{8,16}\](?=::)", "", symbol)


def is_library(where):
    return re.search(r"\.so(\.|$|\b)", where) is not None


def in_libc(frame):
    return os.path.basename(frame.object).startswith("libc.so")


def is_named_or_unnamed_libc(frame, names):
    """libc's inner functions have names only where its debug file is installed."""
    if frame.symbol is None:
        return in_libc(frame)
    return base_name(frame.symbol) in names


class Word:
    def __init__(self, text):
        self.many = text.endswith("+") and not text.endswith("++")
        self.text = text[:-1] if self.many else text
        self.names = self.text.split("|")
        special = {
            "@start": lambda f: f.symbol == "_start" or (f.symbol is None
                                                         and not is_library(f.object)),
            "@libc_start": lambda f: is_named_or_unnamed_libc(
                f, {"__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main",
                    "__libc_start_main_alias_2", "__libc_start_main_alias_1"}),
            "@clone": lambda f: is_named_or_unnamed_libc(f, {"clone3", "__clone3", "clone",
                                                             "__clone"}),
            "@start_thread": lambda f: is_named_or_unnamed_libc(f, {"start_thread"}),
            "@context": lambda f: is_named_or_unnamed_libc(f, {"__start_context"}),
            "@sigret": lambda f: is_named_or_unnamed_libc(f, {"__restore_rt", "__restore"}),
            "@plt": lambda f: not is_library(f.object)
            and (f.symbol is None or f.symbol.endswith("@plt")),
            "@vdso": lambda f: f.object == "[vdso]",
            "@lib": lambda f: is_library(f.object),
            "@loader": lambda f: os.path.basename(f.object).startswith("ld-linux"),
            "@exe": lambda f: f.symbol is None and not is_library(f.object),
        }
        self.test = special.get(self.text, lambda f: base_name(f.symbol) in self.names)
        if self.text.startswith("@") and self.text not in special:
            raise ValueError("no such word: " + self.text)

    def is_marker(self):
        return self.text.startswith("steady")


def words_of(path):
    texts = path.split(";")
    if texts[0] == "@thread":
        texts[:1] = ["@clone", "@start_thread"]
    elif texts[0] == "@bottom":
        texts[:1] = []
    elif texts[0] != "@context":
        texts[:0] = ["@start", "@libc_start", "@libc_start"]
    words = []
    for text in texts:
        times = re.fullmatch(r"(.*)\{(\d+)\}", text)
        words += [Word(times[1])] * int(times[2]) if times else [Word(text)]
    return words


class Expectation:
    """The paths of one workload."""

    def __init__(self, paths, outside_percent=2.0, torn_percent=0.0, covered=()):
        self.covered = covered
        self.paths = [words_of(path) for path in paths]
        self.outside_percent = outside_percent
        self.torn_percent = torn_percent
        self.seen = {}

    @classmethod
    def of_source(cls, name):
        for suffix in (".c", ".cc"):
            source = os.path.join(WORKLOADS, name + suffix)
            if os.path.exists(source):
                break
        with open(source, encoding="utf-8") as file:
            text = file.read().split("*/")[1]
        text = re.sub(r";\n \*  +", ";", text)
        paths = re.findall(r"^ \* EXPECT: (.*)$", text, re.M)
        outside = re.search(r"^ \* OUTSIDE: (\d+)$", text, re.M)
        torn = re.search(r"^ \* TORN: (\d+)$", text, re.M)
        covered = re.search(r"^ \* COVERED: (.*)$", text, re.M)
        assert paths, source
        return cls(paths, float(outside[1]) if outside else 2.0, float(torn[1]) if torn else 0.0,
                   tuple(covered[1].split(";")) if covered else ())

    def judge(self, frames):
        """'right', 'outside' (no steady function in it), 'torn' or 'wrong'."""
        verdict = self.seen.get(frames)
        if verdict is None:
            verdict = self.seen[frames] = self._judge(frames)
        return verdict

    def _judge(self, frames):
        if self.torn_percent and is_library(frames[-1].object) and self._is_odd(frames):
            return "torn"
        if self._is_outside(frames):
            return "outside"
        return "right" if any(self._walks(words, frames) for words in self.paths) else "wrong"

    def _is_odd(self, frames):
        """Neither right nor the program's start: the loader, libc's part of it, or main before it
        calls the first steady function."""
        if frames[0].symbol is None and os.path.basename(frames[0].object).startswith("ld-"):
            return False
        names = [frame.symbol or "" for frame in frames]
        if "main" in names and not any(name.startswith("steady") for name in names):
            return False
        if any(name in (frame.symbol or "") for frame in frames[:2]
               for name in ("_dl_start", "_dl_init", "call_init")):
            return False
        return not any(self._walks(words, frames) for words in self.paths)

    def _is_outside(self, frames):
        """Before or after the steady state: in the loader, or on the way to main, or in the
        handler that ends the program."""
        names = [frame.symbol or "" for frame in frames]
        if any(name.startswith("workload_end") for name in names):
            return True
        if any(word.is_marker() for words in self.paths for word in words):
            return not any(name.startswith("steady") for name in names)
        on_the_way = not all(word.test(frame)
                             for word, frame in zip(words_of("main")[1:3], frames[1:3]))
        # In a program without names, the frame that calls a library is its start or its end
        # (workload_ready(), workload_end()), since its paths are within the program.
        unnamed = all(word.text == "@exe" for words in self.paths for word in words[3:])
        return on_the_way or (unnamed and any(is_library(frame.object) for frame in frames[3:]))

    def ends_like(self, frames):
        """Are these the last frames of a right path?"""
        return any(self._walks(words, frames, set(range(len(words)))) for words in self.paths)

    def is_covered(self, frames):
        """Are these the frames of a path that can be known while its root part is unreadable?"""
        names = tuple(base_name(frame.symbol) for frame in frames)
        return (names[:len(self.covered)] == self.covered
                and len(names) <= len(self.covered) + 1 and self.ends_like(frames))

    @staticmethod
    def _walks(words, frames, states=frozenset([0])):
        for frame in frames:
            following = set()
            for state in states:
                if state > 0 and words[state - 1].many and words[state - 1].test(frame):
                    following.add(state)
                if state < len(words) and words[state].test(frame):
                    following.add(state + 1)
            states = following
            if not states:
                return False
        return True


def text_of(frames):
    return ";".join(frame.symbol or "?%s+0x%x" % (os.path.basename(frame.object), frame.ip)
                    for frame in frames)
