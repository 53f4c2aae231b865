# SPDX-License-Identifier: MIT
"""Names that are in other files than the program, or packed into it: the worker without rights gets
these files, and readers find them as well."""

import os
import shutil

from harness import (DONE, SIGKILL, Daemon, Recording, Skip, background, check, live, record, run,
                     scratch)
from test_names import names_in

PROGRAM = """
#include <stdio.h>
#include <time.h>
static volatile unsigned long sink;
static inline __attribute__((always_inline)) void inner(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i * i;
}
static inline __attribute__((always_inline)) void middle(unsigned long n) { inner(n); }
__attribute__((noinline)) void outer(unsigned long n) { middle(n); sink++; }
int main(int argc, char **argv)
{
	(void)argv;
	puts("READY");
	fflush(stdout);
	while (clock() < (argc > 1 ? 30 * CLOCKS_PER_SEC : CLOCKS_PER_SEC / 4)) {
		outer(100000);
		sink--;
	}
	return 0;
}
"""


def build(folder, name, *flags, compiler="gcc"):
    """Compiles to FOLDER/NAME. False: this compiler cannot."""
    path = os.path.join(folder, name)
    with open(path + ".c", "w") as file:
        file.write(PROGRAM)
    made = run("sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", folder, compiler, "-O2", *flags,
               "-o", name, name + ".c")
    return path if made.status == DONE else None


def expect(store, path, *wanted):
    found = names_in(Recording(store), path)
    check(set(wanted) <= found, "names are missing", os.path.basename(path), found)


def recorded(folder, paths, *wanted):
    """Records these programs, one after the other."""
    record(folder + "/s.db", "-F", "1997", "--", "sh", "-c", "; ".join(paths))
    for path in paths:
        expect(folder + "/s.db", path, *wanted)


@live
def test_split_dwarf():
    with scratch() as folder:
        paths = []
        for compiler in filter(shutil.which, ("gcc", "clang")):
            for version in "5", "4":
                paths.append(build(folder, compiler + version, "-gdwarf-" + version, "-gsplit-dwarf",
                                   compiler=compiler))
                check(paths[-1], "not compiled", compiler, version)
        recorded(folder, paths, "inner", "middle", "outer")


@live
def test_split_dwarf_late():
    """A reader finds them itself, in a recording whose stackd was killed."""
    with scratch() as folder:
        path = build(folder, "split", "-g", "-gsplit-dwarf")
        with background(path, "long", ready="READY") as process:
            with Daemon(folder + "/s.db", "-F", 997, "--pid", process.pid) as daemon:
                daemon.wait_recording()
                daemon.wait_samples(10)
                daemon.finish(SIGKILL)
            expect(folder + "/s.db", path, "inner", "middle", "outer")


@live
def test_packed_symbols():
    """As Fedora strips its programs."""
    with scratch() as folder:
        path = build(folder, "full")
        mini = folder + "/mini"
        made = run("sh", "-c", 'cd "$1" && objcopy --only-keep-debug full all && objcopy -S '
                   "--keep-symbol=outer all symbols && xz symbols && strip -o bare full && "
                   "objcopy --add-section .gnu_debugdata=symbols.xz bare mini", "sh", folder)
        check(made.status == DONE and path, "not made", made)
        recorded(folder, [mini], "outer")


@live
def test_zstd_sections():
    with scratch() as folder:
        path = build(folder, "zstd", "-g")
        if run("objcopy", "--compress-debug-sections=zstd", path).status != DONE:
            raise Skip("objcopy has no zstd")
        recorded(folder, [path], "inner", "middle", "outer")
