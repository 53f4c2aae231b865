# SPDX-License-Identifier: MIT
"""Which function can call which, from a program's instructions (objdump) and symbols (nm)."""

import bisect
import re
import subprocess

from harness import check
from perf_script import is_kernel

INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(\S+)\s*(\S*)")
HEX = re.compile(r"[0-9a-f]+")

# The caller of these was interrupted, or is yet to be gone on with: it need not call anything.
UNCALLED = ("runtime.sigreturn", "runtime.sigreturn__sigaction", "runtime.asyncPreempt",
            "runtime.sigpanic", "gogo", "runtime.gogo")

# Of the code: no functions, but where one begins.
BOUNDS = ("runtime.text", "runtime.etext")


def output_of(*command):
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True).stdout


def plain(name):
    return name[:-len(".abi0")] if name.endswith(".abi0") else name


class Calls:
    """The calls and jumps of a program with symbols that is linked to fixed addresses, and which of
    its functions have names in the same program without symbols (stripped)."""

    def __init__(self, path, stripped):
        symbols = [line.split(None, 2) for line in output_of("nm", "-n", path).splitlines()]
        self.symbols = [(int(word[0], 16), plain(word[2])) for word in symbols
                        if len(word) == 3 and word[1] in "tTwWi" and word[2] not in BOUNDS]
        self.starts = [start for start, _ in self.symbols]
        bounds = {word[2]: int(word[0], 16) for word in symbols if word[-1] in BOUNDS}
        self.go = [bounds[name] for name in BOUNDS]
        self.exported = {line.split()[-1]
                         for line in output_of("nm", "-D", "--quiet", stripped).splitlines()}
        self.targets = {}   # by return address; None: an indirect call
        self.jumps = {}     # by function: functions that it jumps to
        self.jumps_anywhere = set()
        self.read(output_of("objdump", "-d", "--no-show-raw-insn", path))
        self.base = self.find_base(path)

    @staticmethod
    def find_base(path):
        """What to add to a file offset in the code for its address."""
        for line in output_of("readelf", "-lW", path).splitlines():
            words = line.split()
            if words and words[0] == "LOAD" and "E" in words[6:-1]:
                return int(words[2], 16) - int(words[1], 16)
        raise ValueError(path + " has no code")

    def read(self, text):
        call = ()
        for line in text.splitlines():
            found = INSTRUCTION.match(line)
            if not found:
                continue
            at, name = int(found[1], 16), found[2]
            target = int(found[3], 16) if HEX.fullmatch(found[3]) else None
            if call:
                self.targets[at] = call[0]
            call = (target,) if name.startswith("call") else ()
            if name.startswith("j"):
                self.add_jump(self.function(at), target)

    def add_jump(self, function, target):
        if target is None:
            self.jumps_anywhere.add(function)
        elif self.function(target) != function:
            self.jumps.setdefault(function, set()).add(self.function(target))

    def function(self, address):
        index = bisect.bisect_right(self.starts, address)
        return self.symbols[index - 1][1] if index else None

    def name(self, frame, is_caller):
        """A frame's name; that of the program with symbols, where the other has none for it: C's,
        but for those that it exports. (Go 1.19 exports all of them, 1.24 what Go calls back.)"""
        if frame.symbol:
            return frame.symbol
        address = frame.ip + self.base - is_caller
        found = self.function(address)
        is_named = self.go[0] <= address < self.go[1] or found in self.exported
        return None if is_named else found

    def reaches(self, start, function):
        """Can code at the start of a function come into another one by jumps alone?"""
        seen, to_do = {start}, [start]
        while to_do:
            at = to_do.pop()
            if at == function or at in self.jumps_anywhere:
                return True
            new = self.jumps.get(at, set()) - seen
            seen |= new
            to_do += new
        return False

    def fault_of(self, callee, caller, ip):
        """What is wrong with a pair of names, and the caller's return address; None: nothing."""
        if callee in UNCALLED or caller in UNCALLED:
            return None
        named = self.function(ip + self.base - 1)
        if named != caller:
            return "is " + str(named)
        if caller == "runtime.goexit":
            return None
        address = ip + self.base
        if address not in self.targets:
            return "no return address"
        target = self.targets[address]
        if target is None or self.reaches(self.function(target), callee):
            return None
        return "calls " + self.function(target)


def check_edges(samples, path, calls):
    """Checks that all frames of a program have their own names, and each calls the next one in.
    The number of pairs that were checked, and how many of each function were in them."""
    pairs, seen, faults = 0, {}, {}
    for sample in samples:
        frames = [frame for frame in sample.frames if not is_kernel(frame)]
        for caller, callee in zip(frames, frames[1:]):
            if caller.object != path or callee.object != path:
                continue
            pairs += 1
            names = calls.name(callee, False), calls.name(caller, True)
            seen[names[1]] = seen.get(names[1], 0) + 1
            fault = calls.fault_of(*names, caller.ip)
            if fault:
                key = "%s called by %s at %x: %s" % (*names, caller.ip, fault)
                faults[key] = faults.get(key, 0) + 1
    check(not faults, "%d pairs of frames are wrong" % sum(faults.values()),
          *["%d %s" % (count, key) for key, count in sorted(faults.items())[:10]])
    return pairs, seen
