/* SPDX-License-Identifier: MIT */
/*
 * Keeps the tag of code that is compiled with -finstrument-functions, in any language and by any
 * compiler: it calls these two functions at every entry and exit.
 *
 *	enter	push {function, call site, stack pointer, tag}; tag = tag * 11 ^ id(function)
 *	exit	pop; tag = what it was before
 *
 * Exits can be missing: longjmp() leaves functions without one. So an entry first pops the entries
 * that can no longer be live, because the stack has been released beyond them. Another stack (of a
 * signal handler, of a coroutine) may be anywhere: only addresses within STALE_BYTES count as the
 * same stack. An exit pops entries with another function or call site. So after longjmp() the tag
 * is right at the latest when the function that was jumped to returns. (An exit cannot use the
 * stack pointer: compilers often jump to the exit function.)
 *
 * The id of a function is computed from the location of its start: its file's build-id and its
 * offset in the file. The dynamic linker's lock-free index finds it once (this may run in a signal
 * handler), and it is kept in a table. If code is unloaded and other code gets its addresses, the
 * old ids stay: a program that does this needs the plugin.
 *
 * If there is no memory for the stack of entries, or it is full, an exit undoes the chain by
 * calculation. That is right as long as every function that is entered also exits.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "stacktag.h"

#define NOT_US	    __attribute__((no_instrument_function))
#define EXPORT	    __attribute__((visibility("default")))
#define STALE_BYTES (1u << 20)
#define STACK_BYTES (1u << 21) /* 65536 entries */
#define TABLE_SLOTS (1u << 14)
#define TABLE_PROBE 16

void __cyg_profile_func_enter(void *function, void *site) NOT_US EXPORT;
void __cyg_profile_func_exit(void *function, void *site) NOT_US EXPORT;

/* --- ids of functions ------------------------------------------------------------------------- */

/* Each slot is written once: the id first, then the function. The function 1 marks a slot that is
 * being written. */
static struct known {
	uintptr_t function;
	uint64_t id;
} table[TABLE_SLOTS];

NOT_US static uint64_t file_id_of_note(const uint8_t *at, const uint8_t *end)
{
	uint64_t id = 0;

	while (end - at > (ptrdiff_t)sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *note = (const Elf64_Nhdr *)at;
		const uint8_t *desc = at + sizeof(*note) + ((note->n_namesz + 3) & ~3u);

		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    !memcmp(note + 1, ELF_NOTE_GNU, 4)) {
			for (size_t i = 0; i < 8; i++)
				id = id << 8 | (i < note->n_descsz ? desc[i] : 0);
			return id ? id : 1;
		}
		at = desc + ((note->n_descsz + 3) & ~3u);
	}
	return 0;
}

/* Returns the id of a file without a build-id. It is made from the program headers, which are the
 * same in the file and in memory. */
NOT_US static uint64_t file_id_of_headers(const uint8_t *at, size_t n)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < n; i++)
		hash = hash_mix64(hash + at[i] + 1);
	return hash ? hash : 1;
}

/* Returns the id of a function in a file whose headers are in memory. */
NOT_US static uint64_t id_in_file(const uint8_t *image, uintptr_t base, uintptr_t function)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
	const Elf64_Phdr *phdrs = (const Elf64_Phdr *)(image + header->e_phoff);
	uint64_t file = 0, offset = 0;

	for (size_t i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *s = &phdrs[i];
		const uint8_t *start = (const uint8_t *)(base + s->p_vaddr);

		if (s->p_type == PT_NOTE && !file)
			file = file_id_of_note(start, start + s->p_memsz);
		if (s->p_type == PT_LOAD && function - (uintptr_t)start < s->p_memsz)
			offset = function - (uintptr_t)start + s->p_offset;
	}
	if (!file)
		file = file_id_of_headers((const uint8_t *)phdrs, header->e_phnum * sizeof(*phdrs));
	return hash_mix64(hash_mix64(file) + offset);
}

NOT_US static uint64_t find_id(uintptr_t function)
{
	struct dl_find_object found;

	/* The file's headers are where its first page is mapped. */
	if (_dl_find_object((void *)function, &found) ||
	    memcmp(found.dlfo_map_start, ELFMAG, SELFMAG))
		return hash_mix64(function); /* code that the program made at run time */
	return id_in_file(found.dlfo_map_start, found.dlfo_link_map->l_addr, function);
}

NOT_US static uint64_t remember_id(uintptr_t function, size_t at)
{
	uint64_t id = find_id(function);

	for (size_t i = 0; i < TABLE_PROBE; i++) {
		struct known *slot = &table[(at + i) % TABLE_SLOTS];
		uintptr_t empty = 0;

		if (!__atomic_compare_exchange_n(&slot->function, &empty, 1, false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		slot->id = id;
		__atomic_store_n(&slot->function, function, __ATOMIC_RELEASE);
		break;
	}
	return id;
}

NOT_US static inline uint64_t id_of(uintptr_t function)
{
	size_t at = (function * UINT64_C(0x9e3779b97f4a7c15)) >> 50;

	for (size_t i = 0; i < TABLE_PROBE; i++) {
		const struct known *slot = &table[(at + i) % TABLE_SLOTS];
		uintptr_t there = __atomic_load_n(&slot->function, __ATOMIC_ACQUIRE);

		if (there == function)
			return slot->id;
		if (!there)
			break;
	}
	return remember_id(function, at);
}

/* --- the stack of entries --------------------------------------------------------------------- */

struct entry {
	uintptr_t function, site, sp;
	uint64_t tag; /* of the caller */
};

struct entries {
	struct entry *first, *end; /* NULL: there is no stack yet; first == end: there will be
				    * none */
	struct entry *top;	   /* behind the last */
	uint64_t beyond;	   /* functions entered while there was no room */
};

static __thread struct entries entries __attribute__((tls_model("initial-exec")));

static pthread_key_t at_thread_end;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

NOT_US static void free_entries(void *first)
{
	entries = (struct entries){.first = first, .end = first, .top = first};
	munmap(first, STACK_BYTES);
}

NOT_US static void make_key(void)
{
	pthread_key_create(&at_thread_end, free_entries);
}

NOT_US static __attribute__((noinline)) void make_entries(struct entries *e)
{
	static struct entry none;
	void *first = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (first == MAP_FAILED) {
		e->first = e->end = e->top = &none;
		return;
	}
	e->first = e->top = first;
	e->end = e->first + STACK_BYTES / sizeof(struct entry);
	pthread_once(&key_once, make_key);
	pthread_setspecific(at_thread_end, first);
}

/* Returns whether the stack has been released beyond an entry's frame. */
NOT_US static inline bool is_stale(const struct entry *entry, uintptr_t sp)
{
	return entry->sp < sp && sp - entry->sp < STALE_BYTES;
}

void __cyg_profile_func_enter(void *function, void *site)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	uint64_t id = id_of((uintptr_t)function);
	struct entries *e = &entries;
	uint64_t tag;

	if (!e->first)
		make_entries(e);
	tag = stacktag_current;
	while (e->top > e->first && is_stale(e->top - 1, sp))
		tag = (--e->top)->tag;
	if (e->top < e->end)
		*e->top++ = (struct entry){(uintptr_t)function, (uintptr_t)site, sp, tag};
	else
		e->beyond++;
	stacktag_current = hash_chain(tag, id);
}

void __cyg_profile_func_exit(void *function, void *site)
{
	struct entries *e = &entries;
	struct entry *at = e->top;

	if (e->beyond) {
		e->beyond--;
		stacktag_current = hash_unchain(stacktag_current, id_of((uintptr_t)function));
		return;
	}
	while (at > e->first &&
	       ((at - 1)->function != (uintptr_t)function || (at - 1)->site != (uintptr_t)site))
		at--;
	if (at == e->first)
		return; /* the function was entered before this library was loaded */
	e->top = at - 1;
	stacktag_current = e->top->tag;
}
