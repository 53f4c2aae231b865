/* SPDX-License-Identifier: MIT */
/*
 * The file format of speedscope: JSON of one "sampled" profile a thread, in time order. A frame
 * stands for a symbol of the model, so a function is one frame wherever it is called from.
 * Consecutive samples with equal stacks are one entry.
 *
 * If the event is a clock, weights are seconds, and time is that of the recording: a sample stands
 * for the CPU time before it, and time without samples, in which the thread was not on a CPU, is an
 * entry with an empty stack, which speedscope shows as a gap and counts for nothing:
 *
 *        gap      s1 (1 ms)      gap      s2, s3, equal (2 ms)
 *   |-----------|==========|------------|=====================|
 *   start                 t1           t3 - 2 ms              t3
 *
 * Samples keep their whole weight, also where they come early: the next gap is then shorter. Of
 * other events, weights are samples, without gaps.
 *
 * The format has no labels: a profile's name has comm, pid, tid and cgroup. The quality is in the
 * member "exporter" and, path by path, in the root marks of incomplete paths.
 */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "export/thread_samples.h"
#include "report/report_header.h"
#include "base/text.h"

struct speedscope {
	struct profile *profile;
	const struct store_tables *t;
	struct thread_samples by_thread;
	struct json json;
};

/* A run of samples with equal stacks, or a gap. */
struct speedscope_run {
	const struct thread_samples_sample *sample; /* NULL: a gap */
	uint64_t weight;			    /* ns, or samples */
};

/* The place in the samples of a thread. */
struct speedscope_at {
	const struct thread_samples_sample *samples;
	size_t n, next;
	uint64_t time_ns; /* up to which the runs reach */
	bool is_timed;
};

static struct speedscope_at speedscope_begin(const struct speedscope *s, uint32_t thread)
{
	const size_t first = s->by_thread.first[thread];

	return (struct speedscope_at){.samples = s->by_thread.samples + first,
				      .n = s->by_thread.first[thread + 1] - first,
				      .time_ns = s->t->recording.start_ns,
				      .is_timed = store_is_timed(&s->t->recording)};
}

static bool speedscope_is_same(const struct thread_samples_sample *a,
			       const struct thread_samples_sample *b)
{
	return a->node == b->node && a->end_reason == b->end_reason && a->origin == b->origin;
}

/* Returns the time without samples before the next one; 0: there is none, or not a microsecond. */
static uint64_t speedscope_gap(const struct speedscope_at *at)
{
	const struct thread_samples_sample *next = &at->samples[at->next];
	const uint64_t needed = at->time_ns + next->amount;

	return at->is_timed && next->time_ns > needed + 1000 ? next->time_ns - needed : 0;
}

/* Takes the next run. Returns false at the end. */
static bool speedscope_next(struct speedscope_at *at, struct speedscope_run *ret_run)
{
	if (at->next == at->n)
		return false;
	*ret_run = (struct speedscope_run){.weight = speedscope_gap(at)};
	if (ret_run->weight) {
		at->time_ns += ret_run->weight;
		return true;
	}
	ret_run->sample = &at->samples[at->next];
	do {
		const struct thread_samples_sample *sample = &at->samples[at->next++];
		const uint64_t weight = at->is_timed ? sample->amount : sample->periods;

		ret_run->weight += weight;
		at->time_ns += weight;
	} while (at->next < at->n && speedscope_is_same(ret_run->sample, &at->samples[at->next]) &&
		 !speedscope_gap(at));
	return true;
}

/* Writes the stack of a sample; NULL: that of a gap. */
static int speedscope_stack(struct speedscope *s, const struct thread_samples_sample *sample)
{
	size_t n = 0;
	const struct profile_frame *frames =
		sample ? profile_frames(s->profile, sample->node, sample->end_reason,
					sample->origin, &n)
		       : NULL;

	if (sample && !frames)
		return -ENOMEM;
	json_put_line(&s->json);
	json_put_array(&s->json, NULL);
	for (size_t i = 0; i < n; i++)
		json_put_uint(&s->json, NULL, frames[i].symbol->number);
	json_put_end(&s->json);
	return s->json.err;
}

/* Writes a profile's name. Speedscope shows a list of these names to choose a thread from, so the
 * ids that distinguish threads come before the cgroup. */
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
	json_put_text(&s->json, "name", &name);
}

/* Writes a time or a weight: ns as seconds. */
static void speedscope_amount(struct json *j, const char *key, uint64_t amount, bool is_timed)
{
	if (is_timed)
		json_put_fixed(j, key, (double)amount / 1e9, 9);
	else
		json_put_uint(j, key, amount);
}

static int speedscope_thread(struct speedscope *s, uint32_t thread)
{
	const struct speedscope_at begin = speedscope_begin(s, thread);
	struct speedscope_at at = begin;
	struct speedscope_run run;
	struct json *j = &s->json;
	uint64_t all = 0;
	int err = 0;

	while (speedscope_next(&at, &run))
		all += run.weight;
	json_put_line(j);
	json_put_object(j, NULL);
	json_put_string(j, "type", "sampled");
	speedscope_name(s, thread);
	json_put_string(j, "unit", begin.is_timed ? "seconds" : "none");
	json_put_uint(j, "startValue", 0);
	speedscope_amount(j, "endValue", all, begin.is_timed);
	json_put_array(j, "samples");
	for (at = begin; err == 0 && speedscope_next(&at, &run);)
		err = speedscope_stack(s, run.sample);
	json_put_end(j);
	json_put_array(j, "weights");
	for (at = begin; err == 0 && speedscope_next(&at, &run);)
		speedscope_amount(j, NULL, run.weight, begin.is_timed);
	json_put_end(j);
	json_put_end(j);
	return err;
}

static int speedscope_profiles(struct speedscope *s)
{
	int err = 0;

	json_put_array(&s->json, "profiles");
	for (uint32_t i = 0; err == 0 && i < s->t->n_threads; i++)
		if (s->by_thread.first[i] != s->by_thread.first[i + 1])
			err = speedscope_thread(s, i);
	json_put_end(&s->json);
	return err;
}

/* Writes the table of frames. It comes after the profiles, because symbols get their numbers while
 * the profiles are written; speedscope accepts any order. */
static void speedscope_frames(struct speedscope *s)
{
	size_t n = profile_symbol_count(s->profile);
	struct json *j = &s->json;

	json_put_object(j, "shared");
	json_put_array(j, "frames");
	for (size_t i = 0; !j->err && i < n; i++) {
		const struct profile_symbol *symbol = profile_symbol_at(s->profile, (uint32_t)i);

		json_put_line(j);
		json_put_object(j, NULL);
		json_put_string(j, "name", symbol->name);
		if (*symbol->object)
			json_put_string(j, "file", symbol->object);
		if (symbol->first_line)
			json_put_uint(j, "line", symbol->first_line);
		json_put_end(j);
	}
}

static void speedscope_head(struct speedscope *s)
{
	struct json *j = &s->json;

	json_put_object(j, NULL);
	json_put_string(j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_put_string(j, "exporter", "stackd");
	json_put_string(j, "name", s->t->recording.target);
	json_put_object(j, "stackd");
	report_header_json(s->profile, j);
	json_put_end(j);
}

int export_speedscope(struct profile *profile, FILE *out)
{
	struct speedscope s = {
		.profile = profile, .t = profile_tables(profile), .json = {.out = out}};
	int err = thread_samples_make(profile, &s.by_thread);

	if (err == 0) {
		speedscope_head(&s);
		err = speedscope_profiles(&s);
	}
	if (err == 0)
		speedscope_frames(&s);
	thread_samples_free(&s.by_thread);
	return json_put_finish(&s.json, err);
}
