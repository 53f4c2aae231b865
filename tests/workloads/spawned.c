/* SPDX-License-Identifier: MIT */
/*
 * Allocates in children of every kind, and in itself: each way of starting one has a function of
 * its own, which allocates BLOCKS blocks and frees every other one. spawned WAY is such a child.
 * Prints for each function
 *
 *   NAME BLOCKS LIVE_BLOCKS SIZE
 *
 * its blocks, those of them that are live at the end, and the bytes of each.
 *
 * Children of vfork() have their parent's memory until they execute a program: what lend() has
 * allocated, one frees there, and a child of its own; of what it allocates (borrowed()), its parent
 * frees every other one.
 */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "workload.h"

enum { BLOCKS = 500, SIZE = 70000 };

static void *blocks[BLOCKS], *lent[BLOCKS];
static char self[] = "/proc/self/exe";

static void take(void **to)
{
	for (int i = 0; i < BLOCKS; i++)
		to[i] = malloc(SIZE);
}

static void give_back(void **from, int first, int distance)
{
	for (int i = first; i < BLOCKS; i += distance) {
		free(from[i]);
		from[i] = NULL;
	}
}

#define ALLOCATES(name)                                                                            \
	CALLEE void name(void)                                                                     \
	{                                                                                          \
		take(blocks);                                                                      \
		give_back(blocks, 0, 2);                                                           \
		KEEP;                                                                              \
	}

ALLOCATES(parent)
ALLOCATES(passed)
ALLOCATES(emptied)
ALLOCATES(below_emptied)
ALLOCATES(changed)
ALLOCATES(replaced)
ALLOCATES(vforked)
ALLOCATES(forked)
ALLOCATES(before_exec)
ALLOCATES(after_exec)

CALLEE void lend(void)
{
	take(lent);
	KEEP;
}

CALLEE void borrowed(void)
{
	take(blocks);
	KEEP;
}

/* --- children --------------------------------------------------------------------------------- */

static char *no_environment[] = {NULL};

static void spawn(const char *way, char **environment)
{
	char *const arguments[] = {self, (char *)way, NULL};
	pid_t child;

	if (posix_spawn(&child, self, NULL, NULL, arguments, environment) == 0)
		waitpid(child, NULL, 0);
}

/* The environment without STACKALLOC_BYTES, and with another variable. */
static void spawn_changed(void)
{
	char *environment[256], other[] = "OTHER=1";
	int n = 0;

	for (char **e = environ; *e && n < 254; e++) {
		if (strncmp(*e, "STACKALLOC_BYTES=", 17) != 0)
			environment[n++] = *e;
	}
	environment[n++] = other;
	environment[n] = NULL;
	spawn("changed", environment);
}

static void spawn_replaced(void)
{
	char preload[] = "LD_PRELOAD=libm.so.6", *environment[] = {preload, NULL};

	spawn("replaced", environment);
}

static void use_vfork(void)
{
	char *const arguments[] = {self, (char *)"vforked", NULL};
	pid_t child = vfork();

	if (child == 0) {
		execve(self, arguments, environ);
		_exit(1);
	}
	waitpid(child, NULL, 0);
}

/* In a child of vfork(), and in one of its own. */
CALLEE void use_what_is_lent(void)
{
	pid_t child = vfork();

	if (child == 0) {
		give_back(lent, 0, 2);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	give_back(lent, 1, 2);
}

static void *use_memory_of_parent(void *is_thread)
{
	pid_t child;

	lend();
	child = vfork();
	if (child == 0) {
		use_what_is_lent();
		borrowed();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	give_back(blocks, 0, 2);
	return is_thread;
}

static void fork_child(void (*allocate)(void), char *next)
{
	char *const arguments[] = {self, next, NULL};
	pid_t child = fork();

	if (child == 0) {
		give_back(blocks, 0, 1); /* its copies */
		allocate();
		if (next)
			execve(self, arguments, environ);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static int be_child(const char *way)
{
	static const struct {
		const char *way;
		void (*allocate)(void);
	} ways[] = {{"passed", passed},	       {"emptied", emptied},
		    {"changed", changed},      {"replaced", replaced},
		    {"vforked", vforked},      {"below_emptied", below_emptied},
		    {"after_exec", after_exec}};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(way, ways[i].way) == 0)
			ways[i].allocate();
	}
	if (strcmp(way, "emptied") == 0)
		spawn("below_emptied", environ);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"parent",	   "passed",	"emptied", "below_emptied",
					    "changed",	   "replaced",	"vforked", "forked",
					    "before_exec", "after_exec"};
	char after_exec[] = "after_exec";
	pthread_t thread;

	if (argc > 1)
		return be_child(argv[1]);
	spawn("passed", environ);
	spawn("emptied", no_environment);
	spawn_changed();
	spawn_replaced();
	use_vfork();
	use_memory_of_parent(NULL);
	if (pthread_create(&thread, NULL, use_memory_of_parent, NULL) == 0)
		pthread_join(thread, NULL);
	parent();
	fork_child(forked, NULL);
	fork_child(before_exec, after_exec);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		printf("%s %d %d %d\n", names[i], BLOCKS, BLOCKS / 2, SIZE);
	printf("lend %d 0 %d\nborrowed %d %d %d\n", 2 * BLOCKS, SIZE, 2 * BLOCKS, BLOCKS, SIZE);
	return 0;
}
