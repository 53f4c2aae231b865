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
            "@sigret": lambda f: f.symbol == "__kernel_rt_sigreturn" if f.object == "[vdso]"
            else is_named_or_unnamed_libc(f, {"__restore_rt", "__restore"}),
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

    def __init__(self, paths, torn=(), covered=(), begins=()):
        self.covered = covered
        self.begins = [words_of(path) for path in begins]
        self.torn = torn
        self.paths = [words_of(path) for path in paths]
        self.ways, self.inner = [words_of("main")], set()
        for words in self.paths:
            steady = next((at for at, word in enumerate(words) if word.is_marker()), 0)
            self.ways.append(words[:steady])
            self.inner.update(name for word in words for name in word.names if name[0] != "@")
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
        torn = re.search(r"^ \* TORN: (.*)$", text, re.M)
        covered = re.search(r"^ \* COVERED: (.*)$", text, re.M)
        assert paths, source
        return cls(paths, tuple(torn[1].split(";")) if torn else (), tuple(covered[1].split(";")) if covered else (),
                   re.findall(r"^ \* BEGIN: (.*)$", text, re.M))

    def judge(self, frames):
        """'right', 'outside' (of the steady state), 'torn' or 'wrong'."""
        verdict = self.seen.get(frames)
        if verdict is None:
            verdict = self.seen[frames] = self._judge(frames)
        return verdict

    def _judge(self, frames):
        end = self._end_of(frames)
        if end is not None:
            verdict = self.judge(frames[:end]) if end else "wrong"
            return "outside" if verdict == "right" else verdict
        if self._is_outside(frames) or self._is_handled_outside(frames):
            return "outside"
        if self._is_steady(frames) and self._walks_any(frames):
            return "right"
        return "torn" if self._is_torn(frames) else "wrong"

    @staticmethod
    def _end_of(frames):
        """Where the signal's frame is that the program's end was called from: workload_end()."""
        return next((at - 1 for at, frame in enumerate(frames) if at and (frame.symbol or "").startswith("workload_end")
                     and Word("@sigret").test(frames[at - 1])), None)

    def _is_steady(self, frames):
        if any(word.is_marker() for words in self.paths for word in words):
            return any((frame.symbol or "").startswith("steady") for frame in frames)
        # In a program without names, the frame that calls a library is its start or its end
        # (workload_ready(), workload_end()), since its paths are within the program.
        unnamed = all(word.text == "@exe" for words in self.paths for word in words[3:])
        return (all(word.test(frame) for word, frame in zip(words_of("main")[1:3], frames[1:3]))
                and not (unnamed and any(is_library(frame.object) for frame in frames[3:])))

    def _is_outside(self, frames):
        """On the way to the steady state, or aside from it: in the loader, or where a path begins; behind that
        come functions which no path has."""
        if self._is_steady(frames):
            return False
        if any(self._walks(words, frames) for words in self.begins):
            return True
        way = 1 if Word("@loader").test(frames[0]) else max(self._common(words, frames) for words in self.ways)
        return way > 0 and not any(base_name(frame.symbol) in self.inner for frame in frames[way:])

    def _is_handled_outside(self, frames):
        """In a handler, whose path from its trampoline on is one of the declared ones, on the way to the steady state."""
        return any(Word("@sigret").test(frames[at]) and self._is_outside(frames[:at]) and
                   any(word.text == "@sigret" and self._walks(words[i:], frames[at:])
                       for words in self.paths for i, word in enumerate(words))
                   for at in range(1, len(frames)))

    @staticmethod
    def _common(words, frames):
        """How many of the first frames are the first words, one by one."""
        return next((at for at, pair in enumerate(zip(words, frames)) if not pair[0].test(pair[1])),
                    min(len(words), len(frames)))

    def _is_torn(self, frames):
        """Within a function that makes another stack, or a part of it farther out, the thread's: its return
        address is that of where the thread goes on, and the frame there is above it in the path."""
        at = self._torn_at(frames)
        return at is not None and at > 1 and self._walks_any(frames[:at - 1] + frames[at:])

    def _torn_at(self, frames):
        """Where such a function is, at the leaf or with one more of its library."""
        return next((at for at in range(max(len(frames) - 2, 0), len(frames)) if base_name(frames[at].symbol) in self.torn
                     and all(is_library(frame.object) for frame in frames[at + 1:])), None)

    def is_torn_end(self, frames):
        """Are these the last frames of a path that is cut within such a function? There may be one too many, and
        the signal that ends the program may have come there."""
        end = self._end_of(frames)
        frames = frames if end is None else frames[:end]
        at = self._torn_at(frames)
        return at == 0 or bool(at) and self.ends_like(frames[:at - 1] + frames[at:])

    def can_be_end(self, frames):
        """Can these be the last frames of a path, of the steady state or not?"""
        end = self._end_of(frames)
        frames = frames if end is None else frames[:end]
        return self.ends_like(frames) or not any(base_name(frame.symbol) in self.inner for frame in frames)

    def _walks_any(self, frames):
        return any(self._walks(words, frames) for words in self.paths)

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
