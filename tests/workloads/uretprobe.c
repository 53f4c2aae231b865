/* SPDX-License-Identifier: MIT */
/*
 * Functions whose return the kernel watches: while one runs, the address of a trampoline
 * replaces its return address. `first` calls itself through `second`, so several are replaced at
 * once; `leave` comes back by longjmp, which leaves the kernel's note of it behind.
 *
 * The program sets the probes itself, on its own functions. Without the right to, or in a kernel
 * without uprobes, it says so and ends with 77. With a second argument, the kernel watches the
 * functions' entries instead, and replaces nothing: with "entry" in the same thread, with "threads"
 * in one after the other, of which each meets its first breakpoint. With "signals", returns are
 * watched, and of a timer's signals many hit the thread while it returns.
 *
 * EXPECT: main;steady;first;second;first;leaf
 * EXPECT: main;steady;first;second;first;linger
 * EXPECT: main;steady;first;second;linger
 * EXPECT: main;steady;first;linger
 * EXPECT: main;steady;outer;leave;leaf
 * EXPECT: main;steady;outer;leave;@plt
 * EXPECT: main;steady;outer;leave;@lib+
 * EXPECT: main;steady;outer;@plt
 * EXPECT: main;steady;outer;@lib+
 * EXPECT: main;steady;pass;first;linger
 * EXPECT: main;steady;pass;first;leaf
 * EXPECT: @thread;steady_thread;pass;first;linger
 * EXPECT: @thread;steady_thread;pass;first;leaf
 * EXPECT: main;steady_signals;first;leaf
 * EXPECT: main;steady_signals;first;linger
 * EXPECT: main;steady_signals;@sigret;on_timer;timer_leaf
 * EXPECT: main;steady_signals;first;@sigret;on_timer;timer_leaf
 * EXPECT: main;steady_signals;first;leaf;@sigret;on_timer;timer_leaf
 * EXPECT: main;steady_signals;first;linger;@sigret;on_timer;timer_leaf
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "workload.h"

static jmp_buf back;

static CALLEE void leaf(unsigned n)
{
	SPIN(n);
}

static CALLEE void linger(unsigned n)
{
	SPIN(n);
}

static CALLEE void second(unsigned n);

static CALLEE void first(unsigned n)
{
	linger(n);
	KEEP;
	if (n & 1)
		second(n - 1);
	else
		leaf(n);
	KEEP;
}

static CALLEE void second(unsigned n)
{
	linger(n);
	KEEP;
	first(n);
	KEEP;
}

static CALLEE void leave(unsigned n)
{
	leaf(n);
	KEEP;
	longjmp(back, 1);
}

static CALLEE void outer(unsigned n)
{
	if (!setjmp(back))
		leave(n);
	KEEP;
}

/* Data that looks like the bytes before a return address. */
static unsigned char like_call[] = {0xe8, 0, 0, 0, 0, 0, 0, 0};
#define LIKE_RETURN (like_call + 5)

/* The argument is in a register when `first` is called, which pushes that register. */
static CALLEE void *pass(void *argument)
{
	first(0);
	KEEP;
	return argument;
}

static CALLEE void steady(void)
{
	for (;;) {
		first(20001);
		KEEP;
		outer(20000);
		KEEP;
		pass(NULL);
		KEEP;
		pass(LIKE_RETURN);
		KEEP;
	}
}

static CALLEE void *steady_thread(void *argument)
{
	pass(argument);
	KEEP;
	return argument;
}

static void begin_threads(void)
{
	void *arguments[] = {NULL, LIKE_RETURN};
	pthread_t thread;
	unsigned i = 0;

	while (!pthread_create(&thread, NULL, steady_thread, arguments[i++ % 2]))
		pthread_join(thread, NULL);
}

static CALLEE void timer_leaf(unsigned n)
{
	SPIN(n);
}

static CALLEE void on_timer(int signal)
{
	(void)signal;
	timer_leaf(20000);
	KEEP;
}

static CALLEE void steady_signals(void)
{
	for (;;) {
		first(0);
		KEEP;
	}
}

static void begin_signals(void)
{
	const struct sigaction action = {.sa_handler = on_timer};
	const struct itimerspec often = {{0, 100000}, {0, 100000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	timer_t timer;

	sigaction(SIGUSR1, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &often, NULL)) {
		perror("no timer");
		exit(1);
	}
	steady_signals();
}

/* A number in a file of one line; -1. */
static long number_in(const char *path, const char *format)
{
	FILE *file = fopen(path, "re");
	long number;

	if (!file)
		return -1;
	if (fscanf(file, format, &number) != 1)
		number = -1;
	fclose(file);
	return number;
}

/* The offset in the program's file of a function's code. */
static uint64_t offset_of(void (*function)(unsigned))
{
	uintptr_t at = (uintptr_t)function;
	unsigned long start, end, offset;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && at >= start &&
		    at < end) {
			fclose(maps);
			return at - start + offset;
		}
	}
	_exit(1);
}

static void watch(void (*function)(unsigned), bool at_entry)
{
	static const char devices[] = "/sys/bus/event_source/devices/uprobe/";
	static const char self[] = "/proc/self/exe";
	char path[128];
	struct perf_event_attr attr = {.size = sizeof(attr)};
	long type, bit;

	snprintf(path, sizeof(path), "%stype", devices);
	type = number_in(path, "%ld");
	snprintf(path, sizeof(path), "%sformat/retprobe", devices);
	bit = number_in(path, "config:%ld");
	if (type < 0 || bit < 0) {
		puts("this kernel has no uretprobes");
		exit(77);
	}
	attr.type = (uint32_t)type;
	attr.config = at_entry ? 0 : 1ull << bit;
	attr.uprobe_path = (uint64_t)(uintptr_t)self;
	attr.probe_offset = offset_of(function);
	if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) < 0) {
		perror("no uretprobe");
		exit(77);
	}
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[2] : "return";
	bool at_entry = strcmp(kind, "return") != 0 && strcmp(kind, "signals") != 0;

	watch(first, at_entry);
	watch(second, at_entry);
	watch(leave, at_entry);
	workload_ready(argc, argv);
	if (!strcmp(kind, "threads"))
		begin_threads();
	else if (!strcmp(kind, "signals"))
		begin_signals();
	else
		steady();
	return 0;
}
