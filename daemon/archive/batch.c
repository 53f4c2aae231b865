/* SPDX-License-Identifier: MIT */
/* Allocates and frees batches; see batch.h. */
#include "daemon/archive/batch.h"

#include <stdlib.h>

struct batch *batch_new(void)
{
	return calloc(1, sizeof(struct batch));
}

void batch_empty(struct batch *b)
{
	struct batch left = {.totals = b->totals, .ends_window = b->ends_window, .after = b->after};

	for (size_t i = 0; i < b->n_processes; i++) {
		free((char *)b->processes[i].comm);
		free((char *)b->processes[i].exe);
	}
	for (size_t i = 0; i < b->n_threads; i++)
		free((char *)b->threads[i].comm);
	for (size_t i = 0; i < b->n_cgroups; i++)
		free(b->cgroups[i].path);
	for (size_t i = 0; i < b->n_labels; i++)
		free(b->labels[i].text);
	for (size_t i = 0; i < b->n_origins; i++)
		free((void *)b->origins[i].runs);
	for (size_t i = 0; i < b->n_lines; i++) {
		free((char *)b->lines[i].function);
		free((char *)b->lines[i].file);
	}
	for (size_t i = 0; i < b->n_locations; i++)
		object_end_await(b->located[i], 1);
	free(b->lines);
	free(b->objects);
	free(b->locations);
	free(b->located);
	free(b->processes);
	free(b->threads);
	free(b->cgroups);
	free(b->labels);
	free(b->nodes);
	free(b->sizes);
	free(b->origins);
	free(b->samples);
	free(b->records);
	free(b->counters);
	*b = left;
}

void batch_free(struct batch *b)
{
	if (b)
		batch_empty(b);
	free(b);
}
