/* SPDX-License-Identifier: MIT */
/*
 * Keeps some of what it allocates. kept() keeps its blocks; grown() adds more, which another thread
 * then frees, so that its last one is the peak; a child frees its copy of what is kept; shrunk()
 * makes blocks smaller and keeps them; passing() frees each at once. Prints for each function
 *
 *   NAME LIVE_BLOCKS LIVE_SIZE PEAK_BLOCKS PEAK_SIZE
 *
 * the blocks of it that are live at the end, and at the peak, and the bytes of each.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>

#include "workload.h"

enum { KEPT = 3000, KEPT_SIZE = 1000, GROWN = 4000, GROWN_SIZE = 3000, SHRUNK = 1000 };

static void *all_kept[KEPT], *all_grown[GROWN], *all_shrunk[SHRUNK];

CALLEE void kept(void)
{
	for (int i = 0; i < KEPT; i++)
		all_kept[i] = malloc(KEPT_SIZE);
}

CALLEE void grown(void)
{
	for (int i = 0; i < GROWN; i++)
		all_grown[i] = malloc(GROWN_SIZE);
}

CALLEE void shrunk(void)
{
	for (int i = 0; i < SHRUNK; i++)
		all_shrunk[i] = realloc(malloc(6000), 700);
}

CALLEE void passing(void)
{
	for (int i = 0; i < 10000; i++) {
		void *volatile block = malloc(500);

		free(block);
	}
}

static void *free_grown(void *unused)
{
	for (int i = 0; i < GROWN; i++)
		free(all_grown[i]);
	return unused;
}

static void free_in_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		for (int i = 0; i < KEPT; i++)
			free(all_kept[i]);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(void)
{
	pthread_t thread;

	kept();
	passing();
	grown();
	pthread_create(&thread, NULL, free_grown, NULL);
	pthread_join(thread, NULL);
	free_in_child();
	shrunk();
	passing();
	printf("kept %d %d %d %d\n", KEPT, KEPT_SIZE, KEPT, KEPT_SIZE);
	printf("grown 0 0 %d %d\n", GROWN, GROWN_SIZE);
	printf("shrunk %d 700 0 0\n", SHRUNK);
	printf("passing 0 0 0 0\n");
	return 0;
}
