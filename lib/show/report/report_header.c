/* SPDX-License-Identifier: MIT */
/* The header of reports; see report_header.h. */
#include "report/report_header.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "report/conservation.h"
#include "stackd_abi.h"
#include "model/frame_kind.h"
#include "stack/end_reason.h"

void report_header_reasons(const struct profile *profile, uint64_t *ret_samples, uint32_t n)
{
	size_t n_entries;
	const struct profile_entry *entries = profile_entries(profile, &n_entries);

	memset(ret_samples, 0, n * sizeof(*ret_samples));
	for (size_t i = 0; i < n_entries; i++) {
		uint32_t reason = entries[i].end_reason;

		ret_samples[reason < n ? reason : n - 1] += entries[i].samples;
	}
}

bool report_header_counter(const struct store_tables *tables, const char *name, uint64_t *ret_value)
{
	for (uint32_t i = 0; i < tables->n_counters; i++) {
		if (strcmp(tables->counters[i].name, name) == 0) {
			*ret_value = tables->counters[i].value;
			return true;
		}
	}
	return false;
}

/* Appends the end reasons of partial stacks, most samples first. */
static void report_header_why(const struct profile *profile, struct buf *b)
{
	uint64_t samples[STACKD_END_COUNT + 1] = {0};
	const char *before = " (";
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);

	for (size_t i = 0; i < n; i++) {
		uint32_t reason = entries[i].end_reason;

		if (entries[i].quality >= PROFILE_PARTIAL)
			samples[reason < STACKD_END_COUNT ? reason : STACKD_END_COUNT] +=
				entries[i].samples;
	}
	for (;;) {
		unsigned most = 0;

		for (unsigned i = 0; i <= STACKD_END_COUNT; i++)
			if (samples[i] > samples[most])
				most = i;
		if (!samples[most])
			break;
		text_printf(b, "%s%s %" PRIu64, before, end_reason_name((uint8_t)most),
			    samples[most]);
		samples[most] = 0;
		before = ", ";
	}
	if (*before == ',')
		text_put_raw(b, ")");
}

void report_header_quality(const struct profile *profile, struct buf *b)
{
	const struct profile_totals *totals = profile_totals(profile);
	char share[TEXT_SHARE_MAX];

	text_printf(b, "%s%% complete, ", text_share(totals->complete, totals->samples, share));
	text_printf(b, "%s%% reconstructed, ",
		    text_share(totals->reconstructed, totals->samples, share));
	text_printf(b, "%s%% partial", text_share(totals->partial, totals->samples, share));
	report_header_why(profile, b);
}

void report_header_event(const struct store_recording *recording, struct buf *b)
{
	text_put(b, recording->event, NULL);
	if (recording->frequency_hz)
		text_printf(b, " at %" PRIu64 " Hz", recording->frequency_hz);
	else if (recording->period)
		text_printf(b, " every %" PRIu64, recording->period);
}

/* Appends a moment in local time. */
static void put_moment(uint64_t unix_ns, struct buf *b)
{
	time_t at = (time_t)(unix_ns / 1000000000);
	char text[64] = "?";
	struct tm tm;

	if (localtime_r(&at, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm);
	text_put_raw(b, text);
}

static uint64_t duration(const struct store_recording *recording)
{
	return recording->end_ns > recording->start_ns ? recording->end_ns - recording->start_ns
						       : 0;
}

static void report_header_time(const struct store_recording *recording, struct buf *b)
{
	put_moment(recording->start_unix_ns, b);
	if (recording->end_ns != recording->start_ns) /* an export has no end */
		text_printf(b, ", for %.1f s", (double)duration(recording) / 1e9);
	if (!recording->finished)
		text_put_raw(b, " so far (it is still being recorded, or was cut off)");
}

static void report_header_number(const struct store_tables *tables, struct buf *b)
{
	text_printf(b, "# recording: %" PRId64, tables->recording.id);
	if (tables->n_recordings > 1)
		text_printf(b, "..%" PRId64 " (%u added up)", tables->last_recording,
			    tables->n_recordings);
	else if (tables->recording.run)
		text_printf(b, " (window of run %" PRId64 ")", tables->recording.run);
	text_put_raw(b, ", ");
}

struct report_header {
	const struct report_options *options;
	FILE *out;
	struct buf row;
	int err;
};

/* Ends a header line. */
static void report_header_line(struct report_header *h)
{
	if (h->err == 0) {
		text_put_raw(&h->row, "\n");
		h->err = text_flush(&h->row, h->out);
	}
}

static void field(struct report_header *h, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	text_printf(&h->row, "# %s: ", name);
	if (h->options->utf8)
		text_put(&h->row, value, NULL);
	else
		text_put_ascii(&h->row, value);
	report_header_line(h);
}

/* Returns the number of samples that hit an idle CPU; stackd counts them but does not store
 * them. */
static uint64_t report_header_idle(const struct profile *profile)
{
	uint64_t idle;

	return report_header_counter(profile_tables(profile), "idle", &idle) ? idle : 0;
}

/* Writes the share of the CPUs' time that was idle. Returns false if the recording did not measure
 * it, as with older versions; then idle_line() estimates it from samples. */
static bool put_idle_time(struct report_header *h, const struct profile *profile)
{
	uint64_t idle_ns = 0, cpus_ns = 0;
	char share[TEXT_SHARE_MAX];

	if (!report_header_counter(profile_tables(profile), "idle_ns", &idle_ns) ||
	    !report_header_counter(profile_tables(profile), "cpus_ns", &cpus_ns) || !cpus_ns)
		return false;
	text_printf(&h->row, "# idle: %s%% of the CPUs' time", text_share(idle_ns, cpus_ns, share));
	if (report_header_idle(profile))
		text_printf(&h->row, " (%" PRIu64 " sample%s left out)",
			    report_header_idle(profile),
			    text_plural(report_header_idle(profile), "", "s"));
	return true;
}

/* Returns whether the event is a clock. Other events hardly occur on idle CPUs. */
static bool is_clock(const struct store_recording *recording)
{
	return recording->event && (strcasestr(recording->event, "cpu-clock") ||
				    strcasestr(recording->event, "cpu_clock"));
}

static void idle_line(struct report_header *h, const struct profile *profile)
{
	const struct store_recording *recording = &profile_tables(profile)->recording;
	uint64_t idle = report_header_idle(profile);
	char share[TEXT_SHARE_MAX];

	if (!put_idle_time(h, profile)) {
		if (!idle)
			return;
		text_printf(&h->row, "# idle: %s%% of %s (%" PRIu64 " sample%s left out)",
			    text_share(idle, idle + recording->samples + recording->lost, share),
			    is_clock(recording) ? "the CPUs' time" : "all samples", idle,
			    text_plural(idle, "", "s"));
	}
	report_header_line(h);
}

/* Writes the line of a metric other than samples: its name, its sum, and the number of records. */
static void metric_line(struct report_header *h, const struct profile *profile)
{
	enum metric metric = profile_filter(profile)->metric;
	const double error = profile_error(profile);
	char amount[METRIC_AMOUNT_MAX];

	text_printf(&h->row, "# metric: %s, %s", metric_info(metric)->name,
		    metric_amount(metric, profile_total(profile), amount));
	if (error >= 0)
		text_printf(&h->row, ", standard error %s",
			    metric_number(metric, (uint64_t)(error + 0.5), amount));
	if (profile_totals(profile)->estimated)
		text_printf(&h->row, " (%s is estimated)",
			    metric_number(metric, profile_totals(profile)->estimated, amount));
	report_header_line(h);
}

static void counts(struct report_header *h, const struct profile *profile)
{
	const struct store_recording *recording = &profile_tables(profile)->recording;
	const struct metric_info *metric = metric_info(profile_filter(profile)->metric);
	uint64_t records = profile_totals(profile)->samples;

	if (metric->series != SERIES_CPU)
		metric_line(h, profile);
	text_printf(&h->row, "# %s: %" PRIu64, metric->records, records);
	if (profile_is_filtered(profile))
		text_printf(&h->row, " chosen of %" PRIu64, profile_recorded(profile));
	if (metric->series == SERIES_CPU && profile_total(profile) != records)
		text_printf(&h->row,
			    ", which count as %" PRIu64 " (some stand for several periods)",
			    profile_total(profile));
	report_header_line(h);
	text_printf(&h->row, "# lost: %" PRIu64, recording->lost);
	report_header_line(h);
	idle_line(h, profile);
	text_put_raw(&h->row, "# quality: ");
	report_header_quality(profile, &h->row);
	report_header_line(h);
}

/* Writes a line if the samples and the scheduler's count differ by more than is allowed. */
static void conservation_line(struct report_header *h, const struct store_tables *tables)
{
	const struct conservation c = conservation_of(tables);

	if (!conservation_is_violated(&c))
		return;
	text_put_raw(&h->row, "# cpu time: ");
	conservation_text(&c, &h->row);
	report_header_line(h);
}

static void machine_line(struct report_header *h, const struct store_recording *recording)
{
	text_put_raw(&h->row, "# kernel: ");
	text_put(&h->row, recording->kernel ? recording->kernel : "?", NULL);
	text_put_raw(&h->row, " ");
	text_put(&h->row, recording->arch ? recording->arch : "", NULL);
	text_printf(&h->row, ", %u CPUs", recording->cpus);
	report_header_line(h);
}

/* Parses a counter of a region whose probes were taken off. Returns the region's name; NULL: it is
 * another counter. *ret_until is the time of the recording, in seconds, until which passes through
 * the region were counted; 0: they never were; negative: unknown, as there are several
 * recordings. */
static const char *off_region(const struct store_tables *tables, uint32_t i, double *ret_until)
{
	const uint64_t value = tables->counters[i].value, start = tables->recording.start_ns;
	const size_t len = strlen(STORE_REGION_OFF);

	if (strncmp(tables->counters[i].name, STORE_REGION_OFF, len) != 0)
		return NULL;
	*ret_until = value > start ? (double)(value - start) / 1e9 : 0;
	if (tables->n_recordings > 1)
		*ret_until = -1;
	return tables->counters[i].name + len;
}

/* Returns a text that tells what is missing, or estimated, for regions whose probes were taken
 * off. */
static const char *off_rest(const struct store_tables *tables)
{
	return store_is_timed(&tables->recording)
		       ? "later CPU time of regions is estimated from samples, or is in the time "
			 "of a counted region around them; later waits, visits and bytes are missing"
		       : "their later time, visits and bytes are missing, since samples are of no "
			 "clock";
}

void report_header_off(const struct profile *profile, const char *before, struct buf *b)
{
	const struct store_tables *tables = profile_tables(profile);
	bool is_any = false;

	for (uint32_t i = 0; i < tables->n_counters; i++) {
		double until;
		const char *name = off_region(tables, i, &until);

		if (!name)
			continue;
		text_put_raw(b, is_any ? ", " : before);
		if (!is_any)
			text_put_raw(b, "counted for a part of the time (--region-limit): ");
		text_put(b, name, NULL);
		if (until > 0)
			text_printf(b, " until %.1f s", until);
		else if (!(until < 0))
			text_put_raw(b, " never");
		is_any = true;
	}
	if (is_any) {
		text_put_raw(b, "; ");
		text_put_raw(b, off_rest(tables));
	}
}

int report_header_off_text(const struct profile *profile, char **ret_text)
{
	struct buf b = {0};

	*ret_text = NULL;
	report_header_off(profile, "", &b);
	if (b.len)
		buf_put_u8(&b, '\0');
	if (b.failed) {
		buf_free(&b);
		return -ENOMEM;
	}
	*ret_text = (char *)b.data;
	return 0;
}

/* Writes which regions were not counted to the end. */
static void off_lines(struct report_header *h, const struct profile *profile)
{
	const struct store_tables *tables = profile_tables(profile);
	uint64_t named = 0, all = 0;

	for (uint32_t i = 0; i < tables->n_counters; i++) {
		double until;
		const char *name = off_region(tables, i, &until);

		if (!name || !metric_is_of_regions(profile_filter(profile)->metric))
			continue;
		named++;
		text_put_raw(&h->row, "# note: ");
		text_put_name(&h->row, name, h->options->utf8);
		if (until > 0)
			text_printf(&h->row,
				    " was counted until %.1f s, then sampled (--region-limit)",
				    until);
		else if (until < 0)
			text_put_raw(&h->row, " was counted for a part of the time, then sampled "
					      "(--region-limit)");
		else
			text_put_raw(&h->row, " was not counted, but sampled (--region-limit)");
		report_header_line(h);
	}
	if (report_header_counter(tables, "regions_taken_off", &all) && tables->n_recordings <= 1 &&
	    all > named && named) {
		text_printf(&h->row,
			    "# note: %" PRIu64 " other%s taken off as well (--region-limit)",
			    all - named, text_plural(all - named, " was", "s were"));
		report_header_line(h);
	}
	if (named)
		field(h, "note", off_rest(tables));
}

static void off_json(const struct profile *profile, struct json *j)
{
	const struct store_tables *tables = profile_tables(profile);

	if (!metric_is_of_regions(profile_filter(profile)->metric))
		return;
	json_put_array(j, "regions_off");
	for (uint32_t i = 0; i < tables->n_counters; i++) {
		double until;
		const char *name = off_region(tables, i, &until);

		if (!name)
			continue;
		json_put_object(j, NULL);
		json_put_string(j, "name", name);
		json_put_fixed(j, "counted_until_s", until, 3);
		json_put_end(j);
	}
	json_put_end(j);
	json_put_uint(j, "estimated", profile_totals(profile)->estimated);
}

/* Returns whether the filter selects only a part of the recorded time. *ret_start_unix_ns and
 * *ret_duration_ns receive the begin and length of all the recorded time, for which stackd's
 * counters are. */
static bool is_cut(const struct profile *profile, uint64_t *ret_start_unix_ns,
		   uint64_t *ret_duration_ns)
{
	const struct store_tables *t = profile_tables(profile);
	const struct profile_filter *filter = profile_filter(profile);

	*ret_start_unix_ns = t->n_selected ? t->whole_from_unix_ns : t->recording.start_unix_ns;
	*ret_duration_ns = t->n_selected ? t->whole_to_unix_ns - t->whole_from_unix_ns
					 : duration(&t->recording);
	return t->is_cut || filter->from_ns || filter->to_ns;
}

/* Writes notes on figures that are not of the selected time alone, and on what is missing in it. */
static void cut_lines(struct report_header *h, const struct profile *profile)
{
	const struct store_tables *t = profile_tables(profile);
	uint64_t start_unix_ns, duration_ns;

	if (is_cut(profile, &start_unix_ns, &duration_ns)) {
		text_put_raw(&h->row, "# note: lost, idle and cpu time are counts of all that was "
				      "recorded, from ");
		put_moment(start_unix_ns, &h->row);
		text_printf(&h->row, ", for %.1f s, and not of the chosen time",
			    (double)duration_ns / 1e9);
		report_header_line(h);
	}
	if (t->is_not_all && lasting_is(profile_filter(profile)->metric)) {
		text_printf(&h->row,
			    "# note: what ended more than %d windows after the chosen time is not "
			    "in it",
			    STORE_RANGE_LATER);
		report_header_line(h);
	}
}

/* Writes the same as members of a JSON object. */
static void cut_json(const struct profile *profile, struct json *j)
{
	uint64_t start_unix_ns, duration_ns;

	if (!is_cut(profile, &start_unix_ns, &duration_ns))
		return;
	json_put_uint(j, "counted_start_unix_ns", start_unix_ns);
	json_put_uint(j, "counted_duration_ns", duration_ns);
	json_put_bool(j, "lacks_long", profile_tables(profile)->is_not_all);
}

/* Returns the value of a counter; 0: the recording does not have it. */
static uint64_t counted(const struct store_tables *tables, const char *name)
{
	uint64_t value;

	return report_header_counter(tables, name, &value) ? value : 0;
}

/* Returns whether a recording has functions of a kind. */
static bool has_kind(const struct store_tables *tables, enum frame_kind kind)
{
	for (uint32_t i = 0; i < tables->n_objects; i++) {
		if (frame_kind_of_object(&tables->objects[i]) == kind)
			return true;
	}
	return false;
}

/* Gives the languages whose interpreters were met: "python, ruby". */
static const char *interpreted(const struct store_tables *tables, char *to, size_t room)
{
	static const enum frame_kind kinds[] = {FRAME_PYTHON, FRAME_RUBY, FRAME_PHP, FRAME_PERL};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (has_kind(tables, kinds[i]) && n < room)
			n += (size_t)snprintf(to + n, room - n, "%s%s", n ? ", " : "",
					      frame_kind_name(kinds[i]));
	}
	return n ? to : frame_kind_name(FRAME_PYTHON);
}

bool report_header_python(const struct store_tables *tables, struct buf *b)
{
	static const char *const reasons[] = {"thread", "elsewhere", "chain", "names", "most"};
	const uint64_t frames = counted(tables, "managed_frames");
	const uint64_t entering = counted(tables, "managed_in_transition");
	const uint64_t unread = counted(tables, "managed_unread_stacks");
	uint64_t values[sizeof(reasons) / sizeof(*reasons)], unproven = 0;
	const char *before = " (";
	char languages[64];

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		char name[32];

		snprintf(name, sizeof(name), "managed_unproven.%s", reasons[i]);
		values[i] = counted(tables, name);
		unproven += values[i];
	}
	if (!frames && !entering && !unproven && !unread)
		return false;
	text_printf(b,
		    "# %s: %" PRIu64 " function%s read; activations in transition: %" PRIu64
		    ", not proven: %" PRIu64,
		    interpreted(tables, languages, sizeof(languages)), frames,
		    text_plural(frames, "", "s"), entering, unproven);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		if (!values[i])
			continue;
		text_printf(b, "%s%s %" PRIu64, before, reasons[i], values[i]);
		before = ", ";
	}
	text_put_raw(b, unproven ? ")" : "");
	if (unread)
		text_printf(b, "; stacks with native frames alone: %" PRIu64, unread);
	return true;
}

/* Writes what a terminal shows: the recording in one line, its samples in another. */
static void brief_lines(struct report_header *h, const struct profile *profile)
{
	const struct store_recording *r = &profile_tables(profile)->recording;
	const struct metric_info *metric = metric_info(profile_filter(profile)->metric);

	text_put_raw(&h->row, "# ");
	text_put_name(&h->row, r->host ? r->host : "", h->options->utf8);
	text_printf(&h->row, ", ");
	text_put_name(&h->row, r->kernel ? r->kernel : "", h->options->utf8);
	if (r->cpus)
		text_printf(&h->row, ", %u CPUs", r->cpus);
	text_put_raw(&h->row, "; ");
	report_header_event(r, &h->row);
	text_put_raw(&h->row, "; recording ");
	text_printf(&h->row, "%" PRId64 ": ", r->id);
	report_header_time(r, &h->row);
	text_put_raw(&h->row, "; ");
	text_put_name(&h->row, r->target ? r->target : "", h->options->utf8);
	text_cut(&h->row, h->options->width);
	report_header_line(h);
	if (metric->series != SERIES_CPU)
		metric_line(h, profile);
	text_put_raw(&h->row, "# ");
	metric_put_records(profile_filter(profile)->metric, profile_totals(profile)->samples,
			   &h->row);
	text_printf(&h->row, ", %" PRIu64 " lost; ", r->lost);
	report_header_quality(profile, &h->row);
	report_header_line(h);
}

/* Writes the recording, each of its figures in a line. */
static void whole_lines(struct report_header *h, const struct profile *profile)
{
	const struct store_recording *recording = &profile_tables(profile)->recording;

	field(h, "host", recording->host);
	/* a sum of many hosts has neither */
	if (recording->cpus || (recording->kernel && *recording->kernel))
		machine_line(h, recording);
	text_put_raw(&h->row, "# event: ");
	report_header_event(recording, &h->row);
	report_header_line(h);
	field(h, "command", recording->command);
	field(h, "target", recording->target);
	report_header_number(profile_tables(profile), &h->row);
	report_header_time(recording, &h->row);
	report_header_line(h);
	counts(h, profile);
}

int report_header_text(const struct profile *profile, const struct report_options *options,
		       FILE *out)
{
	const struct store_recording *recording = &profile_tables(profile)->recording;
	struct report_header h = {.options = options, .out = out};

	if (options->is_brief)
		brief_lines(&h, profile);
	else
		whole_lines(&h, profile);
	if (!options->is_brief && report_header_python(profile_tables(profile), &h.row))
		report_header_line(&h);
	conservation_line(&h, profile_tables(profile));
	field(&h, "note", recording->note);
	off_lines(&h, profile);
	cut_lines(&h, profile);
	buf_free(&h.row);
	return h.err;
}

static void recording_json(const struct store_tables *tables, struct json *j)
{
	const struct store_recording *recording = &tables->recording;

	json_put_int(j, "recording", recording->id);
	if (tables->n_recordings > 1) {
		json_put_int(j, "last_recording", tables->last_recording);
		json_put_uint(j, "recordings", tables->n_recordings);
	}
	json_put_string(j, "host", recording->host);
	json_put_string(j, "kernel", recording->kernel);
	json_put_string(j, "arch", recording->arch);
	json_put_uint(j, "cpus", recording->cpus);
	json_put_string(j, "event", recording->event);
	json_put_uint(j, "frequency_hz", recording->frequency_hz);
	json_put_uint(j, "period", recording->period);
	json_put_string(j, "command", recording->command);
	json_put_string(j, "target", recording->target);
	json_put_string(j, "note", recording->note);
	if (recording->missing)
		json_put_uint(j, "missing", recording->missing);
	json_put_uint(j, "start_unix_ns", recording->start_unix_ns);
	json_put_uint(j, "duration_ns", duration(recording));
	json_put_bool(j, "finished", recording->finished);
}

static void metric_json(const struct profile *profile, struct json *j)
{
	const enum metric metric = profile_filter(profile)->metric;
	const double error = profile_error(profile);

	if (metric == METRIC_CPU)
		return;
	json_put_string(j, "metric", metric_info(metric)->name);
	json_put_string(j, "unit", metric_unit_name(metric));
	json_put_bool(j, "counted",
		      !metric_info(metric)->is_sampled && !profile_totals(profile)->estimated);
	json_put_uint(j, "amount", profile_total(profile));
	if (error >= 0)
		json_put_fixed(j, "standard_error", error, 0);
}

void report_header_json(const struct profile *profile, struct json *j)
{
	const struct store_tables *tables = profile_tables(profile);
	const struct conservation conservation = conservation_of(tables);
	const struct profile_totals *totals = profile_totals(profile);

	recording_json(tables, j);
	metric_json(profile, j);
	off_json(profile, j);
	cut_json(profile, j);
	if (profile_filter(profile)->metric == METRIC_CPU)
		json_put_uint(j, "periods", totals->periods);
	json_put_uint(j, "samples", totals->samples);
	json_put_uint(j, "lost", tables->recording.lost);
	json_put_uint(j, "idle", report_header_idle(profile));
	json_put_object(j, "quality");
	json_put_uint(j, "complete", totals->complete);
	json_put_uint(j, "reconstructed", totals->reconstructed);
	json_put_uint(j, "partial", totals->partial);
	json_put_end(j);
	conservation_json(&conservation, j);
}

void report_header_begin_json(const struct profile *profile, struct json *j)
{
	json_put_object(j, NULL);
	json_put_uint(j, "schema", 1);
	report_header_json(profile, j);
}
