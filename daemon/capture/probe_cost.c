/* SPDX-License-Identifier: MIT */
/* Puts a probe on an instruction of this program; see probe_cost.h. */
#include "daemon/capture/probe_cost.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

#define HITS 101
#define COLD (2u << 20) /* bytes that are touched between hits: more than most L2 caches hold */

extern const char stackd_probed_instruction[];

/* The instruction that is probed, once in this program. */
static __attribute__((noinline)) void hit(void)
{
	__asm__ volatile(".globl stackd_probed_instruction\n"
			 "stackd_probed_instruction: nop" ::
				 : "memory");
}

struct search {
	uintptr_t address;
	size_t offset; /* in the file; 0: not found */
};

static int find_offset(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct search *s = arg;

	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		uintptr_t start = object->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && s->address >= start && s->address < start + p->p_filesz)
			s->offset = s->address - start + p->p_offset;
	}
	return 1; /* this program is the first object */
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int measure(volatile uint8_t *cold, const volatile uint64_t *seen_ns, struct probe_cost *ret)
{
	uint64_t before[HITS], after[HITS], clock[HITS], half;

	for (int i = 0; i < HITS; i++) {
		uint64_t start, until, seen;

		for (size_t k = 0; k < COLD; k += 64)
			cold[k]++;
		start = clock_ns(CLOCK_MONOTONIC);
		hit();
		until = clock_ns(CLOCK_MONOTONIC);
		seen = *seen_ns;
		if (seen < start || seen > until)
			return -ENODATA;
		before[i] = seen - start;
		after[i] = until - seen;
		clock[i] = clock_ns(CLOCK_MONOTONIC) - until;
	}
	qsort(before, HITS, sizeof(*before), compare);
	qsort(after, HITS, sizeof(*after), compare);
	qsort(clock, HITS, sizeof(*clock), compare);
	/* Half of the time that reading the clock takes lies in each measured time. */
	half = clock[HITS / 2] / 2;
	ret->before_ns = before[HITS / 2] > half ? before[HITS / 2] - half : 0;
	ret->after_ns = after[HITS / 2] > half ? after[HITS / 2] - half : 0;
	return 0;
}

int probe_cost_measure(const struct bpf_program *program, const volatile uint64_t *seen_ns,
		       struct probe_cost *ret)
{
	struct search s = {.address = (uintptr_t)stackd_probed_instruction};
	struct bpf_link *link;
	uint8_t *cold;
	int err;

	dl_iterate_phdr(find_offset, &s);
	if (!s.offset)
		return -ENODATA;
	link = bpf_program__attach_uprobe(program, false, getpid(), "/proc/self/exe", s.offset);
	if (!link)
		return -errno;
	cold = calloc(1, COLD);
	err = cold ? measure(cold, seen_ns, ret) : -ENOMEM;
	free(cold);
	bpf_link__destroy(link);
	return err;
}
