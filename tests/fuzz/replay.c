/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target once over each file of a folder: what libFuzzer does with -runs=0, for any
 * compiler. An input is a block of exactly its size, so that the sanitizer sees a byte too many,
 * and may take SECONDS of CPU time.
 */
#include <dirent.h>
#include <err.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define SECONDS 10

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char at_hand[PATH_MAX];

static void too_long(int number)
{
	static const char words[] = " takes too long\n";

	(void)number;
	if (write(STDERR_FILENO, at_hand, strlen(at_hand)) > 0 &&
	    write(STDERR_FILENO, words, sizeof(words) - 1) > 0)
		_exit(1);
	_exit(1);
}

static void limit(time_t seconds)
{
	const struct itimerval time = {.it_value.tv_sec = seconds};

	if (setitimer(ITIMER_PROF, &time, NULL))
		err(1, "setitimer");
}

static void run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data;
	long size;

	if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0)
		err(1, "%s", path);
	rewind(file);
	data = malloc(size);
	if (size && (!data || fread(data, size, 1, file) != 1))
		err(1, "%s", path);
	fclose(file);
	limit(SECONDS);
	LLVMFuzzerTestOneInput(data, size);
	limit(0);
	free(data);
}

int main(int argc, char **argv)
{
	unsigned n = 0;
	DIR *folder;

	if (argc != 2 || !(folder = opendir(argv[1])))
		errx(1, "usage: %s FOLDER", argv[0]);
	signal(SIGPROF, too_long);
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(at_hand, sizeof(at_hand), "%s/%s", argv[1], entry->d_name);
		run_file(at_hand);
		n++;
	}
	closedir(folder);
	printf("%s: %u inputs\n", argv[1], n);
	return n == 0;
}
