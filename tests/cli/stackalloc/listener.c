/* SPDX-License-Identifier: MIT */
/* A listener within the process; see listener.h. With LISTENER_OUT=FILE, the process appends a line
 * of what it has heard to FILE when it ends. */
#include "listener.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOTS (1u << 22)

static struct slot {
	uintptr_t address; /* 0: free; 1: was used */
	uint64_t size;
} slots[SLOTS] __attribute__((aligned(4096)));
static struct heard heard;
static volatile char lock;

/* --- what is heard -----------------------------------------------------------------------------
 */

static void take_lock(void)
{
	while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

static void give_lock(void)
{
	__atomic_clear(&lock, __ATOMIC_RELEASE);
}

static struct slot *find(uintptr_t address)
{
	uint32_t at = (uint32_t)(((address >> 4) * 0x9e3779b97f4a7c15u) >> 42);

	while (slots[at].address && slots[at].address != address)
		at = (at + 1) % SLOTS;
	return &slots[at];
}

static const void *hear_alloc(const void *pointer, size_t size, uint64_t weight)
{
	struct slot *slot;

	take_lock();
	slot = find((uintptr_t)pointer);
	heard.errors += slot->address && slot->size != UINT64_MAX;
	heard.live += !slot->address || slot->size == UINT64_MAX;
	*slot = (struct slot){(uintptr_t)pointer, size};
	heard.allocs++;
	heard.bytes += weight;
	give_lock();
	return pointer;
}

/* The slot keeps its address: there are enough of them for these tests. */
static void hear_free(const void *pointer)
{
	struct slot *slot;

	take_lock();
	slot = find((uintptr_t)pointer);
	if (!slot->address || slot->size == UINT64_MAX) {
		heard.errors++;
	} else {
		slot->size = UINT64_MAX;
		heard.live--;
	}
	heard.frees++;
	give_lock();
}

struct heard listener_heard(void)
{
	struct heard now;

	take_lock();
	now = heard;
	give_lock();
	return now;
}

int64_t listener_size(const void *pointer)
{
	struct slot *slot;
	int64_t size;

	take_lock();
	slot = find((uintptr_t)pointer);
	size = slot->address ? (int64_t)slot->size : -1;
	give_lock();
	return size;
}

/* --- attaching ---------------------------------------------------------------------------------
 */

static void *library_file;
static ElfW(Addr) library_base;

static int find_library(struct dl_phdr_info *info, size_t size, void *context)
{
	struct stat status;
	int fd;

	(void)size;
	(void)context;
	if (!strstr(info->dlpi_name, "libstackalloc.so"))
		return 0;
	fd = open(info->dlpi_name, O_RDONLY);
	if (fd < 0 || fstat(fd, &status) != 0)
		abort();
	library_file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	library_base = info->dlpi_addr;
	close(fd);
	return 1;
}

/* Lets the function at `address` jump: mov $to, %rax; jmp *%rax. */
static void redirect(uintptr_t address, uintptr_t to)
{
	unsigned char code[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
	uintptr_t page = address & -4096ul;

	memcpy(code + 2, &to, sizeof(to));
	if (mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		abort();
	memcpy((void *)address, code, sizeof(code));
}

/* A note: its header, "stapsdt", three addresses, and the names of provider and probe. */
static void attach_note(const unsigned char *description)
{
	const char *provider = (const char *)description + 24;
	const char *probe = provider + strlen(provider) + 1;
	uint64_t addresses[3];

	memcpy(addresses, description, sizeof(addresses));
	if (strcmp(provider, "otel_memory") != 0)
		return;
	redirect(library_base + addresses[0],
		 strcmp(probe, "alloc") == 0 ? (uintptr_t)hear_alloc : (uintptr_t)hear_free);
	++*(volatile uint16_t *)(library_base + addresses[2]);
}

static void attach_section(const unsigned char *at, const unsigned char *end)
{
	while (at < end) {
		const ElfW(Nhdr) *note = (const void *)at;
		const unsigned char *description =
			at + sizeof(*note) + (note->n_namesz + 3) / 4 * 4;

		attach_note(description);
		at = description + (note->n_descsz + 3) / 4 * 4;
	}
}

/* The child of a fork begins with nothing, as the library does. */
static void begin_anew(void)
{
	if (madvise(slots, sizeof(slots), MADV_DONTNEED) != 0)
		abort();
	heard = (struct heard){0};
	give_lock();
}

__attribute__((constructor)) static void attach(void)
{
	const unsigned char *file;
	const ElfW(Ehdr) * header;
	const ElfW(Shdr) * section, *names;

	pthread_atfork(take_lock, give_lock, begin_anew);
	if (!dl_iterate_phdr(find_library, NULL))
		abort();
	file = library_file;
	header = (const void *)file;
	section = (const void *)(file + header->e_shoff);
	names = &section[header->e_shstrndx];
	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (strcmp((const char *)file + names->sh_offset + section[i].sh_name,
			   ".note.stapsdt") == 0)
			attach_section(file + section[i].sh_offset,
				       file + section[i].sh_offset + section[i].sh_size);
	}
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("LISTENER_OUT");
	struct heard now = listener_heard();
	char line[200];
	int n, fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;

	if (fd < 0)
		return;
	n = snprintf(line, sizeof(line),
		     "allocs %llu frees %llu bytes %llu live %llu errors %llu\n",
		     (unsigned long long)now.allocs, (unsigned long long)now.frees,
		     (unsigned long long)now.bytes, (unsigned long long)now.live,
		     (unsigned long long)now.errors);
	if (write(fd, line, (size_t)n) != n)
		abort();
	close(fd);
}
