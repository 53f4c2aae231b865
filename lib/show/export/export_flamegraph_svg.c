/* SPDX-License-Identifier: MIT */
/*
 * A flame graph as an SVG picture: the tree of flame.h, drawn as a page would show it: the root on
 * top, and the child with most samples on the left. Each object has a hue; kernel code is blue,
 * reconstructed frames are hatched, the reasons of blocked waits are violet, and runnable time is
 * green. Pointing at a frame shows its whole name and its share.
 */
#include "export/export_flamegraph_svg.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "export/flame.h"
#include "report/report_header.h"
#include "report/svg.h"

#define FLAME_SVG_WIDTH	 1200.0
#define FLAME_SVG_MARGIN 10.0
#define FLAME_SVG_ROW	 18.0
#define FLAME_SVG_TOP	 56.0 /* height above the frames, for the title and the quality */
#define FLAME_SVG_LEAST	 0.5  /* pixels: narrower frames are left out */
#define FLAME_SVG_BYTES	 250  /* estimated bytes of one frame in the file */

struct flame_svg {
	const struct flamegraph_options *options;
	enum metric metric;
	struct flame *flame;
	const struct flame_node *nodes;
	const struct flame_symbol *symbols;
	uint64_t *left; /* by node: the samples of everything to the left of it */
	uint32_t rows;
	struct buf b;
	FILE *out;
};

/* Returns a hash of a text as a number from 0 to 1 (FNV-1a). */
static double flame_svg_tone(const char *text)
{
	uint32_t hash = 2166136261u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	return hash / 4294967296.0;
}

/* Returns a frame's symbol; node 0, the root, has one of its own. */
static const struct flame_symbol *flame_svg_symbol(const struct flame_svg *s, uint32_t at)
{
	static const struct flame_symbol all = {.name = "all", .object = "", .kind = FLAME_PART};

	return at ? &s->symbols[s->nodes[at].symbol] : &all;
}

static void flame_svg_color(struct flame_svg *s, const struct flame_symbol *symbol, bool is_inlined)
{
	double tone = flame_svg_tone(symbol->name), hue = 220, strength = 8, light = 80;

	if (symbol->kind == FLAME_WAIT || symbol->kind == FLAME_READY) {
		text_put_raw(&s->b, symbol->kind == FLAME_READY ? SVG_RUNNABLE : SVG_BLOCKED);
		return;
	}
	if (symbol->kind == FLAME_MARK) {
		strength = 6;
		light = 70;
	} else if (symbol->kind == FLAME_KERNEL) {
		hue = 195 + 25 * tone;
		strength = 48;
		light = 70;
	} else if (symbol->kind == FLAME_MANAGED) {
		hue = 66 + 24 * flame_svg_tone(symbol->object);
		strength = 58;
		light = 66 + 6 * (tone - 0.5);
	} else if (symbol->kind == FLAME_USER) {
		hue = 6 + 48 * flame_svg_tone(symbol->object);
		strength = 78;
		light = (is_inlined ? 80 : 70) + 6 * (tone - 0.5);
	}
	text_printf(&s->b, "hsl(%.0f,%.0f%%,%.0f%%)", hue, strength, light);
}

/* Writes as much of a function's name as fits into its box. */
static void flame_svg_label(struct flame_svg *s, const char *name, double x, double y, double width)
{
	unsigned columns = width > 8 ? (unsigned)((width - 6) / SVG_CHARACTER) : 0;
	struct buf label = {0};

	if (columns < 3)
		return;
	text_put_raw(&label, name);
	text_cut(&label, columns);
	text_printf(&s->b, "<text x=\"%.1f\" y=\"%.1f\" pointer-events=\"none\">", x + 3, y + 13);
	svg_put_buf(&s->b, &label);
	text_put_raw(&s->b, "</text>");
}

static void flame_svg_rect(struct flame_svg *s, double x, double y, double width)
{
	text_printf(&s->b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" ", x, y,
		    width, FLAME_SVG_ROW - 1);
}

static int flame_svg_frame(struct flame_svg *s, uint32_t at, uint32_t depth)
{
	const struct flame_node *node = &s->nodes[at];
	const struct flame_symbol *symbol = flame_svg_symbol(s, at);
	double scale = (FLAME_SVG_WIDTH - 2 * FLAME_SVG_MARGIN) / (double)s->nodes[0].total[0];
	double x = FLAME_SVG_MARGIN + (double)s->left[at] * scale;
	double width = (double)node->total[0] * scale;
	double row = s->options->is_flame ? s->rows - 1 - depth : depth;
	double y = FLAME_SVG_TOP + row * FLAME_SVG_ROW;
	char share[TEXT_SHARE_MAX], amount[METRIC_AMOUNT_MAX];

	text_put_raw(&s->b, "<g><title>");
	svg_put(&s->b, symbol->name);
	if (*symbol->object) {
		text_put_raw(&s->b, "  [");
		svg_put(&s->b, symbol->object);
		text_put_raw(&s->b, "]");
	}
	text_printf(&s->b, "\n%s, %s%%</title>", metric_amount(s->metric, node->total[0], amount),
		    text_share(node->total[0], s->nodes[0].total[0], share));
	flame_svg_rect(s, x, y, width);
	text_put_raw(&s->b, "class=\"r\" fill=\"");
	flame_svg_color(s, symbol, node->is_inlined);
	text_put_raw(&s->b, "\"/>");
	if (node->inferred) {
		double part = (double)node->inferred * scale;

		flame_svg_rect(s, x + width - part, y, part);
		text_put_raw(&s->b, "fill=\"url(#i)\" pointer-events=\"none\"/>");
	}
	flame_svg_label(s, symbol->name, x, y, width);
	text_put_raw(&s->b, "</g>\n");
	return text_flush(&s->b, s->out);
}

/* Calls `each` for every node with the node's depth, callers before callees. A negative result of
 * `each` ends the calls and is returned. */
static int flame_svg_visit(struct flame_svg *s,
			   int (*each)(struct flame_svg *s, uint32_t at, uint32_t depth))
{
	uint32_t at = 0, depth = 0;

	for (;;) {
		int err = each(s, at, depth);

		if (err < 0)
			return err;
		if (s->nodes[at].first_child != FLAME_NONE) {
			at = s->nodes[at].first_child;
			depth++;
			continue;
		}
		for (; at && s->nodes[at].next == FLAME_NONE; depth--)
			at = s->nodes[at].parent;
		if (!at)
			return 0;
		at = s->nodes[at].next;
	}
}

/* Lays the children of a box out side by side. */
static int flame_svg_lay_out(struct flame_svg *s, uint32_t at, uint32_t depth)
{
	uint64_t left = s->left[at];

	for (uint32_t child = s->nodes[at].first_child; child != FLAME_NONE;
	     child = s->nodes[child].next) {
		s->left[child] = left;
		left += s->nodes[child].total[0];
	}
	if (depth >= s->rows)
		s->rows = depth + 1;
	return 0;
}

/* Returns how many samples a frame must have to be drawn. */
static double flame_svg_least(const struct flame_svg *s, uint32_t n)
{
	double whole = (double)s->nodes[0].total[0];
	double least = fmax(whole * FLAME_SVG_LEAST / FLAME_SVG_WIDTH,
			    whole * s->options->percent_limit / 100);

	for (size_t room = s->options->max_bytes / FLAME_SVG_BYTES; room; least *= 1.25) {
		size_t frames = 0;

		for (uint32_t i = 0; i < n; i++)
			frames += (double)s->nodes[i].total[0] >= least;
		if (frames <= room)
			break;
	}
	return ceil(least);
}

static void flame_svg_head(struct flame_svg *s, struct profile *profile)
{
	const struct store_recording *recording = &profile_tables(profile)->recording;
	struct buf title = {0}, facts = {0};
	char amount[METRIC_AMOUNT_MAX];

	svg_begin(&s->b, FLAME_SVG_WIDTH,
		  FLAME_SVG_TOP + s->rows * FLAME_SVG_ROW + FLAME_SVG_MARGIN);
	text_printf(&s->b, "<text class=\"t\" x=\"%.0f\" y=\"22\">", FLAME_SVG_MARGIN);
	text_put(&title, recording->target ? recording->target : "", NULL);
	svg_put_buf(&s->b, &title);
	text_printf(&s->b, "</text>\n<text class=\"g\" x=\"%.0f\" y=\"42\">", FLAME_SVG_MARGIN);
	text_printf(&facts, "%s of ",
		    metric_amount(profile_filter(profile)->metric, profile_total(profile), amount));
	report_header_event(recording, &facts);
	text_printf(&facts, ", %" PRIu64 " lost; ", recording->lost);
	report_header_quality(profile, &facts);
	if (metric_is_of_regions(profile_filter(profile)->metric))
		report_header_off(profile, "; ", &facts);
	svg_put_buf(&s->b, &facts);
	text_put_raw(&s->b, "</text>\n");
}

static int flame_svg_write(struct flame_svg *s, struct profile *profile)
{
	uint32_t n, n_symbols;
	int err = flame_new(1, &s->flame);

	s->metric = profile_filter(profile)->metric;

	if (err == 0)
		err = flame_add(s->flame, profile, s->options->by, 0);
	if (err < 0)
		return err;
	s->nodes = flame_nodes(s->flame, &n);
	s->symbols = flame_symbols(s->flame, &n_symbols);
	s->left = calloc(n, sizeof(*s->left));
	if (!s->left || flame_cut(s->flame, flame_svg_least(s, n)) < 0)
		return -ENOMEM;
	flame_svg_visit(s, flame_svg_lay_out);
	flame_svg_head(s, profile);
	err = flame_svg_visit(s, flame_svg_frame);
	text_put_raw(&s->b, "</svg>\n");
	return err < 0 ? err : text_flush(&s->b, s->out);
}

int export_flamegraph_svg(struct profile *profile, const struct flamegraph_options *options,
			  FILE *out)
{
	struct flame_svg s = {.options = options, .out = out};
	int err = flame_svg_write(&s, profile);

	if (err == 0 && fflush(out) != 0)
		err = -EIO;
	flame_free(s.flame);
	free(s.left);
	buf_free(&s.b);
	return err;
}
