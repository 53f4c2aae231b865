/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring that all records go through, and when the daemon is woken to read it: for a record that
 * waits for what only the daemon can do, as while a table is not loaded, and where much waits.
 *
 * A wake-up is an interrupt of its own, which in a virtual machine can take longer than the sample.
 * With one for each sample of a high rate, a CPU may come to nothing else: if the daemon is to run
 * there, it does not come to what it is woken for, until the ring is full. So it is woken once,
 * and again when it has read something since: epoll tells it of the ring as long as records wait.
 */
#ifndef RING_BPF_H
#define RING_BPF_H

#include "scratch.bpf.h"

SETTING __u64 wakeup_bytes = 1 << 20; /* wake the daemon when so much waits; set by the daemon */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24); /* set by the daemon */
} ring SEC(".maps");

/* Where the daemon was in the ring when it was last woken, and 1; 0: never. */
__u64 woken_at = 0;

/* What woken_at becomes once a record is in the ring that the daemon is to be woken for; 0: it is
 * not. */
static __always_inline __u64 wake_for(bool urgent)
{
	__u64 at;

	if (!urgent && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < wakeup_bytes)
		return 0;
	at = bpf_ringbuf_query(&ring, BPF_RB_CONS_POS) + 1;
	return at == woken_at ? 0 : at;
}

#endif
