#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the fuzz targets' first inputs: corpus.py DIRECTORY

Small programs are compiled here, each for a kind of call frame information (frame pointers,
realigned stacks, exceptions, .debug_frame, compressed sections, PLT, the end of the stack), and one
for what a file with Perl's interpreter exports. The files go to DIRECTORY/elf_file and
DIRECTORY/interpreter; their sections, with the header that fuzz_cfi wants, to
DIRECTORY/cfi; their code, with the headers that fuzz_analysis and fuzz_made want, to
DIRECTORY/analysis and DIRECTORY/made; the linker's index and the bytes after it in its program
header, with the header that fuzz_eh_frame_hdr wants, to DIRECTORY/eh_frame_hdr; small tables of Go
functions, made here, to DIRECTORY/pclntab; pieces of HotSpot's code, with the header that
fuzz_java_depth wants, to DIRECTORY/java_depth.
Fuzzing adds its findings to the same folders.
"""

import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

PT_LOAD = 1
PT_GNU_EH_FRAME = 0x6474e550

REALIGNED = """
#include <stddef.h>
void use(void *);
typedef int wide __attribute__((vector_size(32)));
int FUNCTION(int n) { wide w; char *p = __builtin_alloca(n); use(&w); use(p); return w[n]; }
"""
PLAIN = """
void use(void *);
int leaf(int n) { return n * 3; }
int FUNCTION(int n) { int a[100]; use(a); return n ? FUNCTION(n - 1) + a[n] : leaf(n); }
"""
SAVED = """
long use(long);
long FUNCTION(long a, long b, long c, long d, long e, long f) {
    long g = use(a), h = use(b), i = use(c), j = use(d), k = use(e), l = use(f);
    return use(g * h) + use(i * j) + use(k * l) + use(g + h + i + j + k + l); }
"""
SWITCH = """
#include <stdlib.h>
int f0(void) { return 3; }
static __attribute__((noinline, noreturn)) void stop(int n) { for (;;) f0(); }
int FUNCTION(int n) {
    char *p = __builtin_alloca(n);
    switch (n) {
    case 0: return f0(); case 1: f0(); return 7; case 2: stop(n); case 3: return f0() * 2;
    case 4: f0(); f0(); break; case 5: p[n] = 1; f0(); break; case 6: return n * f0();
    default: stop(2); }
    return p[0]; }
"""
ASSEMBLY = """
__asm__(".text; .globl odd; .type odd, @function; odd: .cfi_startproc; .cfi_signal_frame;"
        ".cfi_remember_state; .cfi_def_cfa_offset 16; nop; .cfi_register %rbp, %r11; nop;"
        ".cfi_restore_state; .cfi_escape 0x0f,3,0x77,8,6; nop; .cfi_same_value %rbx; nop;"
        ".cfi_val_offset %rbx, -16; nop; .cfi_undefined %rip; ret; .cfi_endproc;"
        "start: .cfi_startproc; .cfi_undefined %rip; nop; .cfi_def_cfa %r10, 0; nop;"
        ".cfi_escape 0x10,6,2,0x76,0; nop; .cfi_escape 0x0f,3,0x76,0x78,6; ret; .cfi_endproc");
int FUNCTION(void) { return 1; }
"""
PERL = """
#define FIELD(at) (*(long (**)(char *))(my_perl + (at)))
const unsigned char PL_revision = 5, PL_version = 36, PL_subversion = 0;
const unsigned short PL_interp_size = 3768;
int Perl_runops_standard(char *my_perl) {
    long (**op)(char *) = *(void **)my_perl;
    while ((op = (void *)op[0](my_perl))) *(void **)my_perl = op;
    return 0; }
long FUNCTION(char *my_perl) { return FIELD(2288)(my_perl) + 1; }
__attribute__((visibility("hidden"), noinline)) long block(char *my_perl) { return FIELD(2288)(my_perl) + 2; }
int perl_run(char *my_perl) {
    *(void **)(my_perl + 760) = &my_perl;
    return (int)FIELD(2288)(my_perl) + (int)block(my_perl); }
"""
CXX = """
struct guard { ~guard(); }; void use(guard *);
int FUNCTION(int n) { guard g; try { use(&g); } catch (int e) { return e; } return n; }
"""

# name: (language, source, flags)
PROGRAMS = {
    "plain": ("c", PLAIN, "-O2 -shared -fPIC"),
    "frame_pointer": ("c", PLAIN, "-O1 -fno-omit-frame-pointer -shared -fPIC"),
    "saved": ("c", SAVED, "-O2 -shared -fPIC"),
    "realigned": ("c", REALIGNED, "-O2 -mavx -shared -fPIC"),
    "executable": ("c", PLAIN + "void use(void *p) {} void _start(void) { f(3); }",
                   "-O2 -no-pie -static"),
    "debug_frame": ("c", SAVED, "-O2 -shared -fPIC -fno-asynchronous-unwind-tables -g1"),
    "compressed": ("c", "".join(SAVED.replace("FUNCTION", f"f{i}") for i in range(20)),
                   "-O2 -shared -fPIC -fno-asynchronous-unwind-tables -g1 -gz=zlib"),
    "two_sections": ("c", '__asm__(".cfi_sections .eh_frame, .debug_frame");' + ASSEMBLY +
                     SAVED.replace("FUNCTION", "g"), "-O2 -shared -fPIC -g1"),
    "no_build_id": ("c", ASSEMBLY, "-O2 -shared -fPIC -Wl,--build-id=none"),
    "switch": ("c", SWITCH, "-O2 -fno-asynchronous-unwind-tables -shared -fPIC"),
    "switch_fixed": ("c", SWITCH + "void _start(void) { FUNCTION(2); }",
                     "-O2 -fno-asynchronous-unwind-tables -fno-pic -no-pie -static"),
    "perl": ("c", PERL, "-O2 -shared -fPIC -Wl,--hash-style=gnu"),
    "perl_full": ("c", PERL + "long many(char *my_perl) { long n = 0;" + "n += FIELD(2288)(my_perl);" * 20 + "return n; }",
                  "-O2 -shared -fPIC -Wl,--hash-style=gnu"),
    "exceptions": ("c++", CXX, "-O2 -shared -fPIC"),
}


def program_headers(elf):
    """(type, flags, offset, vaddr, bytes in the file) of each."""
    phoff, = struct.unpack_from("<Q", elf, 32)
    phnum, = struct.unpack_from("<H", elf, 56)
    for i in range(phnum):
        kind, flags, offset, vaddr, _, size = struct.unpack_from("<IIQQQQ", elf, phoff + 56 * i)
        yield kind, flags, offset, vaddr, size


def sections(elf):
    """(name, flags, vaddr, bytes) of each section, and the executable segment's range."""
    shoff, = struct.unpack_from("<Q", elf, 40)
    shnum, strndx = struct.unpack_from("<HH", elf, 60)
    headers = [struct.unpack_from("<IIQQQQ", elf, shoff + 64 * i) for i in range(shnum)]
    names = elf[headers[strndx][4]:]
    found = [(names[h[0]:names.index(b"\0", h[0])].decode(), h[2], h[3], elf[h[4]:h[4] + h[5]])
             for h in headers if h[1] != 8]
    for kind, flags, offset, vaddr, size in program_headers(elf):
        if kind == PT_LOAD and flags & 1:
            return found, (vaddr, offset, size)
    return found, (0, 0, 0)


def write(directory, name, data):
    (directory / name).write_bytes(data)


def add_index(out, name, elf):
    for kind, _, _, index, _ in program_headers(elf):
        if kind != PT_GNU_EH_FRAME:
            continue
        for kind, _, offset, vaddr, size in program_headers(elf):
            if kind == PT_LOAD and vaddr <= index < vaddr + size:
                data = elf[offset + index - vaddr:offset + size]
                start = index + int.from_bytes(data[12:16], "little", signed=True)  # of row 0
                write(out / "eh_frame_hdr", name, struct.pack("<QQ", index, start) + data)


def add_code(out, name, elf):
    found, _ = sections(elf)
    for section, _, vaddr, data in found:
        if section == ".text":
            for flags in range(4):
                write(out / "analysis", "%s.%d" % (name, flags), struct.pack("<QB", vaddr << 16, flags) + data)
                write(out / "made", "%s.%d" % (name, flags),
                      struct.pack("<HHB", 0x4000, 0x2000 * flags, 0x90 + flags) + data[:60000])


def add_file(out, name, elf):
    write(out / "elf_file", name, elf)
    write(out / "interpreter", name, elf)
    add_code(out, name, elf)
    write(out / "elf_file", name + "_odd", elf + b"\0" * (1 - len(elf) % 2))
    add_index(out, name, elf)
    found, segment = sections(elf)
    frames = {}
    for section, flags, vaddr, data in found:
        if section in (".eh_frame", ".debug_frame"):
            if flags & 0x800:
                data = zlib.decompress(data[24:])
            is_eh = section == ".eh_frame"
            frames[is_eh] = data
            write(out / "cfi", name + section, struct.pack("<QQQQB", vaddr, *segment, is_eh) + data)
    if len(frames) == 2:
        eh, debug = frames[True], frames[False]
        half = max(len(eh), len(debug))
        data = eh.ljust(half, b"\0") + debug.ljust(half, b"\0")
        write(out / "cfi", name + ".both", struct.pack("<QQQQB", 0, *segment, 3) + data)

# Code of Go's runtime: what is left of systemstack, asmcgocall and gogo from where they call.
GO_CODE = {
    "systemstack":
        ("4889dc4889fa488b3fffd764488b0425f8ffffff488b5830488b83c00000006448890425"
         "f8ffffff488b603848c7403800000000c348"),
    "asmcgocall":
        ("ffd0488b7c2430488b7708482b7424286448893c25f8ffffff4889f489442418c34883ec"
         "404883e4f048c74424300000000048895424284889df4889d9ffd0488b7424284889f489"
         "442418c3"),
    "gogo":
        ("488b23488b4320488b5318488b6b3048c7030000000048c743200000000048c743180000"
         "000048c7433000000000488b5b08ffe3"),
}


def go_table(version):
    """The text's address and a .gopclntab of three functions: Go 1.2, 1.16, 1.18 or 1.20."""
    is_first, has_text = version == 2, version >= 18
    word, text = ("I" if has_text else "Q"), 0x401000
    base = 0 if has_text else text
    names = b"\0runtime.goexit\0main.work\0main.main\0"
    values = b"\0\x02\x04\x30\x1b\x2f\x01\0\x04\x20\0\x16\x08\x02\x18\0"
    magic = {2: 0xfffffffb, 16: 0xfffffffa, 18: 0xfffffff0, 20: 0xfffffff1}[version]
    head = struct.pack("<IIQ", magic, 0x08010000, 3)
    header = 16 + 7 * 8 + 4 if is_first else len(head) + 8 + 8 * has_text + 40
    offsets = [header, header + len(names), header + len(names) + 8,
               header + len(names) + 16, header + len(names) + 16 + len(values)]
    record = 40 + 4 * (not has_text) + 4 * (version == 20)
    list_size = 0 if is_first else 7 * struct.calcsize("<" + word)
    first = offsets[4] + list_size - (0 if is_first else offsets[4])
    functions = b"".join(struct.pack("<" + 2 * word, base + 32 * i, first + record * i)
                         for i in range(3)) + struct.pack("<" + word, base + 96)
    shift, name = (offsets[3], offsets[0]) if is_first else (0, 0)
    records = b"".join(
        (struct.pack("<" + word, base + 32 * i) +
         struct.pack("<IIIIIIIII", name + at, 0, 0, shift + 1, shift + 8, shift + 11, 0, 0, 10) +
         bytes(4)).ljust(record, b"\0")[:record] for i, at in enumerate((1, 16, 26)))
    parts = names + struct.pack("<II", 0, 1) + b"\0a/b.go\0" + values
    if is_first:
        table = head + functions + struct.pack("<I", offsets[1]) + parts + records
    else:
        table = (head + struct.pack("<Q", 1) + struct.pack("<Q", text) * has_text +
                 struct.pack("<5Q", *offsets) + parts + functions + records)
    return struct.pack("<Q", text) + table


# Code of HotSpot 25: its kind, the words of its frame, where it is entered, and where its stubs begin.
JAVA_CODE = {
    "method":
        (0, 4, 0x10, 0x88,
         "448b5608443b50080f8500100000669089842400c0feff554883ec1041817f20090000000f8554000000448b56244181fa"
         "3807f5ff741c33c04181fa31d4f3ff0f94c04883c4105d493b67280f8716000000c3be45ffffff418beae8807a9eff0f1f"
         "84005801000049bac895fe7fbe7f00004d899738050000e962059affe8bd6f98ffe9a2ffffffe9537d9effe80000000048"
         "832c2405e9c4ec99ff"),
    "stub": (1, 0, 0, 0x10, "55488bec504883e4f0e800100000c9c3"),
    "adapter":
        (2, 0, 0, 0x3b,
         "4c8bdc584883e4f050498bc34c8b5b4041ffe348837b4800740f4c8bec4883e4f0e800100000498be54c8d6c2408584883"
         "ec10504889742410ffe1"),
}


def java_code(kind, frame, entry, stubs, code):
    data = bytes.fromhex(code)
    parts = [(65535 * at + len(data) - 1) // len(data) for at in (entry, stubs)]
    return struct.pack("<BBHH", kind, frame, *parts) + data


def main():
    out = pathlib.Path(sys.argv[1])
    for kind in ("analysis", "made", "elf_file", "cfi", "eh_frame_hdr", "pclntab", "java_depth", "interpreter"):
        (out / kind).mkdir(parents=True, exist_ok=True)
    for name, code in JAVA_CODE.items():
        write(out / "java_depth", name, java_code(*code))
    for version in (2, 16, 18, 20):
        write(out / "pclntab", f"go_1_{version}", go_table(version))
    for name, code in GO_CODE.items():
        write(out / "pclntab", name, bytes.fromhex(code))
    with tempfile.TemporaryDirectory() as work:
        for name, (language, source, flags) in PROGRAMS.items():
            path = pathlib.Path(work) / name
            subprocess.run(["gcc", "-x", language, "-", "-nostdlib", "-o", path, *flags.split()],
                           input=source.replace("FUNCTION", "f").encode(), check=True)
            add_file(out, name, path.read_bytes())


main()
