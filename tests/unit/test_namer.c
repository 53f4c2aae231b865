/* SPDX-License-Identifier: MIT */
/* Names are found beside commits: nobody waits for a finder that hangs, and what it had no time for
 * is counted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/archive/namer.h"

#define MOST_S	  600 /* a call that waits is ended with the test */
#define LOCATIONS 1000
#define DEPTH	  2 /* lines of a location */

/* A finder that gives each location a name; while `hangs`, it gives none, until it is stopped. */
static struct {
	bool hangs, stops, is_asked;
	bool was_stopped;	   /* the last question was ended, and has no answer */
	bool is_cut;		   /* the file's locations have no names, and some a function's
				    * start: a fetch was ended */
	uint64_t price_ns, cpu_ns; /* CPU time of a question; of all so far */
} finder;

static int ask(void *arg, enum naming_question question, const struct object *object,
	       uint64_t number)
{
	(void)arg;
	(void)question;
	(void)object;
	(void)number;
	return 0;
}

static int prefetch(void *arg, const struct object *object, const struct store_location *locations,
		    size_t count)
{
	(void)arg;
	(void)object;
	(void)locations;
	(void)count;
	__atomic_store_n(&finder.is_asked, true, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&finder.cpu_ns, finder.price_ns, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&finder.hangs, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&finder.stops, __ATOMIC_SEQ_CST))
		usleep(1000);
	finder.was_stopped = __atomic_load_n(&finder.stops, __ATOMIC_SEQ_CST);
	return 0;
}

/* Locations of JIT code are queried without a prefetch. */
static int resolve(void *arg, const struct object *object, const struct store_location *location,
		   int (*each)(void *arg, const struct store_line *line), void *each_arg)
{
	struct store_line line = {.location = location->number, .function = "found"};
	const struct store_line start = {.location = location->number, .function_start = 1};
	int err = 0;

	if (object->kind == OBJECT_JIT)
		prefetch(arg, object, location, 1);
	if (finder.is_cut && object->kind == OBJECT_ELF)
		return location->number % 2 ? each(each_arg, &start) : 0;
	for (; !err && !finder.was_stopped && line.depth < DEPTH; line.depth++)
		err = each(each_arg, &line);
	return err;
}

static bool missing(void *arg, const struct object *object, struct buf *text)
{
	(void)arg;
	(void)object;
	(void)text;
	return false;
}

static bool is_unproven(void *arg, const struct object *object)
{
	(void)arg;
	(void)object;
	return false;
}

static bool is_unfetched(void *arg, const struct object *object)
{
	(void)arg;
	return finder.is_cut && object->kind == OBJECT_ELF;
}

static int open_names(struct names *names, struct naming **ret_naming)
{
	const struct naming_finder how = {ask,	       resolve,	     prefetch, missing,
					  is_unproven, is_unfetched, NULL};

	(void)names;
	return naming_new_by(&how, ret_naming);
}

static uint64_t cpu_ns(struct names *names)
{
	(void)names;
	return __atomic_load_n(&finder.cpu_ns, __ATOMIC_SEQ_CST);
}

static void stop(struct names *names, bool stops)
{
	(void)names;
	__atomic_store_n(&finder.stops, stops, __ATOMIC_SEQ_CST);
}

static struct names names = {.open = open_names, .cpu_ns = cpu_ns, .stop = stop};

/* --- a test's namer, and the lines that it has given ---------------------------------------------
 */

static struct namer *namer;
static unsigned n_lines;

static int count_line(void *arg, const struct store_line *line)
{
	(void)arg;
	if (finder.is_cut) {
		assert_null(line->function);
		return 0;
	}
	assert_string_equal(line->function, "found");
	assert_true(line->location < 2 * LOCATIONS);
	assert_int_equal(line->depth, n_lines++ % DEPTH);
	return 0;
}

static int no_missing(void *arg, const struct object *object, const char *name)
{
	(void)arg;
	(void)object;
	(void)name;
	return -EINVAL;
}

static const struct namer_taker taker = {count_line, no_missing, NULL};

static bool at_once(void *arg)
{
	(void)arg;
	return true;
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static struct object file = {.kind = OBJECT_ELF, .file_id = 1, .path = (char *)"file"};
static struct object jit = {.kind = OBJECT_JIT, .file_id = 2, .path = (char *)"[jit]"};
static const struct object *objects[] = {&file, &jit};
static struct store_location locations[2 * LOCATIONS];
static const struct object *located[LOCATIONS]; /* all in `file` */

static void begin(void)
{
	memset(&finder, 0, sizeof(finder));
	n_lines = 0;
	assert_int_equal(namer_new(&names, &namer), 0);
}

/* Adds a batch, which returns whatever the finder does. */
static void add(size_t first, bool with_object)
{
	const struct batch batch = {.objects = objects,
				    .n_objects = with_object,
				    .locations = &locations[first],
				    .located = located,
				    .n_locations = LOCATIONS};

	for (size_t i = first; i < first + LOCATIONS; i++) {
		locations[i] = (struct store_location){.number = (uint32_t)i, .offset = i};
		located[i - first] = &file;
	}
	assert_int_equal(namer_add(namer, &batch, NULL), 0);
}

static void await_question(void)
{
	while (!__atomic_load_n(&finder.is_asked, __ATOMIC_SEQ_CST))
		usleep(1000);
	__atomic_store_n(&finder.is_asked, false, __ATOMIC_SEQ_CST);
}

/* Ends a recording, in which so many locations have got names. Returns how many have none. */
static uint64_t finish(bool (*is_over)(void *arg), unsigned n_named)
{
	uint64_t left = UINT64_MAX;

	assert_int_equal(namer_finish(namer, is_over, NULL, &taker, &left), 0);
	assert_int_equal(n_lines, n_named * DEPTH);
	n_lines = 0;
	return left;
}

/* In a further recording, all are named. */
static void check_all_named(void)
{
	add(0, true);
	assert_int_equal(finish(never, LOCATIONS), 0);
}

/* --- the tests -------------------------------------------------------------------------------- */

static void test_all_names(void **state)
{
	(void)state;
	begin();
	for (unsigned window = 0; window < 2; window++) { /* each begins anew with the objects */
		add(0, true);
		add(LOCATIONS, false);
		assert_int_equal(namer_take(namer, &taker), 0);
		assert_int_equal(finish(never, 2 * LOCATIONS), 0);
		assert_false(object_awaits_names(&file));
	}
	add(0, true);
	namer_free(namer);
	assert_false(object_awaits_names(&file));
}

static void test_hanging_finder(void **state)
{
	uint64_t left;
	(void)state;

	begin();
	finder.hangs = true;
	add(0, true);
	await_question();
	for (unsigned i = 0; i < 3; i++) { /* commits go on */
		add(LOCATIONS, false);
		assert_int_equal(namer_take(namer, &taker), 0);
	}
	assert_int_equal(n_lines, 0);
	left = finish(at_once, 0);
	assert_in_range(left, 1, 4 * LOCATIONS - 1);
	assert_false(finder.stops);
	finder.hangs = false;
	check_all_named();
	finder.hangs = true;
	add(0, true);
	assert_true(object_awaits_names(&file));
	namer_free(namer);
	assert_false(object_awaits_names(&file));
	assert_false(names.is_lost);
}

/* What is handed over while the thread is busy with a batch belongs to the recording that ends
 * then, not to the next one. */
static void test_input_before_the_end(void **state)
{
	const struct store_location in_jit = {.object = 1};
	const struct batch busy = {.objects = objects,
				   .n_objects = 2,
				   .locations = (void *)&in_jit,
				   .located = &objects[1],
				   .n_locations = 1};
	uint64_t left;
	(void)state;

	begin();
	finder.hangs = true;
	assert_int_equal(namer_add(namer, &busy, NULL), 0);
	await_question();
	add(LOCATIONS, false);
	assert_int_equal(namer_finish(namer, at_once, NULL, &taker, &left), 0);
	assert_in_range(left, LOCATIONS - NAMING_PREFETCH, LOCATIONS);
	finder.hangs = false;
	n_lines = 0;
	check_all_named();
	namer_free(namer);
}

/* Once their share of CPU time is used up, names are found no more, also at the end of a
 * recording; without a limit all are. */
static void test_share(void **state)
{
	(void)state;
	begin();
	finder.price_ns = UINT64_C(2000000000);
	namer_set_share(namer, 1e-9, true);
	add(0, true);
	/* half a second was saved */
	assert_int_equal(finish(never, NAMING_PREFETCH), LOCATIONS - NAMING_PREFETCH);
	namer_set_share(namer, 0, true);
	check_all_named();
	namer_free(namer);
}

/* What has no name since a fetch of a debug file was ended is counted. */
static void test_ended_fetch(void **state)
{
	(void)state;
	begin();
	finder.is_cut = true;
	add(0, true);
	assert_int_equal(finish(never, 0), LOCATIONS);
	finder.is_cut = false;
	check_all_named();
	namer_free(namer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_names),
		cmocka_unit_test(test_hanging_finder),
		cmocka_unit_test(test_input_before_the_end),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_ended_fetch),
	};

	alarm(MOST_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
