/* SPDX-License-Identifier: MIT */
/*
 * Judges the estimates of sampled allocations: alloc_seeds [SEEDS [GIB [LIBRARY]]]
 *
 * Runs a program with a fixed tree of functions that knows what each has allocated, has live at the
 * end and had at the peak: in small pieces (GIB of them, default 10), by realloc() up, down and
 * failing, aligned, of no bytes, freed by another thread, and one of 3 GB. It does so SEEDS times
 * (default 200), each in a process of its own with other random numbers, with libstackalloc at its
 * usual distance, and listens to it within the process.
 *
 * For each function and quantity it prints the mean of the estimates in standard errors of that
 * mean, and how many of the 95 % intervals have the truth in them. Ends with 1 if a mean is farther
 * off than 3 standard errors, or of all intervals less than 93 or more than 97 % cover it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/regions/alloc_library.h"

enum function {
	SMALL,
	MEDIUM,
	RESIZED,
	ALIGNED,
	NOTHING,
	HANDED,
	KEPT,
	GROWN,
	HUGE_ONE,
	FUNCTIONS
};

static const char *const names[FUNCTIONS] = {"small",  "medium", "resized", "aligned", "nothing",
					     "handed", "kept",	 "grown",   "huge"};

enum quantity { BYTES, OBJECTS, LIVE, PEAK, QUANTITIES };

static const char *const quantities[QUANTITIES] = {"bytes", "objects", "live", "peak"};

/* What is known, or estimated, of a function. */
struct sums {
	double value[FUNCTIONS][QUANTITIES];
	double variance[FUNCTIONS][QUANTITIES];
};

/* --- listening: memory of its own, since the allocator calls here -------------------------------
 */

#define SLOTS (1u << 20)

struct block {
	uintptr_t address; /* 0: free; blocks that ended keep theirs, with a size of 0 */
	enum function function;
	double size, weight;
};

static struct block *blocks;
static struct sums *heard;
static _Thread_local volatile enum function running; /* malloc() reads it */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double live_now, live_most;

static struct block *find_block(uintptr_t address)
{
	uint32_t at = (uint32_t)(((address >> 4) * 0x9e3779b97f4a7c15u) >> 44);

	while (blocks[at].address && blocks[at].address != address)
		at = (at + 1) % SLOTS;
	return &blocks[at];
}

static double variance_of(const struct block *b)
{
	return b->weight > b->size ? b->weight * (b->weight - b->size) : 0;
}

/* A new peak is what is live now. */
static void look_at_peak(void)
{
	if (live_now <= live_most)
		return;
	live_most = live_now;
	for (int f = 0; f < FUNCTIONS; f++) {
		heard->value[f][PEAK] = heard->value[f][LIVE];
		heard->variance[f][PEAK] = heard->variance[f][LIVE];
	}
}

static void change_live(const struct block *b, int sign)
{
	heard->value[b->function][LIVE] += sign * b->weight;
	heard->variance[b->function][LIVE] += sign * variance_of(b);
	live_now += sign * b->weight;
}

static const void *hear_alloc(const void *pointer, size_t size, uint64_t weight)
{
	const double bytes = (double)(size + !size), objects = (double)weight / bytes;
	struct block *b;

	pthread_mutex_lock(&lock);
	b = find_block((uintptr_t)pointer);
	if (b->address && b->size > 0)
		abort(); /* its end was not told of */
	*b = (struct block){(uintptr_t)pointer, running, bytes, (double)weight};
	heard->value[running][BYTES] += (double)weight;
	heard->variance[running][BYTES] += variance_of(b);
	heard->value[running][OBJECTS] += objects;
	heard->variance[running][OBJECTS] += objects * (objects - 1);
	change_live(b, 1);
	look_at_peak();
	pthread_mutex_unlock(&lock);
	return pointer;
}

static void hear_free(const void *pointer)
{
	struct block *b;

	pthread_mutex_lock(&lock);
	b = find_block((uintptr_t)pointer);
	if (!b->address || b->size == 0)
		abort(); /* it was not told of */
	change_live(b, -1);
	b->size = 0;
	pthread_mutex_unlock(&lock);
}

struct library {
	const char *path;
	uint64_t offset;
	uintptr_t address;
};

static int find_address(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct library *library = arg;

	(void)size;
	if (strcmp(info->dlpi_name, library->path) != 0)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && library->offset - part->p_offset < part->p_filesz)
			library->address =
				info->dlpi_addr + part->p_vaddr + library->offset - part->p_offset;
	}
	return 1;
}

static uintptr_t address_of(const char *path, uint64_t offset)
{
	struct library library = {.path = path, .offset = offset};

	if (!dl_iterate_phdr(find_address, &library) || !library.address)
		abort();
	return library.address;
}

/* Lets a probe's function jump, and raises its semaphore. */
static void listen_to(const char *library, const char *probe, uintptr_t to)
{
	unsigned char code[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
	uint64_t offset, semaphore;
	uintptr_t at;

	if (alloc_library_probe(library, probe, &offset, &semaphore))
		abort();
	at = address_of(library, offset);
	memcpy(code + 2, &to, sizeof(to));
	if (mprotect((void *)(at & -4096ul), 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		abort();
	memcpy((void *)at, code, sizeof(code));
	++*(volatile uint16_t *)address_of(library, semaphore);
}

/* --- the program --------------------------------------------------------------------------------
 */

enum { HANDED_BLOCKS = 40000, KEPT_BLOCKS = 80000, GROWN_BLOCKS = 60000, RESIZED_BLOCKS = 30000 };

static void *handed[HANDED_BLOCKS], *kept[KEPT_BLOCKS], *grown[GROWN_BLOCKS];
static void *volatile used;
static struct sums known;

static void *allocated(enum function f, void *block, double size)
{
	used = block;
	known.value[f][BYTES] += size;
	known.value[f][OBJECTS]++;
	return block;
}

static void run_small(size_t bytes)
{
	running = SMALL;
	for (size_t i = 0; i < bytes / 48; i++)
		free(used = malloc(48));
	known.value[SMALL][BYTES] += (double)(bytes / 48 * 48);
	known.value[SMALL][OBJECTS] += (double)(bytes / 48);
}

static void run_resized(void)
{
	static volatile size_t too_large = (size_t)1 << 62;

	running = RESIZED;
	for (int i = 0; i < RESIZED_BLOCKS; i++) {
		void *block = allocated(RESIZED, malloc(100), 100), *same;

		block = allocated(RESIZED, realloc(block, 5000), 5000);
		block = allocated(RESIZED, realloc(block, 500), 500);
		same = realloc(block, too_large);
		free(same ? same : block);
	}
}

static void run_others(void)
{
	running = MEDIUM;
	for (int i = 0; i < 100000; i++)
		free(allocated(MEDIUM, calloc(10, 100), 1000));
	running = ALIGNED;
	for (int i = 0; i < 100000; i++)
		free(allocated(ALIGNED, aligned_alloc(128, 640), 640));
	running = NOTHING; /* each counts as one byte */
	for (int i = 0; i < 30000000; i++)
		free(used = malloc(0));
	known.value[NOTHING][BYTES] += 30000000;
	known.value[NOTHING][OBJECTS] += 30000000;
	running = HUGE_ONE;
	free(allocated(HUGE_ONE, malloc(3000000000u), 3e9));
}

static void *free_handed(void *unused)
{
	for (int i = 0; i < HANDED_BLOCKS; i++)
		free(handed[i]);
	return unused;
}

static void run_handed(void)
{
	pthread_t thread;

	running = HANDED;
	for (int i = 0; i < HANDED_BLOCKS; i++)
		handed[i] = allocated(HANDED, malloc(2000), 2000);
	pthread_create(&thread, NULL, free_handed, NULL);
	pthread_join(thread, NULL);
}

/* The peak is before the last of what has grown is freed. */
static void run_kept(void)
{
	running = KEPT;
	for (int i = 0; i < KEPT_BLOCKS; i++)
		kept[i] = allocated(KEPT, malloc(1000), 1000);
	known.value[KEPT][LIVE] = known.value[KEPT][PEAK] = KEPT_BLOCKS * 1000.0;
	running = GROWN;
	for (int i = 0; i < GROWN_BLOCKS; i++)
		grown[i] = allocated(GROWN, malloc(70000), 70000);
	known.value[GROWN][PEAK] = GROWN_BLOCKS * 70000.0;
	for (int i = 0; i < GROWN_BLOCKS; i++)
		free(grown[i]);
}

static void run_program(size_t small_bytes)
{
	run_small(small_bytes);
	run_others();
	run_resized();
	run_handed();
	run_kept();
}

/* --- the judgement ------------------------------------------------------------------------------
 */

/* All seeds' errors of one estimate. */
struct verdict {
	double sum, squares; /* of the differences from the truth */
	unsigned n, covered;
};

static struct verdict verdicts[FUNCTIONS][QUANTITIES];

static void take_seed(const struct sums *truth, const struct sums *is)
{
	for (int f = 0; f < FUNCTIONS; f++) {
		for (int q = 0; q < QUANTITIES; q++) {
			struct verdict *v = &verdicts[f][q];
			double off = is->value[f][q] - truth->value[f][q];

			v->sum += off;
			v->squares += off * off;
			v->n++;
			v->covered += fabs(off) <= 1.96 * sqrt(is->variance[f][q]) + 1e-6;
		}
	}
}

/* Prints, and returns whether all is as it must be. */
static bool judge(const struct sums *truth)
{
	unsigned n = 0, covered = 0;
	bool is_good = true;

	printf("%-8s %-8s %15s %10s %9s %8s\n", "", "", "truth", "mean off", "in errors",
	       "covered");
	for (int f = 0; f < FUNCTIONS; f++) {
		for (int q = 0; q < QUANTITIES; q++) {
			const struct verdict *v = &verdicts[f][q];
			double mean = v->sum / v->n, spread = v->squares / v->n - mean * mean;
			double error = sqrt(spread > 0 ? spread / v->n : 0);
			double errors = error > 0 ? mean / error : 0;

			if (truth->value[f][q] == 0 && v->squares == 0)
				continue;
			printf("%-8s %-8s %15.0f %9.3f%% %9.2f %7.1f%%\n", names[f], quantities[q],
			       truth->value[f][q],
			       truth->value[f][q] > 0 ? 100 * mean / truth->value[f][q] : 0, errors,
			       100.0 * v->covered / v->n);
			is_good &= fabs(errors) <= 3;
			if (error > 0) { /* one of 3 GB is always sampled */
				n += v->n;
				covered += v->covered;
			}
		}
	}
	printf("95 %% intervals that cover the truth: %.2f %% of %u\n", 100.0 * covered / n, n);
	is_good &= covered >= 0.93 * n && covered <= 0.97 * n;
	printf("target: each mean within 3 standard errors, 93 to 97 %% covered: %s\n",
	       is_good ? "met" : "MISSED");
	return is_good;
}

static void *shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? (abort(), NULL) : memory;
}

int main(int argc, char **argv)
{
	unsigned seeds = argc > 1 ? (unsigned)atoi(argv[1]) : 200;
	double gib = argc > 2 ? atof(argv[2]) : 10;
	struct sums *truth = shared(sizeof(*truth));
	char library[PATH_MAX];

	if (!realpath(argc > 3 ? argv[3] : "build/libstackalloc.so", library)) {
		perror("alloc_seeds: libstackalloc.so");
		return 2;
	}
	if (!getenv("LD_PRELOAD")) {
		setenv("LD_PRELOAD", library, 1);
		execv("/proc/self/exe", argv);
		return 2;
	}
	heard = shared(sizeof(*heard));
	blocks = shared(SLOTS * sizeof(*blocks));
	listen_to(library, "free", (uintptr_t)hear_free);
	listen_to(library, "alloc", (uintptr_t)hear_alloc);
	for (unsigned i = 0; i < seeds; i++) {
		int status = 1;
		pid_t child;

		memset(heard, 0, sizeof(*heard));
		child = fork();
		if (child == 0) {
			blocks = shared(SLOTS * sizeof(*blocks));
			live_now = live_most = 0;
			memset(heard, 0, sizeof(*heard));
			run_program((size_t)(gib * 0x1p30));
			*truth = known;
			_exit(0);
		}
		waitpid(child, &status, 0);
		if (status) {
			fprintf(stderr, "alloc_seeds: a run ended with status %d\n", status);
			return 2;
		}
		take_seed(truth, heard);
	}
	return judge(truth) ? 0 : 1;
}
