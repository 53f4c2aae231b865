/* SPDX-License-Identifier: MIT */
/*
 * The reading end of a ring buffer: daemon/capture/ring.c, on a file that is laid out as the kernel
 * shows a ring, both views of the data in it; what is written is written to both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/capture/ring.h"
#include "base/hash.h"

#define DATA_BYTES (2u << 20) /* several windows */
#define PAGE	   4096u

struct fake {
	int fd;
	uint8_t *data;	    /* two views */
	uint64_t *consumer; /* of the kernel */
	uint64_t *producer;
	uint64_t written;
	struct ring *ring;
	uint64_t next_out; /* the number that the next record is to hold */
	uint64_t seen;	   /* records */
	int answer;
};

static int set_up(void **state)
{
	static struct fake f;
	size_t size = 2 * PAGE + 2 * DATA_BYTES;
	uint8_t *all;

	f = (struct fake){.fd = memfd_create("ring", MFD_CLOEXEC)};
	if (f.fd < 0 || ftruncate(f.fd, (off_t)size))
		return -1;
	all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, f.fd, 0);
	if (all == MAP_FAILED)
		return -1;
	f.consumer = (uint64_t *)all;
	f.producer = (uint64_t *)(all + PAGE);
	f.data = all + 2 * (size_t)PAGE;
	*state = &f;
	return ring_new(f.fd, DATA_BYTES, &f.ring);
}

static int tear_down(void **state)
{
	struct fake *f = *state;

	ring_free(f->ring);
	munmap(f->consumer, 2 * PAGE + 2 * DATA_BYTES);
	return close(f->fd);
}

static void put_bytes(struct fake *f, uint64_t position, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		size_t at = (position + i) % DATA_BYTES;

		f->data[at] = f->data[at + DATA_BYTES] = ((const uint8_t *)bytes)[i];
	}
}

/* Reserves a record of `size` bytes, at least 16, that begins and ends with a number. Where it is.
 */
static uint64_t reserve(struct fake *f, uint64_t number, uint32_t size)
{
	uint64_t at = f->written;
	uint32_t head[2] = {size | BPF_RINGBUF_BUSY_BIT, 0};

	put_bytes(f, at, head, sizeof(head));
	put_bytes(f, at + sizeof(head), &number, sizeof(number));
	put_bytes(f, at + sizeof(head) + size - sizeof(number), &number, sizeof(number));
	f->written += (sizeof(head) + size + 7) / 8 * 8;
	__atomic_store_n(f->producer, f->written, __ATOMIC_RELEASE);
	return at;
}

static void finish_record(struct fake *f, uint64_t at, uint32_t size, uint32_t bits)
{
	uint32_t length = size | bits;

	put_bytes(f, at, &length, sizeof(length));
}

static void put(struct fake *f, uint64_t number, uint32_t size)
{
	finish_record(f, reserve(f, number, size), size, 0);
}

static int each(void *arg, void *data, size_t size)
{
	struct fake *f = arg;
	uint64_t first, last;

	memcpy(&first, data, sizeof(first));
	memcpy(&last, (uint8_t *)data + size - sizeof(last), sizeof(last));
	assert_int_equal((uintptr_t)data % 8, 0);
	assert_int_equal(first, f->next_out);
	assert_int_equal(last, f->next_out);
	f->next_out++;
	f->seen++;
	return f->answer;
}

static void ring_starts_empty(void **state)
{
	struct fake *f = *state;

	assert_int_equal(ring_drain(f->ring, each, f), 0);
}

static void ring_knows_what_waits(void **state)
{
	struct fake *f = *state;

	assert_int_equal(ring_waiting(f->ring), 0);
	put(f, 0, 16);
	put(f, 1, 40);
	assert_int_equal(ring_waiting(f->ring), 8 + 16 + 8 + 40);
	assert_int_equal(ring_drain(f->ring, each, f), 2);
	assert_int_equal(ring_waiting(f->ring), 0);
}

/* Small and large ones, beyond a window's size, ten times around. */
static void ring_wraps(void **state)
{
	struct fake *f = *state;
	uint64_t in = 0;

	while (f->written < 10 * (uint64_t)DATA_BYTES) {
		uint64_t before = in;

		while (f->written - *f->consumer < DATA_BYTES / 2) {
			uint64_t random = hash_mix64(in);

			put(f, in++, 16 + (random % 50 ? random % 4000 : 700000 + random % 300000));
		}
		assert_int_equal(ring_drain(f->ring, each, f), in - before);
		assert_int_equal(*f->consumer, f->written);
	}
	assert_int_equal(f->seen, in);
}

/* Bytes of the ring that this process has mapped. */
static size_t mapped_bytes(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	size_t bytes = 0;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (strstr(line, "memfd:ring") && sscanf(line, "%lx-%lx", &start, &end) == 2)
			bytes += end - start;
	}
	fclose(maps);
	return bytes;
}

static void ring_maps_one_window(void **state)
{
	struct fake *f = *state;
	size_t before = mapped_bytes();

	put(f, 0, 100);
	assert_int_equal(ring_drain(f->ring, each, f), 1);
	assert_true(mapped_bytes() > before);
	assert_true(mapped_bytes() - before <= DATA_BYTES / 4 + PAGE);
}

static void ring_waits_for_busy_record(void **state)
{
	struct fake *f = *state;
	uint64_t at;

	put(f, 0, 24);
	at = reserve(f, 1, 24);
	put(f, 2, 24);
	assert_int_equal(ring_drain(f->ring, each, f), 1);
	assert_int_equal(*f->consumer, at);
	finish_record(f, at, 24, 0);
	assert_int_equal(ring_drain(f->ring, each, f), 2);
}

static void discarded_records_are_skipped(void **state)
{
	struct fake *f = *state;

	put(f, 0, 17);
	finish_record(f, reserve(f, 4711, 300000), 300000, BPF_RINGBUF_DISCARD_BIT);
	put(f, 1, 17);
	assert_int_equal(ring_drain(f->ring, each, f), 2);
	assert_int_equal(*f->consumer, f->written);
}

static void ring_stops_on_request(void **state)
{
	struct fake *f = *state;

	put(f, 0, 24);
	put(f, 1, 24);
	f->answer = -EIO;
	assert_int_equal(ring_drain(f->ring, each, f), -EIO);
	f->answer = 0;
	assert_int_equal(ring_drain(f->ring, each, f), 1);
	assert_int_equal(f->seen, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ring_starts_empty, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ring_knows_what_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ring_wraps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ring_maps_one_window, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ring_waits_for_busy_record, set_up, tear_down),
		cmocka_unit_test_setup_teardown(discarded_records_are_skipped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ring_stops_on_request, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
