/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring buffer for all records, and the decision when to wake the daemon: for a record that the
 * daemon must handle soon, such as one that misses a table, and when many records wait. If a record
 * finds no room, its sender drops and counts it: for walks, send() in stackd.bpf.c.
 *
 * Each wake-up is an interrupt, which in a virtual machine can take longer than the sample. If each
 * sample of a high rate woke the daemon, a CPU might do nothing but handle these interrupts: a
 * daemon that should run on that CPU would not read before the ring is full. So the daemon is woken
 * once, and again only after it has read something: epoll reports the ring as long as records wait.
 */
#ifndef RING_BPF_H
#define RING_BPF_H

#include "scratch.bpf.h"

SETTING __u64 wakeup_bytes = 1 << 20; /* wake the daemon when this much waits; set by the daemon */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24); /* set by the daemon */
} ring SEC(".maps");

/* The daemon's position in the ring at its last wake-up, plus 1; 0: it was never woken. */
__u64 woken_at = 0;

/* Returns the value that woken_at gets once the record is in the ring, if that record is to wake
 * the daemon; 0: it is not. */
static __always_inline __u64 wake_for(bool urgent)
{
	__u64 at;

	if (!urgent && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < wakeup_bytes)
		return 0;
	at = bpf_ringbuf_query(&ring, BPF_RB_CONS_POS) + 1;
	return at == woken_at ? 0 : at;
}

#endif
