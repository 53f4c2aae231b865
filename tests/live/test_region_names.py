# SPDX-License-Identifier: MIT
"""Which functions a name of a region means, in which files, and what is said of the others."""

import json
import os
import shutil

from harness import (DONE, FAILED, NATIVE, NO_SAMPLING, PATIENCE, STACKD, Daemon, Recording, Skip, check, check_fault,
                     live, record, run, scratch)
from test_probing import wait_visits

NOINLINE = "__attribute__((noinline)) "
HELPER = "static " + NOINLINE + """int helper(int x) { volatile int y = x; return y; }
int call_%s(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += helper(i); return sum; }
"""
MAIN = NOINLINE + """int work(int x) { volatile int y = x; return y; }
""" + NOINLINE + """void step(void) { __asm__ volatile("" ::: "memory"); }
int call_a(int n), call_b(int n);
int main(void)
{
	int sum = call_a(70) + call_b(30);
	for (int i = 0; i < 100; i++)
		sum += work(i), step();
	return sum < 0;
}
"""
NAMES = r"""
#define NOINLINE __attribute__((noinline))
namespace outer {
template <class T> NOINLINE T solve(T x) { volatile T y = x; return y + 1; }
template <class T> NOINLINE T only(T x) { volatile T y = x; return y + 2; }
NOINLINE int over(int x) { volatile int y = x; return y; }
NOINLINE int over(double x) { volatile double y = x; return (int)y; }
NOINLINE int over(int *x) { volatile int y = *x; return y; }
NOINLINE int over(int **x) { volatile int y = **x; return y; }
struct call {
	NOINLINE int operator()(int x) const { volatile int y = x; return y; }
	NOINLINE bool operator<(const call &) const { volatile bool y = true; return y; }
};
}
int main()
{
	int sum = 0;
	outer::call c;
	for (int i = 0; i < 60; i++) {
		int x = i, *p = &x;
		sum += outer::solve<int>(i) + (int)outer::solve<double>(i) + (int)outer::only<long>(i);
		sum += outer::over(i) + outer::over(1.0 * i) + outer::over(p) + outer::over(&p) + c(i) + (c < c);
	}
	return sum < 0;
}
"""
VISITS = 60  # of each
CLONES = "struct s { int a, b, c; };\nstatic " + NOINLINE + r"""int work(struct s *s, int unused, int n)
{
	for (volatile int i = 0; i < n; i++)
		;
	return s->a + s->b + unused * 0;
}
int main(int argc, char **argv)
{
	struct s s = {argc, 2, 3};
	int sum = 0;
	for (int i = 0; i < 40; i++)
		sum += work(&s, i, 10);
	return sum < 0 || !argv;
}
"""
# The linker's names are what counts, so these are set by hand: no two compilers agree on clones.
SPLIT = "int sum;\n#define CLONE(name, as, n) " + NOINLINE + "int name(int x) __asm__(as); " + NOINLINE + \
    r"""int name(int x) { sum += n; volatile int y = x; return y; }
CLONE(work_1, "work.constprop.0", 1)
CLONE(work_2, "work.constprop.1", 2)
CLONE(work_3, "work.isra.0", 3)
CLONE(work_4, "rest.part.0", 3)
CLONE(work_5, "workshop", 3)
CLONE(work_6, "work.ing", 3)
int main(void)
{
	for (int i = 0; i < 20; i++)
		work_1(i), work_2(i), work_3(i), work_4(i), work_5(i), work_6(i);
	return sum < 0;
}
"""
CHOSEN = """int sum;
__attribute__((noinline, target_clones("avx2", "default"))) int work(int x) { volatile int y = x; return sum += y; }
int main(void)
{
	for (int i = 0; i < 80; i++)
		work(i);
	return sum < 0;
}
"""
COPIES = """#include <stdlib.h>
#include <string.h>
int main(void)
{
	void *(*volatile copy)(void *, const void *, size_t) = memcpy;
	char *from = calloc(1, 1 << 16), *to = malloc(1 << 16);
	for (int i = 0; from && to && i < 300; i++)
		copy(to, from, 1 << 16);
	return to ? to[7] : 1;
}
"""
INLINED = """#define INLINE static inline __attribute__((always_inline))
namespace ns { INLINE int work(int x) { volatile int y = x; return y; } }
INLINE int plain(int x) { volatile int y = x; return y; }
int main()
{
	int sum = plain(3);
	for (int i = 0; i < 80; i++)
		sum += ns::work(i);
	return sum < 0;
}
"""
FORTRAN = r"""
module grid
contains
  subroutine Solve(x)
    real, intent(inout) :: x
    x = x + 1.0
  end subroutine
end module
subroutine advance(x)
  real, intent(inout) :: x
  x = x + 1.0
end subroutine
program main
  use grid
  real, volatile :: x = 0.0
  integer :: i
  do i = 1, 25
    call Solve(x)
    call advance(x)
  end do
end program
"""
LOADED = NOINLINE + "int in_library(int x) { volatile int y = x; return y; }\n"
LOADS = r"""#include <dlfcn.h>
int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
	int (*function)(int) = library ? (int (*)(int))dlsym(library, "in_library") : 0;
	if (!function)
		return 1;
	for (int i = 0; i < 50; i++)
		function(i);
	return 0;
}
"""

BY_NAME = LOADS.replace("argv[1]", '"libbyname.so"').replace("argc > 1 ? ", "").replace(" : 0;", ";", 1)


def build(folder, name, text, *options, ending=".c", compiler=None):
    source = os.path.join(folder, name + ending)
    with open(source, "w", encoding="ascii") as file:
        file.write(text)
    compiler = compiler or os.environ.get("CC", "cc")
    built = run(compiler, "-O1", source, *options, "-o", os.path.join(folder, name), timeout=PATIENCE)
    check(built.status == 0, name, built.err)
    return os.path.join(folder, name)


def rows(folder, regions, *command, **more):
    """The function and the visits of each row of a command, and what stackd said."""
    store = os.path.join(folder, "s.db")
    words = [word for region in regions for word in ("--region", region)]
    recording, result = record(store, *NO_SAMPLING, *words, "--", *command, **more)
    shown = json.loads(recording.text("report", "--view", "regions", "--json"))
    os.unlink(store)
    return [(row["name"], row["visits"]) for row in shown["regions"]], result.err


def visits(folder, region, *command, **more):
    """The visits by function of a command, and what stackd said."""
    seen, said = rows(folder, (region,), *command, **more)
    return dict(seen), said


def check_visits(folder, region, count, *command, **more):
    seen, said = visits(folder, region, *command, **more)
    check(sum(seen.values()) == count, region, command, seen, said)
    return said


def check_each(folder, regions, *command, **more):
    """Names of different functions in one recording: each has a row with its visits, and there is no other."""
    seen, said = rows(folder, regions, *command, **more)
    print(seen)
    check(sorted(count for _, count in seen) == sorted(regions.values()), regions, command, seen, said)


def build_main(folder, name="prog"):
    for part in "a", "b":
        with open(os.path.join(folder, part + ".c"), "w", encoding="ascii") as file:
            file.write(HELPER % part)
    return build(folder, name, MAIN, folder + "/a.c", folder + "/b.c")


@live
def region_names_own():
    """stackd's own functions do not count, and of a program's and a library's the program's is meant."""
    with scratch() as folder:
        program = build_main(folder)
        check_each(folder, {"main": 1, "step": 100, "helper@a.c": 70, "helper@b.c": 30}, program)
        result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--region", "helper", "--", program)
        check_fault(result, FAILED, "ambiguous", "'helper@a.c'", "'helper@b.c'")
        check(run("strip", program).status == 0, "strip")
        result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--region", "main", "--", program)
        check_fault(result, FAILED, "stripped")
        result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--region", "main", "--", folder + "/none")
        check_fault(result, FAILED, "cannot run .*/none': No such file")


@live
def region_names_left_out():
    """A library's function of the same name is named as left out, a weak one gives way to a strong one."""
    with scratch() as folder:
        weak = NOINLINE + "__attribute__((weak)) int in_library(int x) { return x; }\n"
        build(folder, "libweak.so", weak, "-shared", "-fPIC")
        build(folder, "libstrong.so", LOADED, "-shared", "-fPIC")
        uses = "int in_library(int); int main(void) { for (int i = 0; i < 9; i++) in_library(i); return 0; }\n"
        program = build(folder, "uses", uses, "-Wl,--no-as-needed", "-Wl,-rpath," + folder,
                        folder + "/libstrong.so", folder + "/libweak.so")
        said = check_visits(folder, "in_library", 9, program)
        check("in_library@libweak.so" in said, "what was left out", said)


@live
def region_names_cxx():
    with scratch() as folder:
        program = build(folder, "names", NAMES, ending=".cc", compiler="c++")
        for regions in (("outer::solve<int>", "outer::over(int)", "outer::over(int*)", "outer::only",
                         "outer::call::operator()", "outer::call::operator<"),
                        ("outer::solve<int>(int)", "double outer::solve<double>(double)", "outer::only<long>",
                         "outer::over(int**)")):
            check_each(folder, dict.fromkeys(regions, VISITS), program)
        check_visits(folder, "outer::solve*", 2 * VISITS, program)
        result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--region", "outer::over", "--", program)
        check_fault(result, FAILED, "ambiguous", r"'outer::over\(int\)'", r"'outer::over\(double\)'",
                    r"'outer::over\(int\*\)'")
        result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--region", "outer::over(char const*)", "--",
                     program)
        check_fault(result, FAILED, "no function of that name", "overloads")


@live
def region_names_clones():
    with scratch() as folder:
        check_visits(folder, "work", 40, build(folder, "clones", CLONES, "-O2"))
        program = build(folder, "split", SPLIT)
        seen, said = visits(folder, "work", program)
        check(seen == {"work": 60}, "one row of all clones", seen, said)
        check_each(folder, {"rest": 20, "work.isra.0": 20}, program)


@live
def region_names_indirect():
    """Of an indirect function what is called is measured, not its resolver, nor the function of this
    name that the dynamic linker has for itself."""
    with scratch() as folder:
        check_visits(folder, "work", 80, build(folder, "chosen", CHOSEN))
        program = build(folder, "copies", COPIES)
        for region in "memcpy@libc.so.6", "memcpy":
            seen, said = visits(folder, region, program)
            check(300 <= sum(seen.values()) < 400, "visits", region, seen, said)


@live
def region_names_inlined():
    """A function that is inlined everywhere is said to be, with the lines that call it."""
    with scratch() as folder:
        program = build(folder, "inlined", INLINED, "-g", ending=".cc", compiler="c++")
        for region, line in (("plain", 6), ("ns::work", 8), ("ns::work(int)", 8), ("work@inlined", 8)):
            result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--region", region, "--", program)
            check_fault(result, FAILED, "inlined.cc:%d" % line, "inlined", "noinline")
        result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--region", "nowhere", "--", program)
        check_fault(result, FAILED, "no function of that name")


@live
def region_names_fortran():
    if not shutil.which("gfortran"):
        raise Skip("no Fortran compiler here")
    with scratch() as folder:
        program = build(folder, "model", FORTRAN, "-fno-inline", "-J" + folder, ending=".f90", compiler="gfortran")
        for regions in ("solve", "advance"), ("grid::solve", "advance_"), ("Solve",), ("__grid_MOD_solve",):
            check_each(folder, dict.fromkeys(regions, 25), program)


@live
def region_names_started():
    """Functions of the programs that the command's words, or a script's, name."""
    with scratch() as folder:
        program = build_main(folder)
        script = folder + "/script"
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nset -e\nfor i in 1 2; do\n\t'%s' &&\n\t\t./prog\ndone\n" % program)
        os.chmod(script, 0o755)
        for count, command in ((400, ("sh", script)), (400, (script,)), (200, ("sh", "-c", "%s; ./prog" % program)),
                               (100, ("env", "./prog"))):
            check_visits(folder, "work", count, *command, cwd=folder)
        check_each(folder, {"work": 100, "main": 1}, "env", "A=1", program)
        for options in (), ("-e", "none"):
            result = run(STACKD, *NATIVE, "-o", folder + "/s.db", *options, "--region", "nowhere", "--", "sh", "-c", program)
            check_fault(result, FAILED, "no function of that name")


@live
def region_names_started_late():
    """A program that nothing names before it is started is measured once it is mapped."""
    with scratch() as folder:
        build_main(folder)
        hidden = r"""#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char line[4096];
	snprintf(line, sizeof(line), "%s%s", argv[1], "g");
	while (argc > 2 && access(argv[2], F_OK))
		if (system(line))
			return 1;
	return 0;
}
"""
        program = build(folder, "hidden", hidden)
        with Daemon(folder + "/s.db", *NO_SAMPLING, "--region", "work", "--", program, folder + "/pro", folder + "/enough") as daemon:
            daemon.wait_recording()
            wait_visits(folder + "/s.db", 0)
            open(folder + "/enough", "w", encoding="ascii").close()
            result = daemon.finish()
        check(result.status == DONE, "status %d" % result.status, result.err)
        check("it is measured once a program that it starts has one" in result.err, "what is said", result.err)


@live
def region_names_loaded():
    """A library whose path is given has its probes before it is loaded: no pass is missed."""
    with scratch() as folder:
        library = build(folder, "libloaded.so", LOADED, "-shared", "-fPIC")
        program = build(folder, "loads", LOADS, "-ldl")
        check_visits(folder, "in_library@" + library, 50, program, library)
        check_visits(folder, "in_library@./libloaded.so", 50, program, library, cwd=folder)


@live
def test_region_names_by_name():
    """A library that is loaded by its bare name is probed before its first pass, whether its name
    is given or not: found by the program's own search path, or by that of the environment, which
    the command may set."""
    with scratch() as folder:
        os.mkdir(folder + "/lib")
        build(folder + "/lib", "libbyname.so", LOADED, "-shared", "-fPIC", ending=".so.c")
        own = build(folder, "own", BY_NAME, "-ldl", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib")
        plain = build(folder, "plain", BY_NAME, "-ldl")
        variable = "LD_LIBRARY_PATH=" + folder + "/lib"
        for region in "in_library@libbyname.so", "in_library":
            check_visits(folder, region, 50, own)
            check_visits(folder, region, 50, "env", variable, plain)
        check_visits(folder, "in_library", 50, "sh", "-c", "%s %s" % (variable, plain))
        check_visits(folder, "in_library", 50, "sh", "-c", "OLD_LD_LIBRARY_PATH=/none; %s %s" %
                     (variable, plain))
        check_visits(folder, "in_library", 50, plain,
                     env=dict(os.environ, LD_LIBRARY_PATH=folder + "/lib"))


NESTED = """static volatile int sum;
#define NOINLINE __attribute__((noinline))
NOINLINE int one(int n)
{
	NOINLINE int inner(int x) { sum += x + n; return sum; }
	int last = 0;
	for (int i = 0; i < 10; i++)
		last += inner(i);
	return last;
}
NOINLINE int two(int n)
{
	NOINLINE int inner(int x) { sum -= x + n; return sum; }
	int last = 0;
	for (int i = 0; i < 20; i++)
		last += inner(i);
	return last;
}
int main(void) { return one(1) + two(2) == 7; }
"""
UNUSED = """static volatile int sum;
int work(int x) { sum += x; return sum; }
int main(void)
{
	for (int i = 0; i < 80; i++)
		work(i);
	return sum < 0;
}
"""


@live
def test_region_names_nested():
    """Functions within functions (GNU C) have their names in the source: each has its own row."""
    with scratch() as folder:
        program = build(folder, "nested", NESTED, compiler="gcc")
        recording, _ = record(folder + "/n.db", *NO_SAMPLING, "--region", "inner@nested", "--", program)
        shown = json.loads(recording.text("report", "--view", "regions", "--json"))
        check(sorted((row["name"], row["visits"]) for row in shown["regions"]) ==
              [("inner", 10), ("inner", 20)], "rows", shown)


@live
def test_region_names_unused():
    """A function whose code nobody calls, since all calls are inlined, is said to be."""
    with scratch() as folder:
        program = build(folder, "unused", UNUSED, "-O2", "-g", compiler="gcc")
        for options in (), ("-e", "none"):
            result = run(STACKD, *NATIVE, "-q", "-o", folder + "/u.db", *options, "--region", "work@unused", "--", program)
            said = ("no pass was seen; ", "has it inlined at ", "unused.c:6")
            check(all(part in result.err for part in said), "not said", options, result.err)
