/* SPDX-License-Identifier: MIT */
/* How events are read out of the kernel's rings: daemon/capture/sideband.c. The rings are made
 * here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "daemon/capture/sideband.c"

#define RINGS	   2
#define PAGES	   4 /* of a ring's data, each of PAGE_BYTES */
#define PAGE_BYTES 4096

static struct sideband *band;

static int set_up(void **state)
{
	(void)state;
	band = calloc(1, sizeof(*band) + RINGS * sizeof(band->rings[0]));
	assert_non_null(band);
	band->epoll = -1;
	band->n_cpus = band->n_rings = RINGS;
	band->page_size = PAGE_BYTES;
	band->data_sizes[ALL] = (size_t)PAGES * PAGE_BYTES;
	band->record = malloc(UINT16_MAX + 1);
	band->pending = calloc(RINGS, sizeof(struct ring *));
	assert_int_equal(record_pool_new(&band->pool), 0);
	for (size_t i = 0; i < RINGS; i++) {
		void *map = mmap(NULL, (size_t)(1 + PAGES) * PAGE_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_ptr_not_equal(map, MAP_FAILED);
		band->rings[i] = (struct ring){.fd = -1, .control = map};
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sideband_free(band);
	return 0;
}

/* Writes bytes to a ring, as the kernel does. */
static void put(struct ring *ring, const void *bytes, size_t size)
{
	uint8_t *data = (uint8_t *)ring->control + PAGE_BYTES;
	const size_t room = (size_t)PAGES * PAGE_BYTES;

	for (size_t i = 0; i < size; i++)
		data[(ring->control->data_head + i) % room] = ((const uint8_t *)bytes)[i];
	ring->control->data_head += size;
}

static size_t room_of(const struct ring *ring)
{
	return (size_t)PAGES * PAGE_BYTES -
	       (size_t)(ring->control->data_head - ring->control->data_tail);
}

struct sample_id {
	uint32_t pid, tid;
	uint64_t time_ns;
};

static void put_name(unsigned number, pid_t pid, uint64_t time_ns, bool is_exec)
{
	struct {
		struct perf_event_header head;
		uint32_t pid, tid;
		char name[8];
		struct sample_id id;
	} record = {.head = {.type = PERF_RECORD_COMM,
			     .misc = is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
			     .size = sizeof(record)},
		    .pid = (uint32_t)pid,
		    .tid = (uint32_t)pid,
		    .name = "name",
		    .id = {.time_ns = time_ns}};

	put(&band->rings[number], &record, sizeof(record));
}

static void put_exit(unsigned number, pid_t pid, uint64_t time_ns)
{
	struct {
		struct perf_event_header head;
		struct task_body body;
		struct sample_id id;
	} record = {.head = {.type = PERF_RECORD_EXIT, .size = sizeof(record)},
		    .body = {.pid = (uint32_t)pid, .tid = (uint32_t)pid},
		    .id = {.time_ns = time_ns}};

	put(&band->rings[number], &record, sizeof(record));
}

static void put_lost(unsigned number, uint64_t lost, uint64_t time_ns)
{
	struct {
		struct perf_event_header head;
		uint64_t id_of_event, lost;
		struct sample_id id;
	} record = {.head = {.type = PERF_RECORD_LOST, .size = sizeof(record)},
		    .lost = lost,
		    .id = {.time_ns = time_ns}};

	put(&band->rings[number], &record, sizeof(record));
}

/* What was read, such as "C7@3 " for a new name of process 7 at time 3, or "L2@4 " for 2 lost. */
static char heard[1 << 16];

static int hear(void *arg, struct sideband_event *event)
{
	static const char kinds[] = {
		[SIDEBAND_COMM] = 'C', [SIDEBAND_EXIT] = 'X', [SIDEBAND_LOST] = 'L'};
	size_t len = strlen(heard);
	(void)arg;

	snprintf(heard + len, sizeof(heard) - len, "%c%d@%d ", kinds[event->kind],
		 event->kind == SIDEBAND_LOST ? (int)event->lost : event->pid, (int)event->time_ns);
	record_pool_give_back(event);
	return 0;
}

static const char *drain(void)
{
	heard[0] = '\0';
	assert_int_equal(sideband_drain(band, hear, NULL), 0);
	return heard;
}

static void test_side_by_side(void **state)
{
	(void)state;
	put_name(0, 7, 10, true);
	put_exit(0, 7, 40);
	put_name(1, 8, 20, true);
	put_exit(1, 8, 30);
	assert_true(sideband_waits(band));
	assert_string_equal(drain(), "C7@10 C8@20 X8@30 X7@40 ");
	assert_false(sideband_waits(band));
	assert_string_equal(drain(), "");
}

static enum sideband_verdict skip_names(void *arg, const struct sideband_peek *peek)
{
	uint64_t *drains = arg;

	assert_int_equal(peek->kind, SIDEBAND_COMM);
	assert_true(peek->time_ns > 0);
	*drains = peek->drain;
	return peek->pid == 7 ? SIDEBAND_SKIP : SIDEBAND_TAKE;
}

/* Names are judged, but the start of a program is not. */
static void test_judged(void **state)
{
	uint64_t drains = 0;
	(void)state;

	sideband_judge_by(band, skip_names, &drains);
	put_name(0, 7, 10, true);
	put_name(0, 7, 11, false);
	put_name(0, 8, 12, false);
	put_exit(0, 7, 13);
	assert_string_equal(drain(), "C7@10 C8@12 X7@13 ");
	assert_int_equal(drains, 1);
	put_name(0, 7, 20, false);
	assert_string_equal(drain(), "");
	assert_int_equal(drains, 2);
	assert_false(sideband_waits(band));
}

/* Events are lost behind the record before, not when the kernel says so. */
static void test_loss_is_dated_back(void **state)
{
	(void)state;
	put_exit(0, 7, 10);
	put_exit(1, 8, 15);
	put_lost(0, 3, 90);
	put_exit(0, 9, 91);
	assert_string_equal(drain(), "X7@10 X8@15 L3@10 X9@91 ");
}

/* When a full ring is read, the kernel may have lost events already, and has not said so yet. */
static void test_full_ring(void **state)
{
	uint64_t now = 0;
	const char *text;
	(void)state;

	while (room_of(&band->rings[0]) >= MOST_RECORD_BYTES)
		put_exit(0, 7, ++now);
	put_exit(1, 8, 1000000);
	text = drain();
	assert_non_null(strstr(text, "L0@"));
	assert_int_equal(strtoull(strstr(text, "L0@") + 3, NULL, 10), now);
	put_lost(0, 5, 2000000);
	text = drain();
	assert_int_equal(strtoull(strstr(text, "L5@") + 3, NULL, 10), now);
	put_exit(0, 7, 2000001);
	assert_null(strchr(drain(), 'L'));
}

/* A size that is none: neither this record nor those behind it can be read, and later ones are. */
static void test_invalid_size(void **state)
{
	const struct perf_event_header none = {.type = PERF_RECORD_EXIT, .size = 3};
	(void)state;

	put(&band->rings[0], &none, sizeof(none));
	put_exit(0, 7, 10);
	put_exit(1, 8, 11);
	assert_string_equal(drain(), "X8@11 ");
	put_exit(0, 9, 12);
	assert_string_equal(drain(), "X9@12 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_side_by_side), TEST(test_judged),	  TEST(test_loss_is_dated_back),
		TEST(test_full_ring),	 TEST(test_invalid_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
