/* SPDX-License-Identifier: MIT */
/* Writes the comparison of an alignment with the truth as text and JSON; see compare.h. */
#include <errno.h>
#include <inttypes.h>

#include "report/compare.h"
#include "report/report_header.h"

static double compare_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void put_count(struct buf *b, const char *what, uint64_t part, uint64_t whole)
{
	text_printf(b, "%-34s %10" PRIu64 "  %7.3f%%\n", what, part, compare_percent(part, whole));
}

static void put_counts(struct buf *b, const struct compare *c)
{
	const struct compare_options *o = &c->options;

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

static void put_routines(struct buf *b, const struct compare *c, size_t rows, unsigned width)
{
	text_put_raw(b, "\ntime in routines and what they call, in % of these samples\n"
			"   truth  aligned    error  routine\n");
	for (size_t i = 0; i < rows && i < c->n_routines; i++) {
		const struct compare_routine *routine = &c->routines[i];
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

static int compare_end(struct buf *b, int err, FILE *out)
{
	return text_end(b, out, err);
}

int compare_write_text(const struct compare *c, struct profile *profile,
		       const struct report_options *options, size_t routines, FILE *out)
{
	struct buf b = {0};
	int err = report_header_text(profile, options, out);

	put_counts(&b, c);
	put_routines(&b, c, routines, options->width);
	return compare_end(&b, err, out);
}

int compare_write_json(const struct compare *c, struct profile *profile, FILE *out)
{
	const struct compare_options *o = &c->options;
	struct buf b = {0};

	text_put_raw(&b, "{\"schema\":1,");
	report_header_json(profile, &b);
	text_printf(&b, ",\"depth\":%u,\"cut_percent\":%u,\"anchors\":%s,\"heights\":%s",
		    o->frames - 1, o->percent,
		    o->percent == 100 && !o->no_anchors ? "true" : "false",
		    o->no_heights ? "false" : "true");
	text_printf(&b, ",\"compared\":%" PRIu64 ",\"whole\":%" PRIu64 ",\"cut\":%" PRIu64,
		    c->samples, c->complete, c->cut);
	text_printf(&b,
		    ",\"aligned\":%" PRIu64 ",\"restored\":%" PRIu64
		    ",\"restored_wrongly\":%" PRIu64,
		    c->aligned, c->right, c->wrong);
	text_printf(&b,
		    ",\"inferred_frames\":%" PRIu64 ",\"wrong_frames\":%" PRIu64
		    ",\"wrong_routines\":%" PRIu64,
		    c->inferred, c->wrong_frames, c->wrong_routines);
	text_printf(&b, ",\"align_seconds\":%.6f,\"routines\":[", c->align_seconds);
	for (size_t i = 0; i < c->n_routines; i++) {
		const struct compare_routine *routine = &c->routines[i];

		text_put_raw(&b, i ? ",\n{\"name\":" : "\n{\"name\":");
		text_put_json(&b, routine->symbol->name);
		text_put_raw(&b, ",\"object\":");
		text_put_json(&b, routine->symbol->object);
		text_printf(&b,
			    ",\"truth\":%" PRIu64 ",\"aligned\":%" PRIu64 ",\"self\":%" PRIu64 "}",
			    routine->truth, routine->aligned, routine->self);
	}
	text_put_raw(&b, "]}\n");
	return compare_end(&b, 0, out);
}
