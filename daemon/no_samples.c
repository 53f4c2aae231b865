/* SPDX-License-Identifier: MIT */
/* Finds the reason from the counters and the target's CPU time; see no_samples.h. */
#include "daemon/no_samples.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/base/log.h"
#include "daemon/capture/event_spec.h"

/* Writes which option would give samples sooner: "a higher -F than 997", "a lower -c than
 * 1000000". */
static const char *remedy(const struct options *options, char *buf, size_t size)
{
	if (options->period)
		snprintf(buf, size, "a lower -c than %" PRIu64, options->period);
	else
		snprintf(buf, size, "a higher -F than %" PRIu64, options->frequency);
	return buf;
}

/* Warns that a command has ended without samples. If the command has used more CPU time than 20
 * sampling periods, it should have had samples with these options, too, so no other option is
 * suggested. */
static void warn_command(const struct options *options, uint64_t used_ns, const char *sooner)
{
	const double used_ms = (double)used_ns / 1e6;

	if (options->frequency && used_ms * (double)options->frequency > 20e3)
		log_warning("no samples: '%s' ended after %.1f ms of CPU time without one",
			    options->command[0], used_ms);
	else
		log_warning("no samples: '%s' ran and ended after %.1f ms of CPU time, before its "
			    "first sample; try %s",
			    options->command[0], used_ms, sooner);
}

/* Appends words to a text, as far as there is room. */
static void append(char *text, size_t size, const char *before, const char *words)
{
	const size_t len = strlen(text);

	snprintf(text + len, size - len, "%s%s", before, words);
}

static void append_each(char *text, size_t size, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		append(text, size, i ? ", '" : *text ? ", no pass of '" : "no pass of '", names[i]);
		append(text, size, "'", "");
	}
}

/* Warns which of the requested regions, marks, allocations and waits did not occur, when no samples
 * were requested. */
static void warn_unseen(const struct options *options)
{
	char text[512] = "";

	append_each(text, sizeof(text), options->regions, options->n_regions);
	append_each(text, sizeof(text), options->marks, options->n_marks);
	if (options->mpi)
		append(text, sizeof(text), *text ? ", " : "", "no call of MPI");
	if (options->annotated)
		append(text, sizeof(text), *text ? ", " : "", "no region that a program names");
	if (options->alloc_bytes)
		append(text, sizeof(text), *text ? ", " : "", "no sampled allocation");
	if (options->waits)
		append(text, sizeof(text), *text ? ", " : "", "no sampled wait");
	log_warning("nothing was recorded: %s was seen, and -e none takes no samples", text);
}

static bool takes_samples(const struct options *options)
{
	return !options->event || strcmp(options->event, EVENT_SPEC_NONE) != 0;
}

void no_samples_warn(const struct options *options, struct target *target,
		     const struct status_numbers *numbers, bool is_early)
{
	uint64_t used_ns;
	char sooner[64];

	remedy(options, sooner, sizeof(sooner));
	if (!takes_samples(options))
		warn_unseen(options);
	else if (numbers->lost)
		log_warning("no samples: all %" PRIu64 " were lost; try a larger --ring-bytes",
			    numbers->lost);
	else if (is_early)
		log_warning("no samples: a signal ended the recording before it began");
	else if (numbers->idle)
		log_warning("no samples: the CPUs were idle; --idle samples that, too");
	else if (target_command_cpu(target, &used_ns))
		warn_command(options, used_ns, sooner);
	else
		log_warning("no samples: the target slept, or ran too briefly; try %s", sooner);
}

void no_regions_warn(void)
{
	log_warning(
		"--annotated: no region that a program names was seen: those of static and setuid "
		"programs, and of programs that are started with another environment, are not "
		"counted");
}
