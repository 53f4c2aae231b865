/* SPDX-License-Identifier: MIT */
/*
 * Calls of MPI with bursts of known kinds between them, in two ranks of 100 rounds each: a part of
 * make_store.c, whose functions it uses. A round of a rank is
 *
 *   MPI_Recv       1 ms      in step()
 *   solve()        2 ms      of CPU time; every fifth one takes 6 ms, as its thread waits for a
 * CPU, and that of round 50 of rank 0 is 900 ms MPI_Send       0.5 ms    in step(); that of round
 * 60 of rank 1 does not return assemble()     4 or 12   ms, by turns; within it a pass of 1 ms
 * through a region, assemble() MPI_Allreduce  1 ms      in exchange(), with a pass through a region
 * of 0.4 ms within it pack()         2 ms      called by exchange(); in odd rounds with 2,000 page
 * faults
 *
 * before which there is an MPI_Init and setup(), of 5 ms. With readings at both ends of the calls
 * and at the samples, one each millisecond of CPU time.
 */
#ifndef MAKE_BURSTS_H
#define MAKE_BURSTS_H

#define BURST_ROUNDS 100u

struct made_bursts {
	struct recording *r;
	uint32_t thread;
	uint32_t init, recv, send, reduce, setup, solve, assemble, pack, op; /* nodes */
	uint64_t now, cpu, faults;					     /* the thread's */
	uint64_t last[2]; /* its readings so far */
	uint64_t random;
	bool has_readings, has_samples;
	bool has_gaps; /* no readings at MPI_Init, and at one MPI_Send */
	unsigned sends;
};

static void bursts_record(struct made_bursts *b, unsigned series, uint32_t leaf, uint64_t value,
			  uint8_t reason)
{
	struct store_sample s = {.time_ns = b->now,
				 .period = value,
				 .thread = b->thread,
				 .node = leaf,
				 .end_reason = reason};

	if (window.is_window && (b->now < b->r->info.start_ns || b->now >= b->r->info.end_ns))
		return;
	if (!window.is_window)
		b->r->info.end_ns = b->now;
	put_record(b->r, (enum metric_series)series, &s);
}

static void bursts_read(struct made_bursts *b, uint32_t leaf)
{
	const uint64_t values[2] = {b->cpu, b->faults};

	for (unsigned i = 0; i < 2 && b->has_readings; i++) {
		bursts_record(b, SERIES_READING + i, leaf, values[i] - b->last[i],
			      STACKD_END_ENTRY);
		b->last[i] = values[i];
	}
}

/* A call, of which a part is in a region within it. */
static void bursts_call(struct made_bursts *b, uint32_t leaf, uint64_t ns, uint64_t within,
			bool is_left)
{
	const uint8_t reason = is_left ? STACKD_END_LEFT : STACKD_END_ENTRY;

	b->now += ns;
	b->cpu += ns / 2;
	if (within) {
		b->now -= 1000;
		bursts_record(b, SERIES_REGION_TIME, b->op, within, STACKD_END_ENTRY);
		b->now += 1000;
		bursts_record(b, SERIES_REGION_NESTED_TIME, leaf, within, reason);
	}
	bursts_record(b, SERIES_REGION_TIME, leaf, ns - within, reason);
	b->sends += leaf == b->send;
	if (b->has_gaps && (leaf == b->init || (leaf == b->send && b->sends == 11)))
		return;
	bursts_read(b, leaf);
	if (!b->has_readings)
		return;
	bursts_record(b, SERIES_PASSED, leaf, ns / 2, reason);
	bursts_record(b, SERIES_PASSED + 1, leaf, 0, reason);
}

/* A burst of so many milliseconds of CPU time, give or take 2.5 %, with a sample somewhere in each,
 * and of waiting for a CPU. Page faults are in its first half. */
static void bursts_compute(struct made_bursts *b, uint32_t leaf, unsigned ms, unsigned waits,
			   unsigned faults)
{
	const uint64_t start = b->now, cpu = b->cpu, before = b->faults;
	uint64_t ns;

	b->random = hash_mix64(b->random + 1);
	ns = ms * (975000 + b->random % 50000);
	for (unsigned i = 0; i < ms; i++) {
		double x;

		b->random = hash_mix64(b->random + 1);
		x = (i + (double)(b->random >> 11) / (double)(1ull << 53)) / ms;
		b->now = start + (uint64_t)(x * (double)ns);
		b->cpu = cpu + (uint64_t)(x * (double)ns);
		b->faults = before + (uint64_t)((x < 0.5 ? 2 * x : 1) * faults);
		if (!b->has_samples)
			continue;
		bursts_record(b, SERIES_CPU, leaf, 1000000, STACKD_END_ENTRY);
		bursts_read(b, leaf);
	}
	b->now = start + ns + waits * 1000000ull;
	b->cpu = cpu + ns;
	b->faults = before + faults;
}

static void bursts_round(struct made_bursts *b, unsigned rank, unsigned round)
{
	bursts_call(b, b->recv, 1000000, 0, false);
	bursts_compute(b, b->solve, rank == 0 && round == 50 ? 900 : 2, round % 5 ? 0 : 4, 0);
	bursts_call(b, b->send, 500000, 0, rank == 1 && round == 60);
	bursts_compute(b, b->assemble, round % 2 ? 12 : 4, 0, 0);
	bursts_record(b, SERIES_REGION_TIME, b->assemble, 1000000, STACKD_END_ENTRY);
	b->now += 1000;
	bursts_call(b, b->reduce, 1000000, 400000, false);
	bursts_compute(b, b->pack, 2, 0, round % 2 ? 2000 : 0);
}

static void bursts_rank(struct made_bursts *b, unsigned rank)
{
	struct store_sample s = {
		.time_ns = b->now, .period = rank + 1 + (2ull << 32), .thread = b->thread};

	put_record(b->r, SERIES_MPI_RANK, &s);
	b->last[0] = b->last[1] = b->cpu = b->faults = 0;
	bursts_call(b, b->init, 3000000, 0, false);
	bursts_compute(b, b->setup, 5, 0, 0);
	for (unsigned i = 0; i < BURST_ROUNDS; i++)
		bursts_round(b, rank, i);
}

static void make_bursts_of(struct recording *r, bool has_readings, bool has_samples, bool has_gaps)
{
	struct made_bursts b = {.r = r,
				.now = 2000000000,
				.has_readings = has_readings,
				.has_samples = has_samples,
				.has_gaps = has_gaps};
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog"), threads[2];
	uint32_t mpi = add_object(r, OBJECT_ELF, "/usr/lib/libmpi.so.40");
	uint32_t in_main = add_node(r, 0, function(r, prog, 0x1000, "main"));
	uint32_t step = add_node(r, in_main, function(r, prog, 0x2000, "step"));
	uint32_t exchange = add_node(r, step, function(r, prog, 0x3000, "exchange"));

	threads[0] = thread(r, 12, "prog");
	threads[1] = thread(r, 13, "prog");
	b.init = add_node(r, in_main, function(r, mpi, 0x1000, "MPI_Init"));
	b.recv = add_node(r, step, function(r, mpi, 0x2000, "MPI_Recv"));
	b.send = add_node(r, step, function(r, mpi, 0x3000, "MPI_Send"));
	b.reduce = add_node(r, exchange, function(r, mpi, 0x4000, "MPI_Allreduce"));
	b.setup = add_node(r, in_main, function(r, prog, 0x4000, "setup"));
	b.solve = add_node(r, step, function(r, prog, 0x5000, "solve"));
	b.assemble = add_node(r, step, function(r, prog, 0x6000, "assemble"));
	b.pack = add_node(r, exchange, function(r, prog, 0x7000, "pack"));
	b.op = add_node(r, b.reduce, function(r, prog, 0x8000, "op"));
	for (unsigned rank = 0; rank < 2; rank++) {
		b.thread = threads[rank];
		bursts_rank(&b, rank);
	}
	if (!has_readings)
		return;
	add_counter(r, "counter.0.cpu", 1);
	add_counter(r, "counter.1.page-faults", 1);
}

static void make_bursts(struct recording *r)
{
	make_bursts_of(r, true, true, false);
}

static void make_bursts_unread(struct recording *r)
{
	make_bursts_of(r, false, true, false);
}

static void make_bursts_bare(struct recording *r)
{
	make_bursts_of(r, true, false, false);
}

static void make_bursts_gaps(struct recording *r)
{
	make_bursts_of(r, true, true, true);
}

static void make_bursts_probed(struct recording *r)
{
	make_bursts_of(r, true, true, false);
	add_counter(r, "probe_before_ns", 50000);
	add_counter(r, "probe_after_ns", 20000);
}

#endif
