/* SPDX-License-Identifier: MIT */
/* A thread that runs code made at run time for long, and then calls a function of Python for the
 * first time. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CODE_BYTES 256

struct late {
	void (*code)(unsigned long turns);
	unsigned long turns;
	void (*call)(void);
};

__attribute__((noinline, noclone)) void turn_around(unsigned long turns)
{
	for (volatile unsigned long i = 0; i < turns; i++)
		;
}

static void *run(void *arg)
{
	const struct late *late = arg;

	late->code(late->turns);
	late->call();
	return NULL;
}

void run_late(unsigned long turns, void (*call)(void))
{
	struct late late = {.turns = turns, .call = call};
	pthread_t thread;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		abort();
	memcpy(page, (void *)turn_around, CODE_BYTES);
	memcpy(&late.code, &page, sizeof(page));
	pthread_create(&thread, NULL, run, &late);
	pthread_join(thread, NULL);
}
