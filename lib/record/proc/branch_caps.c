/* SPDX-License-Identifier: MIT */
/* Branch records of the processor; see branch_caps.h. */
#include "proc/branch_caps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ENTRIES 1024

static const char *const pmus[] = {"cpu", "cpu_core", "cpu_atom"};
#define PMUS (sizeof(pmus) / sizeof(pmus[0]))

static bool has_pmu(const char *sys_root, const char *pmu)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/bus/event_source/devices/%s", sys_root, pmu);
	return access(path, F_OK) == 0;
}

static unsigned read_entries(const char *sys_root, const char *pmu)
{
	char path[4096];
	unsigned n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/bus/event_source/devices/%s/caps/branches", sys_root, pmu);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%u", &n) != 1 || n > MAX_ENTRIES)
		n = 0;
	fclose(file);
	return n;
}

/* Reads the vendor of the first processor from cpuinfo. Returns whether the processor's flags have
 * LbrExtV2. */
static bool read_cpuinfo(const char *proc_root, char *vendor, size_t size)
{
	char path[4096], *line = NULL, *at;
	bool has_lbr_v2 = false;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/cpuinfo", proc_root);
	file = fopen(path, "re");
	while (file && getline(&line, &room, file) > 1) { /* an empty line ends the first */
		at = strchr(line, ':');
		if (!at)
			continue;
		at[strcspn(at, "\n")] = 0;
		if (!strncmp(line, "vendor_id", 9))
			snprintf(vendor, size, "%s", at + 1 + strspn(at + 1, " "));
		else if (!strncmp(line, "flags", 5))
			has_lbr_v2 = strstr(at, " amd_lbr_v2") != NULL;
	}
	free(line);
	if (file)
		fclose(file);
	return has_lbr_v2;
}

void branch_caps_read(const char *sys_root, const char *proc_root, struct branch_caps *ret_caps)
{
	struct branch_caps caps = {.kind = BRANCH_CAPS_NO_PMU};
	bool is_amd = read_cpuinfo(proc_root, caps.vendor, sizeof(caps.vendor));

	for (size_t i = 0; i < PMUS && !caps.entries; i++) {
		if (!has_pmu(sys_root, pmus[i]))
			continue;
		caps.kind = BRANCH_CAPS_NONE;
		caps.entries = read_entries(sys_root, pmus[i]);
		snprintf(caps.pmu, sizeof(caps.pmu), "%s", pmus[i]);
	}
	/* A virtual machine can show the flag without having a PMU. */
	if (caps.kind == BRANCH_CAPS_NO_PMU) {
		*ret_caps = caps;
		return;
	}
	if (is_amd || (caps.entries && !strcmp(caps.vendor, "AuthenticAMD")))
		caps.kind = BRANCH_CAPS_ANY;
	else if (caps.entries)
		caps.kind = BRANCH_CAPS_CALL_STACK;
	*ret_caps = caps;
}
