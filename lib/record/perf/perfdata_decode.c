/* SPDX-License-Identifier: MIT */
/*
 * Decodes a raw record to a struct perfdata_record.
 *
 * The layouts are those of include/uapi/linux/perf_event.h. Nothing is copied: arrays point into
 * the record. They are aligned, because records are aligned and all fields are multiples of 8
 * bytes; raw data of another size is refused.
 *
 * A sample is decoded up to its user stack. The fields after it (weights, transactions, physical
 * addresses) are ignored, so newer kernels can add to them.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/target.h"

#include "perf/perfdata_reader.h"

#define MISC_FORK_EXEC (1 << 13) /* PERF_RECORD_MISC_FORK_EXEC, which older headers lack */

/* What is left to read of a record. Reads past the end return 0 and set `failed`. */
struct cursor {
	const uint8_t *at, *end;
	bool failed;
};

static const void *take(struct cursor *c, uint64_t size)
{
	const uint8_t *at = c->at;

	if (size > (uint64_t)(c->end - c->at)) {
		c->failed = true;
		c->at = c->end;
		return NULL;
	}
	c->at += size;
	return at;
}

static uint64_t take_u64(struct cursor *c)
{
	const void *at = take(c, 8);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t take_u32(struct cursor *c)
{
	const void *at = take(c, 4);
	uint32_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

/* Returns an array of `count` elements of 8 * words bytes. */
static const void *take_array(struct cursor *c, uint64_t count, unsigned words)
{
	if (count > (uint64_t)(c->end - c->at) / 8 / words) {
		c->failed = true;
		return NULL;
	}
	return take(c, count * 8 * words);
}

/* Returns a NUL-terminated string; fails if there is no NUL. */
static const char *take_string(struct cursor *c)
{
	size_t room = (size_t)(c->end - c->at), len = strnlen((const char *)c->at, room);

	if (len == room) {
		c->failed = true;
		return "";
	}
	return take(c, len + 1);
}

/* --- samples --------------------------------------------------------------------------------- */

#define FORMAT_LOST ((uint64_t)1 << 4) /* PERF_FORMAT_LOST, which older headers lack */

static void take_counts(struct cursor *c, uint64_t format, struct perfdata_sample *s)
{
	const bool is_group = format & PERF_FORMAT_GROUP;
	const bool has_enabled = format & PERF_FORMAT_TOTAL_TIME_ENABLED;
	const bool has_running = format & PERF_FORMAT_TOTAL_TIME_RUNNING;
	uint64_t count = is_group ? take_u64(c) : 1;

	s->count_words = 1 + (format & PERF_FORMAT_ID ? 1 : 0) + (format & FORMAT_LOST ? 1 : 0);
	if (!is_group)
		s->counts = take_array(c, 1, 1);
	s->enabled_ns = has_enabled ? take_u64(c) : 0;
	s->running_ns = has_running ? take_u64(c) : 0;
	s->has_times = has_enabled && has_running;
	if (is_group)
		s->counts = take_array(c, count, s->count_words);
	else
		take(c, 8 * (s->count_words - 1));
	s->n_counts = s->counts ? (size_t)count : 0;
}

struct perfdata_count perfdata_count_at(struct perfdata *p, uint32_t event,
					const struct perfdata_sample *s, size_t index)
{
	const bool is_group = p->events.read_formats[event] & PERF_FORMAT_GROUP;
	const uint64_t *at = s->counts + index * s->count_words;
	struct perfdata_count count = {.value = *at, .event = event};

	if (!is_group)
		return count; /* without groups, the counter is the event itself */
	count.id = s->count_words > 1 ? at[1] : 0;
	count.event = perfdata_event_by_id(&p->events, count.id);
	return count;
}

static void take_raw(struct cursor *c, const char **ret_problem)
{
	uint32_t size = take_u32(c);

	take(c, size);
	if (!c->failed && (size + 4u) % 8)
		*ret_problem = "raw data of an odd size";
}

static void take_branches(struct cursor *c, uint64_t branch_type, struct perfdata_sample *s)
{
	uint64_t count = take_u64(c);

	s->has_branches = true;
	if (branch_type & PERFDATA_BRANCH_TYPE_HW_INDEX)
		s->hw_index = take_u64(c);
	s->branches = take_array(c, count, 3);
	s->n_branches = s->branches ? (size_t)count : 0;
	if (branch_type & PERFDATA_BRANCH_TYPE_COUNTERS)
		take_array(c, count, 1);
}

static void take_regs(struct cursor *c, uint64_t mask, struct perfdata_sample *s)
{
	uint64_t abi = take_u64(c);

	if (abi != PERFDATA_REGS_32 && abi != PERFDATA_REGS_64) {
		c->failed |= abi != PERFDATA_REGS_NONE;
		return;
	}
	s->regs = take_array(c, (uint64_t)__builtin_popcountll(mask), 1);
	s->regs_abi = (enum perfdata_regs_abi)abi;
	s->regs_mask = s->regs ? mask : 0;
}

static void take_stack(struct cursor *c, struct perfdata_sample *s)
{
	uint64_t room = take_u64(c), used;

	if (!room)
		return;
	s->stack = take(c, room);
	used = take_u64(c);
	if (c->failed || used > room) {
		c->failed = true;
		return;
	}
	s->stack_room = (size_t)room;
	s->stack_bytes = (size_t)used;
}

static void take_identity(struct cursor *c, uint64_t type, struct perfdata_record *r)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		take_u64(c);
	if (type & PERF_SAMPLE_IP)
		r->sample.ip = take_u64(c);
	if (type & PERF_SAMPLE_TID) {
		r->pid = take_u32(c);
		r->tid = take_u32(c);
	}
	if (type & PERF_SAMPLE_TIME)
		take_u64(c);
	if (type & PERF_SAMPLE_ADDR)
		take_u64(c);
	if (type & PERF_SAMPLE_ID)
		take_u64(c);
	if (type & PERF_SAMPLE_STREAM_ID)
		take_u64(c);
	if (type & PERF_SAMPLE_CPU) {
		r->cpu = take_u32(c);
		take_u32(c);
	}
	if (type & PERF_SAMPLE_PERIOD)
		r->sample.period = take_u64(c);
}

static void take_stacks(struct cursor *c, const struct perfdata_event *e, uint64_t read_format,
			struct perfdata_sample *s, const char **ret_problem)
{
	const uint64_t type = e->sample_type;

	if (type & PERF_SAMPLE_READ)
		take_counts(c, read_format, s);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		uint64_t count = take_u64(c);

		s->has_callchain = true;
		s->callchain = take_array(c, count, 1);
		s->n_callchain = s->callchain ? (size_t)count : 0;
	}
	if (type & PERF_SAMPLE_RAW)
		take_raw(c, ret_problem);
	if (type & PERF_SAMPLE_BRANCH_STACK && !*ret_problem)
		take_branches(c, e->branch_type, s);
	if (type & PERF_SAMPLE_REGS_USER && !*ret_problem)
		take_regs(c, e->user_regs, s);
	if (type & PERF_SAMPLE_STACK_USER && !*ret_problem)
		take_stack(c, s);
}

static int decode_sample(struct perfdata *p, const struct perfdata_raw *raw, struct cursor *c,
			 struct perfdata_record *r)
{
	const struct perfdata_event *e = &p->events.items[raw->event];
	const char *problem = NULL;

	r->kind = PERFDATA_SAMPLE;
	r->sample = (struct perfdata_sample){
		.period = e->is_frequency ? 1 : e->period_or_hz,
		.mode = raw->header->misc & PERF_RECORD_MISC_CPUMODE_MASK,
		.hw_index = PERFDATA_NO_HW_INDEX,
	};
	take_identity(c, e->sample_type, r);
	take_stacks(c, e, p->events.read_formats[raw->event], &r->sample, &problem);
	if (problem || c->failed)
		return perfdata_fail(p, -EBADMSG, raw->offset, "a sample of %u bytes: %s",
				     raw->header->size,
				     problem ? problem : "its fields are longer than it is");
	p->counts.samples++;
	return 1;
}

/* --- other records --------------------------------------------------------------------------- */

/* Decodes the sample_id at the end of a record. */
static void decode_trailer(const struct perfdata *p, const struct perfdata_raw *raw,
			   struct cursor *c, struct perfdata_record *r)
{
	const uint64_t type = p->events.items[raw->event].sample_type;
	size_t size = perfdata_event_trailer(&p->events, raw->event);
	struct cursor trailer;

	c->end -= size;
	trailer = (struct cursor){.at = c->end, .end = c->end + size};
	if (!size)
		return;
	if (type & PERF_SAMPLE_TID) {
		r->pid = take_u32(&trailer);
		r->tid = take_u32(&trailer);
	}
	take(&trailer,
	     8 * (uint64_t)__builtin_popcountll(
			 type & (PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID)));
	if (type & PERF_SAMPLE_CPU)
		r->cpu = take_u32(&trailer);
}

/* Returns whether an MMAP2 record has a build-id instead of device and inode. The flag alone does
 * not decide: while any event on the machine requests build-ids, kernels up to 6.18 also set it in
 * records of other events, which still have device and inode. (perf itself aborts on such a file.)
 * If no event of the file requested build-ids, only perf inject can have added one, which then has
 * one of the usual lengths. */
static bool is_build_id(const struct perfdata *p, uint16_t misc, const uint8_t *identity)
{
	static const uint8_t zeros[3];
	uint8_t len = identity[0];

	if (!(misc & PERF_RECORD_MISC_MMAP_BUILD_ID))
		return false;
	if (p->events.has_build_ids)
		return true;
	return (len == 16 || len == 20) && !memcmp(identity + 1, zeros, 3) &&
	       (len == 20 || !memcmp(identity + 20, zeros, 3));
}

static void decode_mmap2(const struct perfdata *p, struct cursor *c, uint16_t misc,
			 struct perfdata_mmap *m)
{
	const uint8_t *identity = take(c, 24);
	uint32_t prot;

	if (identity && is_build_id(p, misc, identity)) {
		m->build_id_len = identity[0];
		m->build_id = identity + 4;
		c->failed |= m->build_id_len > 20;
	} else if (identity) {
		memcpy(&m->dev_major, identity, 4);
		memcpy(&m->dev_minor, identity + 4, 4);
		memcpy(&m->inode, identity + 8, 8);
	}
	prot = take_u32(c);
	take_u32(c); /* flags */
	m->is_code = m->is_code || prot & PROT_EXEC;
}

static void decode_mmap(struct perfdata *p, const struct perfdata_raw *raw, struct cursor *c,
			struct perfdata_record *r)
{
	const uint16_t misc = raw->header->misc;
	struct perfdata_mmap *m = &r->mmap;
	size_t len;

	r->kind = PERFDATA_MMAP;
	r->pid = take_u32(c);
	r->tid = take_u32(c);
	m->start = take_u64(c);
	m->len = take_u64(c);
	m->offset = take_u64(c);
	m->is_code = !(misc & PERF_RECORD_MISC_MMAP_DATA);
	m->mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
	if (raw->header->type == PERF_RECORD_MMAP2)
		decode_mmap2(p, c, misc, m);
	m->path = take_string(c);
	if (!m->build_id_len) {
		m->build_id = perfdata_build_id(p, m->path, &len);
		m->build_id_len = (uint8_t)len;
	}
}

static void decode_comm(const struct perfdata_raw *raw, struct cursor *c, struct perfdata_record *r)
{
	r->kind = PERFDATA_COMM;
	r->pid = take_u32(c);
	r->tid = take_u32(c);
	r->comm.comm = take_string(c);
	r->comm.is_exec = raw->header->misc & PERF_RECORD_MISC_COMM_EXEC;
}

static void decode_task(const struct perfdata_raw *raw, struct cursor *c, struct perfdata_record *r)
{
	r->kind = raw->header->type == PERF_RECORD_FORK ? PERFDATA_FORK : PERFDATA_EXIT;
	r->pid = take_u32(c);
	r->task.parent_pid = take_u32(c);
	r->tid = take_u32(c);
	r->task.parent_tid = take_u32(c);
	take_u64(c);
	r->task.is_running = r->kind == PERFDATA_FORK && raw->header->misc & MISC_FORK_EXEC;
}

static void decode_ksymbol(struct cursor *c, struct perfdata_record *r)
{
	uint32_t kind_and_flags;

	r->kind = PERFDATA_KSYMBOL;
	r->ksymbol.start = take_u64(c);
	r->ksymbol.len = take_u32(c);
	kind_and_flags = take_u32(c);
	r->ksymbol.is_bpf = (kind_and_flags & 0xffff) == 1;
	r->ksymbol.is_gone = kind_and_flags >> 16 & 1;
	r->ksymbol.name = take_string(c);
}

/* Returns whether a record of lost samples is about samples that perf's BPF filter dropped, for
 * which perf sets a bit. */
static bool is_filtered(const struct perfdata_raw *raw)
{
	return raw->header->type == PERF_RECORD_LOST_SAMPLES && raw->header->misc & 1u << 15;
}

/* Returns 1, or 0: records of this type are not returned. */
static int decode_other(struct perfdata *p, const struct perfdata_raw *raw, struct cursor *c,
			struct perfdata_record *r)
{
	switch (raw->header->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		decode_mmap(p, raw, c, r);
		return 1;
	case PERF_RECORD_COMM:
		decode_comm(raw, c, r);
		return 1;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		decode_task(raw, c, r);
		return 1;
	case PERF_RECORD_KSYMBOL:
		decode_ksymbol(c, r);
		return 1;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		r->kind = PERFDATA_LOST;
		if (raw->header->type == PERF_RECORD_LOST)
			take_u64(c);
		r->lost = take_u64(c);
		if (!is_filtered(raw))
			p->counts.lost += r->lost;
		return !is_filtered(raw);
	case PERF_RECORD_AUX:
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		p->counts.aux_records++;
		return 0;
	default:
		p->counts.other_records++;
		return 0;
	}
}

int perfdata_decode(struct perfdata *p, const struct perfdata_raw *raw,
		    struct perfdata_record *ret_record)
{
	const uint8_t *start = (const uint8_t *)raw->header;
	struct cursor c = {.at = start + sizeof(*raw->header), .end = start + raw->header->size};
	int err;

	*ret_record = (struct perfdata_record){
		.offset = raw->offset,
		.time_ns = raw->time_ns,
		.cpu = UINT32_MAX,
		.event = raw->event,
	};
	if (raw->header->type == PERF_RECORD_SAMPLE)
		return decode_sample(p, raw, &c, ret_record);
	decode_trailer(p, raw, &c, ret_record);
	err = decode_other(p, raw, &c, ret_record);
	if (c.failed)
		return perfdata_fail(p, -EBADMSG, raw->offset,
				     "a record of type %u is truncated after %u bytes",
				     raw->header->type, raw->header->size);
	return err;
}

/* --- registers ------------------------------------------------------------------------------- */

bool perfdata_user_regs(const struct perfdata_sample *s, struct stackd_regs *ret_regs)
{
	const uint64_t wanted = UINT64_C(1) << STACKD_REG_SP | UINT64_C(1) << STACKD_REG_PC;
	const uint64_t *value = s->regs;
	struct stackd_regs regs = {0};
	uint64_t found = 0;

	if (s->regs_abi != PERFDATA_REGS_64)
		return false;
	for (unsigned bit = 0; bit < 64; bit++) {
		int reg = target_perf_register(bit);

		if (!(s->regs_mask >> bit & 1))
			continue;
		if (reg >= 0) {
			regs.r[reg] = *value;
			found |= 1u << reg;
		}
		value++;
	}
	if ((found & wanted) != wanted)
		return false;
	*ret_regs = regs;
	return true;
}
