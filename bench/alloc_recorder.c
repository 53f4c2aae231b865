/* SPDX-License-Identifier: MIT */
/*
 * Keeps every allocation of a program, by whole call path: the truth that bench/alloc_truth.py
 * compares samples with. To be preloaded behind libstackalloc, so that both see the same calls:
 *
 *	LD_PRELOAD=libstackalloc.so:alloc_recorder.so RECORDER_OUT=FOLDER RECORDER_DISTANCE=BYTES
 *
 * Each process keeps a file FOLDER/PID that is mapped, so it is complete however the process ends.
 * For each path it has what was allocated, is live, and was live when the process had most; and the
 * squares of the standard errors that sampling one in RECORDER_DISTANCE bytes has.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { DEPTH = 96, PATHS = 1 << 16, BLOCKS = 1 << 23 };

struct frame {
	char object[40]; /* the file's name without folders */
	uint64_t offset; /* in the file, of the last byte of the call */
};

struct amount {
	double bytes, variance;
};

/* bench/alloc_truth.py reads this. */
struct path {
	uint64_t hash; /* 0: free */
	uint64_t n;    /* frames, leaf first */
	struct amount allocated, live, peak;
	double blocks;
	uint64_t epoch; /* of the peak that `peak` is of; after a later one it is `live` */
	struct frame frames[DEPTH];
};

struct block {
	uintptr_t address; /* 0: free; 1: was used */
	uint32_t path;
	double size;
};

#define FILE_BYTES (PATHS * sizeof(struct path) + sizeof(uint64_t))

static struct path *paths;
static struct block *blocks;
static double distance, live, most;
static uint64_t epoch,
	*shared_epoch; /* of the highest peak so far; its place is behind the paths */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool is_inside;

/* --- paths -------------------------------------------------------------------------------------
 */

struct wanted {
	uintptr_t pc;
	struct frame *frame;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct wanted *wanted = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const uintptr_t start = info->dlpi_addr + part->p_vaddr;
		const char *name = info->dlpi_name[0] ? info->dlpi_name : "program";
		const char *slash = strrchr(name, '/');

		if (part->p_type != PT_LOAD || wanted->pc - start >= part->p_memsz)
			continue;
		wanted->frame->offset = wanted->pc - start + part->p_offset;
		snprintf(wanted->frame->object, sizeof(wanted->frame->object), "%.39s",
			 slash ? slash + 1 : name);
		return 1;
	}
	return 0;
}

/* Of libstackalloc only samples have frames: they are no part of the path. */
static void fill(struct path *path, void *const *pcs, int n)
{
	for (int i = 0; i < n && path->n < DEPTH; i++) {
		struct frame *frame = &path->frames[path->n];
		struct wanted wanted = {(uintptr_t)pcs[i] - 1, frame};

		memset(frame, 0, sizeof(*frame));
		dl_iterate_phdr(find_object, &wanted);
		path->n += !strstr(frame->object, "libstackalloc") &&
			   !strstr(frame->object, "alloc_recorder");
	}
}

static uint32_t find_path(void *const *pcs, int n)
{
	uint64_t hash = 1;
	uint32_t at;

	for (int i = 0; i < n; i++)
		hash = (hash ^ (uintptr_t)pcs[i]) * 0x9e3779b97f4a7c15u;
	hash ^= hash >> 29;
	hash |= 1;
	for (at = hash % PATHS; paths[at].hash && paths[at].hash != hash; at = (at + 1) % PATHS)
		;
	if (!paths[at].hash) {
		paths[at].hash = hash;
		fill(&paths[at], pcs, n);
	}
	return at;
}

/* --- blocks ------------------------------------------------------------------------------------
 */

static struct block *find_block(uintptr_t address, bool is_new)
{
	uint32_t at = (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 41);

	while (blocks[at].address && blocks[at].address != address &&
	       !(is_new && blocks[at].address == 1))
		at = (at + 1) % BLOCKS;
	return &blocks[at];
}

static double variance_of(double size)
{
	const double chance = -expm1(-size / distance);

	return size * size * (1 - chance) / chance;
}

static void change(struct path *path, double size, int sign)
{
	if (path->epoch != epoch) {
		path->peak = path->live;
		path->epoch = epoch;
	}
	path->live.bytes += sign * size;
	path->live.variance += sign * variance_of(size);
	live += sign * size;
	if (live > most) {
		most = live;
		*shared_epoch = ++epoch;
	}
}

static void add(void *pointer, size_t size)
{
	void *pcs[DEPTH];
	struct block *block;
	double bytes = (double)(size + !size);
	int n;

	if (!pointer || is_inside || !paths)
		return;
	is_inside = true;
	n = backtrace(pcs, DEPTH);
	pthread_mutex_lock(&lock);
	block = find_block((uintptr_t)pointer, true);
	*block = (struct block){(uintptr_t)pointer, find_path(pcs, n), bytes};
	paths[block->path].allocated.bytes += bytes;
	paths[block->path].allocated.variance += variance_of(bytes);
	paths[block->path].blocks++;
	change(&paths[block->path], bytes, 1);
	pthread_mutex_unlock(&lock);
	is_inside = false;
}

static void end(void *pointer)
{
	struct block *block;

	if (!pointer || is_inside || !paths)
		return;
	pthread_mutex_lock(&lock);
	block = find_block((uintptr_t)pointer, false);
	if (block->address == (uintptr_t)pointer) {
		change(&paths[block->path], block->size, -1);
		block->address = 1;
	}
	pthread_mutex_unlock(&lock);
}

/* --- the process --------------------------------------------------------------------------------
 */

static void open_file(void)
{
	const char *folder = getenv("RECORDER_OUT"), *bytes = getenv("RECORDER_DISTANCE");
	char name[4096];
	int fd;
	void *at;

	paths = NULL;
	if (!folder || !bytes)
		return;
	distance = atof(bytes);
	snprintf(name, sizeof(name), "%s/%d", folder, (int)getpid());
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || ftruncate(fd, (off_t)FILE_BYTES))
		abort();
	at = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	blocks = mmap(NULL, BLOCKS * sizeof(*blocks), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED || blocks == MAP_FAILED)
		abort();
	live = most = 0;
	epoch = 1;
	shared_epoch = (uint64_t *)((struct path *)at + PATHS);
	paths = at;
}

/* The child of a fork begins with nothing, as libstackalloc has it. */
static void begin_anew(void)
{
	pthread_mutex_init(&lock, NULL);
	munmap(blocks, BLOCKS * sizeof(*blocks));
	munmap(paths, FILE_BYTES);
	is_inside = true;
	open_file();
	is_inside = false;
}

__attribute__((constructor)) static void begin(void)
{
	void *pcs[2];

	is_inside = true;
	backtrace(pcs, 2); /* loads what it needs */
	open_file();
	if (paths)
		pthread_atfork(NULL, NULL, begin_anew);
	is_inside = false;
}

/* --- the functions ------------------------------------------------------------------------------
 */

static void *(*next_malloc)(size_t), *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t), *(*next_memalign)(size_t, size_t);
static void (*next_free)(void *);
static bool is_finding;

/* What dlsym() asks for meanwhile; never given back. */
static char early[1 << 16] __attribute__((aligned(16)));
static size_t early_used;

static void *early_block(size_t size)
{
	void *block = early + early_used;

	early_used += (size + 15) & ~(size_t)15;
	return early_used <= sizeof(early) ? block : NULL;
}

static bool is_early(const void *block)
{
	return (const char *)block >= early && (const char *)block < early + sizeof(early);
}

static void find_next(void)
{
	is_finding = true;
	next_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	next_memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
	next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	is_finding = false;
}

/* Returns whether the functions behind are known. */
static bool is_ready(void)
{
	if (!next_malloc && !is_finding)
		find_next();
	return !is_finding;
}

EXPORT void *malloc(size_t size)
{
	void *block = is_ready() ? next_malloc(size) : early_block(size);

	add(block, size);
	return block;
}

EXPORT void *calloc(size_t n, size_t size)
{
	void *block = is_ready() ? next_calloc(n, size) : early_block(n * size);

	add(block, n * size);
	return block;
}

EXPORT void free(void *block)
{
	if (is_early(block))
		return;
	end(block);
	if (is_ready())
		next_free(block);
}

/* The end comes before another thread can have the address; realloc() hardly ever fails. */
EXPORT void *realloc(void *block, size_t size)
{
	void *moved;

	if (!is_ready())
		return block ? NULL : early_block(size);
	end(block);
	moved = next_realloc(block, size);
	add(moved, size);
	return moved;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	void *block = is_ready() ? next_memalign(alignment, size) : NULL;

	add(block, size);
	return block;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

EXPORT int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	*ret_block = memalign(alignment, size);
	return *ret_block ? 0 : 12;
}
