/* SPDX-License-Identifier: MIT */
/* Makes a reader of data in memory; see store_memory.h. */
#include "store/store_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/reader_state.h"

/* Replaces a string by a copy that lives as long as the reader; NULL stays. */
static int keep(struct store_reader *r, const char **text)
{
	if (!*text)
		return 0;
	*text = store_load_copy(&r->arena, *text, strlen(*text));
	return *text ? 0 : -ENOMEM;
}

static int keep_all(struct store_reader *r, const char **texts[], size_t n)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < n; i++)
		err = keep(r, texts[i]);
	return err;
}

static int begin(struct store_reader *r)
{
	struct store_recording *rec = &r->tables.recording;
	const char **texts[] = {&rec->host,   &rec->kernel, &rec->arch, &rec->command,
				&rec->target, &rec->event,  &rec->note};
	int err = keep_all(r, texts, sizeof(texts) / sizeof(*texts));

	if (err == 0)
		err = node_coder_init(&r->nodes);
	if (err == 0)
		err = VEC_RESERVE(&r->origins, 1);
	if (err == 0)
		r->origins.items[r->origins.count++] = (struct origin){0};
	/* The array is allocated even if it stays empty, because its existence tells readers of
	 * samples that this reader has sums. */
	return err == 0 ? VEC_RESERVE(&r->sums, 1) : err;
}

int store_memory_new(const struct store_recording *recording, uint32_t recordings, uint64_t series,
		     struct store_reader **ret_reader)
{
	struct store_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->is_summed = true;
	r->series = series;
	r->tables.recording = *recording;
	r->tables.n_recordings = recordings;
	r->tables.last_recording = recording->id + recordings - 1;
	err = begin(r);
	if (err < 0)
		store_reader_close(r);
	else
		*ret_reader = r;
	return err;
}

void store_memory_unchosen(struct store_reader *r, uint64_t records)
{
	r->tables.recording.unchosen = records;
}

int store_memory_missing(struct store_reader *r, uint64_t records, const char *note)
{
	const char **texts[] = {&r->tables.recording.note};

	r->tables.recording.missing = records;
	r->tables.recording.note = note;
	return keep_all(r, texts, 1);
}

int store_memory_object(struct store_reader *r, const struct store_object *object)
{
	struct store_object copy = *object;
	const char **texts[] = {&copy.path, &copy.problem};
	int err = VEC_RESERVE(&r->objects, 1);

	copy.number = (uint32_t)r->objects.count;
	if (err == 0)
		err = keep_all(r, texts, 2);
	if (err == 0 && copy.build_id_len) {
		copy.build_id = (const uint8_t *)store_load_copy(
			&r->arena, (const char *)copy.build_id, copy.build_id_len);
		err = copy.build_id ? 0 : -ENOMEM;
	}
	if (err == 0)
		r->objects.items[r->objects.count++] = copy;
	return err;
}

int store_memory_location(struct store_reader *r, const struct store_location *location)
{
	int err = VEC_RESERVE(&r->locations, 1);

	if (err < 0)
		return err;
	r->locations.items[r->locations.count] = *location;
	r->locations.items[r->locations.count].number = (uint32_t)r->locations.count;
	r->locations.count++;
	return 0;
}

int store_memory_process(struct store_reader *r, const struct store_process *process)
{
	struct store_process copy = *process;
	const char **texts[] = {&copy.comm, &copy.exe};
	int err = VEC_RESERVE(&r->processes, 1);

	copy.number = (uint32_t)r->processes.count;
	if (err == 0)
		err = keep_all(r, texts, 2);
	if (err == 0)
		r->processes.items[r->processes.count++] = copy;
	return err;
}

/* Copies a thread's labels. Threads get their pointers to them only in store_memory_finish(),
 * because the array moves while it grows. */
static int keep_labels(struct store_reader *r, const struct store_labels *labels)
{
	struct store_labels copy = labels ? *labels : (struct store_labels){0};
	const char **texts[] = {&copy.host, &copy.command, &copy.unit, &copy.container};
	int err = VEC_RESERVE(&r->labels, 1);

	if (err == 0)
		err = keep_all(r, texts, 4);
	if (err == 0)
		r->labels.items[r->labels.count++] = copy;
	return err;
}

int store_memory_thread(struct store_reader *r, const struct store_thread *thread)
{
	struct store_thread copy = *thread;
	const char **texts[] = {&copy.comm, &copy.cgroup, &copy.label_set};
	int err = VEC_RESERVE(&r->threads, 1);

	copy.number = (uint32_t)r->threads.count;
	if (err == 0)
		err = keep_all(r, texts, 3);
	if (err == 0)
		err = keep_labels(r, copy.labels);
	if (err == 0)
		r->threads.items[r->threads.count++] = copy;
	return err;
}

int store_memory_node(struct store_reader *r, const struct store_node *node)
{
	int err = VEC_RESERVE(&r->nodes.nodes, 1);

	if (err == 0)
		r->nodes.nodes.items[r->nodes.nodes.count++] = *node;
	return err;
}

int store_memory_sum(struct store_reader *r, const struct store_sum *sum)
{
	int err = VEC_RESERVE(&r->sums, 1);

	if (err == 0)
		r->sums.items[r->sums.count++] = *sum;
	return err;
}

int store_memory_origin(struct store_reader *r, uint32_t inferred, bool is_complete)
{
	const struct origin_run run = {
		.frames = inferred, .source = FRAME_SOURCE_ALIGNED, .confidence = 100};
	const struct origin origin = {.is_complete = is_complete, .n_runs = 1};
	int err = VEC_RESERVE(&r->origins, 1);

	if (err == 0)
		err = VEC_RESERVE(&r->runs, 1);
	if (err < 0)
		return err;
	r->origins.items[r->origins.count++] = origin;
	r->runs.items[r->runs.count++] = run;
	return 0;
}

/* Sets line_first: for each location, the index of its first line. */
static void index_lines(struct store_reader *r, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i <= r->locations.count; i++) {
		while (at < n && r->lines[at].location < i)
			at++;
		r->line_first[i] = (uint32_t)at;
	}
}

int store_memory_finish(struct store_reader *r, const struct store_line *lines, size_t n)
{
	int err = 0;

	r->lines = vec_alloc(n + 1, sizeof(*r->lines));
	r->line_first = vec_alloc(r->locations.count + 1, sizeof(*r->line_first));
	if (!r->lines || !r->line_first)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < n; i++) {
		const char **texts[] = {&r->lines[i].function, &r->lines[i].file};

		r->lines[i] = lines[i];
		err = keep_all(r, texts, 2);
	}
	index_lines(r, n);
	for (size_t i = 0; i < r->threads.count; i++)
		r->threads.items[i].labels = &r->labels.items[i];
	for (size_t i = 1; i < r->origins.count; i++)
		r->origins.items[i].runs = &r->runs.items[i - 1];
	if (err == 0)
		store_load_publish(r);
	return err;
}
