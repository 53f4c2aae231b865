/* SPDX-License-Identifier: MIT */
/*
 * The timeline: which runs there are, how they nest, their callers and lines, and the picture.
 *
 *   thread 12   main > adi > rhs ×4, main > adi > solve > cell ×6, main > adi > add ×1,
 *               main > adi > solve ×3, a partial path ×1
 *   thread 13   main ×2
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "fake_store.h"
#include "report/timeline.h"

struct world {
	struct store_reader *f;
	struct profile *p;
	uint64_t time;
};

static void sample(struct world *w, uint32_t thread, uint32_t node, uint8_t reason, unsigned count)
{
	struct recording *r = &w->f->made;

	while (count--) {
		add_samples(r, thread, node, reason, 1);
		r->samples[r->n_samples - 1].time_ns = w->time;
		w->time += 1000000;
	}
}

static struct world world_new(void)
{
	struct world w = {.f = fake_new(), .time = 1000000000};
	struct recording *r = &w.f->made;
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = add_function(r, prog, 0x1110, true, "main");
	uint32_t adi = add_function(r, prog, 0x1210, true, "adi<x & y>");
	uint32_t rhs = add_function(r, prog, 0x1310, false, "rhs");
	uint32_t solve = add_function(r, prog, 0x1410, true, "solve");
	uint32_t solve_here = add_function(r, prog, 0x1420, false, "solve");
	uint32_t cell = add_function(r, prog, 0x1510, false, "cell");
	uint32_t cell_too = add_function(r, prog, 0x1514, false, "cell");
	uint32_t add = add_function(r, prog, 0x1610, false, "add");
	uint32_t lone = add_function(r, prog, 0x1710, false, "lone");
	uint32_t process = add_process(r, 12, "prog");
	uint32_t first = add_thread(r, process, 12, "prog");
	uint32_t second = add_thread(r, process, 13, "pool");
	uint32_t root = add_node(r, 0, in_main), at = add_node(r, root, adi);
	uint32_t in_solve = add_node(r, at, solve), top = add_node(r, root, lone);

	sample(&w, first, add_node(r, at, rhs), STACKD_END_ENTRY, 4);
	sample(&w, first, add_node(r, in_solve, cell), STACKD_END_ENTRY, 2);
	sample(&w, first, add_node(r, in_solve, cell_too), STACKD_END_ENTRY, 4);
	sample(&w, first, add_node(r, at, add), STACKD_END_ENTRY, 1);
	sample(&w, first, add_node(r, at, solve_here), STACKD_END_ENTRY, 3);
	sample(&w, first, add_node(r, 0, lone), STACKD_END_NO_RECIPE, 1);
	sample(&w, second, top, STACKD_END_ENTRY, 2);
	fake_refresh(w.f);
	assert_int_equal(profile_new(w.f, NULL, &w.p), 0);
	return w;
}

static void world_free(struct world *w)
{
	profile_free(w->p);
	fake_free(w->f);
}

static const char *label(const struct timeline_run *run)
{
	static char text[256];
	struct buf b = {0};

	timeline_label(&b, run);
	assert_true(b.len < sizeof(text));
	memcpy(text, b.data, b.len);
	text[b.len] = '\0';
	buf_free(&b);
	return text;
}

static void test_runs(void **state)
{
	const struct timeline_options options = {.samples = 3};
	struct world w = world_new();
	const struct timeline_thread *t;
	struct timeline *c;

	(void)state;
	assert_int_equal(timeline_new(w.p, &options, &c), 0);
	assert_int_equal(c->n_threads, 2);
	t = &c->threads[0];
	assert_int_equal(t->samples, 15);
	assert_int_equal(t->n_runs,
			 4); /* adi is all of main; solve's first run is more than cell */
	assert_string_equal(t->runs[0].symbol->name, "adi<x & y>");
	assert_int_equal(t->runs[0].row, 0);
	assert_int_equal(t->runs[0].samples, 14);
	assert_string_equal(label(&t->runs[1]), "main > adi<x & y> > rhs [prog.cc:13]");
	assert_int_equal(t->runs[1].row, 1);
	assert_int_equal(t->runs[1].start_ns, 0);
	assert_int_equal(t->runs[1].end_ns, 4000000);
	/* cell takes all of its solve, mostly at its second line. */
	assert_string_equal(label(&t->runs[2]), "adi<x & y> > solve > cell [prog.cc:17]");
	assert_int_equal(t->runs[2].samples, 6);
	assert_string_equal(t->runs[3].symbol->name, "solve");
	assert_int_equal(t->runs[3].samples, 3);
	assert_int_equal(t->rows, 2);
	assert_int_equal(c->threads[1].n_runs, 0); /* too short */
	timeline_free(c);
	world_free(&w);
}

static void test_threshold_of_duration(void **state)
{
	const struct timeline_options options = {.duration_ns = 6000000}, none = {0};
	struct world w = world_new();
	struct timeline *c;

	(void)state;
	assert_int_equal(timeline_new(w.p, &options, &c), 0);
	assert_int_equal(c->threads[0].n_runs, 2);
	assert_string_equal(c->threads[0].runs[1].symbol->name, "cell");
	timeline_free(c);
	assert_int_equal(timeline_new(w.p, &none, &c), 0); /* its own: something is left */
	assert_true(c->options.duration_ns > 0 && c->threads[0].n_runs > 0);
	timeline_free(c);
	world_free(&w);
}

static void test_picture(void **state)
{
	const struct timeline_options options = {.samples = 3};
	struct world w = world_new();
	struct timeline *c;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(timeline_new(w.p, &options, &c), 0);
	assert_int_equal(timeline_write_svg(c, w.p, out), 0);
	fclose(out);
	assert_true(strncmp(text, "<svg xmlns=", 11) == 0);
	assert_non_null(strstr(text, "adi&lt;x &amp; y&gt;"));
	assert_null(strstr(text, "adi<x"));
	assert_non_null(strstr(text, "thread 12 prog, 15 samples"));
	assert_null(strstr(text, "thread 13")); /* nothing to show of it */
	assert_non_null(strstr(text, "</svg>\n"));
	free(text);
	timeline_free(c);
	timeline_free(NULL);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_threshold_of_duration),
		cmocka_unit_test(test_picture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
