/* SPDX-License-Identifier: MIT */
/*
 * The figures of a recording as metrics for Prometheus, in the text format that node_exporter's
 * textfile collector reads. Counters start from 0 in each window (recording) of the service, as if
 * a program was restarted, which Prometheus' rate() and increase() allow for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/report.h"
#include "report/report_header.h"
#include "stackd_abi.h"
#include "stack/end_reason.h"

#define NS 1e9

/* A counter of the recording that is a metric by itself. */
struct report_prometheus_metric {
	const char *counter; /* its name in the recording */
	const char *name, *type, *help;
	double unit; /* what the counter's value is divided by */
};

static const struct report_prometheus_metric metrics[] = {
	{"started", "stackd_started_total", "counter", "Samples that were begun.", 1},
	{"idle", "stackd_idle_total", "counter", "Samples of idle CPUs, which are not kept.", 1},
	{"own_cpu_ns", "stackd_cpu_seconds_total", "counter", "Processor time of stackd.", NS},
	{"own_resident_bytes", "stackd_resident_memory_bytes", "gauge",
	 "Memory of stackd that is resident.", 1},
	{"rate_hz", "stackd_rate_hertz", "gauge", "Samples a second and CPU.", 1},
	{"rate_changes", "stackd_rate_changes_total", "counter",
	 "Changes of the rate to keep within --max-cpu.", 1},
	{"sideband_lost", "stackd_sideband_lost_total", "counter",
	 "Events of processes that the kernel had no room for.", 1},
	{"tables_loaded", "stackd_tables_loaded_total", "counter",
	 "Files whose unwind information was loaded.", 1},
	{"tables_refused", "stackd_files_refused_total", "counter",
	 "Files whose unwind information was refused.", 1},
	{"worker_restarts", "stackd_worker_restarts_total", "counter",
	 "Starts of the worker after one that ended.", 1},
	{"worker_server_restarts", "stackd_worker_server_restarts_total", "counter",
	 "Starts of the process that makes workers, after one that ended.", 1},
	{"processes_not_followed", "stackd_processes_not_followed_total", "counter",
	 "Processes in scope that there was no room for.", 1},
};

static void head(struct buf *b, const char *name, const char *type, const char *help)
{
	text_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put(struct buf *b, const char *name, const char *type, const char *help, double value)
{
	head(b, name, type, help);
	text_printf(b, "%s %.17g\n", name, value);
}

static void put_counters(struct buf *b, const struct store_tables *t)
{
	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++) {
		const struct report_prometheus_metric *m = &metrics[i];
		uint64_t value;

		if (report_header_counter(t, m->counter, &value))
			put(b, m->name, m->type, m->help, (double)value / m->unit);
	}
}

/* Writes the number of samples by end reason: with `lost` the lost samples, else the others. */
static void put_reasons(struct buf *b, const struct store_tables *t, bool lost)
{
	const char *name = lost ? "stackd_lost_total" : "stackd_samples_total";

	head(b, name, "counter",
	     lost ? "Samples that were lost, by reason."
		  : "Samples that were kept, by the end of their walk and quality.");
	for (unsigned i = 0; i < STACKD_END_COUNT; i++) {
		enum profile_quality quality = profile_quality_of((uint8_t)i);
		char counter[64];
		uint64_t value = 0;

		if ((quality == PROFILE_LOST) != lost)
			continue;
		snprintf(counter, sizeof(counter), "end.%s", end_reason_name((uint8_t)i));
		report_header_counter(t, counter, &value);
		text_printf(b, "%s{reason=\"%s\"", name, end_reason_name((uint8_t)i));
		if (!lost)
			text_printf(b, ",quality=\"%s\"",
				    quality == PROFILE_COMPLETE ? "complete" : "partial");
		text_printf(b, "} %" PRIu64 "\n", value);
	}
	if (lost) {
		uint64_t value = 0;

		report_header_counter(t, "unwritten", &value);
		text_printf(b, "%s{reason=\"unwritten\"} %" PRIu64 "\n", name, value);
	}
}

/* Writes the counters "forgotten.KIND": names, objects, tables, ... that stackd dropped to make
 * room. */
static void put_forgotten(struct buf *b, const struct store_tables *t)
{
	bool is_first = true;

	for (uint32_t i = 0; i < t->n_counters; i++) {
		const char *kind = t->counters[i].name;

		if (strncmp(kind, "forgotten.", 10) != 0 ||
		    strspn(kind + 10, "abcdefghijklmnopqrstuvwxyz_") != strlen(kind + 10))
			continue;
		if (is_first)
			head(b, "stackd_forgotten_total", "counter",
			     "What was forgotten to bound memory, by kind.");
		is_first = false;
		text_printf(b, "stackd_forgotten_total{kind=\"%s\"} %" PRIu64 "\n", kind + 10,
			    t->counters[i].value);
	}
}

int report_write_prometheus(const struct store_tables *t, FILE *out)
{
	const struct store_recording *r = &t->recording;
	double start = (double)r->start_unix_ns / NS;
	struct buf b = {0};

	put_reasons(&b, t, false);
	put_reasons(&b, t, true);
	put_counters(&b, t);
	put_forgotten(&b, t);
	put(&b, "stackd_kernel_seconds_total", "counter", "Time of the sampler in the kernel.",
	    (double)r->kernel_ns / NS);
	put(&b, "stackd_store_bytes", "gauge", "Size of the store, with its WAL.",
	    (double)t->store_bytes);
	put(&b, "stackd_recording", "gauge", "Number of the recording.", (double)r->id);
	put(&b, "stackd_recording_finished", "gauge", "Whether it has ended.", r->finished);
	put(&b, "stackd_recording_start_time_seconds", "gauge", "When it began.", start);
	put(&b, "stackd_last_commit_time_seconds", "gauge", "When it was last written.",
	    start + (double)(r->end_ns - r->start_ns) / NS);
	return text_end(&b, out, 0);
}
