/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: a perf.data file, or what perf writes into a pipe (the header says which). All
 * bytes that the reader returns are read, and must be as the interface promises: aligned, of known
 * events, in the order of time unless counted as late. A refused file must have a reason.
 */
#include <stdio.h>
#include <string.h>

#include "fuzz_reader.h"

static uint64_t touch(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += at[i];
	return sum;
}

static uint64_t touch_sample(const struct perfdata *reader, const struct perfdata_record *r)
{
	const struct perfdata_sample *s = &r->sample;
	struct stackd_regs regs;
	uint64_t sum;

	fuzz_check(r->event < perfdata_event_count(reader));
	fuzz_check((uintptr_t)s->callchain % 8 == 0 && (uintptr_t)s->branches % 8 == 0 &&
		   (uintptr_t)s->regs % 8 == 0);
	fuzz_check(s->stack_bytes <= s->stack_room);
	sum = touch(s->callchain, s->n_callchain * 8) +
	      touch(s->branches, s->n_branches * sizeof(*s->branches)) +
	      touch(s->stack, s->stack_room) +
	      touch(s->regs, 8u * (unsigned)__builtin_popcountll(s->regs_mask));
	return sum + (perfdata_user_regs(s, &regs) ? touch(&regs, sizeof(regs)) : 0);
}

static uint64_t touch_record(const struct perfdata *reader, const struct perfdata_record *r)
{
	switch (r->kind) {
	case PERFDATA_SAMPLE:
		return touch_sample(reader, r);
	case PERFDATA_MMAP:
		fuzz_check(r->mmap.build_id_len <= 20);
		return strlen(r->mmap.path) + touch(r->mmap.build_id, r->mmap.build_id_len);
	case PERFDATA_COMM:
		return strlen(r->comm.comm);
	case PERFDATA_KSYMBOL:
		return strlen(r->ksymbol.name);
	default:
		return r->lost;
	}
}

static void read_all(struct perfdata *reader)
{
	struct perfdata_record record;
	uint64_t last_ns = 0, late = 0;
	volatile uint64_t sum = 0;
	int status;

	while ((status = perfdata_next(reader, &record)) == 1) {
		late += record.time_ns && record.time_ns < last_ns;
		last_ns = record.time_ns > last_ns ? record.time_ns : last_ns;
		sum += touch_record(reader, &record);
	}
	fuzz_check(late <= perfdata_counts(reader)->out_of_order);
	fuzz_check(!status == !*perfdata_error(reader));
	for (uint32_t i = 0; i < perfdata_event_count(reader); i++)
		sum += strlen(perfdata_event(reader, i)->name);
	sum += strlen(perfdata_info(reader)->command) + strlen(perfdata_info(reader)->cpu_caps);
	(void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_read(data, size, read_all);
}
