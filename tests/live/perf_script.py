# SPDX-License-Identifier: MIT
"""Reading the text of `perf script`, perf's own or that of `stackctl export --perf-script`.

One reader for both, so that the live tests and bench/ judge all profilers by the same code. It is
a generator over samples: recordings of perf with copied stacks give texts of gigabytes.
"""

import collections
import functools
import os
import re
import struct

Frame = collections.namedtuple("Frame", "ip symbol object")
Sample = collections.namedtuple("Sample", "comm tid time event frames")  # frames: root first

HEADER = re.compile(r"^(?P<comm>\S.*?)\s+(?:(?P<pid>\d+)/)?(?P<tid>\d+)\s+(?:\[\d+\]\s+)?"
                    r"(?P<time>\d+\.\d+):\s+(?:\d+\s+)?(?P<event>\S+):")
FRAME_WITH_OFFSET = re.compile(r"^\s+([0-9a-f]+) (.*?)\+0x[0-9a-f]+ \((.*)\)"
                               r"(?: \[reconstructed\])?$")
FRAME_WITHOUT = re.compile(r"^\s+([0-9a-f]+) (.*?) \((.*)\)(?: \[reconstructed\])?$")


@functools.lru_cache(maxsize=1 << 18)
def parse_frame(line):
    """A frame; its symbol is None if it has no name. None for a line that is no frame."""
    found = FRAME_WITH_OFFSET.match(line) or FRAME_WITHOUT.match(line)
    if not found:
        return None
    ip, symbol, where = int(found[1], 16), found[2], found[3]
    base = os.path.basename(where.replace(" (deleted)", ""))
    if symbol == "[unknown]" or (base and re.fullmatch(re.escape(base) + r"(\+0x[0-9a-f]+)?",
                                                       symbol)):
        symbol = None
    elif symbol.endswith(" (inlined)"):
        symbol = symbol[:-len(" (inlined)")]
    return Frame(ip, symbol, where)


def rooted(frames):
    """Root first, and inlined functions with the object of the function that they are in."""
    where, result = "", []
    for frame in reversed(frames):
        if frame.object == "inlined":
            frame = frame._replace(object=where)
        where = frame.object
        result.append(frame)
    return tuple(result)


def is_kernel(frame):
    return frame.object.startswith("[") and frame.object not in ("[vdso]", "[vsyscall]",
                                                                 "[unknown]", "[heap]", "[stack]",
                                                                 "[jit]")


def read(stream):
    """The samples of a text, in its order. A line that is neither header, frame nor empty is an
    error: nothing may be dropped silently."""
    header, frames = None, []
    for line in stream:
        line = line.rstrip("\n")
        if not line:
            if header:
                yield Sample(header["comm"], int(header["tid"]), float(header["time"]),
                             header["event"], rooted(frames))
            header, frames = None, []
        elif line[0] in " \t" and header:
            frame = parse_frame(line)
            if frame is None:
                raise ValueError("not a frame: %r" % line)
            frames.append(frame)
        else:
            header = HEADER.match(line.strip())
            if not header:
                raise ValueError("not a sample's header: %r" % line)
    if header:
        yield Sample(header["comm"], int(header["tid"]), float(header["time"]), header["event"],
                     rooted(frames))


# --- is a stack complete? ------------------------------------------------------------------------

THREAD_ENTRIES = {"clone", "__clone", "clone3", "__clone3", "__clone_internal"}
LOADER = re.compile(r"ld-linux-x86-64\.so\.2$|/ld-[0-9.]+\.so$")
ENTRY_BYTES = 64  # _start is no longer than this in programs of glibc's and in its loader


@functools.lru_cache(maxsize=None)
def entry_addresses(path):
    """The addresses of `_start`: the file offset and the linked address of the ELF entry. Empty for
    a file that is neither a program nor the loader: a library's entry is no thread's."""
    if re.search(r"\.so(\.|$)", path) and not LOADER.search(path):
        return ()
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:4] != b"\x7fELF":
                return ()
            entry, phoff = struct.unpack_from("<QQ", head, 24)
            phentsize, phnum = struct.unpack_from("<HH", head, 54)
            file.seek(phoff)
            table = file.read(phentsize * phnum)
    except OSError:
        return ()
    addresses = {entry}
    for at in range(0, len(table) - 55, phentsize):
        kind, _, offset, vaddr, _, filesz = struct.unpack_from("<IIQQQQ", table, at)
        if kind == 1 and vaddr <= entry < vaddr + filesz:
            addresses.add(entry - vaddr + offset)
    return tuple(addresses)


def is_complete(frames):
    """Does the outermost frame lie in the thread's entry: `_start` of the program or the loader,
    by the ELF entry address, or clone's child?"""
    if not frames:
        return False
    root = frames[0]
    base = root.symbol.split("@")[0] if root.symbol else None
    if base in THREAD_ENTRIES:
        return True
    addresses = entry_addresses(root.object)
    if base == "_start" and addresses:
        return True
    return any(0 <= root.ip - address <= ENTRY_BYTES for address in addresses)
