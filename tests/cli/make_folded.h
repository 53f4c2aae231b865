/* SPDX-License-Identifier: MIT */
/* Passes through a region with samples and readings, of a known course: a part of make_store.c,
 * whose functions it uses. */
#ifndef MAKE_FOLDED_H
#define MAKE_FOLDED_H

#ifndef FOLDED_PASSES /* bench/fold.py takes more */
#define FOLDED_PASSES 400
#endif
#define FOLDED_SAMPLES 8

struct folded {
	struct recording *r;
	uint32_t threads[2], pass, inner, phases[3]; /* nodes */
	uint64_t last[2][2];			     /* readings, by thread and counter */
	bool has_readings, is_locked, has_modes;
	uint64_t after, before; /* what probes cost at the beginning and at the end, in ns */
	uint64_t random;
};

static double folded_share(double x)
{
	return x < 0.25 ? 0.2 * x : x < 0.7 ? 0.05 + (x - 0.25) / 0.6 : 0.8 + (x - 0.7) / 1.5;
}

static void folded_record(struct folded *f, unsigned series, unsigned turn, uint32_t leaf,
			  uint64_t at_ns, uint64_t value)
{
	struct store_sample s = {.time_ns = at_ns,
				 .period = value,
				 .thread = f->threads[turn],
				 .node = leaf,
				 .end_reason = STACKD_END_ENTRY};

	put_record(f->r, (enum metric_series)series, &s);
}

/* A reading: of CPU time, which is nine tenths of the wall time, and of the variable. */
static void folded_read(struct folded *f, unsigned turn, uint32_t leaf, uint64_t at_ns,
			const uint64_t *values)
{
	for (unsigned i = 0; i < 2 && f->has_readings; i++) {
		folded_record(f, SERIES_READING + i, turn, leaf, at_ns,
			      values[i] - f->last[turn][i]);
		f->last[turn][i] = values[i];
	}
}

static void folded_pass(struct folded *f, unsigned number, uint64_t start_ns)
{
	const bool is_other = f->has_modes && number % 3 == 2;
	const bool is_short = f->has_modes && number % 100 == 60;
	const uint64_t usual = (8000000 + number % 5 * 1000000) * (is_other ? 2 : 1);
	const uint64_t ns = is_short ? 1000000 : usual, cpu = ns / 10 * 9, nested = ns / 4;
	const uint64_t cells = 1000000 + number * 1000;
	const uint64_t probes = f->after + f->before;
	const unsigned turn = number % 2;
	const uint64_t *last = f->last[turn], from[2] = {last[0] + 1000, last[1]};

	for (unsigned i = 0; i < FOLDED_SAMPLES; i++) {
		double x, y;

		f->random = hash_mix64(f->random + 1);
		x = (i + (double)(f->random >> 11) / (double)(1ull << 53)) / FOLDED_SAMPLES;
		if (f->is_locked)
			x = 0.1 + 0.25 * (i / 2) + 1e-6 * i;
		y = is_other ? 1 - folded_share(1 - x) : folded_share(x);
		folded_record(f, SERIES_CPU, turn,
			      f->phases[x < 0.25  ? 0
					: x < 0.7 ? 1
						  : 2],
			      start_ns + f->after + (uint64_t)(x * (double)(ns - probes)), 1000000);
		folded_read(
			f, turn, f->phases[0],
			start_ns + f->after + (uint64_t)(x * (double)(ns - probes)),
			(uint64_t[]){from[0] + f->after + (uint64_t)(x * (double)(cpu - probes)),
				     from[1] + (uint64_t)(y * (double)cells)});
	}
	f->r->info.end_ns = start_ns + ns;
	folded_record(f, SERIES_REGION_TIME, turn, f->inner, start_ns + ns - 1000, nested);
	folded_record(f, SERIES_REGION_TIME, turn, f->pass, start_ns + ns, ns - nested);
	folded_record(f, SERIES_REGION_NESTED_TIME, turn, f->pass, start_ns + ns, nested);
	folded_record(f, SERIES_REGION_CPU, turn, f->pass, start_ns + ns, cpu);
	folded_read(f, turn, f->pass, start_ns + ns, (uint64_t[]){from[0] + cpu, from[1] + cells});
	if (!f->has_readings)
		return;
	folded_record(f, SERIES_PASSED, turn, f->pass, start_ns + ns, cpu);
	folded_record(f, SERIES_PASSED + 1, turn, f->pass, start_ns + ns, cells);
}

static void make_passes_of(struct folded f, const char *counter)
{
	struct recording *r = f.r;
	uint32_t prog = add_object(r, OBJECT_ELF, "/usr/bin/prog");
	uint32_t in_main = add_node(r, 0, function(r, prog, 0x1000, "main"));

	f.has_readings = counter;
	f.threads[0] = thread(r, 12, "prog");
	f.threads[1] = add_thread(r, f.threads[0], 13, "worker");
	f.pass = add_node(r, in_main, function(r, prog, 0x2000, "pass"));
	f.phases[0] = add_node(r, f.pass, function(r, prog, 0x3000, "assemble"));
	f.phases[1] = add_node(r, f.pass, function(r, prog, 0x4000, "solve"));
	f.phases[2] = add_node(r, f.pass, function(r, prog, 0x5000, "output"));
	f.inner = add_node(r, f.pass, function(r, prog, 0x6000, "inner"));
	for (unsigned i = 0; i < FOLDED_PASSES; i++)
		folded_pass(&f, i, 2000000000ull + i * 20000000ull);
	if (!counter)
		return;
	add_counter(r, "counter.0.cpu", 1);
	add_counter(r, counter, 1);
}

static void make_passes(struct recording *r, const char *counter, bool is_locked, bool has_modes)
{
	make_passes_of((struct folded){.r = r, .is_locked = is_locked, .has_modes = has_modes},
		       counter);
}

/* The program advances between the probes alone. */
static void make_probed(struct recording *r)
{
	make_passes_of((struct folded){.r = r, .after = 400000, .before = 100000},
		       "counter.1.var:cells");
	add_counter(r, "probe_before_ns", 100000);
	add_counter(r, "probe_after_ns", 400000);
}

static void make_folded(struct recording *r)
{
	make_passes(r, "counter.1.var:cells", false, false);
}

/* Probes that cost a quarter of a pass, which is too much of it to be taken off. */
static void make_costly(struct recording *r)
{
	make_folded(r);
	add_counter(r, "probe_before_ns", 1000000);
	add_counter(r, "probe_after_ns", 1000000);
}

static void make_modes(struct recording *r)
{
	make_passes(r, "counter.1.var:cells", false, true);
}

static void make_markup(struct recording *r)
{
	make_passes(r, "counter.1.<script>alert(1)</script>\"&\n", false, false);
}

static void make_unread(struct recording *r)
{
	make_passes(r, NULL, false, false);
}

static void make_locked(struct recording *r)
{
	make_passes(r, "counter.1.var:cells", true, false);
}

/* --- threads without regions ------------------------------------------------------------------ */

#define COURSE_FUNCTIONS 8u
#define COURSE_SAMPLES	 4000u

/* A thread whose samples are in main() and another function: that of a number that `next` makes of
 * the last one. */
static void make_course(struct recording *r, unsigned (*next)(unsigned at, unsigned sample))
{
	static const char *const names[COURSE_FUNCTIONS] = {"f0", "f1", "f2", "f3",
							    "f4", "f5", "f6", "f7"};
	struct folded f = {.r = r};
	uint32_t prog = add_object(r, OBJECT_ELF, "/usr/bin/prog"), nodes[COURSE_FUNCTIONS];
	uint32_t in_main = add_node(r, 0, function(r, prog, 0x1000, "main"));
	unsigned at = 0;

	f.threads[0] = thread(r, 12, "prog");
	for (unsigned i = 0; i < COURSE_FUNCTIONS; i++)
		nodes[i] = add_node(r, in_main, function(r, prog, 0x2000 + 0x1000 * i, names[i]));
	for (unsigned i = 0; i < COURSE_SAMPLES; i++) {
		at = next(at, i);
		r->info.end_ns = 2000000000ull + i * 1000000ull;
		folded_record(&f, SERIES_CPU, 0, nodes[at], r->info.end_ns, 1000000);
	}
}

/* To a neighbour, or not, at random. */
static unsigned course_walk(unsigned at, unsigned sample)
{
	return (at + (unsigned)(hash_mix64(sample + 1) % 3) + COURSE_FUNCTIONS - 1) %
	       COURSE_FUNCTIONS;
}

static unsigned course_quick(unsigned at, unsigned sample)
{
	(void)at;
	return sample % 3;
}

static void make_walk(struct recording *r)
{
	make_course(r, course_walk);
}

static void make_quick(struct recording *r)
{
	make_course(r, course_quick);
}

/* A thread that works for 6 to 7 ms in one function or another, and then has no samples for 20 ms.
 * `series`: what it has waits of then; SERIES_CPU: of nothing. */
static void make_pauses(struct recording *r, enum metric_series series)
{
	struct folded f = {.r = r};
	uint32_t prog = add_object(r, OBJECT_ELF, "/usr/bin/prog"), nodes[2];
	uint32_t in_main = add_node(r, 0, function(r, prog, 0x1000, "main"));

	f.threads[0] = thread(r, 12, "prog");
	nodes[0] = add_node(r, in_main, function(r, prog, 0x2000, "odd"));
	nodes[1] = add_node(r, in_main, function(r, prog, 0x3000, "even"));
	r->info.end_ns = 2000000000ull;
	for (unsigned i = 0; i < 200; i++) {
		for (unsigned k = 0; k < 6 + hash_mix64(i + 1) % 2; k++) {
			r->info.end_ns += 1000000;
			folded_record(&f, SERIES_CPU, 0, nodes[hash_mix64(10 * i + k) % 2],
				      r->info.end_ns, 1000000);
		}
		r->info.end_ns += 20000000;
		if (series != SERIES_CPU)
			folded_record(&f, series, 0, in_main, r->info.end_ns - 300000, 19000000);
	}
}

/* It is not known what it did meanwhile; it slept; others had its CPU. */
static void make_gaps(struct recording *r)
{
	make_pauses(r, SERIES_CPU);
}

static void make_asleep(struct recording *r)
{
	make_pauses(r, SERIES_WAIT_BLOCKED);
}

static void make_sliced(struct recording *r)
{
	make_pauses(r, SERIES_WAIT_RUNNABLE);
}

#endif
