/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring for all records, and the decision when to wake the daemon: for a record that needs the
 * daemon, as while a table is not loaded, and when many records wait. A record that finds no room
 * is counted and dropped by who sends it: send() in stackd.bpf.c for what is walked.
 *
 * A wake-up is an interrupt of its own, which in a virtual machine can take longer than the sample.
 * With a wake-up for each sample of a high rate, a CPU may do nothing else: if the daemon is to run
 * there, it never gets to read, until the ring is full. So the daemon is woken once, and again when
 * it has read something since: epoll reports the ring as long as records wait.
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

/* The value for woken_at once a record is in the ring for which the daemon is to be woken; 0: it is
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
