/* SPDX-License-Identifier: MIT */
/* Tells what to record to see more; see hints.h. The limits were chosen by hand. */
#include "report/hints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/frame_kind.h"
#include "report/report_header.h"
#include "stack/metric.h"
#include "sym/package.h"

#define MOST_HINTS    2
#define LEAST_SAMPLES 100
#define LEAST_NS      UINT64_C(1000000000)
#define MOSTLY_IDLE   0.4  /* share of one CPU's time, below which a target mostly waits */
#define MANY_UNNAMED  0.05 /* share of samples */
#define INTERPRETER   0.10
#define WITHOUT_NAMES 0.20 /* share of samples in one file */

struct hints {
	struct profile *profile;
	struct buf *b;
	unsigned n;
};

static void hint(struct hints *h, const char *text)
{
	if (h->n++ < MOST_HINTS)
		text_printf(h->b, "# hint: %s\n", text);
}

/* What the samples' leaves are; amounts. */
struct leaves {
	uint64_t all, unnamed_jit, python;
	uint64_t *unnamed; /* by object: in its functions without names */
};

static bool is_unnamed(const struct profile_frame *frame)
{
	return frame_kind_of(frame) == FRAME_NATIVE && frame->symbol->is_unnamed &&
	       frame->location != UINT32_MAX;
}

/* Counts; the caller frees ret_leaves->unnamed. Returns 0 or -ENOMEM. */
static int count_leaves(struct profile *p, struct leaves *ret_leaves)
{
	const struct store_tables *t = profile_tables(p);
	size_t n;
	const struct profile_entry *entries = profile_entries(p, &n);
	struct leaves leaves = {.unnamed = calloc((size_t)t->n_objects + 1, sizeof(uint64_t))};

	*ret_leaves = leaves;
	if (!leaves.unnamed)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const uint64_t amount = profile_entry_amount(&entries[i]);
		const struct profile_frame *frames;
		size_t count;

		leaves.all += amount;
		if (!entries[i].node)
			continue;
		frames = profile_location_frames(p, t->nodes[entries[i].node].location, &count);
		if (!frames)
			return -ENOMEM;
		if (!count)
			continue;
		if (frame_kind_of(&frames[count - 1]) == FRAME_JIT &&
		    frames[count - 1].symbol->is_unnamed)
			leaves.unnamed_jit += amount;
		else if (!strcmp(frames[0].symbol->name, "_PyEval_EvalFrameDefault"))
			leaves.python += amount;
		else if (is_unnamed(&frames[count - 1]))
			leaves.unnamed[t->locations[frames[count - 1].location].object] += amount;
	}
	*ret_leaves = leaves;
	return 0;
}

static bool has_managed(const struct store_tables *t)
{
	for (uint32_t i = 0; i < t->n_objects; i++)
		if (frame_kind_is_managed(frame_kind_of_object(&t->objects[i])))
			return true;
	return false;
}

/* Tells that a recording of some processes has little CPU time, and no waits. */
static void hint_waits(struct hints *h, uint64_t series)
{
	const struct store_recording *r = &profile_tables(h->profile)->recording;
	const uint64_t ns = r->end_ns > r->start_ns ? r->end_ns - r->start_ns : 0;
	uint64_t cpu;
	char text[160];

	if (ns < LEAST_NS || series >> SERIES_WAIT_BLOCKED & 1 || !strcmp(r->target, "all") ||
	    !strncmp(r->target, "import ", 7) ||
	    !report_header_counter(profile_tables(h->profile), "cpu_ns", &cpu) ||
	    (double)cpu >= MOSTLY_IDLE * (double)ns)
		return;
	snprintf(text, sizeof(text),
		 "the target used %.0f%% of one CPU: 'stackd --wait' records where it waited",
		 100 * (double)cpu / (double)ns);
	hint(h, text);
}

/* Tells why there are no functions of Python. */
static void hint_python(struct hints *h)
{
	uint64_t unread;

	if (report_header_counter(profile_tables(h->profile), "interpreters_unread", &unread) &&
	    unread)
		hint(h, "stackd does not read the functions of this version or build of Python: "
			"see docs/PYTHON.md");
	else
		hint(h, "'stackd' without --no-managed records the functions of Python");
}

void hints_put_package(const struct store_object *object, struct buf *text)
{
	char *name =
		package_of(PACKAGE_LISTS, object->path, object->build_id, object->build_id_len);

	if (!name)
		text_put_raw(text, "its debug symbols (-dbgsym, -debuginfo)");
	else if (!strcmp(name, "libc6"))
		text_put_raw(text, "libc6-dbg");
	else
		text_printf(text, "%s-dbgsym", name);
	free(name);
}

/* Tells which file has most of the samples without names. */
static void hint_names(struct hints *h, const struct leaves *leaves)
{
	const struct store_tables *t = profile_tables(h->profile);
	const char *servers = getenv("DEBUGINFOD_URLS");
	uint32_t most = 0;
	struct buf text = {0};

	for (uint32_t i = 1; i < t->n_objects; i++)
		if (leaves->unnamed[i] > leaves->unnamed[most])
			most = i;
	if (!t->n_objects || !t->objects[most].path ||
	    (double)leaves->unnamed[most] <= WITHOUT_NAMES * (double)leaves->all)
		return;
	text_put(&text, text_basename(t->objects[most].path), NULL);
	text_put_raw(&text, " has no names for its functions: install ");
	hints_put_package(&t->objects[most], &text);
	if (!servers || !*servers)
		text_put_raw(&text, ", or set DEBUGINFOD_URLS");
	buf_put_u8(&text, '\0');
	if (!text.failed)
		hint(h, (const char *)text.data);
	buf_free(&text);
}

int hints_put(struct profile *profile, struct buf *b)
{
	struct hints h = {.profile = profile, .b = b};
	struct leaves leaves;
	uint64_t series;
	int err;

	if (profile_filter(profile)->metric != METRIC_CPU ||
	    profile_totals(profile)->samples < LEAST_SAMPLES ||
	    store_reader_series(profile_reader(profile), &series) < 0)
		return 0;
	err = count_leaves(profile, &leaves);
	if (err < 0) {
		free(leaves.unnamed);
		return err;
	}
	hint_waits(&h, series);
	if ((double)leaves.unnamed_jit > MANY_UNNAMED * (double)leaves.all)
		hint(&h,
		     "code made at run time has no names: start node with --perf-basic-prof, "
		     "erl with +JPperf true; for Java, jcmd PID Compiler.perfmap before the end");
	if ((double)leaves.python > INTERPRETER * (double)leaves.all &&
	    !has_managed(profile_tables(profile)))
		hint_python(&h);
	hint_names(&h, &leaves);
	free(leaves.unnamed);
	return 0;
}
