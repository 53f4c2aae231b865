/* SPDX-License-Identifier: MIT */
/*
 * Reads pages of other processes through the kernel half, which never waits for a file system or
 * for the process (bpf/other_page.bpf.h).
 */
#ifndef CAPTURE_SAMPLER_PAGES_H
#define CAPTURE_SAMPLER_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stackd_bpf;

enum sampler_pages_state { SAMPLER_PAGES_UNTRIED, SAMPLER_PAGES_WORK, SAMPLER_PAGES_FAIL };

struct sampler_pages {
	struct stackd_bpf *skel; /* borrowed, with its programs loaded */
	enum sampler_pages_state state;
};

#define SAMPLER_PAGES_BYTES 4096

/* Returns whether pages can be read so. The first call finds out how, which takes up to some
 * milliseconds. */
bool sampler_pages_work(struct sampler_pages *pages);

/* Reads the page at a multiple of SAMPLER_PAGES_BYTES. Returns false if it is not in memory, or the
 * process or thread `pid` is not there. sampler_pages_work() has returned true. */
bool sampler_pages_read(struct sampler_pages *pages, pid_t pid, uint64_t address,
			uint8_t bytes[SAMPLER_PAGES_BYTES]);

#endif
