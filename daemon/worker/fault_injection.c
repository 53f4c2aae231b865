/* SPDX-License-Identifier: MIT */
/* Makes the fault that a test asks for; see fault_injection.h. */
#include "daemon/worker/fault_injection.h"

#ifndef STACKD_FAULTS

void fault_prepare(void)
{
}

void fault_at(const struct elf_file *file, enum fault_where where)
{
	(void)file;
	(void)where;
}

uint32_t fault_few(const char *name, uint32_t usual)
{
	(void)name;
	return usual;
}

#else

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define SLOW_TIMES 12
#define SLOW_NS	   150000000

static char what[16], at[16], build_id[2 * ELF_BUILD_ID_MAX + 1];

void fault_prepare(void)
{
	const char *text = getenv("STACKD_FAULT");

	if (text)
		sscanf(text, "%15[a-z]:%15[a-z]:%40[0-9a-f]", what, at, build_id);
}

static void take_memory(void)
{
	for (size_t size = 1 << 20;; size += 1 << 20) {
		char *block = malloc(size);

		if (!block)
			_exit(1); /* as libdw does */
		memset(block, 1, size);
	}
}

/* Uses SLOW_NS of CPU time, which is within the limits of a call, the first SLOW_TIMES times. CPU
 * time rather than real time, so that a busy machine does not change what the other processes do
 * meanwhile. */
static void be_slow(void)
{
	const uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + SLOW_NS;
	static unsigned times;

	if (times++ < SLOW_TIMES)
		while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
			;
}

static void do_it(void)
{
	volatile unsigned turns = 0;

	if (!strcmp(what, "crash"))
		raise(SIGSEGV);
	else if (!strcmp(what, "kill"))
		raise(SIGKILL);
	else if (!strcmp(what, "memory"))
		take_memory();
	else if (!strcmp(what, "open"))
		close(open("/etc/passwd", O_RDONLY));
	else if (!strcmp(what, "socket"))
		close(socket(AF_INET, SOCK_STREAM, 0));
	else if (!strcmp(what, "spin"))
		for (;;)
			turns++;
	else if (!strcmp(what, "slow"))
		be_slow();
	else if (!strcmp(what, "hang"))
		for (;;)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_sec = 1}, NULL);
}

uint32_t fault_few(const char *name, uint32_t usual)
{
	if (strcmp(what, "few") || strcmp(at, name))
		return usual;
	return (uint32_t)strtoul(build_id, NULL, 16);
}

void fault_at(const struct elf_file *file, enum fault_where where)
{
	static const char *const names[] = {"identity", "object", "table", "names", "walk", "file"};
	char own[2 * ELF_BUILD_ID_MAX + 1] = "";
	const uint8_t *id;
	size_t len;

	if (!*what || strcmp(at, names[where]))
		return;
	id = elf_file_build_id(file, &len);
	for (size_t i = 0; i < len; i++)
		snprintf(own + 2 * i, 3, "%02x", id[i]);
	if (*build_id && !strncmp(own, build_id, strlen(build_id)))
		do_it();
}

#endif
