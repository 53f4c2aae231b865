/* SPDX-License-Identifier: MIT */
/* Draws heaps; see heap_svg.h. Each process has a row, scaled to its own peak. */
#include "report/heap_svg.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "report/svg.h"

#define WIDTH 1000.0
/* height of a row; the name of the next row is in its last GAP pixels */
#define ROW	  120.0
#define GAP	  30.0
#define TOP	  60.0
#define MARGIN	  20.0
#define MOST_ROWS 20

struct heap_svg {
	const struct heap *heap;
	const struct store_tables *tables;
	struct buf b;
};

static int by_peak(const void *x, const void *y, void *arg)
{
	const struct heap_process *processes = arg;
	const uint64_t a = processes[*(const uint32_t *)x].peak;
	const uint64_t b = processes[*(const uint32_t *)y].peak;

	return a < b ? 1 : a > b ? -1 : 0;
}

/* Draws the area under the curve of a process, with its lower edge at y. */
static void put_area(struct heap_svg *s, const struct heap_process *p, double y)
{
	const double step = (WIDTH - 2 * MARGIN) / (double)s->heap->n_bins;
	const double most = (double)heap_process_most(p, s->heap->n_bins);

	text_printf(&s->b, "<path fill=\"#e08040\" d=\"M%.1f %.1f", MARGIN, y);
	for (size_t i = 0; i < s->heap->n_bins; i++) {
		const double x = MARGIN + step * (double)i;
		const double height = (ROW - GAP) * (double)p->bins[i] / most;

		text_printf(&s->b, "L%.1f %.1fL%.1f %.1f", x, y - height, x + step, y - height);
	}
	text_printf(&s->b, "L%.1f %.1fZ\"/>\n", WIDTH - MARGIN, y);
}

static void put_row(struct heap_svg *s, uint32_t number, double y)
{
	const struct heap_process *p = &s->heap->processes[number];
	const struct store_process *process = &s->tables->processes[number];
	const uint64_t start = s->tables->recording.start_ns;
	char amount[METRIC_AMOUNT_MAX];
	struct buf text = {0};

	text_printf(&s->b, "<text class=\"h\" x=\"%.1f\" y=\"%.1f\">", MARGIN, y - ROW + GAP - 6);
	text_printf(&text, "process %d ", process->pid);
	text_put(&text, process->comm ? process->comm : "?", "");
	text_printf(&text, ": peak %s at %.3f s", metric_amount(METRIC_HEAP_PEAK, p->peak, amount),
		    p->peak_ns > start ? (double)(p->peak_ns - start) / 1e9 : 0);
	svg_put_buf(&s->b, &text);
	text_put_raw(&s->b, "</text>\n");
	put_area(s, p, y);
}

static void put_scale(struct heap_svg *s, double height)
{
	const struct store_recording *recording = &s->tables->recording;
	const double seconds = (double)(recording->end_ns - recording->start_ns) / 1e9;

	for (int i = 0; i <= 10; i++) {
		const double x = MARGIN + (WIDTH - 2 * MARGIN) * i / 10;

		text_printf(
			&s->b,
			"<line class=\"l\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/>"
			"<text class=\"g\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"%s\">%.3f s</text>\n",
			x, x, TOP - 16, height - MARGIN, x, TOP - 20,
			i == 0	  ? "start"
			: i == 10 ? "end"
				  : "middle",
			seconds * i / 10);
	}
}

int heap_svg_write(const struct heap *heap, const struct profile *profile, FILE *out)
{
	struct heap_svg s = {.heap = heap, .tables = profile_tables(profile)};
	uint32_t *rows = calloc(heap->n_processes + 1, sizeof(*rows));
	size_t n = 0;
	double height;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < heap->n_processes; i++) {
		if (heap->processes[i].peak)
			rows[n++] = i;
	}
	qsort_r(rows, n, sizeof(*rows), by_peak, heap->processes);
	n = n < MOST_ROWS ? n : MOST_ROWS;
	height = TOP + ROW * (double)n + MARGIN;
	svg_begin(&s.b, WIDTH, height);
	text_printf(&s.b, "<text class=\"t\" x=\"%.1f\" y=\"26\">Heap over time</text>\n", MARGIN);
	put_scale(&s, height);
	for (size_t i = 0; i < n; i++)
		put_row(&s, rows[i], TOP + ROW * (double)(i + 1));
	text_put_raw(&s.b, "</svg>\n");
	free(rows);
	return text_end(&s.b, out, 0);
}
