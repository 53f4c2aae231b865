/* SPDX-License-Identifier: MIT */
/*
 * Tells by the kernel frames of a wake-up whether the thread that they are in has made it, or an
 * interrupt that has only hit that thread.
 *
 * Work that interrupts put off (softirqs) runs behind them, or where a thread lets such work run
 * again. There it is mostly the thread's own: what it sends to a socket of the same machine is put
 * into a queue of the CPU, and delivered by a softirq before its system call goes on
 * (process_backlog). So a softirq behind no interrupt is the thread's if it takes packets from such
 * a queue, or from the other end of a pair of devices that are no hardware; timers and packets of
 * network cards that are due meanwhile are not.
 */
#ifndef MODEL_WAKEUP_FRAME_H
#define MODEL_WAKEUP_FRAME_H

#include <stdbool.h>

/* What frames of a wake-up are; a set of them. */
enum wakeup_frame {
	WAKEUP_OTHER = 0,
	WAKEUP_INTERRUPT = 1, /* the entry of an interrupt */
	WAKEUP_SOFTIRQ = 2,   /* work that was put off */
	WAKEUP_DELIVERY = 4,  /* of packets from this machine */
	WAKEUP_WORKER = 8,    /* the kernel's thread for such work, whoever it is of */
};

/* Returns what a function of the kernel's is. */
enum wakeup_frame wakeup_frame_of(const char *function);

/* Returns whether frames, of which these are the set, are an interrupt's. */
bool wakeup_is_by_interrupt(unsigned frames);

#endif
