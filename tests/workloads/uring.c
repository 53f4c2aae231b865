/* SPDX-License-Identifier: MIT */
/*
 * Waits for an io_uring: argv[1] rounds, each for what another thread writes to a pipe (`polled`),
 * for a timeout (`timed`), and for a read by one of the kernel's own threads in this process
 * (`handed`). Prints the nanoseconds in each, and how many of them on the CPU; status 77: no
 * io_uring here.
 */
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

#define ENTRIES	  4
#define WAIT_NS	  2000000
#define NOT_THERE 77

static int ring, ends[2];
static struct io_uring_params params;
static char *submitted, *completed; /* both queues */
static struct io_uring_sqe *entries;
static char byte;

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void *map(size_t size, off_t what)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, what);

	if (at == MAP_FAILED)
		fail("mmap");
	return at;
}

static void set_up(void)
{
	ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &params);
	if (ring < 0) {
		perror("io_uring_setup");
		exit(NOT_THERE);
	}
	submitted =
		map(params.sq_off.array + params.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
	completed = map(params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
			IORING_OFF_CQ_RING);
	entries = map(params.sq_entries * sizeof(*entries), IORING_OFF_SQES);
}

static uint32_t *at(char *queue, uint32_t offset)
{
	return (uint32_t *)(void *)(queue + offset);
}

/* Hands in one operation, and waits until it is done. */
static void await(const struct io_uring_sqe *what)
{
	uint32_t *tail = at(submitted, params.sq_off.tail),
		 *head = at(completed, params.cq_off.head);
	uint32_t index = *tail & *at(submitted, params.sq_off.ring_mask);

	entries[index] = *what;
	at(submitted, params.sq_off.array)[index] = index;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		fail("io_uring_enter");
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
}

static void *give(void *none)
{
	nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
	if (write(ends[1], "", 1) != 1)
		fail("write");
	return none;
}

CALLEE void polled(void)
{
	await(&(struct io_uring_sqe){
		.opcode = IORING_OP_POLL_ADD, .fd = ends[0], .poll_events = POLLIN});
	KEEP;
}

CALLEE void timed(void)
{
	struct __kernel_timespec time = {.tv_nsec = WAIT_NS};

	await(&(struct io_uring_sqe){
		.opcode = IORING_OP_TIMEOUT, .addr = (uintptr_t)&time, .len = 1});
	KEEP;
}

CALLEE void handed(void)
{
	await(&(struct io_uring_sqe){.opcode = IORING_OP_READ,
				     .flags = IOSQE_ASYNC,
				     .fd = ends[0],
				     .addr = (uintptr_t)&byte,
				     .len = 1});
	KEEP;
}

struct spent {
	uint64_t ns, cpu_ns;
};

/* Waits in one way, while another thread writes to the pipe. */
CALLEE void run(void (*way)(void), int writes, struct spent *spent)
{
	uint64_t start, cpu;
	pthread_t thread;

	if (writes && pthread_create(&thread, NULL, give, NULL))
		fail("pthread_create");
	start = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_THREAD_CPUTIME_ID);
	way();
	spent->cpu_ns += now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	spent->ns += now(CLOCK_MONOTONIC) - start;
	if (writes)
		pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"polled", "timed", "handed"};
	int rounds = argc > 1 ? atoi(argv[1]) : 20;
	struct spent spent[3] = {0};

	set_up();
	if (pipe(ends))
		fail("pipe");
	for (int i = 0; i < rounds; i++) {
		run(polled, 1, &spent[0]);
		if (read(ends[0], &byte, 1) != 1)
			fail("read");
		run(timed, 0, &spent[1]);
		run(handed, 1, &spent[2]);
	}
	for (int i = 0; i < 3; i++)
		printf("%s %lu %lu\n", names[i], spent[i].ns, spent[i].cpu_ns);
	return 0;
}
