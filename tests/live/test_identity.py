# SPDX-License-Identifier: MIT
"""Names and rules of the code that ran: files that were overwritten, rewritten with their build-id,
removed; and where signals' handlers return to."""

import os
import shutil
import subprocess

from harness import Skip, check, is_moment, live, record, scratch
from perf_script import is_kernel

SPIN = """
#include <time.h>
volatile unsigned long sink;
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}
"""

# What is hot in one is elsewhere in the other.
FIRST = SPIN + """
__attribute__((noinline)) void rare(unsigned long n)
{ for (unsigned long i = 0; i < n; i++) sink -= i ^ 3; }
__attribute__((noinline)) void first_hot(unsigned long n)
{ for (unsigned long i = 0; i < n; i++) sink += i * i; }
int main(void) { double end = now() + 0.3; rare(10); while (now() < end) first_hot(100000); }
"""
SECOND = SPIN + """
__attribute__((noinline)) void second_hot(unsigned long n)
{ for (unsigned long i = 0; i < n; i++) sink += i * i + i ^ 5; }
__attribute__((noinline)) void never(unsigned long n)
{ for (unsigned long i = 0; i < n; i++) sink += i * i; }
int main(void) { double end = now() + 0.3; never(10); while (now() < end) second_hot(100000); }
"""

# Functions on pages of their own, in an order that the linker is told.
PARTS = SPIN + """
#define PART(name) __attribute__((noinline, section(".text." #name), aligned(4096))) \\
	void name(unsigned long n)
PART(hot) { for (unsigned long i = 0; i < n; i++) sink += i * i; }
PART(cold) { volatile char pad[600]; pad[3] = 1;
	for (unsigned long i = 0; i < n; i++) sink -= i ^ 3; sink += pad[3]; }
int main(void) { double end = now() + 0.3; cold(10); while (now() < end) hot(100000); }
"""

RESTORER = SPIN + """
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
struct kernel_action { void (*handler)(int); unsigned long flags; void (*restorer)(void);
	unsigned long mask; };
__asm__(".text\\n.globl before_it, own_restorer\\n"
	".type before_it, @function\\n.type own_restorer, @function\\n"
	"before_it: nop\\n ret\\n.size before_it, .-before_it\\n"
	"own_restorer: mov $15, %rax\\n syscall\\n.size own_restorer, .-own_restorer\\n"
	".globl faulting\\n.type faulting, @function\\n"
	"faulting: .cfi_startproc\\n ud2\\n ret\\n.cfi_endproc\\n.size faulting, .-faulting\\n");
void own_restorer(void);
void faulting(void);
static unsigned long skipped;
__attribute__((noinline)) void burn(void)
{ for (unsigned long i = 0; i < 3000000; i++) sink += i * i; }
__attribute__((noinline)) void on_fault(int n, siginfo_t *info, void *context)
{ burn(); ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; skipped += n; }
__attribute__((noinline)) void calls_it(void) { faulting(); sink++; }
int main(void)
{
	struct kernel_action a = {.handler = (void (*)(int))on_fault,
				  .flags = 0x04000000 | SA_SIGINFO, .restorer = own_restorer};
	double end = now() + 0.3;
	syscall(SYS_rt_sigaction, SIGILL, &a, 0, 8);
	while (now() < end) calls_it();
}
"""


def compile_to(path, text, *flags):
    source = path + ".c"
    with open(source, "w", encoding="ascii") as file:
        file.write(text.replace("#define _GNU_SOURCE\n", ""))
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-o", path, source, *flags], check=True)


def user_samples(recording):
    """The samples without their kernel frames, those that have others, but for moments in which no walk can be."""
    for sample in recording.samples():
        if is_moment(sample):
            continue
        frames = [frame for frame in sample.frames if not is_kernel(frame)]
        if frames:
            yield sample._replace(frames=frames)


def leaves_by_process(recording):
    """For each process `prog...`, in order: its name, and the functions that its samples hit in the
    program's own file."""
    found = {}
    for sample in user_samples(recording):
        leaf = sample.frames[-1]
        if sample.comm.startswith("prog") and "/prog" in leaf.object:
            found.setdefault((sample.tid, sample.comm), []).append(leaf.symbol)
    return [(comm, leaves) for (_, comm), leaves in found.items()]


# What the C library's start files have in each program: a first page fault there can be sampled.
START = {"_start", "_init", "_fini", "frame_dummy", "register_tm_clones", "deregister_tm_clones",
         "__do_global_dtors_aux"}


def check_leaves(leaves, right, what):
    check(len(leaves) >= 20, f"{what}: {len(leaves)} samples")
    wrong = {leaf for leaf in leaves if leaf not in right | START and not (leaf or "").endswith("@plt")}
    check(not wrong, f"{what}: {wrong}")


@live
def test_overwritten_between_runs():
    """A file that is overwritten in place after its first run: that has its own names or none."""
    with scratch() as folder:
        compile_to(folder + "/one", FIRST)
        compile_to(folder + "/two", SECOND)
        script = "cp one prog; ./prog; cat two > prog; ./prog; cat one > prog; ./prog"
        recording, _ = record(folder + "/s.db", "-F", 997, "--", "sh", "-c",
                              f"cd {folder}; {script}")
        runs = leaves_by_process(recording)
        check(len(runs) == 3, f"{len(runs)} runs")
        one, two = ({"first_hot", "rare", "main", "now", None},
                    {"second_hot", "never", "main", "now", None})
        check_leaves(runs[0][1], one, "the first run")
        check_leaves(runs[1][1], two, "the second run")
        check_leaves(runs[2][1], one, "the third run")
        counters = recording.stats()["counters"]
        check("first_hot" in runs[2][1], "the file is what it was, and has no names", counters)
        check(None not in runs[1][1] or counters["names_unproven"] > 0, "names are missing, and not counted", counters)


@live
def test_replaced_and_removed():
    """A file that is replaced by another of its name, and one that is removed, have their names."""
    with scratch() as folder:
        compile_to(folder + "/one", FIRST)
        compile_to(folder + "/two", SECOND)
        # Each file goes when stackd has opened it: how soon that is, the machine decides.
        script = f"""cd {folder}
            opened() {{ until ls -l /proc/$PPID/fd | grep -q '/prog$'; do sleep 0.02; done; }}
            cp one prog; ./prog & opened; mv two prog; ./prog & opened; rm prog; wait"""
        recording, _ = record(folder + "/s.db", "-F", 997, "--", "sh", "-c", script)
        runs = leaves_by_process(recording)
        check(len(runs) == 2, f"{len(runs)} runs")
        check_leaves(runs[0][1], {"first_hot", "rare", "main", "now"}, "the first run")
        check_leaves(runs[1][1], {"second_hot", "never", "main", "now"}, "the second run")


def check_two_layouts(folder):
    """prog_a and prog_b have one build-id, and the same functions at other places."""
    recording, _ = record(folder + "/s.db", "-F", 997, "--", "sh", "-c",
                          f"cd {folder}; ./prog_a; ./prog_b; ./prog_a; ./prog_b")
    runs = leaves_by_process(recording)
    check([comm for comm, _ in runs] == ["prog_a", "prog_b"] * 2, "runs: " + str(len(runs)))
    for comm, leaves in runs:
        check_leaves(leaves, {"hot", "cold", "aaa", "main", "now"}, comm)
    for sample in user_samples(recording):
        if sample.comm.startswith("prog") and sample.frames[-1].symbol == "hot":
            symbols = [frame.symbol for frame in sample.frames]
            check(symbols[-2:] == ["main", "hot"] and len(symbols) >= 4, "path: " + str(symbols))


@live
def test_one_build_id_two_links():
    """The same build-id given to two links, whose sections are in another order."""
    with scratch() as folder:
        same = ("-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567", "-ffunction-sections")
        compile_to(folder + "/prog_a", PARTS, *same)
        compile_to(folder + "/prog_b", PARTS.replace("PART(cold) {", "PART(aaa) { sink += n; }\n"
                                                     "PART(cold) { aaa(n);"),
                   *same, "-Wl,--section-start=.text.hot=0x20000")
        check_two_layouts(folder)


@live
def test_one_build_id_moved_segments():
    """patchelf adds a segment at the front, moves the rest, and keeps the build-id."""
    if not shutil.which("patchelf"):
        raise Skip("no patchelf")
    with scratch() as folder:
        compile_to(folder + "/prog_a", PARTS)
        shutil.copy(folder + "/prog_a", folder + "/prog_b")
        subprocess.run(["patchelf", "--set-rpath", "/opt/" + "long/" * 20, folder + "/prog_b"],
                       check=True)
        check_two_layouts(folder)


@live
def test_overwritten_library_in_use():
    """A library that is overwritten in place while it is mapped, and nothing is mapped afterwards: no
    name of the one is given to the other's code, and its callers are not skipped."""
    with scratch() as folder:
        library = SPIN + """
__attribute__((noinline)) void NAME_leaf(unsigned long n)
{ for (unsigned long i = 0; i < n; i++) sink += i * i; }
PADDING
__attribute__((noinline)) void step(unsigned long n) { NAME_leaf(n); sink++; }
"""
        main = SPIN + """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
void step(unsigned long n);
int main(int c, char **v)
{
	static char bytes[1 << 20];
	struct timespec before, after;
	int from = open(v[1], O_RDONLY), to = open(v[2], O_WRONLY);
	int times = open(v[3], O_WRONLY | O_CREAT, 0600);
	long n = read(from, bytes, sizeof(bytes));
	double end = now() + 1.2; /* it has names by then */
	while (now() < end) step(100000);
	clock_gettime(CLOCK_MONOTONIC, &before);
	/* the same inode, in one write, which covers the page that runs */
	if (n <= 0 || write(to, bytes, n) != n) return 1;
	clock_gettime(CLOCK_MONOTONIC, &after);
	end = now() + 0.5;
	while (now() < end) step(100000);
	dprintf(times, "%ld.%09ld\\n%ld.%09ld\\n", (long)before.tv_sec, before.tv_nsec,
		(long)after.tv_sec, after.tv_nsec);
	return 0;
}
"""
        flags = ("-shared", "-fPIC")
        compile_to(folder + "/libprog.so", library.replace("NAME", "old").replace("PADDING", ""),
                   *flags)
        compile_to(folder + "/new.so", library.replace("NAME", "new").replace("PADDING", ""),
                   *flags)
        compile_to(folder + "/prog", main, folder + "/libprog.so", "-Wl,-rpath," + folder)
        # On one CPU, where nothing makes the kernel half look at the mapping anew.
        recording, result = record(folder + "/s.db", "-F", 997, "--", "taskset", "-c",
                                   min(os.sched_getaffinity(0)), folder + "/prog",
                                   folder + "/new.so", folder + "/libprog.so", folder + "/times")
        check(result.status == 0, "the program failed")
        with open(folder + "/times", encoding="ascii") as file:
            before, after = (float(line) for line in file)
        check_overwritten(recording, before, after)


def check_overwritten(recording, before, after):
    """`old_leaf` in libprog.so became `new_leaf` between these times; frames of code that cannot be
    told have no names, are counted, and come at that time."""
    named = unproven = 0
    for sample in user_samples(recording):
        names = [frame.symbol for frame in sample.frames if "libprog" in frame.object]
        unproven += names.count(None)
        named += "new_leaf" in names
        check("old_leaf" not in names or sample.time <= after, f"an old name: {names}")
        check("new_leaf" not in names or sample.time >= before, f"a new name: {names}")
    check(named >= 20, f"{named} samples of the new file")
    counters = recording.stats()["counters"]
    print(f"{named} samples of the new file, {unproven} frames without names")
    check(not unproven or counters["frames_unproven"] + counters["names_unproven"], counters)


@live
def test_own_restorer():
    """The frame between a handler and what it has interrupted has its own name: the byte before it
    is in another function. What is interrupted at its first byte has its own, too."""
    with scratch() as folder:
        compile_to(folder + "/prog", RESTORER)
        recording, _ = record(folder + "/s.db", "-F", 997, "--", folder + "/prog")
        right = ["main", "calls_it", "faulting", "own_restorer", "on_fault", "burn"]
        found = 0
        for sample in user_samples(recording):
            names = [frame.symbol for frame in sample.frames]
            if "burn" in names:
                names = names[names.index("main"):] if "main" in names else names
                check(names == right, str(names))
                found += 1
        check(found >= 20, f"{found} samples")
