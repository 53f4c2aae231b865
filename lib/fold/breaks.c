/* SPDX-License-Identifier: MIT */
/* Dynamic programming, from pieces to knots, and the removal of knots. */
#include "fold/breaks.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MIN_MEANS 3 /* of a piece: a line through two leaves nothing to judge it by */

/* Sums over the means before one. */
struct prefix {
	double w, x, y, xx, xy, yy;
};

struct line {
	double slope, level; /* at x = 0 */
	double left;	     /* the sum of squares */
};

struct partition {
	const struct fold_mean *means;
	uint32_t n;
	struct prefix *before; /* n + 1 */
	double *cost;	       /* n + 1: of the best partition of the means before one */
	uint32_t *first;       /* n + 1: where the last piece of that begins */
};

static struct line line_of(const struct partition *p, uint32_t from, uint32_t to)
{
	const struct prefix *a = &p->before[from], *b = &p->before[to];
	double w = b->w - a->w, x = (b->x - a->x) / w, y = (b->y - a->y) / w;
	double xx = b->xx - a->xx - w * x * x, xy = b->xy - a->xy - w * x * y;
	double yy = b->yy - a->yy - w * y * y;
	struct line line = {.slope = xx > 0 ? xy / xx : 0};

	line.level = y - line.slope * x;
	line.left = fmax(0, yy - line.slope * xy);
	return line;
}

static void sum_up(struct partition *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct fold_mean *m = &p->means[i];
		struct prefix sum = p->before[i];

		sum.w += m->w;
		sum.x += m->w * m->x;
		sum.y += m->w * m->y;
		sum.xx += m->w * m->x * m->x;
		sum.xy += m->w * m->x * m->y;
		sum.yy += m->w * m->y * m->y;
		p->before[i + 1] = sum;
	}
}

/* Returns the number of pieces. */
static uint32_t partition(struct partition *p, double penalty)
{
	uint32_t pieces = 0;

	p->cost[0] = -penalty;
	for (uint32_t to = 1; to <= p->n; to++) {
		p->cost[to] = INFINITY;
		for (uint32_t from = 0; from + MIN_MEANS <= to; from++) {
			double cost;

			if (p->cost[from] + penalty >= p->cost[to])
				continue;
			cost = p->cost[from] + penalty + line_of(p, from, to).left;
			if (cost < p->cost[to]) {
				p->cost[to] = cost;
				p->first[to] = from;
			}
		}
	}
	for (uint32_t to = p->n; to > 0; to = p->first[to])
		pieces++;
	return pieces;
}

static int partition_new(struct partition *p)
{
	p->before = calloc(p->n + 1, sizeof(*p->before));
	p->cost = calloc(p->n + 1, sizeof(*p->cost));
	p->first = calloc(p->n + 1, sizeof(*p->first));
	return p->before && p->cost && p->first ? 0 : -ENOMEM;
}

static void partition_free(struct partition *p)
{
	free(p->before);
	free(p->cost);
	free(p->first);
}

/* Puts one knot, or two where the lines do not cross near the border, before knot `at` of those
 * that are there. Returns how many. */
static uint32_t place_knots(const struct partition *p, uint32_t border, const struct line *a,
			    const struct line *b, bool may_jump, double *at)
{
	uint32_t before = border > 2 ? border - 3 : 0;
	uint32_t after = border + 2 < p->n ? border + 2 : p->n - 1;
	double x0 = p->means[border - 1].x, x1 = p->means[border].x;
	double cross = (b->level - a->level) / (a->slope - b->slope);

	if (may_jump && !(cross > p->means[before].x && cross < p->means[after].x)) {
		at[0] = x0 + (x1 - x0) * 0.1;
		at[1] = x0 + (x1 - x0) * 0.9;
		return 2;
	}
	at[0] = cross > x0 && cross < x1 ? cross : (x0 + x1) / 2;
	return 1;
}

static void join(const struct partition *p, uint32_t pieces, struct broken_line *ret)
{
	bool may_jump = 2 * pieces <= FOLD_MAX_KNOTS;
	uint32_t begin[FOLD_MAX_KNOTS];
	uint32_t i = pieces;

	for (uint32_t to = p->n; to > 0; to = p->first[to])
		begin[--i] = p->first[to];
	begin[pieces] = p->n;
	*ret = (struct broken_line){.n = 1};
	for (i = 1; i < pieces; i++) {
		struct line a = line_of(p, begin[i - 1], begin[i]);
		struct line b = line_of(p, begin[i], begin[i + 1]);

		ret->n += place_knots(p, begin[i], &a, &b, may_jump, &ret->at[ret->n]);
	}
	ret->at[ret->n] = ret->value[ret->n] = 1;
	ret->n++;
}

static void remove_knot(const struct broken_line *line, uint32_t k, struct broken_line *ret)
{
	*ret = *line;
	ret->n--;
	memmove(&ret->at[k], &line->at[k + 1], (line->n - k - 1) * sizeof(line->at[0]));
	memmove(&ret->value[k], &line->value[k + 1], (line->n - k - 1) * sizeof(line->value[0]));
}

/* Removes the knot that matters least, if it matters less than the penalty. Returns whether. */
static bool prune(struct broken_line *line, double *left, const struct fold_mean *means, uint32_t n,
		  double penalty, uint32_t max_knots)
{
	struct broken_line without, best;
	double least = INFINITY;

	for (uint32_t k = 1; k + 1 < line->n; k++) {
		double now;

		remove_knot(line, k, &without);
		now = broken_line_solve(&without, means, n);
		if (now < least) {
			least = now;
			best = without;
		}
	}
	if (least == INFINITY)
		return false;
	least = broken_line_refine(&best, means, n, 12);
	if (least > *left + penalty && line->n <= max_knots)
		return false;
	*left = least;
	*line = best;
	return true;
}

int fold_breaks_find(const struct fold_mean *means, uint32_t n, double penalty, uint32_t max_knots,
		     struct broken_line *ret)
{
	struct partition p = {.means = means, .n = n};
	struct broken_line line;
	int err = partition_new(&p);

	if (err == 0) {
		double raised = penalty, left;
		uint32_t pieces;

		sum_up(&p);
		while ((pieces = partition(&p, raised)) + 1 > FOLD_MAX_KNOTS - 1)
			raised *= 1.5;
		join(&p, pieces, &line);
		left = broken_line_refine(&line, means, n, 30);
		while (prune(&line, &left, means, n, penalty, max_knots))
			;
		broken_line_refine(&line, means, n, 30);
		*ret = line;
	}
	partition_free(&p);
	return err;
}
