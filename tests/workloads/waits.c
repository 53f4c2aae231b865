/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait, each in one way, and measure it themselves: argv[1] rounds. At its end each
 * says
 *
 *   WAY TID WALL_NS CPU_NS RUNNABLE_NS
 *
 * the time in the function WAY, of which it was on the CPU, and was runnable, by the kernel. Its
 * waits lie below `run` and WAY, but for the few before and after.
 */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

struct way {
	const char *name;
	void (*wait)(int round);
};

static int rounds;
static int pipes[4][2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t held, passed;
static int is_set;
static int polls;    /* that have begun */
static int faults;   /* the userfaultfd of the page */
static char *absent; /* that page */
static size_t page;  /* its size */
static aio_context_t aio;

static unsigned long now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (unsigned long)time.tv_sec * 1000000000ul + (unsigned long)time.tv_nsec;
}

static void nap(unsigned us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void take(int from)
{
	char byte;

	if (read(from, &byte, 1) != 1)
		exit(1);
}

static void give(int to)
{
	if (write(to, "", 1) != 1)
		exit(1);
}

CALLEE void sleeper(int round)
{
	nap(100u + (unsigned)round * 37 % 3000);
	KEEP;
}

CALLEE void locker(int round)
{
	(void)round;
	pthread_barrier_wait(&held); /* `holder` has the lock now */
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&passed);
	KEEP;
}

CALLEE void holder(int round)
{
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&held);
	nap(500u + (unsigned)round * 53 % 1000);
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&passed);
	KEEP;
}

CALLEE void waiter(int round)
{
	(void)round;
	pthread_mutex_lock(&mutex);
	while (!is_set)
		pthread_cond_wait(&condition, &mutex);
	is_set = 0;
	pthread_mutex_unlock(&mutex);
	KEEP;
}

CALLEE void setter(int round)
{
	(void)round;
	do {
		nap(300);
		pthread_mutex_lock(&mutex);
		if (!is_set)
			break;
		pthread_mutex_unlock(&mutex);
	} while (1);
	is_set = 1;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&mutex);
	KEEP;
}

CALLEE void pinger(int round)
{
	(void)round;
	give(pipes[0][1]);
	take(pipes[1][0]);
	KEEP;
}

CALLEE void ponger(int round)
{
	(void)round;
	take(pipes[0][0]);
	give(pipes[1][1]);
	KEEP;
}

CALLEE void poller(int round)
{
	static int epoll = -1;
	struct epoll_event event = {.events = EPOLLIN};

	if (epoll < 0) {
		epoll = epoll_create1(0);
		epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[2][0], &event);
	}
	__atomic_store_n(&polls, round + 1, __ATOMIC_RELEASE);
	epoll_wait(epoll, &event, 1, -1);
	take(pipes[2][0]);
	KEEP;
}

/* Calls a poller that waits already, as a rule, and that waits all of the last nap. */
CALLEE void caller(int round)
{
	while (__atomic_load_n(&polls, __ATOMIC_ACQUIRE) <= round)
		nap(100);
	nap(400u + (unsigned)round * 29 % 500);
	give(pipes[2][1]);
	KEEP;
}

CALLEE void parent(int round)
{
	pid_t child = round % 8 ? 0 : fork();

	if (child == 0 && round % 8 == 0) {
		nap(2000);
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
	KEEP;
}

/* The kernel, in read(), touches a page that is not there until `filler` has it made. */
CALLEE void faulter(int round)
{
	(void)round;
	give(pipes[3][1]);
	if (read(pipes[3][0], absent, 1) != 1 || madvise(absent, page, MADV_DONTNEED))
		exit(1);
	KEEP;
}

CALLEE void filler(int round)
{
	struct uffdio_zeropage made = {.range = {.start = (uintptr_t)absent, .len = page}};
	struct uffd_msg message;

	if (read(faults, &message, sizeof(message)) != sizeof(message))
		exit(1);
	nap(300u + (unsigned)round * 41 % 1000);
	if (ioctl(faults, UFFDIO_ZEROPAGE, &made))
		exit(1);
	KEEP;
}

/* A call that hardly any program waits in. */
CALLEE void timer(int round)
{
	struct timespec timeout = {.tv_nsec = 300000 + round * 31000 % 1000000};
	struct io_event event;

	if (syscall(SYS_io_getevents, aio, 1L, 1L, &event, &timeout))
		exit(1);
	KEEP;
}

/* Two of these share a CPU, and are preempted. */
CALLEE void hog(int round)
{
	unsigned long start = now(CLOCK_THREAD_CPUTIME_ID);

	(void)round;
	while (now(CLOCK_THREAD_CPUTIME_ID) - start < 2000000)
		SPIN(1000);
	KEEP;
}

static unsigned long runnable(void)
{
	unsigned long ran = 0, waited = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "r");

	if (!file || fscanf(file, "%lu %lu", &ran, &waited) != 2)
		waited = 0;
	if (file)
		fclose(file);
	return waited;
}

CALLEE void *run(void *arg)
{
	const struct way *way = arg;
	unsigned long start, cpu, ready;
	cpu_set_t first;

	if (way->wait == hog) {
		CPU_ZERO(&first);
		CPU_SET(0, &first);
		sched_setaffinity(0, sizeof(first), &first);
	}
	ready = runnable();
	start = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < rounds; i++)
		way->wait(i);
	cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	start = now(CLOCK_MONOTONIC) - start;
	ready = runnable() - ready;
	printf("%s %ld %lu %lu %lu\n", way->name, syscall(SYS_gettid), start, cpu, ready);
	return NULL;
}

/* Makes what `faulter` and `timer` wait for. 0, or -1. */
static int prepare(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register with = {.mode = UFFDIO_REGISTER_MODE_MISSING};

	page = (size_t)sysconf(_SC_PAGESIZE);
	absent = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (absent == MAP_FAILED || faults < 0 || ioctl(faults, UFFDIO_API, &api))
		return -1;
	with.range.start = (uintptr_t)absent;
	with.range.len = page;
	return ioctl(faults, UFFDIO_REGISTER, &with) || syscall(SYS_io_setup, 1, &aio) ? -1 : 0;
}

int main(int argc, char **argv)
{
	static struct way ways[] = {{"sleeper", sleeper}, {"locker", locker},	{"holder", holder},
				    {"waiter", waiter},	  {"setter", setter},	{"pinger", pinger},
				    {"ponger", ponger},	  {"poller", poller},	{"caller", caller},
				    {"parent", parent},	  {"faulter", faulter}, {"filler", filler},
				    {"timer", timer},	  {"hog", hog},		{"hog", hog}};
	pthread_t threads[sizeof(ways) / sizeof(ways[0])];

	rounds = argc > 1 ? atoi(argv[1]) : 100;
	setvbuf(stdout, NULL, _IOLBF, 0);
	pthread_barrier_init(&held, NULL, 2);
	pthread_barrier_init(&passed, NULL, 2);
	for (int i = 0; i < 4; i++) {
		if (pipe(pipes[i]))
			return 1;
	}
	if (prepare()) {
		perror("waits: userfaultfd, io_setup");
		return 1;
	}
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		pthread_create(&threads[i], NULL, run, &ways[i]);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		pthread_join(threads[i], NULL);
	return 0;
}
