/* SPDX-License-Identifier: MIT */
/*
 * Records as they arrive in the ring. WALKED ones: the packed header, whose times have 48 bits, and
 * records that are truncated or have wrong counts. STACK ones, to which the parts and
 * the marks of code are added that go before them.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/capture/event.h"
#include "daemon/capture/record.h"
#include "daemon/capture/record_pool.h"

#define WRAP  (UINT64_C(1) << 48) /* nanoseconds: 78 hours */
#define A_DAY UINT64_C(86400000000000)

static struct record_reader *reader;

static struct {
	struct stackd_walked header;
	uint8_t bytes[80];
} sent;

static int set_up(void **state)
{
	(void)state;
	memset(&sent, 0, sizeof(sent));
	sent.header.form = STACKD_FORM_WALKED;
	return record_reader_new(&reader);
}

static int tear_down(void **state)
{
	(void)state;
	record_reader_free(reader);
	return 0;
}

/* The record with so many bytes behind its header; NULL: it is refused. */
static struct stackd_header *read_at(uint64_t now_ns, size_t bytes)
{
	struct stackd_header *read = NULL;
	uint8_t *exact =
		malloc(sizeof(sent.header) + bytes); /* the sanitizer sees reads beyond it */
	int err;

	assert_non_null(exact);
	memcpy(exact, &sent, sizeof(sent.header) + bytes);
	err = record_read(reader, exact, sizeof(sent.header) + bytes, now_ns, &read);
	assert_true(err == 0 || err == -EBADMSG);
	free(exact);
	return err ? NULL : read;
}

static void every_field_arrives(void **state)
{
	const uint8_t bytes[] = {0x44, 0x33, 0x22, 0x11, 0x88, 0x77, 0x66, 0x55, 0x10, 0x0f,
				 0x0e, 0x0d, 0x0c, 0x0b, 0x0a, 0x09, 1,	   2,	 3};
	const uint64_t kernel[] = {UINT64_C(0xffffffff81000001), UINT64_C(0xffffffff81000002)};
	struct stackd_header *read;
	struct record_frames frames;

	(void)state;
	sent.header = (struct stackd_walked){
		.form = STACKD_FORM_WALKED | STACKD_FORM_IN_KERNEL | STACKD_FORM_NOT_REMEMBERED |
			STACKD_HAS_PID | STACKD_HAS_PERIOD | STACKD_HAS_CGROUP,
		.end = STACKD_END_TOO_DEEP | STACKD_ROOT_CROSSED << STACKD_ROOT_SHIFT,
		.is_unproven = 1,
		.sequence = 255,
		.n_kernel = 2,
		.kept = 1024,
		.tid = (1u << 22) - 1,
		.time_ns = 5,
		.cpu = UINT16_MAX,
	};
	memcpy(sent.bytes, bytes, sizeof(bytes));
	memcpy(sent.bytes + sizeof(bytes), kernel, sizeof(kernel));
	read = read_at(0, sizeof(bytes) + sizeof(kernel));
	assert_non_null(read);
	assert_int_equal(read->version, STACKD_ABI_VERSION);
	assert_int_equal(read->kind, STACKD_RECORD_WALKED | STACKD_HAS_PID | STACKD_HAS_PERIOD |
					     STACKD_HAS_CGROUP);
	assert_int_equal(read->flags, STACKD_HAS_REGS | STACKD_IN_KERNEL | STACKD_NOT_REMEMBERED);
	assert_int_equal(read->end_reason, STACKD_END_TOO_DEEP);
	assert_int_equal(read->root, STACKD_ROOT_CROSSED);
	assert_int_equal(read->is_unproven, 1);
	assert_int_equal(read->sequence, 255);
	assert_int_equal(read->kept, 1024);
	assert_int_equal(read->tid, (1u << 22) - 1);
	assert_int_equal(read->time_ns, 5);
	assert_int_equal(read->cpu, UINT16_MAX);
	assert_int_equal(record_pid(read), 0x11223344);
	assert_int_equal(record_period(read, 1), 0x55667788);
	assert_true(record_cgroup(read) == UINT64_C(0x090a0b0c0d0e0f10));
	record_frames(read, false, &frames);
	assert_int_equal(frames.end - frames.at, 3);
	assert_memory_equal(frames.at, bytes + 16, 3);
	assert_int_equal(read->n_kernel, 2);
	assert_memory_equal(record_kernel(read), kernel, sizeof(kernel));
	record_pool_give_back(read);
}

/* Reads a WALKED record of an event of this kind, whose other bytes are 1, 2, .. */
static struct stackd_header *read_event(uint8_t kind, uint8_t form)
{
	const size_t front = (form & STACKD_HAS_PID ? 4 : 0) + (form & STACKD_HAS_CGROUP ? 8 : 0);

	memset(&sent, 0, sizeof(sent));
	sent.header = (struct stackd_walked){.form = STACKD_FORM_WALKED | STACKD_HAS_EVENT | form,
					     .tid = 7,
					     .time_ns = 9,
					     .cpu = 3};
	for (size_t i = 0; i < front; i++)
		sent.bytes[i] = (uint8_t)(0xa0 + i);
	for (size_t i = 0; i < sizeof(union stackd_measurement); i++)
		sent.bytes[front + i] = (uint8_t)i;
	sent.bytes[front] = kind;
	return read_at(9, front + sizeof(union stackd_measurement) + 3);
}

/* Each kind of event is decoded, wherever it stands in the record. */
static void measured_events_arrive(void **state)
{
	const uint8_t forms[] = {0, STACKD_HAS_PID, STACKD_HAS_PID | STACKD_HAS_CGROUP};
	uint8_t expected[sizeof(union stackd_measurement)];

	(void)state;
	for (size_t i = 0; i < sizeof(expected); i++)
		expected[i] = (uint8_t)i;
	for (uint8_t kind = STACKD_EVENT_REGION; kind <= STACKD_EVENT_CALL; kind++) {
		for (size_t f = 0; f < sizeof(forms); f++) {
			struct stackd_header *read = read_event(kind, forms[f]);
			struct event event;

			assert_non_null(read);
			event_decode(read, &event);
			expected[0] = kind;
			assert_int_equal(event.kind, kind);
			assert_int_equal(event.measured.kind, kind);
			assert_memory_equal(&event.measured, expected, sizeof(expected));
			assert_int_equal(event.pid, forms[f] ? (pid_t)0xa3a2a1a0 : 7);
			assert_int_equal(event.tid, 7);
			assert_int_equal(event.time_ns, 9);
			assert_int_equal(event.cpu, 3);
			assert_true(!event.cgroup == !(forms[f] & STACKD_HAS_CGROUP));
			record_pool_give_back(read);
		}
	}
}

static void unknown_events_are_refused(void **state)
{
	const uint8_t kinds[] = {STACKD_EVENT_SAMPLE, STACKD_EVENT_READING, STACKD_EVENT_COUNT,
				 UINT8_MAX};
	struct stackd_stack_record stack = {
		.header = {.version = STACKD_ABI_VERSION, .kind = STACKD_RECORD_STACK}};
	struct stackd_header *read;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds); i++) {
		assert_null(read_event(kinds[i], 0));
		stack.event.kind = kinds[i];
		assert_int_equal(record_read(reader, &stack, sizeof(stack), 0, &read),
				 i ? -EBADMSG : 0);
		if (!i)
			record_pool_give_back(read);
	}
	stack.event.kind = STACKD_EVENT_WAIT;
	assert_int_equal(record_read(reader, &stack, sizeof(stack), 0, &read), 0);
	assert_int_equal(read->event, STACKD_EVENT_WAIT);
	record_pool_give_back(read);
}

static void time_is_nearest_possible(void **state)
{
	const uint64_t times[] = {0, 1, A_DAY, WRAP - 1, WRAP, WRAP + 1, 7 * WRAP - 1, 7 * WRAP};

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		const uint64_t now[] = {times[i], times[i] + 1, times[i] + A_DAY,
					times[i] > A_DAY ? times[i] - A_DAY : 0};

		sent.header.time_ns = times[i];
		for (size_t n = 0; n < sizeof(now) / sizeof(now[0]); n++) {
			struct stackd_header *read = read_at(now[n], 0);

			assert_non_null(read);
			assert_true(read->time_ns == times[i]);
			record_pool_give_back(read);
		}
	}
}

static void truncated_record_is_refused(void **state)
{
	struct stackd_header *read;

	(void)state;
	for (size_t size = 0; size < sizeof(sent.header); size++)
		assert_int_equal(record_read(reader, &sent, size, 0, &read), -EBADMSG);
	sent.header.form |= STACKD_HAS_PID | STACKD_HAS_PERIOD;
	sent.header.n_kernel = 3;
	assert_null(read_at(0, 8 + 24 - 1));
	read = read_at(0, 8 + 24);
	assert_non_null(read);
	assert_int_equal(read->bytes, 8);
	record_pool_give_back(read);
}

static void too_many_frames_are_refused(void **state)
{
	size_t size = sizeof(sent.header) + UINT16_MAX + 1;
	uint8_t *large = calloc(1, size);
	struct stackd_header *read = NULL;

	(void)state;
	assert_non_null(large);
	memcpy(large, &sent, sizeof(sent.header));
	assert_int_equal(record_read(reader, large, size, 0, &read), -EBADMSG);
	assert_int_equal(record_read(reader, large, size - 1, 0, &read), 0);
	record_pool_give_back(read);
	free(large);
}

/* Records of all sizes lie apart, and stay as they are when others go, their pool included. */
static void records_wait_in_their_pool(void **state)
{
	enum { RECORDS = 3000 };
	struct record_pool *pool = NULL;
	uint8_t *records[RECORDS];

	(void)state;
	assert_int_equal(record_pool_new(&pool), 0);
	for (size_t i = 0; i < RECORDS; i++) {
		records[i] = record_pool_take(i % 7 ? pool : NULL, 1 + i * 7 % 9000);
		assert_non_null(records[i]);
		assert_int_equal((uintptr_t)records[i] % 8, 0);
		memset(records[i], (int)i, 1 + i * 7 % 9000);
		if (i % 3)
			continue;
		record_pool_give_back(records[i / 2]);
		records[i / 2] = NULL;
	}
	record_pool_free(pool);
	for (size_t i = 0; i < RECORDS; i++) {
		for (size_t at = 0; records[i] && at < 1 + i * 7 % 9000; at++)
			assert_int_equal(records[i][at], (uint8_t)i);
		record_pool_give_back(records[i]);
	}
	record_pool_give_back(NULL);
	record_pool_free(NULL);
}

/* --- stacks in parts ------------------------------------------------------------------------- */

#define SP    UINT64_C(0x7ffc00000e38) /* near the end of a page */
#define COPY  (128u << 10)
#define PART  STACKD_MORE_PART
#define PARTS 72
#define ALL   ((UINT64_C(1) << 5) - 1) /* pages of a part */
#define HOLE  3			       /* of these */

/* The byte of the stack at an address. */
static uint8_t byte_at(uint64_t address)
{
	return (uint8_t)(address * 7 + (address >> 12));
}

/* Reads part `n` of the stack of a thread, with these holes; of so many bytes. */
static int read_more(uint32_t tid, uint64_t n, uint32_t bytes, uint64_t holes, bool is_empty,
		     bool is_last)
{
	struct stackd_more_stack *more = calloc(1, sizeof(*more) + bytes);
	struct stackd_header *read = NULL;
	int err;

	assert_non_null(more);
	*more = (struct stackd_more_stack){
		.header = {.version = STACKD_ABI_VERSION,
			   .kind = STACKD_RECORD_MORE_STACK,
			   .tid = tid,
			   .time_ns = 77,
			   .cpu = 3},
		.start = SP + COPY + n * PART,
		.holes = holes,
		.bytes = bytes,
		.sent = is_empty ? 0 : bytes,
		.is_last = is_last,
	};
	for (uint32_t i = 0; i < more->sent; i++)
		((uint8_t *)(more + 1))[i] = byte_at(more->start + i);
	err = record_read(reader, more, sizeof(*more) + more->sent, 0, &read);
	assert_null(read);
	free(more);
	return err;
}

/* Reads the CODE record of a thread. */
static void read_code(uint32_t tid, uint32_t n)
{
	struct {
		struct stackd_code_record record;
		struct stackd_code_mark marks[STACKD_MAX_CODE + 1];
	} *code = calloc(1, sizeof(*code));
	struct stackd_header *read = NULL;

	assert_non_null(code);
	code->record.header = (struct stackd_header){.version = STACKD_ABI_VERSION,
						     .kind = STACKD_RECORD_CODE,
						     .tid = tid,
						     .time_ns = 77,
						     .cpu = 3};
	code->record.n = n;
	for (uint32_t i = 0; i < n; i++)
		code->marks[i] = (struct stackd_code_mark){.address = i + 1, .hashes = {i, tid}};
	if (n > STACKD_MAX_CODE) {
		assert_int_equal(record_read(reader, code, sizeof(*code), 0, &read), -EBADMSG);
	} else {
		size_t size = sizeof(code->record) + n * sizeof(*code->marks);

		assert_int_equal(record_read(reader, code, size - 1, 0, &read), -EBADMSG);
		assert_int_equal(record_read(reader, code, size, 0, &read), 0);
		record_pool_give_back(read);
	}
	free(code);
}

/* Reads the CHAIN record of a thread, whose words are 1 to n. */
static void read_chain(uint32_t tid, uint32_t n)
{
	struct {
		struct stackd_chain_record record;
		uint64_t words[STACKD_CHAIN_WORDS + 1];
	} *chain = calloc(1, sizeof(*chain));
	struct stackd_header *read = NULL;
	size_t size = sizeof(chain->record) + n * sizeof(chain->words[0]);

	assert_non_null(chain);
	chain->record.header = (struct stackd_header){.version = STACKD_ABI_VERSION,
						      .kind = STACKD_RECORD_CHAIN,
						      .tid = tid,
						      .time_ns = 77,
						      .cpu = 3};
	chain->record.n = n;
	for (uint32_t i = 0; i < n; i++)
		chain->words[i] = i + 1;
	assert_int_equal(record_read(reader, chain, size - 1, 0, &read), -EBADMSG);
	assert_int_equal(record_read(reader, chain, size, 0, &read),
			 n > STACKD_CHAIN_WORDS ? -EBADMSG : 1);
	assert_null(read);
	free(chain);
}

/* Checks the words of a record, which read_chain() has read. */
static void check_chain(const struct stackd_stack_record *stack, uint32_t n)
{
	size_t count;
	const uint64_t *words = record_chain(stack, &count);

	assert_int_equal(count, n);
	assert_ptr_equal((const uint8_t *)stack + record_size(&stack->header), words + n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(words[i], i + 1);
}

/* Checks the marks of a record, which read_code() has read. */
static void check_code(const struct stackd_stack_record *stack, uint32_t n)
{
	const struct stackd_code_mark *marks = record_code(stack);

	assert_int_equal(stack->code_count, n);
	assert_int_equal((uintptr_t)marks % 8, 0);
	assert_ptr_equal((const uint8_t *)stack + record_size(&stack->header), marks + n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(marks[i].address, i + 1);
		assert_int_equal(marks[i].hashes[0], i);
		assert_int_equal(marks[i].hashes[1], stack->header.tid);
		assert_int_equal(marks[i].hashes[2], 0);
	}
}

/* Reads the STACK record of a thread, with a kernel frame. */
static struct stackd_stack_record *read_stack(uint32_t tid, uint8_t flags)
{
	struct stackd_stack_record *stack = calloc(1, sizeof(*stack) + 8 + COPY);
	struct stackd_header *read = NULL;

	assert_non_null(stack);
	stack->header = (struct stackd_header){.version = STACKD_ABI_VERSION,
					       .kind = STACKD_RECORD_STACK,
					       .flags = STACKD_HAS_REGS | flags,
					       .tid = tid,
					       .time_ns = 77,
					       .cpu = 3,
					       .n_kernel = 1};
	stack->regs.r[STACKD_REG_SP] = SP;
	stack->stack_bytes = COPY;
	stack->holes = 1u << 5;
	*(uint64_t *)(stack + 1) = 123;
	for (uint32_t i = 0; i < COPY; i++)
		((uint8_t *)(stack + 1))[8 + i] = byte_at(SP + i);
	assert_int_equal(record_read(reader, stack, sizeof(*stack) + 8 + COPY, 0, &read), 0);
	free(stack);
	return (struct stackd_stack_record *)read;
}

static bool is_hole(const struct stackd_stack_record *stack, uint64_t address)
{
	uint64_t page = address / 4096 - SP / 4096;
	size_t words;
	const uint64_t *more = record_more_holes(stack, &words);

	if (page < 64)
		return stack->holes >> page & 1;
	return page / 64 <= words && more[page / 64 - 1] >> page % 64 & 1;
}

/* Whether a byte of the stack is in a page that a part declares a hole: part `empty` of all its
 * pages, the copy of page 5, and the others of page HOLE. */
static bool is_in_hole(uint64_t address, uint64_t empty)
{
	uint64_t page = address / 4096, start = SP + COPY + empty * PART;
	uint64_t part = (address - SP - COPY) / PART;

	if (address < SP + COPY)
		return page == SP / 4096 + 5 || page == start / 4096;
	return (page >= start / 4096 && page <= (start + PART - 1) / 4096) ||
	       (part < PARTS && page == (SP + COPY + part * PART) / 4096 + HOLE);
}

/* Checks each byte of a stack that has so many. */
static void check_stack(const struct stackd_stack_record *stack, uint32_t bytes, uint64_t empty)
{
	const uint8_t *at = (const uint8_t *)(record_kernel(&stack->header) + 1);

	assert_true(*record_kernel(&stack->header) == 123);
	assert_int_equal(stack->stack_bytes, bytes);
	for (uint32_t i = 0; i < bytes; i++) {
		bool hole = is_in_hole(SP + i, empty);

		assert_int_equal(is_hole(stack, SP + i), hole);
		if (!hole)
			assert_int_equal(at[i], byte_at(SP + i));
	}
}

static void parts_are_added_to_stack(void **state)
{
	struct stackd_stack_record *stack;
	size_t words;

	(void)state;
	for (uint64_t n = 0; n < PARTS; n++) {
		/* Those of another thread come in between. */
		assert_int_equal(read_more(5, n, PART, n == 4 ? ALL : 1u << HOLE, n == 4, false),
				 1);
		assert_int_equal(read_more(6, n, PART, n == 0 ? ALL : 1u << HOLE, n == 0, false),
				 1);
	}
	assert_int_equal(read_more(5, PARTS, 1000, 0, false, true), 1);
	stack = read_stack(5, STACKD_STACK_CUT);
	assert_int_equal(stack->header.flags, STACKD_HAS_REGS);
	record_more_holes(stack, &words);
	assert_int_equal(words, (SP % 4096 + stack->stack_bytes - 1) / 4096 / 64);
	assert_true(record_size(&stack->header) >=
		    sizeof(*stack) + 8 + stack->stack_bytes + words * 8);
	check_stack(stack, COPY + PARTS * PART + 1000, 4);
	record_pool_give_back(stack);

	/* What was not sent whole stays cut; and the thread's next record has no parts. */
	stack = read_stack(6, STACKD_STACK_CUT);
	assert_int_equal(stack->header.flags, STACKD_HAS_REGS | STACKD_STACK_CUT);
	check_stack(stack, COPY + PARTS * PART, 0);
	record_pool_give_back(stack);
	stack = read_stack(6, STACKD_STACK_CUT);
	check_stack(stack, COPY, PARTS);
	record_pool_give_back(stack);
}

/* Sends the last part of a thread's stack, of words `value`, with its hash or as the same again. */
static int read_same(uint32_t tid, uint64_t time_ns, uint8_t value, bool is_same)
{
	struct stackd_more_stack *more = calloc(1, sizeof(*more) + PART);
	struct stackd_header *read = NULL;
	int err;

	assert_non_null(more);
	*more = (struct stackd_more_stack){.header = {.version = STACKD_ABI_VERSION,
						      .kind = STACKD_RECORD_MORE_STACK,
						      .tid = tid,
						      .time_ns = time_ns,
						      .cpu = 3},
					   .start = SP + COPY,
					   .hash = value,
					   .bytes = PART,
					   .sent = is_same ? 0 : PART,
					   .is_last = 1,
					   .is_same = is_same};
	memset(more + 1, value, more->sent);
	err = record_read(reader, more, sizeof(*more) + more->sent, 0, &read);
	assert_null(read);
	free(more);
	return err;
}

/* Checks that the thread's stack ends with a part of words `value`; 0: it is cut before it. */
static void check_same(uint32_t tid, uint8_t value)
{
	struct stackd_stack_record *stack = read_stack(tid, STACKD_STACK_CUT);
	const uint8_t *at = (const uint8_t *)(record_kernel(&stack->header) + 1);

	assert_int_equal(stack->stack_bytes, COPY + (value ? PART : 0));
	assert_int_equal(!!(stack->header.flags & STACKD_STACK_CUT), !value);
	for (uint32_t i = COPY; i < stack->stack_bytes; i++)
		assert_int_equal(at[i], value);
	record_pool_give_back(stack);
}

/* What the kernel half leaves out is what was there before, of the same thread and with the same
 * hash; else the stack is cut, as where nothing was sent for a while. */
static void parts_that_are_the_same_are_kept(void **state)
{
	uint32_t other = 6;

	(void)state;
	while (stackd_more_slot(other, SP + COPY) != stackd_more_slot(5, SP + COPY))
		other++;
	for (int turn = 0; turn < 2; turn++) { /* two threads that share a slot */
		assert_int_equal(read_same(5, 77, 1, turn), 1);
		check_same(5, 1);
		assert_int_equal(read_same(other, 77, 2, turn), 1);
		check_same(other, 2);
	}
	assert_int_equal(read_same(5, 77, 2, true), 1);
	check_same(5, 0);
	assert_int_equal(read_same(5, 77, 3, false), 1);
	check_same(5, 3);
	assert_int_equal(read_same(5, 77, 1, true), 1);
	check_same(5, 0);
	assert_int_equal(read_same(5, 77, 3, true), 1);
	check_same(5, 3);
	assert_int_equal(read_same(7, 78 + STACKD_MORE_KEPT_NS, 4, false), 1);
	assert_int_equal(read_same(5, 77, 3, true), 1);
	check_same(5, 0);
}

static void parts_that_do_not_fit_are_refused(void **state)
{
	struct stackd_stack_record *stack;

	(void)state;
	/* One is missing. */
	assert_int_equal(read_more(5, 0, PART, 1u << HOLE, false, false), 1);
	assert_int_equal(read_more(5, 2, PART, 1u << HOLE, false, false), -EBADMSG);
	stack = read_stack(5, STACKD_STACK_CUT);
	check_stack(stack, COPY, PARTS);
	record_pool_give_back(stack);

	/* The first is missing. */
	assert_int_equal(read_more(5, 1, PART, 1u << HOLE, false, false), 1);
	stack = read_stack(5, STACKD_STACK_CUT);
	check_stack(stack, COPY, PARTS);
	record_pool_give_back(stack);

	/* The copy has ended at a page that cannot be read. */
	assert_int_equal(read_more(5, 0, PART, 1u << HOLE, false, true), 1);
	stack = read_stack(5, STACKD_STACK_FAULT);
	check_stack(stack, COPY, PARTS);
	record_pool_give_back(stack);

	/* Too long, and more than there can be. */
	assert_int_equal(read_more(5, 0, PART + 8, 0, false, false), -EBADMSG);
	for (uint64_t n = 0; n < STACKD_MORE_BYTES / PART; n++)
		assert_int_equal(read_more(7, n, PART, 0, true, false), 1);
	assert_int_equal(read_more(7, STACKD_MORE_BYTES / PART, 8, 0, true, false), -EBADMSG);
}

/* Both have their place behind the stack, which need not end at a multiple of 8. */
static void parts_and_code_are_added_to_stack(void **state)
{
	static const uint32_t lasts[] = {1000, 1003, 1};
	struct stackd_stack_record *stack;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		for (uint64_t n = 0; n < PARTS; n++)
			assert_int_equal(
				read_more(5, n, PART, n == 4 ? ALL : 1u << HOLE, n == 4, false), 1);
		assert_int_equal(read_more(5, PARTS, lasts[i], 0, false, true), 1);
		read_code(5, i == 2 ? STACKD_MAX_CODE : 3);
		stack = read_stack(5, STACKD_STACK_CUT);
		check_stack(stack, COPY + PARTS * PART + lasts[i], 4);
		check_code(stack, i == 2 ? STACKD_MAX_CODE : 3);
		assert_int_equal(stack->more_holes, 5);
		record_pool_give_back(stack);
	}

	/* Marks alone; and none of another thread. */
	stack = read_stack(5, STACKD_STACK_CUT);
	check_stack(stack, COPY, PARTS);
	check_code(stack, STACKD_MAX_CODE);
	record_pool_give_back(stack);
	stack = read_stack(6, STACKD_STACK_CUT);
	assert_int_equal(stack->code_count, 0);
	assert_int_equal(record_size(&stack->header), sizeof(*stack) + 8 + COPY);
	record_pool_give_back(stack);
	read_code(5, STACKD_MAX_CODE + 1);
}

static void chain_is_added_to_stack(void **state)
{
	static const uint32_t counts[] = {1, STACKD_CHAIN_WORDS, 2};
	struct stackd_stack_record *stack;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		read_chain(9, counts[i]);
		if (i == 2) /* with marks of code, and parts */
			read_code(9, 3);
		if (i == 2)
			assert_int_equal(read_more(9, 0, 1003, 0, false, true), 1);
		stack = read_stack(9, STACKD_STACK_CUT);
		assert_int_equal(stack->code_count, i == 2 ? 3 : 0);
		assert_int_equal(record_code(stack)[i == 2].address, i == 2 ? 2 : 1);
		check_chain(stack, counts[i]);
		record_pool_give_back(stack);
	}
	stack = read_stack(8, STACKD_STACK_CUT);
	assert_int_equal(stack->chain_words, 0);
	record_pool_give_back(stack);
	read_chain(9, STACKD_CHAIN_WORDS + 1);
}

static void bytes_of_code_are_read(void **state)
{
	struct stackd_code_bytes code = {.header = {.version = STACKD_ABI_VERSION,
						    .kind = STACKD_RECORD_CODE_BYTES,
						    .tid = 6,
						    .time_ns = 77},
					 .pid = 5,
					 .words = {1, 2, 3}};
	struct stackd_header *read = NULL;

	(void)state;
	assert_int_equal(record_read(reader, &code, sizeof(code) - 1, 0, &read), -EBADMSG);
	assert_int_equal(record_read(reader, &code, sizeof(code), 0, &read), 0);
	assert_int_equal(record_size(read), sizeof(code));
	assert_int_equal(record_pid(read), 5);
	assert_int_equal(read->event, STACKD_EVENT_CODE_BYTES);
	code.header.event = STACKD_EVENT_CODE_BYTES;
	assert_memory_equal(read, &code, sizeof(code));
	record_pool_give_back(read);
}

/* The largest stack that there can be has all of its words. */
static void largest_stack_is_joined(void **state)
{
	const uint64_t parts = STACKD_MORE_BYTES / PART;
	struct stackd_stack_record *stack;

	(void)state;
	for (uint64_t n = 0; n < parts; n++)
		assert_int_equal(read_more(5, n, PART, n == parts - 1 ? 1ull << 4 : 1u << HOLE,
					   false, false),
				 1);
	read_code(5, 1);
	stack = read_stack(5, STACKD_STACK_CUT);
	assert_int_equal(stack->stack_bytes, COPY + STACKD_MORE_BYTES);
	assert_true(stack->more_holes < STACKD_MAX_MORE_HOLES);
	assert_true(is_hole(stack, SP + COPY + STACKD_MORE_BYTES - 1));
	assert_false(is_hole(stack, SP + COPY + STACKD_MORE_BYTES - 4096));
	check_code(stack, 1);
	record_pool_give_back(stack);
}

#define MANY 64 /* stacks that are kept */

/* The CPUs of a large machine send their stacks' parts in turns. */
static void parts_of_many_stacks_interleave(void **state)
{
	struct stackd_stack_record *stack;

	(void)state;
	for (uint64_t n = 0; n < 2; n++)
		for (uint32_t tid = 1; tid <= MANY; tid++)
			assert_int_equal(read_more(tid, n, PART, 1u << HOLE, false, false), 1);
	assert_int_equal(record_reader_evicted(reader), 0);
	/* With one more, the oldest has to go: it stays cut. */
	assert_int_equal(read_more(MANY + 1, 0, PART, 1u << HOLE, false, false), 1);
	assert_int_equal(record_reader_evicted(reader), 1);
	for (uint32_t tid = 1; tid <= MANY + 1; tid++) {
		uint32_t parts = tid == 1 ? 0 : tid <= MANY ? 2 : 1;

		stack = read_stack(tid, STACKD_STACK_CUT);
		assert_true(stack->header.flags & STACKD_STACK_CUT);
		assert_int_equal(stack->stack_bytes, COPY + parts * PART);
		record_pool_give_back(stack);
	}
	assert_int_equal(record_reader_evicted(reader), 1);
}

/* Stacks whose records do not come take a bounded memory. */
static void parts_of_many_stacks_are_bounded(void **state)
{
	const uint32_t stacks = (64u << 20) / STACKD_MORE_BYTES + 2;
	struct stackd_stack_record *stack;

	(void)state;
	for (uint32_t tid = 1; tid <= stacks; tid++)
		for (uint64_t n = 0; n < STACKD_MORE_BYTES / PART; n++)
			assert_int_equal(read_more(tid, n, PART, 0, true, false), 1);
	assert_int_equal(record_reader_evicted(reader), 2);
	stack = read_stack(3, STACKD_STACK_CUT);
	assert_int_equal(stack->stack_bytes, COPY + STACKD_MORE_BYTES);
	record_pool_give_back(stack);
	/* There is room for another one now. */
	for (uint64_t n = 0; n < STACKD_MORE_BYTES / PART; n++)
		assert_int_equal(read_more(1, n, PART, 0, true, false), 1);
	assert_int_equal(record_reader_evicted(reader), 2);
}

/* What the reader adds is not in the ring, and a copy has a limit; nor is there an empty part, or a
 * small one before the last. */
static void sizes_that_cannot_be_are_refused(void **state)
{
	const size_t most = sizeof(struct stackd_stack_record) + STACKD_MAX_STACK_BYTES;
	struct stackd_stack_record *stack = calloc(1, most + 4096);
	struct stackd_header *read = NULL;

	(void)state;
	assert_non_null(stack);
	stack->header.version = STACKD_ABI_VERSION;
	stack->header.kind = STACKD_RECORD_STACK;
	stack->more_holes = 1;
	assert_int_equal(record_read(reader, stack, most + 4096, 0, &read), -EBADMSG);
	stack->more_holes = UINT32_MAX;
	assert_int_equal(record_read(reader, stack, most + 4096, 0, &read), -EBADMSG);
	stack->more_holes = 0;
	stack->code_count = 1;
	assert_int_equal(record_read(reader, stack, most + 4096, 0, &read), -EBADMSG);
	stack->code_count = 0;
	stack->stack_bytes = STACKD_MAX_STACK_BYTES + 1;
	assert_int_equal(record_read(reader, stack, most + 4096, 0, &read), -EBADMSG);
	stack->stack_bytes = stack->shared = UINT32_MAX;
	assert_int_equal(record_read(reader, stack, most + 4096, 0, &read), -EBADMSG);
	stack->stack_bytes = STACKD_MAX_STACK_BYTES;
	stack->shared = 0;
	assert_int_equal(record_read(reader, stack, most - 1, 0, &read), -EBADMSG);
	assert_int_equal(record_read(reader, stack, most, 0, &read), 0);
	record_pool_give_back(read);
	free(stack);

	assert_int_equal(read_more(5, 0, 0, 1, false, true), -EBADMSG);
	assert_int_equal(read_more(5, 0, PART - 8, 1, false, false), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_field_arrives, set_up, tear_down),
		cmocka_unit_test_setup_teardown(measured_events_arrive, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unknown_events_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(time_is_nearest_possible, set_up, tear_down),
		cmocka_unit_test_setup_teardown(truncated_record_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many_frames_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(parts_are_added_to_stack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(parts_that_are_the_same_are_kept, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(parts_that_do_not_fit_are_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(bytes_of_code_are_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(chain_is_added_to_stack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(parts_and_code_are_added_to_stack, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(parts_of_many_stacks_interleave, set_up, tear_down),
		cmocka_unit_test_setup_teardown(parts_of_many_stacks_are_bounded, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(largest_stack_is_joined, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sizes_that_cannot_be_are_refused, set_up,
						tear_down),
		cmocka_unit_test(records_wait_in_their_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
