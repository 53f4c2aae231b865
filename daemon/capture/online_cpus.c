/* SPDX-License-Identifier: MIT */
/* Reads the kernel's list of CPUs; see online_cpus.h. */
#include "daemon/capture/online_cpus.h"

#include <stdio.h>
#include <string.h>

static bool read_list(const char *path, bool *ret_online)
{
	FILE *file = fopen(path, "re");
	unsigned first, last, n = 0;
	int c = ',';

	if (!file)
		return false;
	while (c == ',' && fscanf(file, "%u", &first) == 1) {
		last = first;
		c = getc(file);
		if (c == '-') {
			if (fscanf(file, "%u", &last) != 1)
				break;
			c = getc(file);
		}
		for (; first <= last && first < ONLINE_CPUS_MAX; first++, n++)
			ret_online[first] = true;
	}
	fclose(file);
	return n;
}

bool online_cpus_look(struct online_cpus *cpus, const char *path)
{
	bool now[ONLINE_CPUS_MAX] = {false}, has_new = false;

	if (!read_list(path, now))
		return false;
	for (int i = 0; i < ONLINE_CPUS_MAX; i++) {
		cpus->is_new[i] = cpus->is_known && now[i] && !cpus->online[i];
		has_new |= cpus->is_new[i];
	}
	memcpy(cpus->online, now, sizeof(now));
	cpus->is_known = true;
	return has_new;
}
