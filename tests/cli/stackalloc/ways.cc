/* SPDX-License-Identifier: MIT */
/*
 * Every way to allocate and to free, of which the listener must hear exactly: run with
 * STACKALLOC_BYTES so small that every block is sampled. Ends with 1 if it has not heard of a
 * block, or of its end, or of something else. `ways PART`: c, new, realloc, fork, threads, load
 * LIBRARY.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "listener.h"

static int failures;

/* Keeps compilers from leaving pairs out. */
static void *volatile seen;

static void fail(const char *way, const char *what)
{
	fprintf(stderr, "%s: %s\n", way, what);
	failures++;
}

/* After `way` has allocated: one event, of this block. */
static void *began(const char *way, const struct heard &before, void *block, size_t size)
{
	struct heard now = listener_heard();

	seen = block;
	if (!block)
		fail(way, "no block");
	if (now.allocs != before.allocs + 1 || now.frees != before.frees)
		fail(way, "not one event");
	if (listener_size(block) != (int64_t)size)
		fail(way, "another size");
	return block;
}

static void ended(const char *way, const struct heard &before, void *block)
{
	struct heard now = listener_heard();

	if (now.frees != before.frees + 1 || now.allocs != before.allocs)
		fail(way, "not one event of its end");
	if (listener_size(block) != -1)
		fail(way, "still live");
}

#define BEGIN(size, expression)                                                                    \
	([&] {                                                                                     \
		struct heard before = listener_heard();                                            \
		return began(#expression, before, expression, size);                               \
	}())

#define END(block, statement)                                                                      \
	do {                                                                                       \
		struct heard before = listener_heard();                                            \
		statement;                                                                         \
		ended(#statement, before, block);                                                  \
	} while (0)

/* Without any event. */
#define SILENT(statement)                                                                          \
	do {                                                                                       \
		struct heard before = listener_heard(), after;                                     \
		statement;                                                                         \
		after = listener_heard();                                                          \
		if (before.allocs != after.allocs || before.frees != after.frees)                  \
			fail(#statement, "not silent");                                            \
	} while (0)

static void *posix_block(size_t alignment, size_t size)
{
	void *block = nullptr;

	return posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
}

static void way_of_c(void)
{
	void *blocks[] = {
		BEGIN(100, malloc(100)),
		BEGIN(3000000000u, malloc(3000000000u)),
		BEGIN(700, calloc(7, 100)),
		BEGIN(100, realloc(nullptr, 100)),
		BEGIN(700, reallocarray(nullptr, 7, 100)),
		BEGIN(200, posix_block(64, 200)),
		BEGIN(256, aligned_alloc(64, 256)),
		BEGIN(200, memalign(4096, 200)),
		BEGIN(200, valloc(200)),
		BEGIN(42, strdup("what the library itself allocates, within")),
	};

	for (void *block : blocks)
		END(block, free(block));
	if (!dlsym(RTLD_DEFAULT, "mallctl")) { /* jemalloc has none: libc's would be taken */
		void *block = BEGIN(200, pvalloc(200));

		END(block, free(block));
	}
	SILENT(free(nullptr));
	SILENT(seen = malloc((size_t)1 << 62));
	SILENT(seen = calloc((size_t)1 << 62, 8));
	SILENT(seen = posix_block(3, 8));
	SILENT(seen = reallocarray(nullptr, (size_t)1 << 62, 8));
}

/* A block of no bytes counts as one of one, which is not hit for certain: until one is. */
static void way_of_nothing(void)
{
	for (int i = 0; i < 200; i++) {
		void *block = malloc(0);

		seen = block;
		if (listener_size(block) == 0) {
			END(block, free(block));
			return;
		}
		free(block);
	}
	fail("malloc(0)", "never sampled");
}

static void way_of_realloc(void)
{
	void *block = BEGIN(100, malloc(100)), *moved;
	struct heard before = listener_heard(), after;

	moved = realloc(block, 1000000); /* up: a page mapped for itself */
	after = listener_heard();
	if (after.allocs != before.allocs + 1 || after.frees != before.frees + 1)
		fail("realloc up", "not one event of each kind");
	if (listener_size(moved) != 1000000 || (moved != block && listener_size(block) != -1))
		fail("realloc up", "wrong block");
	block = realloc(moved, 50); /* down */
	if (listener_size(block) != 50 || (moved != block && listener_size(moved) != -1))
		fail("realloc down", "wrong block");
	SILENT(seen = realloc(block, (size_t)1 << 62)); /* fails */
	if (listener_size(block) != 50)
		fail("failed realloc", "the block is gone");
	SILENT(seen = reallocarray(block, (size_t)1 << 62, 8));
	before = listener_heard();
	seen = realloc(block, 0);
	after = listener_heard();
	if (after.frees != before.frees + 1)
		fail("realloc to nothing", "still live");
	free(seen);
}

struct alignas(128) wide {
	char bytes[256];
};

static void way_of_new(void)
{
	using std::align_val_t;
	const std::nothrow_t &quiet = std::nothrow;
	const align_val_t wide_align{128};
	void *block;

	block = BEGIN(100, ::operator new(100));
	END(block, ::operator delete(block));
	block = BEGIN(100, ::operator new(100));
	END(block, ::operator delete(block, (size_t)100));
	block = BEGIN(100, ::operator new(100, quiet));
	END(block, ::operator delete(block, quiet));
	block = BEGIN(100, ::operator new[](100));
	END(block, ::operator delete[](block));
	block = BEGIN(100, ::operator new[](100));
	END(block, ::operator delete[](block, (size_t)100));
	block = BEGIN(100, ::operator new[](100, quiet));
	END(block, ::operator delete[](block, quiet));
	block = BEGIN(256, ::operator new(256, wide_align));
	END(block, ::operator delete(block, wide_align));
	block = BEGIN(256, ::operator new(256, wide_align, quiet));
	END(block, ::operator delete(block, wide_align, quiet));
	block = BEGIN(256, ::operator new[](256, wide_align));
	END(block, ::operator delete[](block, wide_align));
	block = BEGIN(256, ::operator new[](256, wide_align, quiet));
	END(block, ::operator delete[](block, (size_t)256, wide_align));
	block = BEGIN(256, ::operator new(256, wide_align));
	END(block, ::operator delete(block, (size_t)256, wide_align));
	block = BEGIN(256, ::operator new[](256, wide_align));
	END(block, ::operator delete[](block, wide_align, quiet));
	block = BEGIN(sizeof(struct wide), new wide);
	END(block, delete (struct wide *)block);
}

/* The child begins with no block, and ends those of its parent in silence. */
static void way_of_fork(void)
{
	void *block = BEGIN(100, malloc(100)), *resized = BEGIN(100, malloc(100));
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		SILENT(free(block));
		struct heard before = listener_heard(), after;
		seen = realloc(resized, 200);
		after = listener_heard();
		if (after.frees != before.frees || after.allocs != before.allocs + 1)
			fail("realloc in the child", "not one event");
		block = BEGIN(300, malloc(300));
		END(block, free(block));
		_exit(failures != 0);
	}
	waitpid(child, &status, 0);
	if (status != 0)
		fail("fork", "the child has failed");
	END(block, free(block));
	END(resized, free(resized));
}

/* Blocks go from one thread to the next, which frees or resizes them, while others fork. */
static void way_of_threads(void)
{
	enum { threads = 4, rounds = 20000 };
	static std::atomic<void *> boxes[64];
	std::vector<std::thread> all;

	for (unsigned t = 0; t < threads; t++) {
		all.emplace_back([t] {
			unsigned random = t * 7919 + 1;

			for (int i = 0; i < rounds; i++) {
				void *block;

				random = random * 1103515245 + 12345;
				block = malloc(random >> 20);
				block = boxes[(random >> 8) % 64].exchange(block);
				if ((random >> 16) % 4 == 0)
					block = realloc(block, (random >> 18) + 1);
				free(block);
				if (i % 4000 == 0 && fork() == 0) {
					free(malloc(100));
					_exit(0);
				}
			}
		});
	}
	for (std::thread &one : all)
		one.join();
	for (std::atomic<void *> &box : boxes) {
		void *block = box.exchange(nullptr);

		free(block);
		if (block && listener_size(block) != -1)
			fail("threads", "still live");
	}
	while (wait(nullptr) > 0)
		;
}

/* A library in C++, loaded late by `make_and_drop`, which a C program would not have. */
static void way_of_load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int64_t (*make_and_drop)(int64_t(*size_of)(const void *)) = nullptr;

	if (library)
		*(void **)&make_and_drop = dlsym(library, "make_and_drop");
	if (!make_and_drop)
		fail("dlopen", dlerror());
	else if (make_and_drop(listener_size) != 4000)
		fail("dlopen", "its block was not heard of");
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "";

	if (!listener_heard)
		return 2;
	if (strcmp(part, "c") == 0) {
		way_of_c();
		way_of_nothing();
	} else if (strcmp(part, "new") == 0) {
		way_of_new();
	} else if (strcmp(part, "realloc") == 0) {
		way_of_realloc();
	} else if (strcmp(part, "fork") == 0) {
		way_of_fork();
	} else if (strcmp(part, "threads") == 0) {
		way_of_threads();
	} else if (strcmp(part, "load") == 0 && argc > 2) {
		way_of_load(argv[2]);
	} else {
		return 2;
	}
	if (listener_heard().errors != 0)
		fail(part, "what was heard contradicts itself");
	return failures != 0;
}
