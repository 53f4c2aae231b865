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
 *   hostile   10 samples under names that try to break out of their line
 *   names     60 samples under names that quote, open elements, are no UTF-8, or are empty
 *   after     the small one some time later: another share of the samples in some functions
 *   inferred  40 samples, of which 15 have their first two frames by alignment
 *   late      20 samples, of which 10 in work() stand for four periods each
 *   empty     a finished recording without samples
 *   cut       50 samples, never finished, ended long ago
 *   deep      10 samples of a function that has called itself 10,000 times
 *   wide      a million samples, each of a path of its own
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

#include "base/hash.h"
#include "proc/object.h"
#include "stackd_abi.h"
#include "store/store_writer.h"

struct maker {
	struct store_writer *writer;
	struct store_recording info;
	uint32_t objects, locations, nodes, processes, threads;
	uint32_t origin; /* of samples from now on */
	uint32_t more;	 /* periods that each of them stands for beyond one */
	uint64_t run_ns; /* where times of timed() are from; 0: the recording's start */
	bool is_window;	 /* timed() and bursts_record() only take records that end in it */
	int err;	 /* the first error */
};

static void keep(struct maker *m, int err)
{
	if (m->err == 0)
		m->err = err;
}

static uint32_t object(struct maker *m, enum object_kind kind, const char *path)
{
	struct store_object o = {.number = m->objects, .kind = kind, .path = path};

	o.file_id = 0x1111111111111111ull * (m->objects + 1);
	keep(m, store_writer_object(m->writer, &o));
	return m->objects++;
}

static void line(struct maker *m, uint32_t depth, const char *function, uint64_t start)
{
	struct store_line l = {.location = m->locations - 1,
			       .depth = depth,
			       .function = function,
			       .file = "prog.cc",
			       .line = 10 + m->locations,
			       .function_start = start,
			       .is_inlined = false};

	keep(m, store_writer_line(m->writer, &l));
}

/* The innermost function at a location, which is inlined there. */
static void inlined_line(struct maker *m, const char *function)
{
	struct store_line l = {.location = m->locations - 1,
			       .function = function,
			       .file = "prog.h",
			       .line = 7,
			       .is_inlined = true};

	keep(m, store_writer_line(m->writer, &l));
}

static uint32_t location(struct maker *m, uint32_t in, uint64_t offset, bool is_return)
{
	struct store_location l = {
		.number = m->locations, .object = in, .offset = offset, .is_return = is_return};

	keep(m, store_writer_location(m->writer, &l));
	return m->locations++;
}

static uint32_t function(struct maker *m, uint32_t in, uint64_t offset, const char *name)
{
	uint32_t number = location(m, in, offset, true);

	line(m, 0, name, offset & ~0xffull);
	return number;
}

static uint32_t node(struct maker *m, uint32_t parent, uint32_t at)
{
	struct store_node n = {parent, at};

	keep(m, store_writer_node(m->writer, &n));
	return ++m->nodes;
}

static uint32_t thread(struct maker *m, int pid, const char *comm)
{
	struct store_process p = {m->processes, pid, 1, comm, "/bin/prog"};
	struct store_thread t = {m->threads, m->processes, pid, comm};

	keep(m, store_writer_process(m->writer, &p));
	keep(m, store_writer_thread(m->writer, &t));
	m->processes++;
	return m->threads++;
}

/* Another thread of a thread's process: its samples are no evidence for the first one's paths. */
static uint32_t sibling(struct maker *m, uint32_t of, int tid, const char *comm)
{
	struct store_thread t = {m->threads, of, tid, comm};

	keep(m, store_writer_thread(m->writer, &t));
	return m->threads++;
}

static void samples(struct maker *m, uint32_t of, uint32_t leaf, uint8_t reason, int count)
{
	while (count--) {
		struct store_sample s = {.time_ns = m->info.start_ns + m->info.samples++ * 1003009,
					 .period = 1003009ull * (1 + m->more),
					 .thread = of,
					 .node = leaf,
					 .end_reason = reason,
					 .origin = m->origin};

		m->info.end_ns = s.time_ns;
		keep(m, store_writer_sample(m->writer, &s));
	}
}

/* `changed` more samples in one function, and as many fewer in another. */
static void make_program(struct maker *m, int changed)
{
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog");
	uint32_t libx = object(m, OBJECT_ELF, "/opt/libx.so");
	uint32_t kernel = object(m, OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t start = function(m, prog, 0x1020, "_start");
	uint32_t in_main = function(m, prog, 0x1110, "main");
	uint32_t work = function(m, prog, 0x1220, "_ZN3app4workEv");
	uint32_t fact = function(m, prog, 0x1340, "fact");
	uint32_t unnamed = location(m, libx, 0x50, false);
	uint32_t sys = function(m, kernel, 0x7010, "do_sys");
	uint32_t prog_thread = thread(m, 12, "prog"), other_thread = thread(m, 99, "other");
	uint32_t at = node(m, node(m, 0, start), in_main), leaf;

	samples(m, prog_thread, node(m, at, work), STACKD_END_ENTRY, 60 - changed);
	samples(m, prog_thread, node(m, at, unnamed), STACKD_END_ENTRY, 9);
	leaf = node(m, node(m, node(m, at, fact), fact), fact);
	samples(m, prog_thread, leaf, STACKD_END_ENTRY, 10 + changed);
	samples(m, sibling(m, 0, 13, "prog"), node(m, 0, work), STACKD_END_NO_RECIPE, 1);
	samples(m, other_thread, node(m, node(m, 0, in_main), sys), STACKD_END_ENTRY, 20);
	keep(m, store_writer_counter(m->writer, "end.lost_ring", 3));
	m->info.lost = 3;
}

static void make_hostile(struct maker *m)
{
	uint32_t prog = object(m, OBJECT_ELF, "/tmp/a\033[31m\nb;c (x");
	uint32_t evil = function(m, prog, 0x1020, "evil\n;name\r\033]0;x\a");

	samples(m, thread(m, 66, "a;b\n c"), node(m, 0, evil), STACKD_END_ENTRY, 10);
}

/* A function of a file, or of none. */
static uint32_t placed(struct maker *m, uint32_t in, uint64_t offset, const char *name,
		       const char *file)
{
	struct store_line l = {.location = location(m, in, offset, true),
			       .function = name,
			       .file = file,
			       .line = 5,
			       .function_start = offset & ~0xffull};

	keep(m, store_writer_line(m->writer, &l));
	return l.location;
}

static void make_namesakes(struct maker *m)
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
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog");
	uint32_t kernel = object(m, OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t in_main = placed(m, prog, 0x1010, "main", "/src/main.c"), run, copy;
	uint32_t of = thread(m, 12, "prog"), at = node(m, 0, in_main);
	struct store_line inlined = {
		.function = "parse", .file = "/src/lexer.c", .line = 7, .is_inlined = true};
	struct store_line around = {.depth = 1,
				    .function = "run",
				    .file = "/src/lexer.c",
				    .line = 40,
				    .function_start = 0x1600};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		samples(m, of,
			node(m, at,
			     placed(m, prog, functions[i].offset, "parse", functions[i].file)),
			STACKD_END_ENTRY, functions[i].count);
	run = location(m, prog, 0x1610, true);
	inlined.location = around.location = run;
	keep(m, store_writer_line(m->writer, &inlined));
	keep(m, store_writer_line(m->writer, &around));
	samples(m, of, node(m, at, run), STACKD_END_ENTRY, 10);
	copy = node(m, at, placed(m, kernel, 0x7010, "cmp", NULL));
	samples(m, of, copy, STACKD_END_ENTRY, 4);
	samples(m, of, node(m, copy, placed(m, kernel, 0x8010, "cmp", NULL)), STACKD_END_ENTRY, 2);
}

/* Two functions parse() without a file, at other places in each build. */
static void make_build(struct maker *m, uint64_t start)
{
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog"), of = thread(m, 12, "prog");
	uint32_t at = node(m, 0, placed(m, prog, start + 0x10, "main", NULL));

	samples(m, of, node(m, at, placed(m, prog, start + 0x110, "parse", NULL)), STACKD_END_ENTRY,
		30);
	samples(m, of, node(m, at, placed(m, prog, start + 0x210, "parse", NULL)), STACKD_END_ENTRY,
		20);
}

static void make_build_a(struct maker *m)
{
	make_build(m, 0x1000);
}

static void make_build_b(struct maker *m)
{
	object(m, OBJECT_ELF, "/bin/other"); /* so that the program has another id */
	make_build(m, 0x5000);
}

/* Each calls the next. */
static void make_names(struct maker *m)
{
	static const char *const names[] = {
		"a;b\nc\"d\\e'f",    "</script><script>alert(1)</script>",
		"\xff\xfe bad \xc3", "(7) x",
		"<b>&amp;</b>",	     ""};
	uint32_t at = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint32_t in = object(m, OBJECT_ELF, names[i]);

		at = node(m, at, function(m, in, 0x1020, names[i]));
		samples(m, thread(m, 10 + (int)i, names[i]), at, STACKD_END_ENTRY, 10);
	}
}

static void make_inferred(struct maker *m)
{
	struct origin_run run = {.frames = 2, .source = FRAME_SOURCE_ALIGNED, .confidence = 80};
	struct origin origin = {.is_complete = true, .n_runs = 1, .runs = &run};
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog"), of = thread(m, 12, "prog");
	uint32_t in_main = node(m, node(m, 0, function(m, prog, 0x1020, "_start")),
				function(m, prog, 0x1110, "main"));
	uint32_t leaf = node(m, in_main, function(m, prog, 0x1220, "work"));

	keep(m, store_writer_origin(m->writer, 1, &origin));
	samples(m, of, leaf, STACKD_END_ENTRY, 25);
	m->origin = 1;
	samples(m, of, leaf, STACKD_END_STACK_CUT, 15);
}

static void make_late(struct maker *m)
{
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog"), of = thread(m, 12, "prog");
	uint32_t in_main = node(m, node(m, 0, function(m, prog, 0x1020, "_start")),
				function(m, prog, 0x1110, "main"));

	samples(m, of, in_main, STACKD_END_ENTRY, 10);
	m->more = 3;
	samples(m, of, node(m, in_main, function(m, prog, 0x1220, "work")), STACKD_END_ENTRY, 10);
}

static void make_cut(struct maker *m)
{
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog");
	uint32_t at = node(m, 0, function(m, prog, 0x1020, "_start"));

	samples(m, thread(m, 7, "prog"), at, STACKD_END_ENTRY, 50);
	m->info.finished = false;
}

static void make_deep(struct maker *m)
{
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog");
	uint32_t fact = function(m, prog, 0x1340, "fact"), at = 0;

	for (int i = 0; i < 10000; i++)
		at = node(m, at, fact);
	samples(m, thread(m, 10, "deep"), at, STACKD_END_ENTRY, 10);
}

static void make_wide(struct maker *m)
{
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog"), of = thread(m, 11, "wide");
	uint32_t functions[1000];
	char name[32];

	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		functions[i] = function(m, prog, 0x1000 + i * 0x100, name);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t caller = node(m, 0, functions[i]);

		for (uint32_t j = 0; j < 1000; j++)
			samples(m, of, node(m, caller, functions[j]), STACKD_END_ENTRY, 1);
	}
}

static void instance(struct maker *m, uint32_t leaf, uint64_t time_ns, uint64_t cpu_ns)
{
	struct store_sample s = {.time_ns = m->info.end_ns++, .period = time_ns, .node = leaf};

	keep(m, store_writer_record(m->writer, SERIES_REGION_TIME, &s));
	s.period = cpu_ns;
	keep(m, store_writer_record(m->writer, SERIES_REGION_CPU, &s));
}

static void make_metrics(struct maker *m)
{
	uint32_t in_main = 2, work = 3; /* the nodes that make_program() makes first */
	struct store_sample sent = {.period = 5120, .node = in_main};

	make_program(m, 0);
	for (int i = 0; i < 3; i++)
		instance(m, work, 2000000, 1500000);
	instance(m, in_main, 4000000, 0);
	sent.time_ns = m->info.end_ns;
	keep(m, store_writer_record(m->writer, SERIES_MPI_SENT, &sent));
}

static void wait(struct maker *m, uint32_t leaf, enum metric_series series, uint64_t ns)
{
	struct store_sample s = {.time_ns = m->info.end_ns, .period = ns, .node = leaf};

	keep(m, store_writer_record(m->writer, series, &s));
}

/* What waits under a path were for. */
static uint32_t reason(struct maker *m, uint32_t below, const char *name)
{
	return node(m, below, function(m, object(m, OBJECT_MARK, name), 0, name));
}

static void make_waits(struct maker *m)
{
	uint32_t in_main = 2, work = 3; /* the nodes that make_program() makes first */
	uint32_t futex, woken;

	make_program(m, 0);
	futex = reason(m, work, "[futex]");
	woken = reason(m, work, "[woken]");
	for (int i = 0; i < 3; i++) {
		m->info.end_ns += 22000000;
		wait(m, futex, SERIES_WAIT_BLOCKED, 20000000);
		wait(m, woken, SERIES_WAIT_RUNNABLE, 1000000);
	}
	m->info.end_ns += 5000000;
	wait(m, reason(m, in_main, "[sleep]"), SERIES_WAIT_BLOCKED, 5000000);
	m->info.end_ns += 2000000;
	wait(m, reason(m, in_main, "[preempted]"), SERIES_WAIT_RUNNABLE, 2000000);
}

/* A record that ends so many ms after the recording's start. */
static void timed(struct maker *m, enum metric_series series, uint32_t of, uint32_t leaf,
		  uint64_t end_ms, uint64_t value)
{
	struct store_sample s = {.time_ns = (m->is_window ? m->run_ns : m->info.start_ns) +
					    end_ms * 1000000,
				 .period = value,
				 .node = leaf,
				 .thread = of};

	if (m->is_window && series == SERIES_WAIT_MEAN) /* each window has it */
		s.time_ns = m->info.start_ns;
	if (m->is_window && (s.time_ns < m->info.start_ns || s.time_ns >= m->info.end_ns))
		return;
	m->info.samples += series == SERIES_CPU;
	keep(m, series == SERIES_CPU ? store_writer_sample(m->writer, &s)
				     : store_writer_record(m->writer, series, &s));
	if (s.time_ns > m->info.end_ns)
		m->info.end_ns = s.time_ns;
}

static void make_ranges(struct maker *m)
{
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = node(m, 0, function(m, prog, 0x1110, "main"));
	uint32_t work = node(m, in_main, function(m, prog, 0x1220, "work"));
	uint32_t lock = node(m, in_main, function(m, prog, 0x1330, "lock"));
	uint32_t futex = reason(m, lock, "[futex]"), woken = reason(m, lock, "[woken]");
	uint32_t of = thread(m, 20, "prog");

	timed(m, SERIES_WAIT_MEAN, of, 0, 0, 0);
	for (int i = 0; i < 7; i++, of = i < 7 ? sibling(m, 0, 20 + i, "worker") : 0) {
		timed(m, SERIES_WAIT_RUNNABLE, of, woken, 1, 1000000);
		timed(m, SERIES_WAIT_BLOCKED, of, futex, 2100, 1100000000);
		timed(m, SERIES_WAIT_RUNNABLE, of, woken, 2110, 10000000);
		for (uint64_t at = 5; at < 3000; at += 5)
			if (at < 1000 || at > 2110)
				timed(m, SERIES_CPU, of, work, at, 1003009);
		timed(m, SERIES_THREAD_END, of, 0, 3000, 0);
	}
}

/* One that is measured from a moment on at which it ran, and leaves the CPU after its exit was told
 * of; one that is made, and changes its name within a period of its first sample. */
static void make_lives(struct maker *m)
{
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = node(m, 0, function(m, prog, 0x1110, "main"));
	uint32_t woken = reason(m, in_main, "[woken]");
	uint32_t of = thread(m, 20, "prog"), made = sibling(m, 0, 21, "make");
	uint32_t executed = sibling(m, 0, 21, "cc");

	timed(m, SERIES_WAIT_MEAN, of, 0, 0, 0);
	timed(m, SERIES_THREAD_BEGIN, of, 0, 500, 0);
	timed(m, SERIES_CPU, of, in_main, 510, 10000000);
	timed(m, SERIES_THREAD_END, of, 0, 520, 0);
	timed(m, SERIES_THREAD_END, of, 0, 526, 0);
	timed(m, SERIES_WAIT_RUNNABLE, made, woken, 101, 1000000);
	timed(m, SERIES_CPU, executed, in_main, 104, 10000000);
	timed(m, SERIES_THREAD_END, executed, 0, 110, 0);
	timed(m, SERIES_CPU, of, in_main, 515, 10000000);
	m->info.end_ns = m->info.start_ns + 1000000000;
}

static void make_nested(struct maker *m)
{
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog");
	uint32_t idle = node(m, 0, function(m, prog, 0x1110, "idle"));
	uint32_t outer = node(m, 0, function(m, prog, 0x1220, "outer"));
	uint32_t inner = node(m, outer, function(m, prog, 0x1330, "inner"));
	uint32_t of = thread(m, 20, "prog");

	timed(m, SERIES_CPU, of, idle, 0, 1003009);
	timed(m, SERIES_REGION_TIME, of, inner, 1600, 400000000);
	timed(m, SERIES_REGION_CPU, of, inner, 1600, 100000000);
	timed(m, SERIES_REGION_TIME, of, outer, 2000, 600000000);
	timed(m, SERIES_REGION_CPU, of, outer, 2000, 300000000);
	timed(m, SERIES_REGION_NESTED_TIME, of, outer, 2000, 400000000);
	timed(m, SERIES_REGION_NESTED_CPU, of, outer, 2000, 100000000);
	timed(m, SERIES_CPU, of, idle, 3000, 1003009);
}

static void waker(struct maker *m, uint32_t of, uint32_t leaf, uint64_t time_ns, uint64_t value)
{
	struct store_sample s = {.time_ns = time_ns, .period = value, .node = leaf, .thread = of};

	keep(m, store_writer_record(m->writer, SERIES_WAIT_WAKER, &s));
}

static void make_wakers(struct maker *m)
{
	uint32_t in_main = 9, other = 1, sleep; /* as make_program() makes them */
	struct store_sample slept;

	make_waits(m);
	sleep = reason(m, in_main, "[sleep]");
	slept = (struct store_sample){.period = 5000000, .node = sleep, .thread = other};
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t woken = m->info.end_ns - 7000000 - 22000000 * i - 1000000;

		waker(m, 0, in_main, woken, WAKER_OF_THREAD(99));
		if (i == 2)
			break;
		slept.time_ns = woken - 100000;
		keep(m, store_writer_record(m->writer, SERIES_WAIT_BLOCKED, &slept));
		waker(m, other, 0, slept.time_ns - 10000, WAKER_OF_INTERRUPT);
	}
}

/* A wait that another thread ended, with names that have to be escaped. */
static void make_escaped(struct maker *m)
{
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog");
	uint32_t in = node(m, 0, function(m, prog, 0x1010, "p;\xc3\xbc"));
	uint32_t of = thread(m, 20, "prog"), other = thread(m, 21, "\x1b[31m\n\"\xc3\xbc");

	timed(m, SERIES_CPU, other, in, 1, 1000000);
	timed(m, SERIES_WAIT_BLOCKED, of, reason(m, in, "[block I/O]"), 100, 20000000);
	timed(m, SERIES_WAIT_WAKER, of, in, 100, WAKER_OF_THREAD(21));
}

/* Four waits of a thread 100 ms apart, and four wake-ups: of the first wait it is missing, and of
 * the last wake-up the wait. */
static void make_unmatched(struct maker *m)
{
	static const char *const wakers[] = {"second", "third", "fourth", "fifth"};
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = node(m, 0, function(m, prog, 0x1010, "main"));
	uint32_t of = thread(m, 20, "prog"), other = thread(m, 21, "other");
	uint32_t futex = reason(m, in_main, "[futex]");

	timed(m, SERIES_CPU, other, in_main, 1, 1000000);
	for (unsigned i = 0; i < 4; i++)
		timed(m, SERIES_WAIT_BLOCKED, of, futex, 100 + 100 * i, 20000000);
	for (unsigned i = 0; i < 4; i++)
		timed(m, SERIES_WAIT_WAKER, of,
		      node(m, in_main, function(m, prog, 0x1110 + 0x100 * i, wakers[i])),
		      203 + 100 * i, WAKER_OF_THREAD(21));
}

/* Regions within others that were taken off, one of them a clone, one that is still counted, and
 * one that never was. A sample stands for 1 ms. */
static void make_off(struct maker *m)
{
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = node(m, 0, function(m, prog, 0x1010, "main"));
	uint32_t outer_at = function(m, prog, 0x1110, "outer");
	uint32_t outer = node(m, in_main, outer_at);
	uint32_t inner = node(m, outer, function(m, prog, 0x1210, "inner"));
	uint32_t again = node(m, inner, outer_at);
	uint32_t kept = node(m, outer, function(m, prog, 0x1310, "kept"));
	uint32_t turn = node(m, in_main, function(m, prog, 0x1410, "turn.constprop.0"));
	uint32_t never = node(m, in_main, function(m, prog, 0x1510, "never"));
	uint32_t of = thread(m, 20, "prog");
	const struct {
		uint32_t leaf, ms, count;
	} rest[] = {{inner, 350, 16}, {inner, 450, 1}, {inner, 600, 2}, {outer, 610, 3},
		    {again, 620, 4},  {kept, 700, 5},  {turn, 710, 6},	{never, 50, 2}};

	timed(m, SERIES_REGION_TIME, of, turn, 100, 10000000);
	timed(m, SERIES_REGION_TIME, of, inner, 400, 100000000);
	timed(m, SERIES_REGION_TIME, of, outer, 500, 200000000);
	timed(m, SERIES_REGION_NESTED_TIME, of, outer, 500, 100000000);
	timed(m, SERIES_REGION_TIME, of, kept, 800, 10000000);
	for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++) {
		for (uint32_t k = 0; k < rest[i].count; k++)
			timed(m, SERIES_CPU, of, rest[i].leaf, rest[i].ms, 1000000);
	}
	keep(m, store_writer_counter(m->writer, "regions_taken_off", 4));
	keep(m, store_writer_counter(m->writer, "region_off.inner@prog", 1401000000));
	keep(m, store_writer_counter(m->writer, "region_off.never@prog", 0));
	keep(m, store_writer_counter(m->writer, "region_off.outer@prog", 1501000000));
	keep(m, store_writer_counter(m->writer, "region_off.turn@prog", 1301000000));
}

/* A sampled allocation, or its end at an age, so many microseconds after the start. Its standard
 * error is a tenth of it, and 0 of the largest: such a block is always sampled. */
static void block(struct maker *m, uint32_t node, unsigned us, uint64_t bytes, uint64_t blocks,
		  unsigned age_us)
{
	const bool is_end = age_us;
	struct store_sample record = {
		.time_ns = 1000000000 + us * 1000ull, .period = bytes, .node = node};

	keep(m, store_writer_record(m->writer, is_end ? SERIES_FREED_BYTES : SERIES_ALLOC_BYTES,
				    &record));
	record.period = blocks;
	keep(m, store_writer_record(m->writer, is_end ? SERIES_FREED_OBJECTS : SERIES_ALLOC_OBJECTS,
				    &record));
	record.period = bytes < 1000 ? bytes / 10 : 0;
	keep(m, store_writer_record(m->writer, is_end ? SERIES_FREED_ERROR : SERIES_ALLOC_ERROR,
				    &record));
	record.period = age_us * 1000ull;
	if (age_us)
		keep(m, store_writer_record(m->writer, SERIES_FREED_AGE, &record));
}

static void make_heap(struct maker *m)
{
	uint32_t in_main = 2, work = 3; /* the nodes that make_program() makes first */

	make_program(m, 0);
	block(m, work, 1000, 1000, 2, 0);
	block(m, in_main, 2000, 500, 5, 0);
	block(m, work, 3000, 1000, 2, 2000);
	block(m, in_main, 3500, 500, 5, 1500);
	block(m, work, 4000, 300, 1, 0);
	block(m, in_main, 5000, 200, 1, 0);
	m->info.end_ns = 1010000000;
}

/* A location with the id of another one: see location_id(). */
static uint32_t twin(struct maker *m, uint32_t of_object, uint64_t offset)
{
	static const uint8_t build_id[] = {0xff, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08};
	struct store_object o = {.number = m->objects,
				 .kind = OBJECT_ELF,
				 .path = "/opt/twin.so",
				 .layout = 0xfedcba9876543210ull,
				 .file_id = 0xff01020304050607ull,
				 .build_id = build_id,
				 .build_id_len = sizeof(build_id)};
	uint64_t first = hash_mix64(0x1111111111111111ull * (of_object + 1)) + offset;

	keep(m, store_writer_object(m->writer, &o));
	return function(m, m->objects++, first - hash_mix64(o.file_id), "twin");
}

static void make_fleet(struct maker *m)
{
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = node(m, 0, function(m, prog, 0x1110, "main")), work, other, of[3];
	struct store_sample rank = {.time_ns = m->info.start_ns, .period = 8ull << 32 | 4};

	work = location(m, prog, 0x1220, true);
	inlined_line(m, "work");
	line(m, 1, "outer", 0x1200);
	work = node(m, in_main, work);
	other = node(m, in_main, twin(m, prog, 0x1220));
	for (int i = 0; i < 3; i++)
		of[i] = thread(m, 20 + i, i ? "prog" : "");
	keep(m, store_writer_cgroup(m->writer, of[0], "/system.slice/nginx.service"));
	keep(m, store_writer_cgroup(m->writer, of[1],
				    "/system.slice/docker-0123456789abcdef0123456789abcdef"
				    "0123456789abcdef0123456789abcdef.scope"));
	keep(m, store_writer_cgroup(m->writer, of[2], "/"));
	rank.thread = of[2];
	keep(m, store_writer_record(m->writer, SERIES_MPI_RANK, &rank));
	samples(m, of[0], work, STACKD_END_ENTRY, 10);
	samples(m, of[1], work, STACKD_END_ENTRY, 12);
	samples(m, of[2], work, STACKD_END_ENTRY, 8);
	samples(m, of[2], other, STACKD_END_ENTRY, 6);
	samples(m, of[2], 0, STACKD_END_NO_USER, 4);
}

static void make_twin(struct maker *m)
{
	uint32_t prog = object(m, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = node(m, 0, function(m, prog, 0x1110, "main"));

	samples(m, thread(m, 20, "prog"), node(m, in_main, twin(m, prog, 0x1220)), STACKD_END_ENTRY,
		5);
}

static void make_windows(struct maker *m)
{
	for (int i = 0; i < 6; i++) {
		make_program(m, i % 2 ? 45 : 0);
		m->info.end_ns = m->info.start_ns + 600000000000;
		m->info.finished = i < 5;
		keep(m, store_writer_commit(m->writer, &m->info));
		if (i == 5 || m->err)
			return;
		m->info.start_ns = m->info.end_ns;
		m->info.start_unix_ns += 600000000000;
		m->info.samples = m->objects = m->locations = m->nodes = m->processes = 0;
		m->threads = 0;
		keep(m, store_writer_next_window(m->writer, &m->info));
	}
}

static void make_small(struct maker *m)
{
	make_program(m, 0);
}

static void make_after(struct maker *m)
{
	make_program(m, 45);
}

static void make_nothing(struct maker *m)
{
	(void)m;
}

#include "make_bursts.h"
#include "make_folded.h"
#include "make_traced.h"

static const struct {
	const char *name;
	void (*fill)(struct maker *m);
} kinds[] = {
	{"small", make_small},
	{"after", make_after},
	{"names", make_names},
	{"hostile", make_hostile},
	{"namesakes", make_namesakes},
	{"inferred", make_inferred},
	{"late", make_late},
	{"empty", make_nothing},
	{"cut", make_cut},
	{"deep", make_deep},
	{"wide", make_wide},
	{"metrics", make_metrics},
	{"waits", make_waits},
	{"heap", make_heap},
	{"fleet", make_fleet},
	{"twin", make_twin},
	{"windows", make_windows},
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

static void fill(struct maker *m, const char *kind)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].name, kind) != 0)
			continue;
		kinds[i].fill(m);
		return;
	}
	keep(m, -EINVAL);
}

/* Fills each window of a run, whose ends are in a list of milliseconds; the last one goes on. */
static void fill_windows(struct maker *m, const char *kind, const char *cuts)
{
	const uint64_t run_ns = strcmp(kind, "bursts") ? 3000000000 : 6000000000;

	m->is_window = true;
	m->run_ns = m->info.start_ns;
	for (;;) {
		char *end;
		uint64_t ms = strtoull(cuts, &end, 10), left;

		m->info.end_ns = *cuts ? m->run_ns + ms * 1000000 : UINT64_MAX;
		left = m->info.end_ns;
		fill(m, kind);
		m->info.end_ns = left == UINT64_MAX ? m->run_ns + run_ns : left;
		keep(m, store_writer_commit(m->writer, &m->info));
		if (left == UINT64_MAX || m->err)
			return;
		cuts = *end ? end + 1 : end;
		m->info.start_unix_ns += m->info.end_ns - m->info.start_ns;
		m->info.start_ns = m->info.end_ns;
		m->info.samples = m->objects = m->locations = m->nodes = m->processes = 0;
		m->threads = 0;
		keep(m, store_writer_next_window(m->writer, &m->info));
	}
}

static int make(const char *path, const char *kind)
{
	struct maker m = {.info = {.start_unix_ns = 1700000000000000000ull,
				   .start_ns = 1000000000,
				   .end_ns = 1000000000,
				   .host = "box",
				   .kernel = "6.1.0",
				   .arch = "x86_64",
				   .command = "stackd --pid 12",
				   .target = "pid 12",
				   .event = "cpu-clock",
				   .note = "",
				   .frequency_hz = 997,
				   .cpus = 2,
				   .finished = true}};
	char *error = NULL;

	if (getenv("STORE_EVENT"))
		m.info.event = getenv("STORE_EVENT");
	if (getenv("STORE_HOST"))
		m.info.host = getenv("STORE_HOST");
	if (strcmp(kind, "windows") == 0 || getenv("STORE_CUTS")) {
		m.info.run = 1;
		m.info.start_unix_ns = 1700043000000000000;
	}
	m.err = store_writer_new(path, &m.info, &m.writer, &error);
	if (m.err < 0) {
		fprintf(stderr, "make_store: %s\n", error ? error : strerror(-m.err));
		return 1;
	}
	if (getenv("STORE_CUTS"))
		fill_windows(&m, kind, getenv("STORE_CUTS"));
	else
		fill(&m, kind);
	keep(&m, store_writer_commit(m.writer, &m.info));
	store_writer_free(m.writer);
	if (m.err < 0)
		fprintf(stderr, "make_store: %s: %s\n", kind, strerror(-m.err));
	return m.err < 0;
}

int main(int argc, char **argv)
{
	int failed = argc < 3;

	for (int i = 2; i < argc && !failed; i++)
		failed = make(argv[1], argv[i]);
	return failed;
}
