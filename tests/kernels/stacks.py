#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How much stack the calls of a BPF object take: stacks.py OBJECT... prints the largest chain of each
program, and exits with 1 if the verifier of Linux 6.1 would refuse one.

It adds up the stacks of a program and of what it calls in turn, callbacks of bpf_loop() included, each
rounded up to 32 bytes: 512 bytes and 8 functions at most. What a function takes differs between
compilers, and no test loads every program of each of them on that kernel. (Later verifiers round up
to 16 where the code is compiled, which takes less.)"""

import functools
import struct
import sys

MOST_BYTES = 512
MOST_FRAMES = 8
ROUNDED_TO = 32

CALL, LOAD_64, MOVE, ADD = 0x85, 0x18, 0xbf, 0x07  # whole opcodes
LOAD, STORE = (1,), (2, 3)  # classes
STACK = 10  # the register
FUNCTION, RELOCATIONS, SYMBOLS = 2, 9, 2  # kinds of symbols and sections
IS_CODE = 4


class Object:
    """The functions of an ELF file: where they are, what stack they take and what they call."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        start, = struct.unpack_from("<Q", self.data, 0x28)
        number, names = struct.unpack_from("<2xHH", self.data, 0x3a)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, start + i * 64)
                         for i in range(number)]
        table = next(s for s in self.sections if s[1] == SYMBOLS)
        self.symbols = [struct.unpack_from("<IBBHQQ", self.data, at)
                        for at in range(table[4], table[4] + table[5], 24)]
        self.targets = {(s[7], where): info >> 32 for s in self.sections if s[1] == RELOCATIONS
                        for where, info in struct.iter_unpack("<QQ", self.data[s[4]:s[4] + s[5]])}
        self.functions = {(s[3], s[4]): (self.text(self.sections[table[6]], s[0]), s[5])
                          for s in self.symbols if s[1] & 15 == FUNCTION}
        self.entries = [f for f in self.functions
                        if self.text(self.sections[names], self.sections[f[0]][0]) != ".text"]

    def text(self, section, at):
        start = section[4] + at
        return self.data[start:self.data.index(b"\0", start)].decode()

    def target(self, section, at, number):
        """The function that the instruction there names; None: none."""
        symbol = self.targets.get((section, at))
        if symbol is None:
            return section, at + 8 + number * 8
        _, info, _, there, value, _ = self.symbols[symbol]
        if info & 15 != FUNCTION:  # of the section, with the function's place in the instruction
            value = (number + 1) * 8 if self.data[self.sections[section][4] + at] == CALL else number
        return there, value

    def look_through(self, function):
        """The bytes of the stack that a function uses, and the functions that it calls."""
        section, start = function
        used, called, copies, at = 0, set(), set(), start
        while at < start + self.functions[function][1]:
            code, registers, offset, number = struct.unpack_from(
                "<BBhi", self.data, self.sections[section][4] + at)
            to, source = registers & 15, registers >> 4
            if STACK == (source if code & 7 in LOAD else to if code & 7 in STORE else None):
                used = max(used, -offset)
            if code == ADD and to in copies:
                used = max(used, -number)
            copies.discard(to)
            if code == MOVE and source == STACK:
                copies.add(to)
            if (code == CALL and source == 1) or (code == LOAD_64 and source == 4):
                called.add(self.target(section, at, number))
            elif code == LOAD_64 and (section, at) in self.targets:
                called |= {self.target(section, at, number)} & set(self.functions)
            at += 16 if code == LOAD_64 else 8
        return used, called

    @functools.lru_cache(maxsize=None)
    def chain(self, function):
        """The largest chain of calls: its bytes, most frames, and the names with their bytes."""
        used, called = self.look_through(function)
        below = [self.chain(callee) for callee in called]
        size, _, names = max(below, default=(0, 0, ()))
        size += -(-max(used, 1) // ROUNDED_TO) * ROUNDED_TO
        return (size, 1 + max((frames for _, frames, _ in below), default=0),
                ("%s (%d)" % (self.functions[function][0], used),) + names)


def chains(path):
    """Of each program of an object: the bytes, the frames, and the chain as a text."""
    code = Object(path)
    for entry in code.entries:
        size, frames, names = code.chain(entry)
        yield size, frames, " -> ".join(names)


def refused(path):
    """What is said of the programs of an object that Linux 6.1 would refuse for their stack."""
    return ["%d bytes, %d functions: %s" % found for found in chains(path)
            if found[0] > MOST_BYTES or found[1] > MOST_FRAMES]


def main():
    faults = 0
    for path in sys.argv[1:]:
        print("%s: %d bytes, %d functions: %s" % (path, *max(chains(path))))
        for fault in refused(path):
            print("refused: " + fault)
            faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
