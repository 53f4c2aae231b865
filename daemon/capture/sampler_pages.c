/* SPDX-License-Identifier: MIT */
/*
 * Runs the kernel half's program for each page; see sampler_pages.h. How the kernel maps all
 * memory, it finds by reading a page of its own, which it has filled by chance: the first way of
 * reading by which the page has what was written there is right.
 */
#include "daemon/capture/sampler_pages.h"

#include <bpf/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "stackd.skel.h"

#define MOST_STEPS 4096 /* of a GiB, in which the own page table may lie */

/* Runs the program. Returns whether it has read a page. */
static bool run(struct sampler_pages *p, pid_t pid, uint64_t address)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	p->skel->bss->other_pid = (__u32)pid;
	p->skel->bss->other_address = address;
	p->skel->bss->other_is_read = 0;
	return !bpf_prog_test_run_opts(bpf_program__fd(p->skel->progs.stackd_other_page),
				       &options) &&
	       p->skel->bss->other_is_read;
}

/* Tries all bases with what is set. */
static bool find_base(struct sampler_pages *p, const uint8_t *own)
{
	for (unsigned step = 0; step < MOST_STEPS; step++) {
		p->skel->bss->other_base = 0;
		p->skel->bss->other_step = step;
		if (!run(p, 0, (uintptr_t)own) ||
		    memcmp(p->skel->bss->other_bytes, own, SAMPLER_PAGES_BYTES) != 0)
			continue;
		p->skel->bss->other_base = p->skel->bss->other_tried;
		return run(p, getpid(), (uintptr_t)own) &&
		       !memcmp(p->skel->bss->other_bytes, own, SAMPLER_PAGES_BYTES);
	}
	return false;
}

/* Finds out how page tables are read: by levels, and by the bit that says that a page is encrypted
 * (AMD's processors have it at one of two places). */
static bool find_way(struct sampler_pages *p, const uint8_t *own)
{
	static const uint64_t hidden[] = {0, UINT64_C(1) << 47, UINT64_C(1) << 51};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++) {
		for (unsigned levels = 4; levels <= 5; levels++) {
			p->skel->bss->other_hidden = hidden[i];
			p->skel->bss->other_levels = levels;
			if (find_base(p, own))
				return true;
		}
	}
	return false;
}

static bool try_all(struct sampler_pages *p)
{
	uint8_t *own = mmap(NULL, SAMPLER_PAGES_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool works = false;

	if (own == MAP_FAILED)
		return false;
	if (bpf_program__fd(p->skel->progs.stackd_other_page) >= 0 &&
	    getrandom(own, SAMPLER_PAGES_BYTES, 0) > 0)
		works = find_way(p, own);
	munmap(own, SAMPLER_PAGES_BYTES);
	return works;
}

bool sampler_pages_work(struct sampler_pages *p)
{
	if (p->state == SAMPLER_PAGES_UNTRIED)
		p->state = try_all(p) ? SAMPLER_PAGES_WORK : SAMPLER_PAGES_FAIL;
	return p->state == SAMPLER_PAGES_WORK;
}

bool sampler_pages_read(struct sampler_pages *p, pid_t pid, uint64_t address,
			uint8_t bytes[SAMPLER_PAGES_BYTES])
{
	if (pid <= 0 || !run(p, pid, address))
		return false;
	memcpy(bytes, p->skel->bss->other_bytes, SAMPLER_PAGES_BYTES);
	return true;
}
