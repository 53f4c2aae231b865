/* SPDX-License-Identifier: MIT */
/* What there is to show: the recordings of a store, what one of them has, and how far it has come.
 * These answers need no samples, so they come at once. */
#include <string.h>

#include "base/text.h"
#include "report/report_header.h"
#include "tree/partition.h"
#include "web/answers.h"
#include "web/opened.h"

#define RECORDINGS_MOST 500

static uint64_t length(const struct store_recording *r)
{
	return r->end_ns > r->start_ns ? r->end_ns - r->start_ns : 0;
}

/* Writes a string with what is unsafe to show escaped. */
static void put_text(struct json *j, const char *key, const char *value)
{
	struct buf b = {0};

	text_put(&b, value ? value : "", NULL);
	json_put_text(j, key, &b);
}

static void put_recording(struct json *j, const struct store_recording *r)
{
	json_put_object(j, NULL);
	json_put_int(j, "id", r->id);
	json_put_int(j, "run", r->run);
	json_put_uint(j, "begin_unix_ns", r->start_unix_ns);
	json_put_uint(j, "duration_ns", length(r));
	put_text(j, "target", r->target);
	put_text(j, "command", r->command);
	put_text(j, "event", r->event);
	json_put_uint(j, "frequency_hz", r->frequency_hz);
	json_put_uint(j, "samples", r->samples);
	json_put_uint(j, "lost", r->lost);
	json_put_bool(j, "finished", r->finished);
	json_put_bool(j, "live", !r->finished);
	put_text(j, "host", r->host);
	put_text(j, "note", r->note);
	json_put_end(j);
}

/* Writes what a person should know of a recording, a line each. */
static void put_header(struct json *j, const struct store_recording *r)
{
	struct buf b = {0};

	json_put_array(j, "header");
	text_printf(&b, "host ");
	text_put(&b, r->host ? r->host : "", NULL);
	if (r->kernel && *r->kernel) {
		text_printf(&b, ", kernel ");
		text_put(&b, r->kernel, NULL);
	}
	json_put_text(j, NULL, &b);
	report_header_event(r, &b);
	text_printf(&b, ", %llu sample%s, %llu lost", (unsigned long long)r->samples,
		    text_plural(r->samples, "", "s"), (unsigned long long)r->lost);
	json_put_text(j, NULL, &b);
	if (r->note && *r->note)
		put_text(j, NULL, r->note);
	json_put_end(j);
}

static const char *unit(enum metric_unit of)
{
	return of == METRIC_NS	    ? "ns"
	       : of == METRIC_BYTES ? "bytes"
	       : of == METRIC_TIMES ? "times"
				    : "samples";
}

/* Writes the metrics of which the recording has records; a source that is no store has one. */
static int put_metrics(struct ask *ask, struct store_reader *reader)
{
	const struct store_recording *r = &store_reader_tables(reader)->recording;
	const struct web_source *source = ask->store->source;
	struct json *j = &ask->json;
	uint64_t series = 0;
	int err = opened_is_sums(ask) ? 0 : store_reader_series(reader, &series);

	if (err)
		return err;
	json_put_array(j, "metrics");
	for (enum metric i = 0; i < METRIC_COUNT; i++) {
		const struct metric_info *metric = metric_info(i);

		if (opened_is_sums(ask)
			    ? i != source->metric
			    : i != METRIC_CPU && !metric_is_of(i, series, store_is_timed(r)))
			continue;
		json_put_object(j, NULL);
		json_put_string(j, "name", metric->name);
		json_put_string(j, "unit", unit(metric->unit));
		json_put_string(j, "of", metric->records);
		json_put_string(j, "text", metric->meaning);
		json_put_bool(j, "sampled", metric->is_sampled);
		json_put_end(j);
	}
	json_put_end(j);
	return 0;
}

/* Puts the label by which the command line divides. */
static void put_label(struct json *j, const struct web_given *given)
{
	struct buf b = {0};

	if (!given || !given->filter->by_label)
		return;
	text_put_raw(&b, "label:");
	text_put(&b, given->filter->by_label, NULL);
	json_put_text(j, NULL, &b);
}

static int put_selected(struct ask *ask, struct store_reader *reader)
{
	struct json *j = &ask->json;
	const struct store_recording *r = &store_reader_tables(reader)->recording;
	const struct web_given *given = ask->store->source->given;
	int err;

	json_put_object(j, "selected");
	json_put_int(j, "id", r->id);
	json_put_uint(j, "begin_unix_ns", r->start_unix_ns);
	json_put_uint(j, "end_ns", length(r));
	put_text(j, "host", r->host);
	put_text(j, "kernel", r->kernel);
	put_text(j, "arch", r->arch);
	json_put_uint(j, "cpus", r->cpus);
	json_put_bool(j, "live", !r->finished);
	put_header(j, r);
	if (given && given->chosen)
		put_text(j, "chosen", given->chosen);
	err = put_metrics(ask, reader);
	json_put_array(j, "parts");
	for (enum partition_by by = 0; by <= PARTITION_BY_ALL; by++)
		/* The sums of a selection are not kept by CPU, unless that is asked for. */
		if (by != PARTITION_BY_LABEL &&
		    (by != PARTITION_BY_CPU || (given && given->filter->by_cpu)))
			json_put_string(j, NULL, partition_word(by));
	put_label(j, given);
	json_put_end(j);
	json_put_end(j);
	return err;
}

/* Lists the newest recordings of a store. */
static int put_store(struct ask *ask)
{
	struct store_recording *all;
	char *sentence = NULL;
	size_t n, first;
	int err = store_list_recordings(ask->store->source->path, &all, &n, &sentence);

	if (err)
		return opened_fail(ask, err, sentence);
	first = n > RECORDINGS_MOST ? n - RECORDINGS_MOST : 0;
	json_put_array(&ask->json, "recordings");
	for (size_t i = first; i < n; i++)
		put_recording(&ask->json, &all[i]);
	json_put_end(&ask->json);
	json_put_uint(&ask->json, "left_out", first);
	store_recordings_free(all, n);
	return 0;
}

/* Lists the one recording of a source that is no store. */
static int put_only(struct ask *ask, struct store_reader *reader)
{
	json_put_array(&ask->json, "recordings");
	put_recording(&ask->json, &store_reader_tables(reader)->recording);
	json_put_end(&ask->json);
	json_put_uint(&ask->json, "left_out", 0);
	return 0;
}

int answer_recordings(struct ask *ask)
{
	struct store_reader *reader;
	int64_t first, last;
	int err = opened_numbers(ask, "recording", &first, &last);

	if (err == 0)
		err = opened_glance(ask, last, &reader);
	if (err)
		return err;
	put_text(&ask->json, "store", ask->store->source->label);
	put_text(&ask->json, "version", STACKD_VERSION);
	json_put_int(&ask->json, "default", store_reader_tables(reader)->recording.id);
	if (ask->store->source->base)
		put_text(&ask->json, "base", ask->store->source->base_name);
	err = ask->store->source->open || ask->store->source->given ? put_only(ask, reader)
								    : put_store(ask);
	if (err == 0)
		err = put_selected(ask, reader);
	opened_release(ask, reader);
	return err;
}

int answer_live(struct ask *ask)
{
	const struct store_recording *r;
	struct store_reader *reader, *newest;
	struct opened_figures figures;
	int64_t first, last;
	int err = opened_numbers(ask, "recording", &first, &last);

	if (err == 0)
		err = opened_glance(ask, last, &reader);
	if (err)
		return err;
	r = &store_reader_tables(reader)->recording;
	figures = opened_figures_of(reader);
	json_put_int(&ask->json, "recording", r->id);
	json_put_uint(&ask->json, "end_ns", length(r));
	json_put_uint(&ask->json, "samples", r->samples);
	json_put_uint(&ask->json, "lost", r->lost);
	json_put_bool(&ask->json, "live", figures.is_live);
	json_put_hex(&ask->json, "change", figures.change);
	err = opened_glance(ask, 0, &newest);
	if (err == 0) {
		json_put_int(&ask->json, "newest", store_reader_tables(newest)->recording.id);
		opened_release(ask, newest);
	}
	opened_release(ask, reader);
	return err;
}
