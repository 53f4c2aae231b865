# SPDX-License-Identifier: MIT
"""Recipe tables that do not all fit: they come and go while their code runs, but are not made again and
again, and no walk reads rows that have become another file's."""

import os
import time

from chains import text_of
from harness import ROOM, STACKD, Recording, check, differing, is_incomplete, is_moment, live, run, scratch

FILES, FUNCTIONS = 8, 2000
MEMORY = 262144  # 65,536 rows: room for the C library and some of the files, of 14,000 each

# Functions of 16 bytes with seven rows each, that call what they are given.
LIBRARY = """
.globl NAME
.type NAME, @function
NAME:
.rept %d
.cfi_startproc
push %%rbx
.cfi_def_cfa_offset 16
.cfi_offset rbx, -16
push %%rbp
.cfi_def_cfa_offset 24
.cfi_offset rbp, -24
sub $DEPTH, %%rsp
.cfi_def_cfa_offset 24 + DEPTH
call *%%rdi
add $DEPTH, %%rsp
.cfi_def_cfa_offset 24
pop %%rbp
.cfi_def_cfa_offset 16
pop %%rbx
.cfi_def_cfa_offset 8
ret
.cfi_endproc
.p2align 4
.endr
.section .note.GNU-stack,"",@progbits
""" % FUNCTIONS

# Each library in turn, all functions of it, for a while.
PROGRAM = """
#include <time.h>
typedef void leaf_function(void);
typedef void library_function(leaf_function *);
%s
static volatile unsigned sum;
static void leaf(void)
{
	for (int i = 0; i < 3000; i++)
		sum += i;
}
static double cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
int main(void)
{
	char *const libraries[] = {%s};
	for (int turn = 0; turn < 3 * %d; turn++) {
		double end = cpu_seconds() + 0.15;
		while (cpu_seconds() < end)
			for (int i = 0; i < %d; i++)
				((library_function *)(libraries[turn %% %d] + 16 * i))(leaf);
	}
	return 0;
}
"""


def build(folder):
    """The program of many tables."""
    names = ["functions_%d" % i for i in range(FILES)]
    files = []
    source = folder + "/library.S"
    with open(source, "w", encoding="ascii") as file:
        file.write(LIBRARY)
    for i, name in enumerate(names):
        files.append("%s/lib%d.so" % (folder, i))
        # Rows that are another file's give another caller: each has its own depth.
        done = run("gcc", "-shared", "-nostdlib", "-DNAME=" + name, "-DDEPTH=%d" % (8 + 16 * i),
                   "-o", files[-1], source)
        check(done.status == 0, "gcc", done.err)
    with open(folder + "/program.c", "w", encoding="ascii") as file:
        file.write(PROGRAM % ("".join("extern library_function %s;" % name for name in names),
                              ", ".join("(char *)" + name for name in names), FILES, FUNCTIONS, FILES))
    done = run("gcc", "-O2", "-o", folder + "/program", folder + "/program.c", *files,
               "-Wl,-rpath," + folder)
    check(done.status == 0, "gcc", done.err)
    return os.path.join(folder, "program")


@live(long=True)
def test_evicted_tables():
    with scratch() as folder:
        program, start = build(folder), time.monotonic()
        done = run(STACKD, "-q", *ROOM, "-F", 997, "--judge", "--table-memory", MEMORY, "-o",
                   folder + "/s.db", "--", program)
        took = time.monotonic() - start
        check(done.status == 0, "stackd: status %d" % done.status, done.err)
        stats = Recording(folder + "/s.db").stats()
        counters = stats["counters"]
        print(took, stats)
        check(counters["forgotten.tables"] > 0, "all tables had room", counters)
        check(counters["judged_right"] > 0, "the kernel half walked nothing", counters)
        check(differing(counters) == 0, "walks differ from the daemon's", counters)
        # The libraries take turns, their tables do not: the same one is made again after ten seconds at the
        # earliest. (There are some others: the C library's, the loader's.)
        check(counters["tables_put_off"] > 0, "no table had to wait", counters)
        check(counters["tables_remade"] <= 2 * FILES * (took // 10),
              "in %.1f s tables were made again and again" % took, counters)
        # What waits is walked all the same.
        cut = [text_of(sample.frames) for sample in Recording(folder + "/s.db").samples()
               if is_incomplete(sample) and not is_moment(sample)]
        check(not cut, "paths are missing", len(cut), *cut[:5])
