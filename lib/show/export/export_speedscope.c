/* SPDX-License-Identifier: MIT */
/*
 * The file format of speedscope: JSON of one "sampled" profile a thread, in time order. Weights are
 * in samples, so its numbers are those of the report; consecutive samples with equal stacks are one
 * entry. A frame stands for a symbol of the model, so a function is one frame wherever it is called
 * from.
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

static bool speedscope_is_same(const struct thread_samples_sample *a,
			       const struct thread_samples_sample *b)
{
	return a->node == b->node && a->end_reason == b->end_reason && a->origin == b->origin;
}

/* Returns the index of the first sample after the run of equal stacks that begins at `at`;
 * *ret_periods receives the sum of the run's periods. */
static size_t speedscope_run_end(const struct thread_samples_sample *samples, size_t n, size_t at,
				 uint64_t *ret_periods)
{
	size_t next = at + 1;

	*ret_periods = samples[at].periods;
	while (next < n && speedscope_is_same(&samples[at], &samples[next]))
		*ret_periods += samples[next++].periods;
	return next;
}

static int speedscope_stack(struct speedscope *s, const struct thread_samples_sample *sample)
{
	size_t n;
	const struct profile_frame *frames =
		profile_frames(s->profile, sample->node, sample->end_reason, sample->origin, &n);

	if (!frames)
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

static int speedscope_thread(struct speedscope *s, uint32_t thread)
{
	const struct thread_samples_sample *samples =
		s->by_thread.samples + s->by_thread.first[thread];
	size_t n = s->by_thread.first[thread + 1] - s->by_thread.first[thread];
	struct json *j = &s->json;
	uint64_t all = 0, periods;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		all += samples[i].periods;
	json_put_line(j);
	json_put_object(j, NULL);
	json_put_string(j, "type", "sampled");
	speedscope_name(s, thread);
	json_put_string(j, "unit", "none");
	json_put_uint(j, "startValue", 0);
	json_put_uint(j, "endValue", all);
	json_put_array(j, "samples");
	for (size_t i = 0; err == 0 && i < n; i = speedscope_run_end(samples, n, i, &periods))
		err = speedscope_stack(s, &samples[i]);
	json_put_end(j);
	json_put_array(j, "weights");
	for (size_t i = 0; err == 0 && i < n;) {
		i = speedscope_run_end(samples, n, i, &periods);
		json_put_uint(j, NULL, periods);
	}
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
