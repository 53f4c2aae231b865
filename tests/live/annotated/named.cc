/* SPDX-License-Identifier: MIT */
/*
 * Passes through named regions whose numbers are known: named N PLUGIN PLUGIN. Threads, recursion,
 * exceptions, regions that are left, plugins that are unloaded, and processes that end within a
 * region by _exit(), abort() and SIGKILL.
 */
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "stackd_region.h"

extern "C" void count_in_c(int n);
extern "C" void count_namesake(int n);

static int n;
static volatile int sink;

static __attribute__((noinline)) void inner(int times)
{
	for (int i = 0; i < times; i++) {
		STACKD_REGION("inner");
		sink = sink + i;
	}
}

static __attribute__((noinline)) void step()
{
	STACKD_REGION("a step (1/2): x+y_#.-");
	inner(3);
}

static __attribute__((noinline)) void run_thread()
{
	for (int i = 0; i < n; i++)
		step();
}

static __attribute__((noinline)) void deep(int depth)
{
	STACKD_REGION("deep");
	if (depth > 1)
		deep(depth - 1);
	sink = sink + 1;
}

static __attribute__((noinline)) void throw_it(int i)
{
	STACKD_REGION("thrown");
	if (i >= 0)
		throw std::runtime_error("");
}

static __attribute__((noinline)) void leave()
{
	STACKD_REGION_END("inner"); /* was not begun: does nothing */
	STACKD_REGION_BEGIN("outer");
	STACKD_REGION_BEGIN("left");
	sink = sink + 1;
	STACKD_REGION_END("outer");
}

static jmp_buf back;

static __attribute__((noinline)) void jump()
{
	STACKD_REGION_BEGIN("jumped");
	longjmp(back, 1);
}

static __attribute__((noinline)) void jump_deeper()
{
	volatile char room[200] = {0};

	sink = sink + room[0];
	STACKD_REGION_BEGIN("jumped deeper");
	longjmp(back, 1);
}

/* Leaves 2,000 regions by longjmp(), the first half by turns, with none around them. */
static __attribute__((noinline)) void run_jumps()
{
	for (volatile int i = 0; i < 2000; i = i + 1) {
		if (!setjmp(back))
			i < 1000 && i % 2 == 0 ? jump_deeper() : jump();
	}
	step();
	count_namesake(n); /* the main thread has no room for more paths */
}

static __attribute__((noinline)) void end_by_exit()
{
	for (int i = 0; i < 10; i++) {
		STACKD_REGION("child");
	}
	STACKD_REGION("exits");
	_exit(0);
}

static __attribute__((noinline)) void end_by_abort()
{
	STACKD_REGION("aborts");
	inner(5);
	abort();
}

/* Two plugins, which differ in the names of their functions alone, in turn: each is loaded where
 * the other one was. */
static __attribute__((noinline)) void use_plugins(const char *first, const char *second, int times)
{
	for (int i = 0; i < times; i++) {
		void *plugin = dlopen(i % 2 ? second : first, RTLD_NOW);
		void (*run)() = (void (*)())dlsym(plugin, "run_plugin");

		for (int call = 0; call < 2; call++)
			run();
		step();
		dlclose(plugin);
	}
	inner(200000);
}

static void in_child(void (*function)())
{
	pid_t child = fork();

	if (!child)
		function();
	waitpid(child, nullptr, 0);
}

int main(int argc, char **argv)
{
	STACKD_REGION("whole");

	n = argc > 1 ? atoi(argv[1]) : 1000;
	std::thread first(run_thread), second(run_thread), third(run_jumps);
	first.join();
	second.join();
	third.join();
	/* Its paths would take half of the main thread's room for words. */
	std::thread(deep, 100).join();
	for (int i = 0; i < 20; i++) {
		try {
			throw_it(i);
		} catch (const std::runtime_error &) {
		}
		leave();
	}
	count_in_c(n);
	if (argc > 3)
		use_plugins(argv[2], argv[3], 200);
	in_child(end_by_exit);
	in_child(end_by_abort);
	kill(getpid(), SIGKILL);
}
