/* SPDX-License-Identifier: MIT */
/*
 * The file format of speedscope: JSON of one "sampled" profile a thread, in time order. The
 * weights are samples, so its numbers are those of the report; a run of equal stacks is one entry.
 * Frames are the model's symbols: the same function is one frame wherever it is called from.
 *
 * The format has no labels: the profile's name has comm, pid, tid and cgroup; quality is in the
 * exporter's line and, path by path, in the root marks of incomplete ones.
 */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "export/thread_samples.h"
#include "report/report_header.h"
#include "base/text.h"

#define SPEEDSCOPE_DRAIN 65536 /* bytes after which the buffer is written out */

struct speedscope {
	struct profile *profile;
	const struct store_tables *t;
	FILE *out;
	struct thread_samples by_thread;
	struct buf b;	    /* what is to be written */
	struct buf weights; /* of the thread at hand */
};

static int speedscope_drain(struct speedscope *s, size_t least)
{
	return s->b.len >= least || s->b.failed ? text_flush(&s->b, s->out) : 0;
}

static bool speedscope_is_same(const struct thread_samples_sample *a,
			       const struct thread_samples_sample *b)
{
	return a->node == b->node && a->end_reason == b->end_reason && a->origin == b->origin;
}

static int speedscope_stack(struct speedscope *s, const struct thread_samples_sample *sample)
{
	size_t n;
	const struct profile_frame *frames =
		profile_frames(s->profile, sample->node, sample->end_reason, sample->origin, &n);

	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		text_printf(&s->b, i ? ",%u" : "[%u", frames[i].symbol->number);
	text_put_raw(&s->b, "]");
	return speedscope_drain(s, SPEEDSCOPE_DRAIN);
}

/* The name is shown in a list of threads, so the ids that distinguish them come first. */
static void speedscope_name(struct speedscope *s, uint32_t thread)
{
	const struct store_thread *t = &s->t->threads[thread];
	const struct store_process *process = &s->t->processes[t->process];
	struct buf name = {0};

	text_put(&name, t->comm && *t->comm ? t->comm : "[unnamed]", NULL);
	text_printf(&name, " (pid %d, tid %d)", process->pid, t->tid);
	if (t->cgroup) {
		text_put_raw(&name, " ");
		text_put(&name, t->cgroup, NULL);
	}
	buf_put_u8(&name, '\0');
	if (name.failed)
		s->b.failed = true;
	else
		text_put_json(&s->b, (const char *)name.data);
	buf_free(&name);
}

static int speedscope_thread(struct speedscope *s, uint32_t thread)
{
	const struct thread_samples_sample *samples =
		s->by_thread.samples + s->by_thread.first[thread];
	size_t n = s->by_thread.first[thread + 1] - s->by_thread.first[thread];
	uint64_t all = 0, periods;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		all += samples[i].periods;
	text_put_raw(&s->b, "\n{\"type\":\"sampled\",\"name\":");
	speedscope_name(s, thread);
	text_printf(&s->b,
		    ",\"unit\":\"none\",\"startValue\":0,\"endValue\":%" PRIu64 ",\"samples\":[",
		    all);
	buf_clear(&s->weights);
	for (size_t i = 0, next; err == 0 && i < n; i = next) {
		periods = samples[i].periods;
		for (next = i + 1; next < n && speedscope_is_same(&samples[i], &samples[next]);)
			periods += samples[next++].periods;
		text_put_raw(&s->b, i ? ",\n" : "\n");
		err = speedscope_stack(s, &samples[i]);
		text_printf(&s->weights, "%s%" PRIu64, i ? "," : "", periods);
	}
	text_put_raw(&s->b, "],\"weights\":[");
	if (s->weights.failed)
		return -ENOMEM;
	buf_put(&s->b, s->weights.data, s->weights.len);
	text_put_raw(&s->b, "]}");
	return err;
}

static int speedscope_profiles(struct speedscope *s)
{
	const char *before = "";
	int err = 0;

	text_put_raw(&s->b, ",\"profiles\":[");
	for (uint32_t i = 0; err == 0 && i < s->t->n_threads; i++) {
		if (s->by_thread.first[i] == s->by_thread.first[i + 1])
			continue;
		text_put_raw(&s->b, before);
		before = ",";
		err = speedscope_thread(s, i);
	}
	text_put_raw(&s->b, "]");
	return err;
}

/* Written behind the profiles, which find out what there is; speedscope's samples do not care. */
static int speedscope_frames(struct speedscope *s)
{
	size_t n = profile_symbol_count(s->profile);
	int err = 0;

	text_put_raw(&s->b, ",\"shared\":{\"frames\":[");
	for (size_t i = 0; err == 0 && i < n; i++) {
		const struct profile_symbol *symbol = profile_symbol_at(s->profile, (uint32_t)i);

		text_put_raw(&s->b, i ? ",\n{\"name\":" : "\n{\"name\":");
		text_put_json(&s->b, symbol->name);
		if (*symbol->object) {
			text_put_raw(&s->b, ",\"file\":");
			text_put_json(&s->b, symbol->object);
		}
		text_put_raw(&s->b, "}");
		err = speedscope_drain(s, SPEEDSCOPE_DRAIN);
	}
	text_put_raw(&s->b, "]}");
	return err;
}

static void speedscope_head(struct speedscope *s)
{
	const struct store_recording *recording = &s->t->recording;

	text_put_raw(&s->b, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
			    "\"exporter\":\"stackd\",\"name\":");
	text_put_json(&s->b, recording->target);
	text_put_raw(&s->b, ",\"stackd\":{");
	report_header_json(s->profile, &s->b);
	text_put_raw(&s->b, "}");
}

int export_speedscope(struct profile *profile, FILE *out)
{
	struct speedscope s = {.profile = profile, .t = profile_tables(profile), .out = out};
	int err = thread_samples_make(profile, &s.by_thread);

	if (err == 0) {
		speedscope_head(&s);
		err = speedscope_profiles(&s);
	}
	if (err == 0)
		err = speedscope_frames(&s);
	text_put_raw(&s.b, "}\n");
	if (err == 0)
		err = speedscope_drain(&s, 0);
	if (err == 0 && fflush(out) != 0)
		err = -EIO;
	thread_samples_free(&s.by_thread);
	buf_free(&s.b);
	buf_free(&s.weights);
	return err;
}
