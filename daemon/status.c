/* SPDX-License-Identifier: MIT */
/* Formats the status line and the summary; see status.h. */
#include "daemon/status.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "daemon/base/log.h"
#include "daemon/base/own_cost.h"
#include "daemon/service_manager.h"

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Returns the number of samples that is 100 % of the shares, including samples that could not be
 * written. */
static uint64_t walked(const struct status_numbers *n)
{
	return n->complete + n->partial;
}

void status_start(struct status *status, uint64_t now_ns)
{
	*status = (struct status){.last.now_ns = now_ns, .last_cpu_ns = own_cost_cpu_ns()};
}

/* Formats ", idle 41.0%", a share of the time of all CPUs. */
static const char *idle_share(const struct status_numbers *n, char *buf, size_t size)
{
	*buf = '\0';
	if (n->times.idle_ns)
		snprintf(buf, size, ", idle %.1f%%", percent(n->times.idle_ns, n->times.cpus_ns));
	return buf;
}

void status_summary(const struct status_numbers *n, char *buf, unsigned long size)
{
	char idle[32], waits[40] = "";

	if (n->waits)
		snprintf(waits, sizeof(waits), ", %" PRIu64 " wait%s", n->waits,
			 text_plural(n->waits, "", "s"));
	snprintf(buf, size,
		 "%" PRIu64 " sample%s, %" PRIu64 " lost, %.1f%% complete, 0.0%% reconstructed, "
		 "%.1f%% partial%s%s",
		 n->samples, text_plural(n->samples, "", "s"), n->lost,
		 percent(n->complete, walked(n)), percent(n->partial, walked(n)),
		 idle_share(n, idle, sizeof(idle)), waits);
}

void status_show(struct status *status, const struct status_numbers *now, bool quiet)
{
	uint64_t cpu = own_cost_cpu_ns(), span = now->now_ns - status->last.now_ns;
	char line[256], idle[32];

	if (!span)
		return;
	snprintf(line, sizeof(line),
		 "%.0f samples/s, %" PRIu64 " lost, %.1f%% complete%s, stackd %.1f%% CPU",
		 (double)(now->samples - status->last.samples) * 1e9 / (double)span, now->lost,
		 percent(now->complete, walked(now)), idle_share(now, idle, sizeof(idle)),
		 percent(cpu - status->last_cpu_ns, span));
	service_manager_status(line);
	if (!quiet)
		log_status(line);
	status->last = *now;
	status->last_cpu_ns = cpu;
}
