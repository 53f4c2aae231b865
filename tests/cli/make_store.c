/* SPDX-License-Identifier: MIT */
/*
 * Makes a store for the tests of stackctl: make_store FILE KIND..., one recording each, of the
 * event $STORE_EVENT, or cpu-clock, on the host $STORE_HOST, or box:
 *
 *   small     100 samples of two processes: inlined and recursive calls, kernel frames, a
 *             function without a name, one incomplete path
 *   namesakes 100 samples of functions parse() of one program: 40 in lexer.c, some of them in its
 *             lexer.l and 10 in a copy that is inlined, 30 in reader.c, 20 in two files scan.c, 10
 *             without a file; and 6 of two functions cmp() of the kernel
 *   build-a   50 samples of two functions parse() without a file; build-b: of another build
 *   managed   100 samples of a Python program, and of the interpreter at its work: make_managed()
 *   hostile   10 samples under names that try to break out of their line
 *   names     60 samples under names that quote, open elements, are no UTF-8, or are empty
 *   after     the small one some time later: another share of the samples in some functions
 *   inferred  40 samples, of which 15 have their first two frames by alignment
 *   late      20 samples, of which 10 in work() stand for four periods each
 *   empty     a finished recording without samples
 *   cut       50 samples, never finished, ended long ago
 *   deep      10 samples of a function that has called itself 10,000 times
 *   wide      a million samples, each of a path of its own
 *   crowd     a million samples in 100 threads of four processes, with 300,000 frames in their
 *             tree: 10 s, in which thread 7 is in hiccup() from 6.0 s to 6.1 s
 *   metrics   the small one with instances of a region: of work() 3 of 2 ms, of which 1.5 ms CPU
 *             time, and 1 of 4 ms under main() alone, which sent 5 KiB
 *   waits     the small one with waits: in work() 3 of 20 ms for a futex, each of them runnable for
 *             1 ms, and in main() one of 5 ms asleep and one of 2 ms preempted
 *   ranges    seven threads for 3 s, all of whose waits are counted: each is runnable for 1 ms, on
 *             the CPU in work() up to 1 s, with a sample each 5 ms, waits in lock() for a futex
 *             until 2.1 s, is runnable for 10 ms, and on the CPU again until it ends at 3 s
 *             $STORE_CUTS, such as 700,1400: this and the next one as windows of one run, which end
 *             so many ms after its start; each record is in the window in which it ended
 *   passes    one thread with samples in idle(), and passes through outer() from 1 s to 2 s, of
 *             which 0.4 s CPU time, with one through inner() from 1.2 s to 1.6 s, 0.1 s CPU time
 *   wakers    those of waits with wakers: the futex's is the thread 99 in main(), which had slept
 *             for 5 ms until then, but for the first time; that of its sleeps is an interrupt
 *   unmatched four waits, the first of them without its wake-up, and a wake-up without its wait
 *   off       regions within others, some of which were taken off
 *   heap      the small one with sampled allocations: work() has 1,000 bytes (2 blocks) at 1 ms,
 *             which are freed at 3 ms, and 300 (1) at 4 ms; main() has 500 (5) at 2 ms, freed at
 *             3.5 ms, and 200 (1) at 5 ms; the recording ends at 10 ms
 *   fleet     40 samples of threads with a unit, with a container, and with a rank in an MPI job,
 *             in files with build-ids; two of the paths have one tag
 *   labels    the same with labels: the container's are of a pod, the unit's service is shop
 *   twin      5 samples of the second one of these paths
 *   windows   the small one and the one after it, by turns, as six windows of ten minutes of one
 *             run, from 2023-11-15 10:10:00 UTC on; the last is not finished
 *   folded    400 passes through pass(), by turns in two threads, with 8 samples each and
 *             readings of CPU time and of a variable, cells, whose share of the pass's total is
 *             5 % at 25 % of the pass, in assemble(), 80 % at 70 %, in solve(), and then all of it
 *             in output()
 *   markup    the same with a variable whose name is markup
 *   unread    the same without readings
 *   modes     folded with every third pass of another kind, twice as long and the other way round
 *             in time, and four that take 1 ms
 *   locked    the same with all samples at four moments of a pass
 *   traced    nested instances, counters and samples in three threads of two processes, under names
 *             that try to break out of their line; another process has neither
 *   instances the same without the samples
 *   bursts    calls of MPI with bursts of known kinds between them: make_bursts.h
 *   bursts_unread  the same without readings
 *   bursts_bare  the same without samples
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/recording_fixture.h"
#include "base/hash.h"
#include "proc/object_id.h"
#include "stackd_abi.h"

static struct {
	uint64_t run_ns; /* where times of timed() are from; 0: the recording's start */
	bool is_window;	 /* timed() and bursts_record() only take records that end in it */
} window;

/* A call in a function. */
static uint32_t function(struct recording *r, uint32_t in, uint64_t offset, const char *name)
{
	return add_function(r, in, offset, true, name);
}

/* The only thread of a process. Others, of add_thread(), are no evidence for its paths. */
static uint32_t thread(struct recording *r, int pid, const char *comm)
{
	return add_thread(r, add_process(r, pid, comm), pid, comm);
}

/* `changed` more samples in one function, and as many fewer in another. */
static void make_program(struct recording *r, int changed)
{
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	uint32_t libx = add_object(r, OBJECT_ELF, "/opt/libx.so");
	uint32_t kernel = add_object(r, OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t start = function(r, prog, 0x1020, "_start");
	uint32_t in_main = function(r, prog, 0x1110, "main");
	uint32_t work = function(r, prog, 0x1220, "_ZN3app4workEv");
	uint32_t fact = function(r, prog, 0x1340, "fact");
	uint32_t unnamed = add_location(r, libx, 0x50, false);
	uint32_t sys = function(r, kernel, 0x7010, "do_sys");
	uint32_t prog_thread = thread(r, 12, "prog"), other_thread = thread(r, 99, "other");
	uint32_t at = add_node(r, add_node(r, 0, start), in_main), leaf;

	add_samples(r, prog_thread, add_node(r, at, work), STACKD_END_ENTRY, 60 - changed);
	add_samples(r, prog_thread, add_node(r, at, unnamed), STACKD_END_ENTRY, 9);
	leaf = add_node(r, add_node(r, add_node(r, at, fact), fact), fact);
	add_samples(r, prog_thread, leaf, STACKD_END_ENTRY, 10 + changed);
	add_samples(r, add_thread(r, 0, 13, "prog"), add_node(r, 0, work), STACKD_END_NO_RECIPE, 1);
	add_samples(r, other_thread, add_node(r, add_node(r, 0, in_main), sys), STACKD_END_ENTRY,
		    20);
	add_counter(r, "end.lost_ring", 3);
	r->info.lost = 3;
}

static void make_hostile(struct recording *r)
{
	uint32_t prog = add_object(r, OBJECT_ELF, "/tmp/a\033[31m\nb;c (x");
	uint32_t evil = function(r, prog, 0x1020, "evil\n;name\r\033]0;x\a");

	add_samples(r, thread(r, 66, "a;b\n c"), add_node(r, 0, evil), STACKD_END_ENTRY, 10);
}

/* A function of a file, or of none. */
static uint32_t placed(struct recording *r, uint32_t in, uint64_t offset, const char *name,
		       const char *file)
{
	uint32_t number = add_location(r, in, offset, true);

	add_line_of(r, file, 5, name, offset & ~0xffull, false);
	return number;
}

static void make_namesakes(struct recording *r)
{
	static const struct {
		const char *file;
		uint64_t offset;
		int count;
	} functions[] = {
		{"/src/lexer.c", 0x1110, 10},  {"/src/lexer.c", 0x1120, 10},
		{"/src/lexer.l", 0x1130, 10},  {"/src/reader.c", 0x1210, 20},
		{"/src/reader.c", 0x1220, 10}, {"/src/a/scan.c", 0x1310, 12},
		{"/src/b/scan.c", 0x1410, 8},  {NULL, 0x1510, 10},
	};
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	uint32_t kernel = add_object(r, OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t in_main = placed(r, prog, 0x1010, "main", "/src/main.c"), run, copy;
	uint32_t of = thread(r, 12, "prog"), at = add_node(r, 0, in_main);

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		add_samples(
			r, of,
			add_node(r, at,
				 placed(r, prog, functions[i].offset, "parse", functions[i].file)),
			STACKD_END_ENTRY, functions[i].count);
	run = add_location(r, prog, 0x1610, true);
	add_line_of(r, "/src/lexer.c", 7, "parse", 0, true);
	add_line_of(r, "/src/lexer.c", 40, "run", 0x1600, false);
	add_samples(r, of, add_node(r, at, run), STACKD_END_ENTRY, 10);
	copy = add_node(r, at, placed(r, kernel, 0x7010, "cmp", NULL));
	add_samples(r, of, copy, STACKD_END_ENTRY, 4);
	add_samples(r, of, add_node(r, copy, placed(r, kernel, 0x8010, "cmp", NULL)),
		    STACKD_END_ENTRY, 2);
}

/* A function of Python: its lines have the first line as the function's start. */
static uint32_t python(struct recording *r, uint32_t in, const char *name, uint32_t first,
		       uint32_t line)
{
	uint32_t number = add_location(r, in, hash_mix64(first * 1000 + line) >> 17, false);

	add_line_of(r, "/srv/app.py", line, name, first, false);
	return number;
}

/* work() has called parse(), whose C function scan(), called from two places of the interpreter,
 * has an inlined one; two lambdas; an activation of the interpreter without frames, and one whose
 * frames are not proven; the kernel, and JIT code. Each activation's native frame comes behind the
 * frames that it runs. */
static void make_managed(struct recording *r)
{
	const char *const names[] = {"/srv/app.py", "[frames not proven]"};
	uint32_t prog = add_object(r, OBJECT_ELF, "/usr/bin/python3"), scan, place[2];
	uint32_t kernel = add_object(r, OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t jit = add_object(r, OBJECT_JIT, "[jit]"), of = thread(r, 12, "python3");
	uint32_t eval = function(r, prog, 0x2010, "_PyEval_EvalFrameDefault"), at, in, parse;

	add_counter(r, "managed_frames", 12345);
	add_counter(r, "managed_in_transition", 5);
	add_counter(r, "managed_unproven.chain", 3);
	add_counter(r, "managed_unproven.names", 1);
	add_counter(r, "managed_unread_stacks", 7);
	for (uint32_t i = 0; i < 2; i++)
		place[i] = put_object(r, &(struct store_object){.kind = OBJECT_MANAGED,
								.path = names[i],
								.file_id = object_managed_id(
									i ? OBJECT_NO_LANGUAGE
									  : STACKD_RUNTIME_PYTHON,
									names[i])});
	scan = add_location(r, prog, 0x3010, false);
	add_line_of(r, "scan.h", 7, "next_token", 0, true);
	add_line_of(r, "scan.c", 40, "scan", 0x3000, false);
	in = add_node(r, 0, function(r, prog, 0x1110, "main"));
	in = add_node(r, in, function(r, prog, 0x2110, "_PyEval_Vector"));
	at = add_node(r, in, eval);
	add_samples(r, of, at, STACKD_END_ENTRY, 5);
	at = add_node(r, in, add_location(r, place[1], 0, false));
	add_line_of(r, NULL, 0, names[1], 0, false);
	add_samples(r, of, add_node(r, at, eval), STACKD_END_ENTRY, 4);
	in = add_node(r, in, python(r, place[0], "work", 4, 6));
	at = add_node(r, in, eval);
	add_samples(r, of, add_node(r, at, function(r, kernel, 0x7010, "do_sys")), STACKD_END_ENTRY,
		    6);
	add_samples(r, of, add_node(r, at, function(r, jit, 0x9010, "stub")), STACKD_END_ENTRY, 3);
	parse = add_node(r, in, python(r, place[0], "parse", 9, 12));
	at = add_node(r, parse, eval);
	add_samples(r, of, at, STACKD_END_ENTRY, 30);
	add_samples(r, of, add_node(r, at, scan), STACKD_END_ENTRY, 30);
	at = add_node(r, parse, function(r, prog, 0x2020, "_PyEval_EvalFrameDefault"));
	add_samples(r, of, add_node(r, at, scan), STACKD_END_ENTRY, 7);
	for (uint32_t i = 0; i < 2; i++)
		add_samples(
			r, of,
			add_node(r,
				 add_node(r, in, python(r, place[0], "<lambda>", 20 + i, 20 + i)),
				 eval),
			STACKD_END_ENTRY, i ? 5 : 10);
}

/* Two functions parse() without a file, at other places in each build. */
static void make_build(struct recording *r, uint64_t start)
{
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog"), of = thread(r, 12, "prog");
	uint32_t at = add_node(r, 0, placed(r, prog, start + 0x10, "main", NULL));

	add_samples(r, of, add_node(r, at, placed(r, prog, start + 0x110, "parse", NULL)),
		    STACKD_END_ENTRY, 30);
	add_samples(r, of, add_node(r, at, placed(r, prog, start + 0x210, "parse", NULL)),
		    STACKD_END_ENTRY, 20);
}

static void make_build_a(struct recording *r)
{
	make_build(r, 0x1000);
}

static void make_build_b(struct recording *r)
{
	add_object(r, OBJECT_ELF, "/bin/other"); /* so that the program has another id */
	make_build(r, 0x5000);
}

/* Each calls the next. */
static void make_names(struct recording *r)
{
	static const char *const names[] = {
		"a;b\nc\"d\\e'f",    "</script><script>alert(1)</script>",
		"\xff\xfe bad \xc3", "(7) x",
		"<b>&amp;</b>",	     ""};
	uint32_t at = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint32_t in = add_object(r, OBJECT_ELF, names[i]);

		at = add_node(r, at, function(r, in, 0x1020, names[i]));
		add_samples(r, thread(r, 10 + (int)i, names[i]), at, STACKD_END_ENTRY, 10);
	}
}

static void make_inferred(struct recording *r)
{
	struct origin_run run = {.frames = 2, .source = FRAME_SOURCE_ALIGNED, .confidence = 80};
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog"), of = thread(r, 12, "prog");
	uint32_t in_main = add_node(r, add_node(r, 0, function(r, prog, 0x1020, "_start")),
				    function(r, prog, 0x1110, "main"));
	uint32_t leaf = add_node(r, in_main, function(r, prog, 0x1220, "work"));

	add_samples(r, of, leaf, STACKD_END_ENTRY, 25);
	add_inferred(r, of, leaf, STACKD_END_STACK_CUT, add_origin(r, &run, 1, true), 15);
}

static void make_late(struct recording *r)
{
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog"), of = thread(r, 12, "prog");
	uint32_t in_main = add_node(r, add_node(r, 0, function(r, prog, 0x1020, "_start")),
				    function(r, prog, 0x1110, "main"));

	add_samples(r, of, in_main, STACKD_END_ENTRY, 10);
	add_samples_like(r,
			 &(struct store_sample){
				 .thread = of,
				 .node = add_node(r, in_main, function(r, prog, 0x1220, "work")),
				 .period = 4 * RECORDING_PERIOD,
				 .end_reason = STACKD_END_ENTRY},
			 10);
}

static void make_cut(struct recording *r)
{
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	uint32_t at = add_node(r, 0, function(r, prog, 0x1020, "_start"));

	add_samples(r, thread(r, 7, "prog"), at, STACKD_END_ENTRY, 50);
	r->info.finished = false;
}

static void make_deep(struct recording *r)
{
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	uint32_t fact = function(r, prog, 0x1340, "fact"), at = 0;

	for (int i = 0; i < 10000; i++)
		at = add_node(r, at, fact);
	add_samples(r, thread(r, 10, "deep"), at, STACKD_END_ENTRY, 10);
}

/* Makes a sample of each path of `depth` frames, and of two more: any of the first `n` of 1,000
 * functions, and any of these. */
static void make_pairs(struct recording *r, uint32_t depth, uint32_t n)
{
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog"), of = thread(r, 11, "wide");
	uint32_t functions[1000], root = 0;
	char name[32];

	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		functions[i] = function(r, prog, 0x1000 + i * 0x100, name);
	}
	for (uint32_t i = 0; i < depth; i++)
		root = add_node(r, root, functions[999 - i]);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t caller = add_node(r, root, functions[i]);

		for (uint32_t j = 0; j < n; j++)
			add_samples(r, of, add_node(r, caller, functions[j]), STACKD_END_ENTRY, 1);
	}
}

static void make_wide(struct recording *r)
{
	make_pairs(r, 0, 1000);
}

static void make_long(struct recording *r)
{
	make_pairs(r, 120, 130);
}

#define CROWD_THREADS 100u
#define CROWD_PATHS   3000u
#define CROWD_DEPTH   100u
#define CROWD_SAMPLES 1000000u
#define CROWD_STEP    ((uint64_t)RECORDING_PERIOD) /* between two samples of a thread */

/* Makes paths of CROWD_DEPTH frames each, from few functions near the root and many below. Returns
 * their leaves. */
static uint32_t *crowd_paths(struct recording *r, uint32_t prog)
{
	uint32_t *leaves = calloc(CROWD_PATHS, sizeof(*leaves)), functions[2000];
	uint32_t seed = 1;
	char name[64];

	for (uint32_t i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "step_%u", i);
		functions[i] = function(r, prog, 0x10000 + i * 0x100, name);
	}
	for (uint32_t i = 0; leaves && i < CROWD_PATHS; i++)
		for (uint32_t depth = 0; depth < CROWD_DEPTH; depth++) {
			seed = seed * 1103515245 + 12345;
			leaves[i] = add_node(r, leaves[i], functions[(seed >> 8) % 2000]);
		}
	return leaves;
}

static void make_crowd(struct recording *r)
{
	static const char *const names[] = {"main", "worker-%u", "io", "pool %u"};
	const uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	const uint32_t hiccup = add_node(r, 0, function(r, prog, 0x1000, "hiccup"));
	uint32_t *leaves = crowd_paths(r, prog), seed = 7;
	char name[32];

	for (uint32_t i = 0; i < CROWD_THREADS; i++) {
		if (i % 25 == 0)
			add_process(r, (int)(100 + i), "prog");
		snprintf(name, sizeof(name),
			 names[i % 25 == 0   ? 0
			       : i % 25 < 15 ? 1
			       : i % 25 < 20 ? 2
					     : 3],
			 i);
		add_thread(r, i / 25, (int)(100 + i), name);
	}
	for (uint32_t i = 0; leaves && i < CROWD_SAMPLES; i++) {
		const uint32_t of = i % CROWD_THREADS;
		struct store_sample s = {.thread = of, .end_reason = STACKD_END_ENTRY};

		seed = seed * 1103515245 + 12345;
		s.time_ns = r->info.start_ns + (i / CROWD_THREADS + 1) * CROWD_STEP + of * 1000;
		s.node = of == 7 && i / CROWD_THREADS / 100 == 60
				 ? hiccup
				 : leaves[(seed >> 8) % CROWD_PATHS];
		s.period = CROWD_STEP;
		put_sample(r, &s);
	}
	r->info.end_ns = r->info.start_ns + 10100000000;
	free(leaves);
}

static void instance(struct recording *r, uint32_t leaf, uint64_t time_ns, uint64_t cpu_ns)
{
	struct store_sample s = {.time_ns = r->info.end_ns++, .period = time_ns, .node = leaf};

	put_record(r, SERIES_REGION_TIME, &s);
	s.period = cpu_ns;
	put_record(r, SERIES_REGION_CPU, &s);
}

static void make_metrics(struct recording *r)
{
	uint32_t in_main = 2, work = 3; /* the nodes that make_program() makes first */
	struct store_sample sent = {.period = 5120, .node = in_main};

	make_program(r, 0);
	for (int i = 0; i < 3; i++)
		instance(r, work, 2000000, 1500000);
	instance(r, in_main, 4000000, 0);
	sent.time_ns = r->info.end_ns;
	put_record(r, SERIES_MPI_SENT, &sent);
}

static void wait(struct recording *r, uint32_t leaf, enum metric_series series, uint64_t ns)
{
	struct store_sample s = {.time_ns = r->info.end_ns, .period = ns, .node = leaf};

	put_record(r, series, &s);
}

/* A wait that took no time. */
static void make_zero(struct recording *r)
{
	make_program(r, 0);
	wait(r, 3, SERIES_WAIT_BLOCKED, 0);
}

/* What waits under a path were for. */
static uint32_t reason(struct recording *r, uint32_t below, const char *name)
{
	return add_node(r, below, function(r, add_object(r, OBJECT_MARK, name), 0, name));
}

static void make_waits(struct recording *r)
{
	uint32_t in_main = 2, work = 3; /* the nodes that make_program() makes first */
	uint32_t futex, woken;

	make_program(r, 0);
	futex = reason(r, work, "[futex]");
	woken = reason(r, work, "[woken]");
	for (int i = 0; i < 3; i++) {
		r->info.end_ns += 22000000;
		wait(r, futex, SERIES_WAIT_BLOCKED, 20000000);
		wait(r, woken, SERIES_WAIT_RUNNABLE, 1000000);
	}
	r->info.end_ns += 5000000;
	wait(r, reason(r, in_main, "[sleep]"), SERIES_WAIT_BLOCKED, 5000000);
	r->info.end_ns += 2000000;
	wait(r, reason(r, in_main, "[preempted]"), SERIES_WAIT_RUNNABLE, 2000000);
}

/* A record that ends so many ms after the recording's start. */
static void timed(struct recording *r, enum metric_series series, uint32_t of, uint32_t leaf,
		  uint64_t end_ms, uint64_t value)
{
	struct store_sample s = {.time_ns = (window.is_window ? window.run_ns : r->info.start_ns) +
					    end_ms * 1000000,
				 .period = value,
				 .node = leaf,
				 .thread = of};

	if (window.is_window && series == SERIES_WAIT_MEAN) /* each window has it */
		s.time_ns = r->info.start_ns;
	if (window.is_window && (s.time_ns < r->info.start_ns || s.time_ns >= r->info.end_ns))
		return;
	r->info.samples += series == SERIES_CPU;
	put_record(r, series, &s);
	if (s.time_ns > r->info.end_ns)
		r->info.end_ns = s.time_ns;
}

static void make_ranges(struct recording *r)
{
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = add_node(r, 0, function(r, prog, 0x1110, "main"));
	uint32_t work = add_node(r, in_main, function(r, prog, 0x1220, "work"));
	uint32_t lock = add_node(r, in_main, function(r, prog, 0x1330, "lock"));
	uint32_t futex = reason(r, lock, "[futex]"), woken = reason(r, lock, "[woken]");
	uint32_t of = thread(r, 20, "prog");

	timed(r, SERIES_WAIT_MEAN, of, 0, 0, 0);
	for (int i = 0; i < 7; i++, of = i < 7 ? add_thread(r, 0, 20 + i, "worker") : 0) {
		timed(r, SERIES_WAIT_RUNNABLE, of, woken, 1, 1000000);
		timed(r, SERIES_WAIT_BLOCKED, of, futex, 2100, 1100000000);
		timed(r, SERIES_WAIT_RUNNABLE, of, woken, 2110, 10000000);
		for (uint64_t at = 5; at < 3000; at += 5)
			if (at < 1000 || at > 2110)
				timed(r, SERIES_CPU, of, work, at, 1003009);
		timed(r, SERIES_THREAD_END, of, 0, 3000, 0);
	}
}

/* One that is measured from a moment on at which it ran, and leaves the CPU after its exit was told
 * of; one that is made, and changes its name within a period of its first sample. */
static void make_lives(struct recording *r)
{
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = add_node(r, 0, function(r, prog, 0x1110, "main"));
	uint32_t woken = reason(r, in_main, "[woken]");
	uint32_t of = thread(r, 20, "prog"), made = add_thread(r, 0, 21, "make");
	uint32_t executed = add_thread(r, 0, 21, "cc");

	timed(r, SERIES_WAIT_MEAN, of, 0, 0, 0);
	timed(r, SERIES_THREAD_BEGIN, of, 0, 500, 0);
	timed(r, SERIES_CPU, of, in_main, 510, 10000000);
	timed(r, SERIES_THREAD_END, of, 0, 520, 0);
	timed(r, SERIES_THREAD_END, of, 0, 526, 0);
	timed(r, SERIES_WAIT_RUNNABLE, made, woken, 101, 1000000);
	timed(r, SERIES_CPU, executed, in_main, 104, 10000000);
	timed(r, SERIES_THREAD_END, executed, 0, 110, 0);
	timed(r, SERIES_CPU, of, in_main, 515, 10000000);
	r->info.end_ns = r->info.start_ns + 1000000000;
}

static void make_nested(struct recording *r)
{
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	uint32_t idle = add_node(r, 0, function(r, prog, 0x1110, "idle"));
	uint32_t outer = add_node(r, 0, function(r, prog, 0x1220, "outer"));
	uint32_t inner = add_node(r, outer, function(r, prog, 0x1330, "inner"));
	uint32_t of = thread(r, 20, "prog");

	timed(r, SERIES_CPU, of, idle, 0, 1003009);
	timed(r, SERIES_REGION_TIME, of, inner, 1600, 400000000);
	timed(r, SERIES_REGION_CPU, of, inner, 1600, 100000000);
	timed(r, SERIES_REGION_TIME, of, outer, 2000, 600000000);
	timed(r, SERIES_REGION_CPU, of, outer, 2000, 300000000);
	timed(r, SERIES_REGION_NESTED_TIME, of, outer, 2000, 400000000);
	timed(r, SERIES_REGION_NESTED_CPU, of, outer, 2000, 100000000);
	timed(r, SERIES_CPU, of, idle, 3000, 1003009);
}

static void waker(struct recording *r, uint32_t of, uint32_t leaf, uint64_t time_ns, uint64_t value)
{
	struct store_sample s = {.time_ns = time_ns, .period = value, .node = leaf, .thread = of};

	put_record(r, SERIES_WAIT_WAKER, &s);
}

static void make_wakers(struct recording *r)
{
	uint32_t in_main = 9, other = 1, sleep; /* as make_program() makes them */
	struct store_sample slept;

	make_waits(r);
	sleep = reason(r, in_main, "[sleep]");
	slept = (struct store_sample){.period = 5000000, .node = sleep, .thread = other};
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t woken = r->info.end_ns - 7000000 - 22000000 * i - 1000000;

		waker(r, 0, in_main, woken, WAKER_OF_THREAD(99));
		if (i == 2)
			break;
		slept.time_ns = woken - 100000;
		put_record(r, SERIES_WAIT_BLOCKED, &slept);
		waker(r, other, 0, slept.time_ns - 10000, WAKER_OF_INTERRUPT);
	}
}

/* A wait that another thread ended, with names that have to be escaped. */
static void make_escaped(struct recording *r)
{
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	uint32_t in = add_node(r, 0, function(r, prog, 0x1010, "p;\xc3\xbc"));
	uint32_t of = thread(r, 20, "prog"), other = thread(r, 21, "\x1b[31m\n\"\xc3\xbc");

	timed(r, SERIES_CPU, other, in, 1, 1000000);
	timed(r, SERIES_WAIT_BLOCKED, of, reason(r, in, "[block I/O]"), 100, 20000000);
	timed(r, SERIES_WAIT_WAKER, of, in, 100, WAKER_OF_THREAD(21));
}

/* Four waits of a thread 100 ms apart, and four wake-ups: of the first wait it is missing, and of
 * the last wake-up the wait. */
static void make_unmatched(struct recording *r)
{
	static const char *const wakers[] = {"second", "third", "fourth", "fifth"};
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = add_node(r, 0, function(r, prog, 0x1010, "main"));
	uint32_t of = thread(r, 20, "prog"), other = thread(r, 21, "other");
	uint32_t futex = reason(r, in_main, "[futex]");

	timed(r, SERIES_CPU, other, in_main, 1, 1000000);
	for (unsigned i = 0; i < 4; i++)
		timed(r, SERIES_WAIT_BLOCKED, of, futex, 100 + 100 * i, 20000000);
	for (unsigned i = 0; i < 4; i++)
		timed(r, SERIES_WAIT_WAKER, of,
		      add_node(r, in_main, function(r, prog, 0x1110 + 0x100 * i, wakers[i])),
		      203 + 100 * i, WAKER_OF_THREAD(21));
}

/* Regions within others that were taken off, one of them a clone, one that is still counted, and
 * one that never was. A sample stands for 1 ms. */
static void make_off(struct recording *r)
{
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = add_node(r, 0, function(r, prog, 0x1010, "main"));
	uint32_t outer_at = function(r, prog, 0x1110, "outer");
	uint32_t outer = add_node(r, in_main, outer_at);
	uint32_t inner = add_node(r, outer, function(r, prog, 0x1210, "inner"));
	uint32_t again = add_node(r, inner, outer_at);
	uint32_t kept = add_node(r, outer, function(r, prog, 0x1310, "kept"));
	uint32_t turn = add_node(r, in_main, function(r, prog, 0x1410, "turn.constprop.0"));
	uint32_t never = add_node(r, in_main, function(r, prog, 0x1510, "never"));
	uint32_t of = thread(r, 20, "prog");
	const struct {
		uint32_t leaf, ms, count;
	} rest[] = {{inner, 350, 16}, {inner, 450, 1}, {inner, 600, 2}, {outer, 610, 3},
		    {again, 620, 4},  {kept, 700, 5},  {turn, 710, 6},	{never, 50, 2}};

	timed(r, SERIES_REGION_TIME, of, turn, 100, 10000000);
	timed(r, SERIES_REGION_TIME, of, inner, 400, 100000000);
	timed(r, SERIES_REGION_TIME, of, outer, 500, 200000000);
	timed(r, SERIES_REGION_NESTED_TIME, of, outer, 500, 100000000);
	timed(r, SERIES_REGION_TIME, of, kept, 800, 10000000);
	for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++) {
		for (uint32_t k = 0; k < rest[i].count; k++)
			timed(r, SERIES_CPU, of, rest[i].leaf, rest[i].ms, 1000000);
	}
	add_counter(r, "regions_taken_off", 4);
	add_counter(r, "region_off.inner@prog", 1401000000);
	add_counter(r, "region_off.never@prog", 0);
	add_counter(r, "region_off.outer@prog", 1501000000);
	add_counter(r, "region_off.turn@prog", 1301000000);
}

/* A sampled allocation, or its end at an age, so many microseconds after the start. Its standard
 * error is a tenth of it, and 0 of the largest: such a block is always sampled. */
static void block(struct recording *r, uint32_t node, unsigned us, uint64_t bytes, uint64_t blocks,
		  unsigned age_us)
{
	const bool is_end = age_us;
	struct store_sample record = {
		.time_ns = 1000000000 + us * 1000ull, .period = bytes, .node = node};

	put_record(r, is_end ? SERIES_FREED_BYTES : SERIES_ALLOC_BYTES, &record);
	record.period = blocks;
	put_record(r, is_end ? SERIES_FREED_OBJECTS : SERIES_ALLOC_OBJECTS, &record);
	record.period = bytes < 1000 ? bytes / 10 : 0;
	put_record(r, is_end ? SERIES_FREED_ERROR : SERIES_ALLOC_ERROR, &record);
	record.period = age_us * 1000ull;
	if (age_us)
		put_record(r, SERIES_FREED_AGE, &record);
}

static void make_heap(struct recording *r)
{
	uint32_t in_main = 2, work = 3; /* the nodes that make_program() makes first */

	make_program(r, 0);
	block(r, work, 1000, 1000, 2, 0);
	block(r, in_main, 2000, 500, 5, 0);
	block(r, work, 3000, 1000, 2, 2000);
	block(r, in_main, 3500, 500, 5, 1500);
	block(r, work, 4000, 300, 1, 0);
	block(r, in_main, 5000, 200, 1, 0);
	r->info.end_ns = 1010000000;
}

/* A location with the id of another one: see location_id(). */
static uint32_t twin(struct recording *r, uint32_t of_object, uint64_t offset)
{
	static const uint8_t build_id[] = {0xff, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08};
	const struct store_object like = {.kind = OBJECT_ELF,
					  .path = "/opt/twin.so",
					  .layout = 0xfedcba9876543210ull,
					  .file_id = 0xff01020304050607ull,
					  .build_id = build_id,
					  .build_id_len = sizeof(build_id)};
	uint64_t first = hash_mix64(r->objects[of_object].file_id) + offset;

	return function(r, put_object(r, &like), first - hash_mix64(like.file_id), "twin");
}

static void make_fleet(struct recording *r)
{
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = add_node(r, 0, function(r, prog, 0x1110, "main")), work, other, of[3];
	struct store_sample rank = {.time_ns = r->info.start_ns, .period = 8ull << 32 | 4};

	work = add_location(r, prog, 0x1220, true);
	add_line(r, "work", 0, true);
	add_line(r, "outer", 0x1200, false);
	work = add_node(r, in_main, work);
	other = add_node(r, in_main, twin(r, prog, 0x1220));
	for (int i = 0; i < 3; i++)
		of[i] = thread(r, 20 + i, i ? "prog" : "");
	r->threads[of[0]].cgroup = "/system.slice/nginx.service";
	r->threads[of[1]].cgroup = "/system.slice/docker-0123456789abcdef0123456789abcdef"
				   "0123456789abcdef0123456789abcdef.scope";
	r->threads[of[2]].cgroup = "/";
	rank.thread = of[2];
	put_record(r, SERIES_MPI_RANK, &rank);
	add_samples(r, of[0], work, STACKD_END_ENTRY, 10);
	add_samples(r, of[1], work, STACKD_END_ENTRY, 12);
	add_samples(r, of[2], work, STACKD_END_ENTRY, 8);
	add_samples(r, of[2], other, STACKD_END_ENTRY, 6);
	add_samples(r, of[2], 0, STACKD_END_NO_USER, 4);
}

static void make_labels(struct recording *r)
{
	make_fleet(r);
	r->threads[0].label_set = "env=prod\nservice.name=shop";
	r->threads[1].label_set = "container.id=0123456789abcdef0123456789abcdef0123456789abcdef"
				  "0123456789abcdef\nenv=prod\nk8s.container.name=nginx\n"
				  "k8s.namespace.name=web\nk8s.pod.name=web-1";
}

static void make_twin(struct recording *r)
{
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = add_node(r, 0, function(r, prog, 0x1110, "main"));

	add_samples(r, thread(r, 20, "prog"), add_node(r, in_main, twin(r, prog, 0x1220)),
		    STACKD_END_ENTRY, 5);
}

static void make_small(struct recording *r)
{
	make_program(r, 0);
}

static void make_after(struct recording *r)
{
	make_program(r, 45);
}

static void make_nothing(struct recording *r)
{
	(void)r;
}

#include "make_bursts.h"
#include "make_folded.h"
#include "make_traced.h"

static const struct {
	const char *name;
	void (*fill)(struct recording *r);
} kinds[] = {
	{"small", make_small},
	{"after", make_after},
	{"names", make_names},
	{"hostile", make_hostile},
	{"managed", make_managed},
	{"namesakes", make_namesakes},
	{"inferred", make_inferred},
	{"late", make_late},
	{"empty", make_nothing},
	{"cut", make_cut},
	{"deep", make_deep},
	{"wide", make_wide},
	{"long", make_long},
	{"crowd", make_crowd},
	{"metrics", make_metrics},
	{"waits", make_waits},
	{"zero", make_zero},
	{"heap", make_heap},
	{"fleet", make_fleet},
	{"labels", make_labels},
	{"twin", make_twin},
	{"ranges", make_ranges},
	{"passes", make_nested},
	{"lives", make_lives},
	{"wakers", make_wakers},
	{"folded", make_folded},
	{"markup", make_markup},
	{"unread", make_unread},
	{"modes", make_modes},
	{"locked", make_locked},
	{"traced", make_traced},
	{"instances", make_instances},
	{"walk", make_walk},
	{"quick", make_quick},
	{"gaps", make_gaps},
	{"asleep", make_asleep},
	{"sliced", make_sliced},
	{"probed", make_probed},
	{"costly", make_costly},
	{"off", make_off},
	{"build-a", make_build_a},
	{"build-b", make_build_b},
	{"unmatched", make_unmatched},
	{"escaped", make_escaped},
	{"bursts", make_bursts},
	{"bursts_unread", make_bursts_unread},
	{"bursts_bare", make_bursts_bare},
	{"bursts_gaps", make_bursts_gaps},
	{"bursts_probed", make_bursts_probed},
};

static int fill(struct recording *r, const char *kind)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].name, kind) != 0)
			continue;
		kinds[i].fill(r);
		return 0;
	}
	return -EINVAL;
}

static int commit(struct recording *r, struct store_writer *w)
{
	int err = write_recording(r, w);

	return err ? err : store_writer_commit(w, &r->info);
}

/* Begins the next window where the last one ended. */
static int next_window(struct recording *r, struct store_writer *w)
{
	struct store_recording info = r->info;

	info.start_unix_ns += info.end_ns - info.start_ns;
	info.start_ns = info.end_ns;
	info.samples = 0;
	free_recording(r);
	*r = new_recording(&info);
	return store_writer_next_window(w, &info);
}

static int make_windows(struct recording *r, struct store_writer *w)
{
	for (int i = 0;; i++) {
		int err;

		make_program(r, i % 2 ? 45 : 0);
		r->info.end_ns = r->info.start_ns + 600000000000;
		r->info.finished = i < 5;
		err = commit(r, w);
		if (err || i == 5)
			return err;
		err = next_window(r, w);
		if (err)
			return err;
	}
}

/* Makes each window of a run, whose ends are in a list of milliseconds; the last one goes on. */
static int make_cuts(struct recording *r, struct store_writer *w, const char *kind,
		     const char *cuts)
{
	const uint64_t run_ns = strcmp(kind, "bursts") ? 3000000000 : 6000000000;

	window.is_window = true;
	window.run_ns = r->info.start_ns;
	for (;;) {
		char *end;
		uint64_t ms = strtoull(cuts, &end, 10), left;
		int err;

		r->info.end_ns = *cuts ? window.run_ns + ms * 1000000 : UINT64_MAX;
		left = r->info.end_ns;
		err = fill(r, kind);
		r->info.end_ns = left == UINT64_MAX ? window.run_ns + run_ns : left;
		if (!err)
			err = commit(r, w);
		if (err || left == UINT64_MAX)
			return err;
		cuts = *end ? end + 1 : end;
		err = next_window(r, w);
		if (err)
			return err;
	}
}

static int make_kind(struct recording *r, struct store_writer *w, const char *kind)
{
	const char *cuts = getenv("STORE_CUTS");
	int err;

	if (cuts)
		return make_cuts(r, w, kind, cuts);
	if (strcmp(kind, "windows") == 0)
		return make_windows(r, w);
	err = fill(r, kind);
	return err ? err : commit(r, w);
}

static int make(const char *path, const char *kind)
{
	struct store_recording info = usual_recording();
	struct store_writer *w = NULL;
	struct recording r;
	char *error = NULL;
	int err;

	if (getenv("STORE_EVENT"))
		info.event = getenv("STORE_EVENT");
	if (getenv("STORE_HOST"))
		info.host = getenv("STORE_HOST");
	if (strcmp(kind, "windows") == 0 || getenv("STORE_CUTS")) {
		info.run = 1;
		info.start_unix_ns = 1700043000000000000;
	}
	r = new_recording(&info);
	err = store_writer_new(path, &info, &w, &error);
	if (!err)
		err = make_kind(&r, w, kind);
	if (err)
		fprintf(stderr, "make_store: %s: %s\n", kind, error ? error : strerror(-err));
	store_writer_free(w);
	free_recording(&r);
	free(error);
	return err != 0;
}

int main(int argc, char **argv)
{
	int failed = argc < 3;

	for (int i = 2; i < argc && !failed; i++)
		failed = make(argv[1], argv[i]);
	return failed;
}
