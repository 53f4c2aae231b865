/* SPDX-License-Identifier: MIT */
/*
 * Writes the chains of wakers; see waker_view.h. The rows of a chain read as a sentence:
 *
 *    share        time     waits
 *   100.0%   60.000 ms       150  [futex]
 *    90.0%   54.000 ms       135    ended by worker: run > unlock
 *    80.0%   48.000 ms       120      which had waited for [sleep]
 *    80.0%   48.000 ms       120        ended by an interrupt
 */
#include "report/waker_view.h"

#include <inttypes.h>

#include "base/text.h"
#include "model/wakers.h"
#include "report/report_header.h"

static const char *const kinds[] = {[WAKER_REASON] = "wait",
				    [WAKER_THREAD] = "thread",
				    [WAKER_INTERRUPT] = "interrupt",
				    [WAKER_UNKNOWN] = "unknown"};

static void put_label(struct buf *b, const struct wakers *w, const struct waker_node *node)
{
	switch (node->kind) {
	case WAKER_REASON:
		text_put_raw(b, node->parent ? "which had waited for " : "");
		break;
	case WAKER_THREAD:
		text_put_raw(b, "ended by ");
		break;
	case WAKER_INTERRUPT:
		text_put_raw(b, "ended by an interrupt");
		return;
	case WAKER_UNKNOWN:
		text_put_raw(b, "not ended yet, or it is not known by whom");
		return;
	}
	text_put(b, strings_at(w->names, node->name), NULL);
}

static int put_row(struct buf *b, const struct wakers *w, const struct waker_node *node,
		   unsigned depth, const struct report_options *options, FILE *out)
{
	char share[TEXT_SHARE_MAX], amount[METRIC_AMOUNT_MAX];

	text_printf(b, "%6s%% %11s %9" PRIu64 "  ",
		    text_share(node->ns, w->nodes.items[0].ns, share),
		    metric_number(METRIC_WAIT_BLOCKED, node->ns, amount), node->waits);
	for (unsigned i = 0; i < depth; i++)
		text_put_raw(b, "  ");
	put_label(b, w, node);
	text_cut(b, options->width);
	text_put_raw(b, "\n");
	return text_flush(b, out);
}

/* Writes the rows of the tree, parents first. A row below the limit is left out, with all rows
 * below it in the tree. Returns 0 or an error. */
static int put_rows(struct buf *b, const struct wakers *w, const struct report_options *options,
		    FILE *out)
{
	const struct waker_node *nodes = w->nodes.items;
	double least = (double)nodes[0].ns * options->percent_limit / 100;
	uint32_t at = nodes[0].first_child;
	unsigned depth = 0;
	int err = 0;

	while (!err && at != WAKERS_NONE) {
		bool is_shown = (double)nodes[at].ns >= least;

		if (is_shown)
			err = put_row(b, w, &nodes[at], depth, options, out);
		if (is_shown && nodes[at].first_child != WAKERS_NONE) {
			at = nodes[at].first_child;
			depth++;
			continue;
		}
		for (; at && nodes[at].next == WAKERS_NONE && nodes[at].parent; depth--)
			at = nodes[at].parent;
		at = nodes[at].next;
	}
	return err;
}

int waker_view_text(struct profile *profile, const struct report_options *options, FILE *out)
{
	struct wakers w;
	struct buf b = {0};
	int err = wakers_make(profile, &w);

	if (!err)
		err = report_header_text(profile, options, out);
	if (!err) {
		text_put_raw(&b, "\n#  share        time     waits  what threads waited for, who "
				 "ended that, and what those had waited for until then\n");
		err = text_flush(&b, out);
	}
	if (!err)
		err = put_rows(&b, &w, options, out);
	wakers_free(&w);
	return text_end(&b, out, err);
}

int waker_view_json(struct profile *profile, FILE *out)
{
	struct wakers w;
	struct json j = {.out = out};
	int err = wakers_make(profile, &w);

	report_header_begin_json(profile, &j);
	json_put_string(&j, "view", "wakers");
	json_put_array(&j, "nodes");
	for (size_t i = 1; !err && !j.err && i < w.nodes.count; i++) {
		const struct waker_node *node = &w.nodes.items[i];

		json_put_line(&j);
		json_put_object(&j, NULL);
		json_put_int(&j, "parent", (int64_t)node->parent - 1);
		json_put_string(&j, "kind", kinds[node->kind]);
		json_put_string(&j, "name", strings_at(w.names, node->name));
		json_put_uint(&j, "ns", node->ns);
		json_put_uint(&j, "waits", node->waits);
		json_put_end(&j);
	}
	wakers_free(&w);
	return json_put_finish(&j, err);
}
