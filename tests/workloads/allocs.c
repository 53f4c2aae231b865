/* SPDX-License-Identifier: MIT */
/*
 * Allocates on a fixed tree of call paths, and prints what each of its functions has allocated: its
 * name, so many blocks, of so many bytes each. allocs ROUNDS [wait]: with `wait` it says READY and
 * goes on after a line of input.
 *
 * Blocks are freed by the thread that made them, by another, by realloc() or never.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define BOX	 256

/* What a function has allocated. */
struct said {
	const char *function;
	unsigned long blocks;
	size_t size;
};

static struct said said[16];
static unsigned n_said, n_huge;
static void *box[BOX];
static void *volatile kept;
static volatile size_t too_large = (size_t)1 << 62;

static void say(const char *function, unsigned long blocks, size_t size)
{
	said[n_said++] = (struct said){function, blocks, size};
}

/* Keeps the call from being the function's last one, and the result from being left out. */
static void *use(void *block)
{
	kept = block;
	return block;
}

NOINLINE static void small(void)
{
	free(use(malloc(48)));
}

NOINLINE static void medium(void)
{
	free(use(calloc(10, 100)));
}

NOINLINE static void large(void)
{
	free(use(malloc(300000)));
}

/* A machine with little memory refuses it. */
NOINLINE static void huge(void)
{
	void *block = use(malloc(3000000000u));

	n_huge += block != NULL;
	free(block);
}

NOINLINE static void nothing(void)
{
	free(use(malloc(0)));
}

NOINLINE static void aligned(void)
{
	void *block = NULL;

	if (posix_memalign(&block, 64, 640) == 0)
		free(use(block));
	free(use(aligned_alloc(128, 640)));
}

/* 100 bytes, 5000 and 500 once each; the fourth fails. */
NOINLINE static void resized(void)
{
	void *block = use(malloc(100)), *same;

	block = use(realloc(block, 5000));
	block = use(realloc(block, 500));
	same = realloc(block, too_large);
	free(same ? same : block);
}

NOINLINE static void handed_over(unsigned i)
{
	box[i % BOX] = use(malloc(2000));
}

NOINLINE static void in_child(void)
{
	free(use(malloc(7000)));
}

static void *take_over(void *context)
{
	(void)context;
	for (unsigned i = 0; i < BOX; i++)
		free(box[i]);
	return NULL;
}

NOINLINE static void one(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		for (int j = 0; j < 100; j++)
			small();
		for (int j = 0; j < 10; j++)
			medium();
		large();
		nothing();
	}
	use(NULL);
}

NOINLINE static void other(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		aligned();
		resized();
	}
	huge();
	huge();
	use(NULL);
}

NOINLINE static void threads(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		pthread_t thread;

		for (unsigned j = 0; j < BOX; j++)
			handed_over(j);
		if (pthread_create(&thread, NULL, take_over, NULL) == 0)
			pthread_join(thread, NULL);
	}
}

NOINLINE static void forks(unsigned rounds)
{
	pid_t child = fork();

	if (child == 0) {
		for (unsigned i = 0; i < rounds * 10; i++)
			in_child();
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	static char input[64]; /* or the C library allocates it, perhaps behind the attaching */
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;

	if (argc > 2) {
		setvbuf(stdin, input, _IOFBF, sizeof(input));
		puts("READY");
		fflush(stdout);
		getchar();
	}
	one(rounds);
	other(rounds);
	threads(rounds / 10);
	forks(rounds);
	say("small", rounds * 100ul, 48);
	say("medium", rounds * 10ul, 1000);
	say("large", rounds, 300000);
	say("huge", n_huge, 3000000000u);
	say("aligned", rounds * 2ul, 640);
	say("resized", rounds, 5000);
	say("resized", rounds, 100);
	say("resized", rounds, 500);
	say("handed_over", rounds / 10 * (unsigned long)BOX, 2000);
	say("in_child", rounds * 10ul, 7000);
	for (unsigned i = 0; i < n_said; i++)
		printf("%s %lu %zu\n", said[i].function, said[i].blocks, said[i].size);
	return 0;
}
