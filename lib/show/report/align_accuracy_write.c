/* SPDX-License-Identifier: MIT */
/* Writes the comparison of an alignment with the truth as text and JSON; see align_accuracy.h. */
#include <errno.h>
#include <inttypes.h>

#include "report/align_accuracy.h"
#include "report/report_header.h"

static double compare_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void put_count(struct buf *b, const char *what, uint64_t part, uint64_t whole)
{
	text_printf(b, "%-34s %10" PRIu64 "  %7.3f%%\n", what, part, compare_percent(part, whole));
}

static void put_counts(struct buf *b, const struct align_accuracy *c)
{
	const struct align_accuracy_options *o = &c->options;

	text_printf(b, "\ncomplete paths, %u %% of them cut to %u+1 frames%s%s\n", o->percent,
		    o->frames - 1,
		    o->percent == 100 && !o->no_anchors ? ", but for the anchors of --depth" : "",
		    o->no_heights ? "; heights not used" : "");
	put_count(b, "samples", c->samples, c->samples);
	put_count(b, "  complete after alignment", c->complete, c->samples);
	put_count(b, "samples that were cut", c->cut, c->samples);
	put_count(b, "  aligned", c->aligned, c->cut);
	put_count(b, "  restored to their true path", c->right, c->cut);
	put_count(b, "  restored wrongly", c->wrong, c->cut);
	put_count(b, "frames inferred", c->inferred, c->inferred);
	put_count(b, "  wrong locations", c->wrong_frames, c->inferred);
	put_count(b, "  wrong routines", c->wrong_routines, c->inferred);
	text_printf(b, "aligned in %.0f ms\n", c->align_seconds * 1000);
}

static void put_routines(struct buf *b, const struct align_accuracy *c, size_t rows, unsigned width)
{
	text_put_raw(b, "\ntime in routines and what they call, in % of these samples\n"
			"   truth  aligned    error  routine\n");
	for (size_t i = 0; i < rows && i < c->n_routines; i++) {
		const struct align_accuracy_routine *routine = &c->routines[i];
		double truth = compare_percent(routine->truth, c->samples);
		double aligned = compare_percent(routine->aligned, c->samples);
		struct buf row = {0};

		text_printf(&row, "%7.2f%% %7.2f%% %+8.2f  ", truth, aligned, aligned - truth);
		text_put(&row, routine->symbol->name, NULL);
		text_cut(&row, width);
		buf_put(b, row.data, row.len);
		text_put_raw(b, "\n");
		buf_free(&row);
	}
}

int align_accuracy_write_text(const struct align_accuracy *c, struct profile *profile,
			      const struct report_options *options, size_t routines, FILE *out)
{
	struct buf b = {0};
	int err = report_header_text(profile, options, out);

	put_counts(&b, c);
	put_routines(&b, c, routines, options->width);
	return text_end(&b, out, err);
}

static void json_counts(struct json *j, const struct align_accuracy *c)
{
	const struct align_accuracy_options *o = &c->options;

	json_put_uint(j, "depth", o->frames - 1);
	json_put_uint(j, "cut_percent", o->percent);
	json_put_bool(j, "anchors", o->percent == 100 && !o->no_anchors);
	json_put_bool(j, "heights", !o->no_heights);
	json_put_uint(j, "compared", c->samples);
	json_put_uint(j, "whole", c->complete);
	json_put_uint(j, "cut", c->cut);
	json_put_uint(j, "aligned", c->aligned);
	json_put_uint(j, "restored", c->right);
	json_put_uint(j, "restored_wrongly", c->wrong);
	json_put_uint(j, "inferred_frames", c->inferred);
	json_put_uint(j, "wrong_frames", c->wrong_frames);
	json_put_uint(j, "wrong_routines", c->wrong_routines);
	json_put_fixed(j, "align_seconds", c->align_seconds, 6);
}

int align_accuracy_write_json(const struct align_accuracy *c, struct profile *profile, FILE *out)
{
	struct json j = {.out = out};

	report_header_begin_json(profile, &j);
	json_counts(&j, c);
	json_put_array(&j, "routines");
	for (size_t i = 0; i < c->n_routines; i++) {
		const struct align_accuracy_routine *routine = &c->routines[i];

		json_put_line(&j);
		json_put_object(&j, NULL);
		json_put_string(&j, "name", routine->symbol->name);
		json_put_string(&j, "object", routine->symbol->object);
		json_put_uint(&j, "truth", routine->truth);
		json_put_uint(&j, "aligned", routine->aligned);
		json_put_uint(&j, "self", routine->self);
		json_put_end(&j);
	}
	return json_put_finish(&j, 0);
}
