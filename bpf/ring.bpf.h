/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring buffer for all records, and the decision when to wake the daemon: for a record that the
 * daemon must handle soon, such as a sample that needs a table which is not loaded, and when many
 * records wait. If a record finds no room, its sender drops and counts it: for walks, send() in
 * stackd.bpf.c.
 *
 * Each wake-up is an interrupt, which in a virtual machine can take longer than the sample. If at a
 * high rate each sample woke the daemon, a CPU might do nothing but handle these interrupts, and a
 * daemon that should run on that CPU would not read before the ring buffer is full. So the daemon
 * is woken once, and again only after it has read something. That suffices, since epoll reports the
 * ring buffer as ready as long as records wait.
 */
#ifndef RING_BPF_H
#define RING_BPF_H

#include "scratch.bpf.h"

SETTING __u64 wakeup_bytes = 1 << 20; /* the daemon is woken when this many bytes wait; set by
				       * the daemon */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24); /* set by the daemon */
} ring SEC(".maps");

/* The daemon's position in the ring buffer when it was last woken, plus 1; 0: it was never
 * woken. */
__u64 woken_at = 0;

/* Returns 0 if a record shall not wake the daemon; else the value that woken_at must get once the
 * record is in the ring buffer. */
static __always_inline __u64 wake_for(bool urgent)
{
	__u64 at;

	if (!urgent && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < wakeup_bytes)
		return 0;
	at = bpf_ringbuf_query(&ring, BPF_RB_CONS_POS) + 1;
	return at == woken_at ? 0 : at;
}

#endif
