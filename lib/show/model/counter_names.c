/* SPDX-License-Identifier: MIT */
/* Finds the names of counters; see counter_names.h. The store has an entry in the table `counters`
 * for each of them, named by its number and name: "counter.0.cpu". */
#include "model/counter_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int counter_names_find(const struct store_tables *tables, char *ret_names[METRIC_COUNTERS])
{
	memset(ret_names, 0, METRIC_COUNTERS * sizeof(*ret_names));
	for (uint32_t i = 0; i < tables->n_counters; i++) {
		const char *name = tables->counters[i].name;
		unsigned number;
		int len = 0;

		if (sscanf(name, "counter.%u.%n", &number, &len) != 1 || !len ||
		    number >= METRIC_COUNTERS || ret_names[number])
			continue;
		ret_names[number] = strdup(name + len);
		if (!ret_names[number])
			return -ENOMEM;
	}
	return 0;
}

void counter_names_free(char *names[METRIC_COUNTERS])
{
	for (unsigned i = 0; i < METRIC_COUNTERS; i++) {
		free(names[i]);
		names[i] = NULL;
	}
}

unsigned counter_names_cpu(char *const names[METRIC_COUNTERS])
{
	for (unsigned i = 0; i < METRIC_COUNTERS; i++) {
		if (names[i] && !strcmp(names[i], "cpu"))
			return i;
	}
	return METRIC_COUNTERS;
}
