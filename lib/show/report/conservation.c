/* SPDX-License-Identifier: MIT */
/* Compares samples with the scheduler's count; see conservation.h. */
#include "report/conservation.h"

#include <inttypes.h>
#include <math.h>

#include "report/report_header.h"

#define DEVIATIONS 5
#define EDGE_NS	   20000000u
#define AROUND_NS  10000u
#define LAG_NS	   UINT64_C(1000000000)

/* a cause of the difference is mentioned if it is at least this part (1 / SHOWN) of the time */
#define SHOWN 100

/* Returns by how much the two sums can differ because of the recording's begin and end. */
static double edges(const struct store_tables *t)
{
	const struct store_recording *r = &t->recording;
	uint64_t running = t->n_threads + 1;

	if (r->cpus && r->cpus < running)
		running = r->cpus;
	if (!r->finished || r->run)
		return (double)running * (double)LAG_NS;
	return (double)running * EDGE_NS * (t->n_recordings ? t->n_recordings : 1);
}

/* Returns the mean period of the samples; if there are none, the period of the recording's
 * settings. */
static double period_ns(const struct store_recording *r, uint64_t sampled_ns)
{
	if (r->samples)
		return (double)sampled_ns / (double)r->samples;
	return r->frequency_hz ? 1e9 / (double)r->frequency_hz : (double)r->period;
}

/* Reads the two sums. Returns NULL, or why they are not known. */
static const char *read_sums(const struct store_tables *t, struct conservation *c)
{
	uint64_t untimed = 0;

	if (!report_header_counter(t, "cpu_ns", &c->scheduler_ns))
		return "the recording has no such count";
	if (!report_header_counter(t, "periods_ns", &c->sampled_ns))
		return "the event does not count CPU time of user and kernel mode, or idle CPUs "
		       "were sampled as well";
	if (!c->scheduler_ns)
		return "that count is not known";
	if (report_header_counter(t, "tasks_untimed", &untimed) && untimed)
		return "there were more tasks than could be counted";
	return NULL;
}

struct conservation conservation_of(const struct store_tables *t)
{
	struct conservation c = {0};
	uint64_t stolen = 0, cut = 0;
	double period, more;

	c.unknown = read_sums(t, &c);
	if (c.unknown)
		return (struct conservation){.unknown = c.unknown};
	report_header_counter(t, "stolen_ns", &stolen);
	report_header_counter(t, "late_cut_ns", &cut);
	c.has_waking = report_header_counter(t, "waking_ns", &c.waking_ns);
	report_header_counter(t, "preempted_ns", &c.preempted_ns);
	period = period_ns(&t->recording, c.sampled_ns);
	more = fmax((double)c.scheduler_ns, (double)c.sampled_ns);
	c.allowed_ns = (uint64_t)(DEVIATIONS * sqrt(more * period) + edges(t)) + stolen;
	c.own_ns = cut + t->recording.kernel_ns + AROUND_NS * t->recording.samples;
	c.is_known = true;
	return c;
}

/* Returns by how much the larger sum may exceed the other one. If the samples' sum is larger,
 * stackd's own time and the time of waking CPUs do not count, because no sample can hit them. If
 * the scheduler's sum is larger, the time that it counts as another task's does not count. */
static uint64_t allowed_excess(const struct conservation *c)
{
	return c->sampled_ns > c->scheduler_ns ? c->allowed_ns + c->preempted_ns
					       : c->allowed_ns + c->own_ns + c->waking_ns;
}

/* Returns whether they differ by more than that. */
static bool is_beyond(const struct conservation *c)
{
	const uint64_t excess = c->sampled_ns > c->scheduler_ns ? c->sampled_ns - c->scheduler_ns
								: c->scheduler_ns - c->sampled_ns;

	return c->is_known && excess > allowed_excess(c);
}

/* Returns whether the difference cannot be judged: there are too few samples, and the time of CPUs
 * that are about to switch to woken tasks is not known. */
static bool is_open(const struct conservation *c)
{
	return is_beyond(c) && !c->has_waking && c->sampled_ns < c->scheduler_ns;
}

bool conservation_is_violated(const struct conservation *c)
{
	return is_beyond(c) && !is_open(c);
}

void conservation_text(const struct conservation *c, struct buf *b)
{
	if (!c->is_known) {
		text_printf(b, "not compared with the scheduler's count: %s", c->unknown);
		return;
	}
	text_printf(b, "%.3f s by the samples, %.3f s by the scheduler",
		    (double)c->sampled_ns / 1e9, (double)c->scheduler_ns / 1e9);
	if (c->waking_ns > c->scheduler_ns / SHOWN)
		text_printf(b, ", up to %.3f s of it while CPUs were on their way to woken tasks",
			    (double)c->waking_ns / 1e9);
	if (c->preempted_ns > c->sampled_ns / SHOWN)
		text_printf(b, ", which gave up to %.3f s to tasks that were to run next",
			    (double)c->preempted_ns / 1e9);
	if (conservation_is_violated(c))
		text_printf(b, ": they differ by more than chance allows (%.3f s)",
			    (double)allowed_excess(c) / 1e9);
	if (is_open(c))
		text_put_raw(b, ", which can be that of CPUs on their way to woken tasks: their "
				"events do not count it");
}

void conservation_json(const struct conservation *c, struct json *j)
{
	if (!c->is_known) {
		json_put_null(j, "cpu_time");
		json_put_string(j, "cpu_time_unknown", c->unknown);
		return;
	}
	json_put_object(j, "cpu_time");
	json_put_uint(j, "scheduler_ns", c->scheduler_ns);
	json_put_uint(j, "sampled_ns", c->sampled_ns);
	if (c->has_waking)
		json_put_uint(j, "waking_ns", c->waking_ns);
	else
		json_put_null(j, "waking_ns");
	json_put_uint(j, "preempted_ns", c->preempted_ns);
	json_put_uint(j, "own_ns", c->own_ns);
	json_put_uint(j, "allowed_ns", c->allowed_ns);
	if (is_open(c))
		json_put_null(j, "is_conserved");
	else
		json_put_bool(j, "is_conserved", !conservation_is_violated(c));
	json_put_end(j);
}
