/* SPDX-License-Identifier: MIT */
/*
 * Partial paths of a recording: completed from the samples around them, shown as inferred, left out
 * on request; and paths that must not be completed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_store.h"
#include "model/profile.h"

struct world {
	struct store_reader *f;
	uint32_t start, in_main, work, loop, leaf, kernel; /* locations */
	uint32_t thread, other;
	uint32_t complete, cut, deep; /* nodes */
	uint64_t time;
};

static struct world world_new(void)
{
	struct world w = {.f = fake_new(), .time = 1000000000};
	struct recording *r = &w.f->made;
	uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog"), process;
	uint32_t vmlinux = add_object(r, OBJECT_KERNEL, "[kernel.kallsyms]");

	w.start = add_function(r, prog, 0x1020, true, "_start");
	w.in_main = add_function(r, prog, 0x1110, true, "main");
	w.work = add_function(r, prog, 0x1210, true, "work");
	w.loop = add_function(r, prog, 0x1310, true, "loop");
	w.leaf = add_function(r, prog, 0x1410, false, "leaf");
	w.kernel = add_function(r, vmlinux, 0x10, false, "do_fault");
	process = add_process(r, 12, "prog");
	w.thread = add_thread(r, process, 12, "prog");
	w.other = add_thread(r, add_process(r, 13, "else"), 13, "else");
	r->processes[1].exe = "/bin/else";
	w.complete = add_node(r, add_node(r, add_node(r, 0, w.start), w.in_main), w.work);
	w.complete = add_node(r, add_node(r, w.complete, w.loop), w.leaf);
	w.cut = add_node(r, add_node(r, 0, w.loop), w.leaf);
	return w;
}

static void sample(struct world *w, uint32_t thread, uint32_t node, uint8_t reason)
{
	struct recording *r = &w->f->made;

	add_samples(r, thread, node, reason, 1);
	r->samples[r->n_samples - 1].time_ns = w->time += 1000000;
}

static struct profile *profile_of(struct world *w, const struct profile_filter *filter)
{
	struct profile *p;

	fake_refresh(w->f);
	assert_int_equal(profile_new(w->f, filter, &p), 0);
	return p;
}

static void test_completes(void **state)
{
	static const struct profile_filter observed = {.no_reconstructed = true};
	struct world w = world_new();
	const struct profile_frame *frames;
	const struct profile_entry *entries;
	struct profile *p;
	size_t n, n_entries;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		sample(&w, w.thread, w.complete, STACKD_END_ENTRY);
		sample(&w, w.thread, w.cut, STACKD_END_SEGMENT);
	}
	sample(&w, w.thread, w.complete, STACKD_END_ENTRY);
	p = profile_of(&w, NULL);
	assert_int_equal(profile_totals(p)->complete, 21);
	assert_int_equal(profile_totals(p)->reconstructed, 20);
	assert_int_equal(profile_totals(p)->partial, 0);
	entries = profile_entries(p, &n_entries);
	for (size_t i = 0; i < n_entries; i++) {
		assert_int_equal(entries[i].node, w.complete); /* no second node of that path */
		frames = profile_frames(p, entries[i].node, entries[i].end_reason,
					entries[i].origin, &n);
		assert_int_equal(n, 5);
		assert_string_equal(frames[0].symbol->name, "_start");
		assert_string_equal(frames[2].symbol->name, "work");
		assert_false(frames[3].is_inferred);
		if (entries[i].quality != PROFILE_RECONSTRUCTED)
			continue;
		assert_true(frames[0].is_inferred && frames[2].is_inferred);
		assert_int_equal(frames[2].source, FRAME_SOURCE_ALIGNED);
		assert_true(frames[2].confidence >= 90);
	}
	profile_free(p);
	p = profile_of(&w, &observed);
	assert_int_equal(profile_totals(p)->reconstructed, 0);
	assert_int_equal(profile_totals(p)->partial, 20);
	profile_free(p);
	fake_free(w.f);
}

/* A completed path keeps the sources of the sample's own frames. */
static void test_own_sources(void **state)
{
	static const struct origin_run runs[] = {{2, FRAME_SOURCE_BRANCH, 90}};
	struct world w = world_new();
	uint32_t origin = add_origin(&w.f->made, runs, 1, false);
	const struct profile_entry *entries;
	const struct profile_frame *frames;
	struct profile *p;
	size_t n, n_entries, n_completed = 0;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		sample(&w, w.thread, w.complete, STACKD_END_ENTRY);
		sample(&w, w.thread, w.cut, STACKD_END_STACK_CUT);
		w.f->made.samples[w.f->made.n_samples - 1].origin = origin;
	}
	sample(&w, w.thread, w.complete, STACKD_END_ENTRY);
	p = profile_of(&w, NULL);
	entries = profile_entries(p, &n_entries);
	for (size_t i = 0; i < n_entries; i++) {
		if (entries[i].quality != PROFILE_RECONSTRUCTED)
			continue;
		frames = profile_frames(p, entries[i].node, entries[i].end_reason,
					entries[i].origin, &n);
		assert_int_equal(n, 5);
		assert_int_equal(frames[2].source, FRAME_SOURCE_ALIGNED);
		assert_int_equal(frames[3].source, FRAME_SOURCE_BRANCH);
		assert_int_equal(frames[3].confidence, 90);
		assert_int_equal(frames[4].source, FRAME_SOURCE_BRANCH);
		n_completed++;
	}
	assert_true(n_completed > 0);
	profile_free(p);
	fake_free(w.f);
}

/* A thread of another program is no evidence, and a kernel stack is never completed. */
static void test_other_threads_are_not_completed(void **state)
{
	struct world w = world_new();
	uint32_t kernel = add_node(&w.f->made, 0, w.kernel);
	struct profile *p;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		sample(&w, w.thread, w.complete, STACKD_END_ENTRY);
		sample(&w, w.other, w.cut, STACKD_END_SEGMENT);
		sample(&w, w.thread, kernel, STACKD_END_NO_MAPPING);
		sample(&w, w.thread, 0, STACKD_END_NO_MAPPING);
	}
	p = profile_of(&w, NULL);
	assert_int_equal(profile_totals(p)->complete, 20);
	assert_int_equal(profile_totals(p)->reconstructed, 0);
	assert_int_equal(profile_totals(p)->partial, 60);
	profile_free(p);
	fake_free(w.f);
}

/* Without heights, the level of a recursion is unknown: that the routine was called by main before
 * and after is no evidence for the time between. */
static void test_recursion(void **state)
{
	struct world w = world_new();
	uint32_t cut = add_node(
		&w.f->made, add_node(&w.f->made, add_node(&w.f->made, 0, w.work), w.loop), w.leaf);
	uint32_t node = add_node(&w.f->made, add_node(&w.f->made, 0, w.start), w.in_main);
	struct profile *p;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		node = add_node(&w.f->made, add_node(&w.f->made, node, w.work), w.loop);
	node = add_node(&w.f->made, node, w.leaf);
	for (unsigned i = 0; i < 20; i++) {
		sample(&w, w.thread, w.complete, STACKD_END_ENTRY);
		sample(&w, w.thread, cut, STACKD_END_SEGMENT);
	}
	sample(&w, w.thread, w.complete, STACKD_END_ENTRY);
	p = profile_of(&w, NULL);
	assert_int_equal(profile_totals(p)->reconstructed, 20);
	profile_free(p);
	for (unsigned i = 0; i < 5; i++)
		sample(&w, w.thread, node, STACKD_END_ENTRY);
	p = profile_of(&w, NULL);
	assert_int_equal(profile_totals(p)->reconstructed, 0);
	assert_int_equal(profile_totals(p)->partial, 20);
	profile_free(p);
	fake_free(w.f);
}

/* One sample; all partial; and samples at one moment. */
static void test_few_samples(void **state)
{
	struct world w = world_new();
	struct profile *p;

	(void)state;
	sample(&w, w.thread, w.cut, STACKD_END_SEGMENT);
	p = profile_of(&w, NULL);
	assert_int_equal(profile_totals(p)->partial, 1);
	profile_free(p);
	for (unsigned i = 0; i < 30; i++) {
		sample(&w, w.thread, w.cut, STACKD_END_STACK_CUT);
		w.f->made.samples[w.f->made.n_samples - 1].time_ns = 5;
	}
	p = profile_of(&w, NULL);
	assert_int_equal(profile_totals(p)->partial, 31);
	profile_free(p);
	fake_free(w.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_completes),
		cmocka_unit_test(test_own_sources),
		cmocka_unit_test(test_other_threads_are_not_completed),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_few_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
