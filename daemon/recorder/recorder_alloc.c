/* SPDX-License-Identifier: MIT */
/*
 * Takes records of sampled allocations and of their frees, and those of page faults, mmap() and
 * brk(), which replace them; see recorder.h and docs/ALLOC.md.
 *
 * An allocation of S bytes is sampled with probability p = 1 - exp(-S/R), R being the mean
 * distance, and represents w = S/p bytes: its weight. The variance of w is estimated by (1 - p)
 * w^2, which is w (w - S). Its square root is stored with each weight, and a reader adds up the
 * squares.
 */
#include <math.h>

#include "base/hash.h"
#include "daemon/capture/event.h"
#include "daemon/recorder/recorder_internal.h"

/* Rounds up with the probability of the fractional part, so sums have no bias. `bits` seed the
 * choice; no profiled program controls them. */
static uint64_t round_fairly(double value, uint64_t bits)
{
	return (uint64_t)(value + (double)(hash_mix64(bits) >> 11) * 0x1p-53);
}

/* What a sample stands for. */
struct stands_for {
	uint64_t bytes, objects;
	uint64_t error; /* standard deviation of `bytes` */
};

static struct stands_for stands_for(const struct recorder *r, const struct stackd_alloc *alloc,
				    uint64_t time_ns)
{
	const double size = (double)(alloc->size + !alloc->size);
	const uint64_t bits = time_ns ^ alloc->address << 20;
	double weight = (double)alloc->weight, variance;

	if (!alloc->weight)
		weight = size / -expm1(-size / (double)r->with.alloc_distance);
	/* The bytes that lost records represented are added to this sample. Their variance is at
	 * most that of as many bytes in small blocks. */
	variance = weight * (weight > size ? weight - size : 0) +
		   (double)alloc->lost_bytes * (double)r->with.alloc_distance;
	return (struct stands_for){
		.bytes = (alloc->weight ? alloc->weight : round_fairly(weight, bits)) +
			 alloc->lost_bytes,
		.objects = round_fairly(weight / size, bits + 1) + alloc->lost_objects,
		.error = (uint64_t)(sqrt(variance) + 0.5),
	};
}

/* --- frees
 * ------------------------------------------------------------------------------------- */

/* Stores that a sampled allocation was freed, under the path and thread of the allocation. 0 or
 * -ENOMEM. */
static int keep_end(struct recorder *r, const struct live_block *block, uint64_t time_ns)
{
	struct store_sample row = block->row;
	int err;

	row.time_ns = time_ns;
	err = recorder_keep(r, SERIES_FREED_BYTES, block->row.period, row);
	if (!err)
		err = recorder_keep(r, SERIES_FREED_OBJECTS, block->objects, row);
	if (!err)
		err = recorder_keep(r, SERIES_FREED_ERROR, block->error, row);
	return err ? err : recorder_keep(r, SERIES_FREED_AGE, time_ns - block->row.time_ns, row);
}

int recorder_free_block(struct recorder *r, const struct event *event)
{
	const struct stackd_free *end = &event->measured.free;
	const pid_t pid = end->owner ? (pid_t)(end->owner >> 32) : event->pid;
	struct live_block block;

	if (!live_blocks_take(r->memory.blocks, pid, end->address, &block))
		return 0;
	return keep_end(r, &block, event->time_ns);
}

/* --- allocations ------------------------------------------------------------------------------ */

/* Makes `row` a row of the thread in whose memory the block is. `owner`: that thread's process id
 * and id. 0 or -ENOMEM. */
static int give_to_owner(struct recorder *r, uint64_t owner, struct store_sample *row)
{
	const struct thread *thread = process_table_thread(r->tasks.processes, (pid_t)(owner >> 32),
							   (pid_t)(uint32_t)owner);
	uint32_t process;

	if (!thread || process_table_add_row(r->tasks.processes, thread, &process))
		return -ENOMEM;
	row->thread = thread->row;
	return 0;
}

static int keep_live(struct recorder *r, pid_t pid, uint64_t address,
		     const struct store_sample *row, const struct stands_for *for_)
{
	struct live_block block = {.row = *row, .objects = for_->objects, .error = for_->error};
	struct live_block before;
	int is;

	block.row.period = for_->bytes;
	is = live_blocks_add(r->memory.blocks, pid, address, &block, &before);
	return is > 0 ? keep_end(r, &before, row->time_ns) : is;
}

int recorder_alloc(struct recorder *r, const struct event *event, struct store_sample *row)
{
	const struct stackd_alloc *alloc = &event->measured.alloc;
	const struct stands_for for_ = stands_for(r, alloc, row->time_ns);
	pid_t pid = event->pid;
	int err = 0;

	if (alloc->owner) {
		pid = (pid_t)(alloc->owner >> 32);
		err = give_to_owner(r, alloc->owner, row);
	}
	if (!err)
		err = recorder_keep(r, SERIES_ALLOC_BYTES, for_.bytes, *row);
	if (!err)
		err = recorder_keep(r, SERIES_ALLOC_ERROR, for_.error, *row);
	if (!err)
		err = recorder_keep(r, SERIES_ALLOC_OBJECTS, for_.objects, *row);
	/* An allocation without an address had no room in the kernel half's table, so no record of
	 * its free will come. */
	return err || !alloc->address ? err : keep_live(r, pid, alloc->address, row, &for_);
}

/* --- what stands in for allocations ----------------------------------------------------------- */

int recorder_fault(struct recorder *r, const struct event *event, struct store_sample *row)
{
	const struct stands_for for_ = stands_for(r, &event->measured.alloc, row->time_ns);
	int err = recorder_keep(r, SERIES_MEMORY_TOUCHED, for_.bytes, *row);

	return err ? err : recorder_keep(r, SERIES_MEMORY_ERROR, for_.error, *row);
}

int recorder_map(struct recorder *r, const struct event *event, struct store_sample *row)
{
	const struct stackd_alloc *call = &event->measured.alloc;

	return recorder_keep(r, SERIES_MEMORY_MAPPED, call->size + call->lost_bytes, *row);
}
