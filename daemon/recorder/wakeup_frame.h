/* SPDX-License-Identifier: MIT */
/*
 * Decides, by the kernel frames of a wake-up, whether the running thread has made it, or an
 * interrupt that only happened to hit that thread.
 *
 * Softirqs, the work that interrupts put off, run when an interrupt returns, or when a thread
 * enables them again. In the second case the work is mostly the thread's own: when it sends packets
 * to a socket of the same machine, the kernel queues them on the CPU, and a softirq delivers them
 * before the thread's system call goes on (process_backlog). So a softirq outside of an interrupt
 * belongs to the thread if it takes packets from such a queue, or from the peer of a virtual pair
 * of devices. Softirqs for timers and for packets of network cards do not.
 */
#ifndef RECORDER_WAKEUP_FRAME_H
#define RECORDER_WAKEUP_FRAME_H

#include <stdbool.h>

/* What the kernel function of a frame is; each value is a bit. */
enum wakeup_frame {
	WAKEUP_OTHER = 0,
	WAKEUP_INTERRUPT = 1, /* the entry of an interrupt */
	WAKEUP_SOFTIRQ = 2,   /* work that an interrupt has put off */
	WAKEUP_DELIVERY = 4,  /* the delivery of packets that this machine sent to itself */
	WAKEUP_WORKER = 8,    /* a kernel thread that does such work for all threads */
};

/* Returns what a kernel function is, by its name. */
enum wakeup_frame wakeup_frame_of(const char *function);

/* Returns whether an interrupt made the wake-up. `frames`: the bits of all its frames. */
bool wakeup_is_by_interrupt(unsigned frames);

#endif
