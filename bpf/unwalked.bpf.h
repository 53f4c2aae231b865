/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of events without a walk: they have one frame, that of a function, or two, with its
 * caller.
 */
#ifndef UNWALKED_BPF_H
#define UNWALKED_BPF_H

#include "instance.bpf.h"
#include "segment.bpf.h"

/* Puts a frame at position `at` of the record, with an unknown height. Returns the next
 * position. */
static __always_inline __u32 put_unwalked_frame(struct unwalked_instance *record, __u32 at,
						__u64 location)
{
	if (with_heights) {
		put_bytes(record->bytes + at, 0, 4);
		at += 4;
	}
	put_bytes(record->bytes + at, STACKD_FRAME_LONG, 4);
	put_bytes(record->bytes + at + 4, location, 8);
	return at + 12;
}

/* Fills in a record with the address of a function's code, and the return address in its caller (0:
 * not known). */
static __always_inline void fill_unwalked(struct unwalked_instance *record, __u64 pid_tgid,
					  __u64 time_ns, const union stackd_measurement *event,
					  __u64 function, __u64 caller, __u32 end_reason)
{
	__u32 at = 4 + sizeof(*event);

	record->header = (struct stackd_walked){
		.form = STACKD_FORM_WALKED | STACKD_FORM_NOT_REMEMBERED | STACKD_HAS_PID |
			STACKD_HAS_EVENT,
		.end = end_reason,
		.tid = (__u32)pid_tgid,
		.time_ns = time_ns,
		.cpu = bpf_get_smp_processor_id(),
	};
	put_bytes(record->bytes, pid_tgid >> 32, 4);
	put_event(record->bytes + 4, event);
	at = put_unwalked_frame(record, at,
				(function & STACKD_LOCATION_MASK) | STACKD_LOCATION_EXACT);
	if (caller)
		at = put_unwalked_frame(record, at, (caller - 1) & STACKD_LOCATION_MASK);
	if (with_heights) {
		put_bytes(record->bytes + at, 0, 4);
		at += 4;
	}
	record->size = sizeof(record->header) + at;
}

/* Sends the record. Returns whether the ring buffer had room for it. */
static __always_inline bool put_unwalked(struct unwalked_instance *record)
{
	__u32 size = record->size;

	FORGET(size);
	return size <= __builtin_offsetof(struct unwalked_instance, size) &&
	       !bpf_ringbuf_output(&ring, record, size, BPF_RB_NO_WAKEUP);
}

/* Sends the record of an instance or an allocation, and counts it. Returns whether it was sent. */
static __always_inline bool send_unwalked(struct unwalked_instance *record)
{
	bool is_sent = put_unwalked(record);

	count_region(is_sent ? STACKD_REGION_SENT : STACKD_REGION_LOST_RING);
	return is_sent;
}

#endif
