/* SPDX-License-Identifier: MIT */
/*
 * The output format of `perf script`, which many tools read:
 *
 *   comm  pid/tid   [cpu] seconds.micros:     period event:
 *   <tab>        address symbol+0xoffset (object)
 *   (an empty line)
 *
 * as with -F comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso. Frames come leaf first; an
 * inlined function has "(inlined)" instead of its object; one without a name is "[unknown]".
 *
 * A recording has no run-time addresses, so the address is the offset in the object's file (perf:
 * in the object); for a caller, the offset of its return address. For JIT code it is the address,
 * for the kernel the distance from its text's start. For a function that an interpreter runs, the
 * object is its source file, and the address a hash of function and line.
 *
 * An incomplete path has its root mark as its last frame, so that a merged flame graph shows that
 * its root is not the thread's entry. Time is CLOCK_MONOTONIC.
 *
 * A frame that was not observed but reconstructed has " [reconstructed]" after its object, because
 * readers of this format ignore what follows the object.
 *
 * The lines of a location are formatted once, because most lines of a million samples of forty
 * frames are copies of others.
 */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/frame_kind.h"

struct perf_script_span {
	size_t at;    /* offset in perf_script.text */
	uint32_t len; /* 0: the lines have not been made yet */
};

struct perf_script {
	struct profile *profile;
	const struct store_tables *tables;
	FILE *out;
	/* two for each location: its lines as an observed frame, then its lines as an inferred
	 * one */
	struct perf_script_span *spans;
	struct buf text;  /* the lines of all locations so far */
	struct buf entry; /* the text of the current sample */
};

/* Appends " symbol+0xoffset (object)" for one frame of a location. */
static void perf_script_frame(struct perf_script *ps, const struct profile_frame *frame,
			      const struct store_line *line, uint64_t address, bool is_inferred)
{
	const struct profile_symbol *symbol = frame->symbol;

	text_printf(&ps->text, "\t%16" PRIx64 " ", address);
	if (symbol->is_unnamed) {
		text_put_raw(&ps->text, "[unknown]");
	} else {
		text_put(&ps->text, symbol->name, NULL);
		if (line && line->function_start && line->function_start <= address &&
		    !frame_kind_is_managed(symbol->kind))
			text_printf(&ps->text, "+0x%" PRIx64, address - line->function_start);
	}
	text_put_raw(&ps->text, " (");
	text_put(&ps->text, frame->is_inlined ? "inlined" : symbol->object, NULL);
	text_put_raw(&ps->text, is_inferred ? ") [reconstructed]\n" : ")\n");
}

/* Formats the lines of a location, the innermost inlined function first, as in the store. Returns 0
 * or -ENOMEM. */
static int perf_script_location(struct perf_script *ps, uint32_t number, bool is_inferred)
{
	const struct store_tables *t = ps->tables;
	const struct store_location *location = &t->locations[number];
	uint32_t first = t->line_first[number], n_lines = t->line_first[number + 1] - first;
	struct perf_script_span *span = &ps->spans[(size_t)number * 2 + is_inferred];
	const struct profile_frame *frames;
	size_t count;

	frames = profile_location_frames(ps->profile, number, &count);
	if (!frames)
		return -ENOMEM;
	span->at = ps->text.len;
	for (size_t i = 0; i < count; i++)
		perf_script_frame(ps, &frames[count - 1 - i],
				  i < n_lines ? &t->lines[first + i] : NULL,
				  location->offset + location->is_return, is_inferred);
	if (ps->text.failed)
		return -ENOMEM;
	if (ps->text.len - span->at > UINT32_MAX)
		return -EOVERFLOW;
	span->len = (uint32_t)(ps->text.len - span->at);
	return 0;
}

/* Appends a thread's name, with which a line begins, so it must not look like a frame or a comment.
 * Names such as ":-1", which perf itself writes, stay. */
static void perf_script_comm(struct buf *b, const char *comm)
{
	if (!comm || !*comm)
		text_put_raw(b, "[unnamed]");
	else if (*comm == ' ' || *comm == '#')
		text_printf(b, "\\x%02x", (unsigned char)*comm);
	if (comm && *comm)
		text_put(b, *comm == ' ' || *comm == '#' ? comm + 1 : comm, NULL);
}

static void perf_script_head(struct perf_script *ps, const struct store_sample *sample)
{
	const struct store_thread *thread = &ps->tables->threads[sample->thread];
	const char *event = ps->tables->recording.event;

	perf_script_comm(&ps->entry, thread->comm);
	text_printf(&ps->entry, " %5d/%-5d [%03u] %5" PRIu64 ".%06" PRIu64 ": %10" PRIu64 " ",
		    ps->tables->processes[thread->process].pid, thread->tid, sample->cpu,
		    sample->time_ns / 1000000000, sample->time_ns / 1000 % 1000000, sample->period);
	text_put(&ps->entry, event && *event ? event : "unknown", NULL);
	text_put_raw(&ps->entry, ": \n");
}

/* Writes the lines of a path, leaf first. */
static int perf_script_path(struct perf_script *ps, const struct store_sample *s)
{
	uint32_t depth = 0, inferred = origin_inferred(profile_origin(ps->profile, s->origin));
	const struct store_node *nodes = ps->tables->nodes;
	int err = 0;

	for (uint32_t at = inferred ? s->node : 0; at; at = nodes[at].parent)
		depth++;
	for (uint32_t at = s->node; err == 0 && at; at = nodes[at].parent, depth--) {
		uint32_t location = nodes[at].location;
		bool is_inferred = inferred && depth <= inferred;
		const struct perf_script_span *span =
			&ps->spans[(size_t)location * 2 + is_inferred];

		if (!span->len)
			err = perf_script_location(ps, location, is_inferred);
		if (err == 0)
			buf_put(&ps->entry, ps->text.data + span->at, span->len);
	}
	return err;
}

static int perf_script_sample(void *arg, const struct store_sample *sample)
{
	struct perf_script *ps = arg;
	const struct profile_symbol *mark;
	struct store_sample s;
	int err;

	if (!profile_sample(ps->profile, sample, &s))
		return 0;
	mark = profile_mark(ps->profile, s.end_reason, s.origin);
	perf_script_head(ps, &s);
	err = perf_script_path(ps, &s);
	if (!mark && !s.node)
		mark = profile_no_frames(ps->profile);
	if (mark)
		text_printf(&ps->entry, "\t%16x %s ([unknown])\n", 0, mark->name);
	text_put_raw(&ps->entry, "\n");
	return err < 0 ? err : text_flush(&ps->entry, ps->out);
}

int export_perf_script(struct profile *profile, FILE *out)
{
	struct perf_script ps = {.profile = profile, .tables = profile_tables(profile), .out = out};
	int err = -ENOMEM;

	ps.spans = calloc((size_t)ps.tables->n_locations * 2 + 1, sizeof(*ps.spans));
	if (ps.spans)
		err = store_reader_samples(profile_reader(profile), perf_script_sample, &ps);
	if (err == 0 && fflush(out) != 0)
		err = -EIO;
	free(ps.spans);
	buf_free(&ps.text);
	buf_free(&ps.entry);
	return err;
}
