/* SPDX-License-Identifier: MIT */
/* Finds the next definitions; see next.h. */
#include "next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wrap.h"

/* --- before the functions are known ----------------------------------------------------------- */

_Alignas(4096) unsigned char next_early[NEXT_EARLY_BYTES];
#define EARLY_PAGE 4096u

static atomic_size_t early_used;
static __thread bool is_finding;

static void *early_block(size_t alignment, size_t size)
{
	size_t from = atomic_load(&early_used), at;

	do {
		at = (from + alignment - 1) & ~(alignment - 1);
		if (size > NEXT_EARLY_BYTES || at > NEXT_EARLY_BYTES - size) {
			errno = ENOMEM;
			return NULL;
		}
	} while (!atomic_compare_exchange_weak(&early_used, &from, at + size));
	live_watch();
	return next_early + at;
}

static void *early_malloc(size_t size)
{
	if (is_finding)
		return early_block(16, size);
	next_find();
	return next.malloc(size);
}

static void early_free(void *pointer)
{
	if (!pointer || is_finding)
		return;
	next_find();
	next.free(pointer);
}

static void *early_calloc(size_t n, size_t size)
{
	if (is_finding)
		return early_block(16, n * size); /* the bytes are 0, since they were never used
						   * before */
	next_find();
	return next.calloc(n, size);
}

static void *early_realloc(void *pointer, size_t size)
{
	if (is_finding)
		return pointer ? NULL : early_block(16, size);
	next_find();
	return next.realloc(pointer, size);
}

static void *early_memalign(size_t alignment, size_t size)
{
	if (is_finding)
		return early_block(alignment, size);
	next_find();
	return next.memalign(alignment, size);
}

static void *early_aligned_alloc(size_t alignment, size_t size)
{
	if (is_finding)
		return early_block(alignment, size);
	next_find();
	return next.aligned_alloc(alignment, size);
}

static int early_posix_memalign(void **ret_pointer, size_t alignment, size_t size)
{
	if (!is_finding) {
		next_find();
		return next.posix_memalign(ret_pointer, alignment, size);
	}
	*ret_pointer = early_block(alignment, size);
	return *ret_pointer ? 0 : ENOMEM;
}

static void *early_valloc(size_t size)
{
	if (is_finding)
		return early_block(EARLY_PAGE, size);
	next_find();
	return next.valloc(size);
}

static void *early_pvalloc(size_t size)
{
	if (is_finding)
		return early_block(EARLY_PAGE, size);
	next_find();
	return next.pvalloc(size);
}

struct next next = {
	.malloc = early_malloc,
	.free = early_free,
	.calloc = early_calloc,
	.realloc = early_realloc,
	.memalign = early_memalign,
	.aligned_alloc = early_aligned_alloc,
	.posix_memalign = early_posix_memalign,
	.valloc = early_valloc,
	.pvalloc = early_pvalloc,
};

/* --- looking up ------------------------------------------------------------------------------- */

static void give_up(const char *symbol)
{
	static const char text[] = "libstackalloc: there is no function behind this library's ";
	ssize_t n = write(STDERR_FILENO, text, sizeof(text) - 1);

	n += write(STDERR_FILENO, symbol, strlen(symbol));
	n += write(STDERR_FILENO, "\n", 1);
	(void)n;
	abort();
}

/* An allocator may lack the rarer functions, which then fail as if memory were lacking. */
static void *no_block(size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	errno = ENOMEM;
	return NULL;
}

static void *no_pages(size_t size)
{
	return no_block(0, size);
}

static int no_posix_memalign(void **ret_pointer, size_t alignment, size_t size)
{
	(void)ret_pointer;
	(void)alignment;
	(void)size;
	return ENOMEM;
}

#define LOOK_UP(to, symbol, otherwise)                                                             \
	do {                                                                                       \
		void *found_ = dlsym(RTLD_NEXT, symbol);                                           \
		(to) = found_ ? (__typeof__(to))found_ : (otherwise);                              \
	} while (0)

void next_find(void)
{
	struct next found;

	is_finding = true;
	LOOK_UP(found.malloc, "malloc", NULL);
	LOOK_UP(found.free, "free", NULL);
	LOOK_UP(found.calloc, "calloc", NULL);
	LOOK_UP(found.realloc, "realloc", NULL);
	if (!found.malloc || !found.free || !found.calloc || !found.realloc)
		give_up("malloc(), free(), calloc() or realloc()");
	LOOK_UP(found.memalign, "memalign", no_block);
	LOOK_UP(found.aligned_alloc, "aligned_alloc", no_block);
	LOOK_UP(found.posix_memalign, "posix_memalign", no_posix_memalign);
	LOOK_UP(found.valloc, "valloc", no_pages);
	LOOK_UP(found.pvalloc, "pvalloc", no_pages);
	next = found;
	is_finding = false;
	wrap_begin();
}

void *next_cxx(const char *symbol)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
	void *function = dlsym(RTLD_NEXT, symbol);

	for (size_t i = 0; !function && i < sizeof(libraries) / sizeof(*libraries); i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);

		if (library)
			function = dlsym(library, symbol);
		if (library)
			dlclose(library);
	}
	if (!function)
		give_up(symbol);
	return function;
}
