# SPDX-License-Identifier: MIT
"""Twins: programs of Debian's sources, built with and without unwind tables, otherwise alike. Both run
under ptrace from the same function on, an instruction at a time; each is a sample. The two must have
the same path at each step."""

import ctypes
import difflib
import os
import re
import subprocess
import sys
import tempfile

from harness import SIGINT, SIGKILL, SIGSTOP, Daemon, Recording

STEPS = 20000
TRACEME, PEEKTEXT, POKETEXT, CONT, SINGLESTEP, GETREGS, SETREGS = 0, 1, 4, 7, 9, 12, 13
RIP, REGISTERS = 16, 27
NO_RANDOM = 0x0040000
FRAME = re.compile(r"^\s+[0-9a-f]+ (\S.*?)(?: \(inlined\))? \((.*?)\)$")
BARE = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def text_of_lua(work):
    with open(work + "/in.lua", "w", encoding="ascii") as file:
        file.write("local t={} for i=1,1e6 do t[i%97]=tostring(i)..'x' "
                   "table.sort(t) string.format('%d %s',i,t[1] or '') end")


def text_of_zlib(work):
    with open(work + "/in.txt", "w", encoding="ascii") as file:
        file.write("".join("%d %x\n" % (i * 7919 % 10007, i * i) for i in range(60000)))


def sources(source):
    """The programs, and the functions from which on they are compared."""
    return [
        (source("zlib", "zlib", ".", ["*.c", "test/minigzip.c"], ["-DHAVE_UNISTD_H"], [],
                text_of_zlib, ["in.txt"]), "deflate"),
        (source("bzip2", "bzip2", ".",
                [name + ".c" for name in ("blocksort", "bzip2", "bzlib", "compress", "crctable",
                                          "decompress", "huffman", "randtable")],
                ["-D_FILE_OFFSET_BITS=64"], [], text_of_zlib, ["-kf", "in.txt"]), "BZ2_hbMakeCodeLengths"),
        # C++ that throws nothing: where exceptions can pass, the compiler makes tables in any case.
        (source("tinyxml2", "tinyxml2", ".", ["tinyxml2.cpp", "contrib/html5-printer.cpp"],
                ["-fno-exceptions"], [], None, []), "_ZN8tinyxml211XMLDocument5ParseEPKcm"),
        (source("lua", "lua5.4", "src", ["l[!u]*.c", "lu[!a]*.c", "lua.c"],
                # The seed of hashes is an address and the time otherwise.
                ["-DLUA_USE_POSIX", "-Dluai_makeseed(...)=42u"], ["-lm"], text_of_lua, ["in.lua"]), "luaV_execute"),
        (source("sqlite3", "sqlite3", ".", ["sqlite3.c", "shell.c"],
                ["-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"], ["-lm"], None,
                [":memory:", "CREATE TABLE t(a,b); WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL "
                 "SELECT i+1 FROM n WHERE i<5000) INSERT INTO t SELECT i*7919%5003, hex(i) FROM n;"
                 "CREATE INDEX x ON t(b,a); SELECT count(*) FROM t WHERE b>'3';"]), "sqlite3_step"),
    ]


def make_sqlite(folder):
    """Debian's source is many files, of which its own scripts make one."""
    for command in (["./configure", "--disable-tcl", "--disable-readline"],
                    ["make", "sqlite3.c", "shell.c"]):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)


def ptrace(request, pid, address=None, data=None):
    result = libc.ptrace(request, pid, address, data)
    if result < 0 and request != PEEKTEXT:
        raise OSError(ctypes.get_errno(), "ptrace")
    return result


def wait(pid):
    return os.WIFSTOPPED(os.waitpid(pid, 0)[1])


def start(work, command):
    """A traced process, stopped in exec(), with the same addresses each time."""
    pid = os.fork()
    if not pid:
        try:
            os.chdir(work)
            nobody = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(nobody, number)
            libc.personality(NO_RANDOM)
            ptrace(TRACEME, 0)
            os.kill(os.getpid(), SIGSTOP)
            os.execve(command[0], command, {"LC_ALL": "C"})
        finally:
            os._exit(127)
    wait(pid)
    ptrace(CONT, pid)
    wait(pid)
    return pid


def run_to(pid, address):
    """Lets it run to an address, by a breakpoint that is taken out again."""
    word = ptrace(PEEKTEXT, pid, address)
    ptrace(POKETEXT, pid, address, word & ~0xff | 0xcc)
    ptrace(CONT, pid)
    if not wait(pid):
        raise OSError("the program has ended")
    registers = (ctypes.c_ulonglong * REGISTERS)()
    ptrace(GETREGS, pid, None, ctypes.addressof(registers))
    registers[RIP] = address
    ptrace(SETREGS, pid, None, ctypes.addressof(registers))
    ptrace(POKETEXT, pid, address, word)


def address_of(program, function):
    table = subprocess.check_output(["nm", program], text=True)
    return int(re.search(r"^([0-9a-f]+) [Tt] %s$" % function, table, re.M)[1], 16)


def paths_of(store):
    """The paths of user frames, in order of time. A switch that is no step repeats one, and so does
    an instruction that repeats itself: they count once."""
    last = None
    text = Recording(store).text("export", "--perf-script", *Recording.OBSERVED)
    for block in text.split("\n\n"):
        frames = (FRAME.match(line) for line in block.split("\n")[1:])
        path = tuple(frame[1] for frame in frames if frame and not frame[2].startswith("[kernel"))
        if path and path != last:
            yield path
        last = path


def record(work, program, arguments, function):
    store = program + ".db"
    pid = start(work, [program, *arguments])
    try:
        run_to(pid, address_of(program, function))
        with Daemon(store, "-q", "-e", "context-switches", "-c", 1, "--ring-bytes", "64M", "--pid",
                    pid) as daemon:
            daemon.wait_recording()
            for _ in range(STEPS):
                ptrace(SINGLESTEP, pid)
                if not wait(pid):
                    break
            daemon.finish(SIGINT)
    finally:
        os.kill(pid, SIGKILL)
        os.waitpid(pid, 0)
    stats = Recording(store).stats()
    return list(paths_of(store)), stats["quality"]["partial"], stats["lost"]


def shifted(one, two, by):
    """Pairs of steps, of which one recording has `by` more at the beginning."""
    return zip(one[max(by, 0):], two[max(-by, 0):])


def count_same(one, two, by):
    return sum(a == b for a, b in shifted(one, two, by))


def compare(work, folder, source, function, debian_source):
    """Prints a pair's line; whether all paths are the same."""
    results = []
    for name, flags in (("tables", []), ("bare", BARE)):
        program = "%s/%s-%s" % (work, source.name, name)
        debian_source.build(source, folder, program, ["-fno-pie", *flags],
                            ["-static", "-no-pie"])
        results.append(record(work, program, source.arguments, function))
    (one, _, lost), (two, partial, lost_too) = results
    # Whether the step into the function is a sample of its own depends on when sampling began.
    shift = max((0, 1, -1), key=lambda by: count_same(one, two, by))
    matcher = difflib.SequenceMatcher(None, one, two, autojunk=False) if lost or lost_too else None
    same = (sum(block.size for block in matcher.get_matching_blocks()) if matcher
            else count_same(one, two, shift))
    compared = min(len(one), len(two)) if matcher else len(list(shifted(one, two, shift)))
    different = compared - same
    print("%-8s %6d and %6d steps, %d different, %d of the bare one's incomplete; %d and %d lost%s"
          % (source.name, len(one), len(two), different, partial, lost, lost_too,
             "   MISSED" if different or partial else ""), flush=True)
    for a, b in [pair for pair in shifted(one, two, shift) if pair[0] != pair[1]][:3]:
        if not matcher:
            print("  " + " ".join(a), "  " + " ".join(b), sep="\n")


def measure(debian_source):
    for source, function in sources(debian_source.Source):
        with tempfile.TemporaryDirectory() as work:
            try:
                folder = debian_source.fetch(work, [source])[source.name]
                if source.name == "sqlite3":
                    make_sqlite(folder)
                if source.prepare:
                    source.prepare(work)
                compare(work, folder, source, function, debian_source)
            except (OSError, subprocess.CalledProcessError) as error:
                print("%-8s left out: %s" % (source.name, error))


if __name__ == "__main__":
    sys.exit("twins.py: run no_cfi.py twins")
