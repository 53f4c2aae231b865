/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gives a sample of a clock event the time that it represents, which can be several periods.
 *
 * The kernel's clocks (cpu-clock, task-clock) are timers. A timer that is late by several periods
 * fires once, and the kernel forgets the other periods. It is late if interrupts were off for long
 * or, far more often, if the host of a virtual machine did not run the virtual CPU. On one such
 * machine 5 % of all CPU time had no sample for that reason. perf's recordings show the same gaps.
 *
 * The kernel's timer has the time at which it was due. A sample that comes more than a period later
 * represents all periods that have passed since (overdue.h). Reading the timer would cost half a
 * percent of each sample, so each sample notes when the timer is due next (the lowest 32 bits). If
 * the next sample comes within a period of that time, it is on time: the times at which the timer
 * is due are a period apart. Otherwise the timer is read, because other tasks had the CPU in
 * between, the CPU was idle, the rate was changed, or the clock is late. If several clocks take
 * turns on a CPU, a late one can pass for one that is on time, but no sample gets more time than it
 * represents.
 *
 * The clock can also become due while this BPF program runs. Such a period is lost. The share of
 * lost periods is about the program's share of the time.
 *
 * A machine that was stopped and continues (a snapshot of a virtual one, a kernel debugger) can be
 * late by hours, which are not CPU time in any useful sense. So a sample represents at most a
 * second, or its period if that is longer. The rest is only counted (STACKD_COUNT_LATE_CUT_NS).
 */
#ifndef LATE_BPF_H
#define LATE_BPF_H

#include "cpu_clock.bpf.h"
#include "overdue.h"

#define CLOCK_LEAST_NS 10000	   /* the kernel lets no clock have a shorter period */
#define LATE_MOST_NS   1000000000u /* of one sample */

SETTING __u32 is_clock = 0; /* the event is a clock, so it has a timer */

/* The perf event whose sample has started a BPF program; `context` is the program's. */
#ifndef EVENT_OF
#define EVENT_OF(context)                                                                          \
	({                                                                                         \
		const struct bpf_perf_event_data_kern *kern_ = (const void *)(context);            \
		struct perf_event *event_ = NULL;                                                  \
		bpf_core_read(&event_, sizeof(event_), &kern_->event);                             \
		event_;                                                                            \
	})
#endif

static __always_inline void count_late(__u64 periods, __u64 cut_ns)
{
	__u32 here = 0;
	struct stackd_counters *counted = CHECKED(bpf_map_lookup_elem(&counters, &here));

	if (!counted)
		return;
	counted->n[STACKD_COUNT_LATE]++;
	counted->n[STACKD_COUNT_LATE_PERIODS] += periods - 1;
	counted->n[STACKD_COUNT_LATE_CUT_NS] += cut_ns;
}

/* Returns the number of periods that a late sample represents, and counts them. `late` and `every`
 * (the period) are in ns. */
static __always_inline __u64 late_periods(struct task_struct *task, __u64 late, __u64 every)
{
	const struct rq *rq = queue_of(task);
	const __u64 most = every < LATE_MOST_NS ? LATE_MOST_NS / every : 1;
	__u64 periods = overdue_periods(late, rq ? stolen_since(rq) : 0, every), cut = 0;

	if (periods > most) {
		cut = (periods - most) * every;
		periods = most;
	}
	if (periods > 1)
		count_late(periods, cut);
	return periods;
}

/* Reads from the timer when it was due, sets s->due to when it is due next, and multiplies the
 * sample's period by the periods that it represents. */
static __noinline int read_timer(struct scratch *s, const struct perf_event *event,
				 struct task_struct *task)
{
	const __u64 now = s->record.header.time_ns;
	__u64 due = 0, every = 0, late;

	if (!bpf_core_field_exists(event->hw.hrtimer._softexpires))
		return 0;
	bpf_core_read(&due, sizeof(due), &event->hw.hrtimer._softexpires);
	bpf_core_read(&every, sizeof(every), &event->hw.sample_period);
	if (every < CLOCK_LEAST_NS)
		every = CLOCK_LEAST_NS;
	late = now - due;
	if (!due || now < due)
		return 0;
	s->due = overdue_next(due, now, every);
	if (late >= every)
		s->record.period *= late_periods(task, late, every);
	return 0;
}

/* Some periods follow each other. Each is `every` ns long, all together are `most` ns long, and the
 * last one ended `last` ns ago. Returns the sum of those that were due in the last `since` ns. */
static __always_inline __u64 due_within(__u64 since, __u64 last, __u64 every, __u64 most)
{
	__u64 due;

	if (since < last)
		return 0;
	if (since - last >= most)
		return most;
	due = ((since - last) / every + 1) * every;
	return due < most ? due : most;
}

/* Returns how much of the time that a clock's sample represents has passed since the scheduler set
 * the CPU's clock. A clock fires late, so it may have been due before. If it is not known when the
 * timer was due, or the clock was set: a period. */
static __always_inline __u64 due_since_set(const struct rq *rq, const struct perf_event *event)
{
	const __u64 now = bpf_ktime_get_ns(), since = since_set(rq, now);
	__u64 due = 0, every = 0, late;

	bpf_core_read(&every, sizeof(every), &event->hw.sample_period);
	if (every < CLOCK_LEAST_NS)
		every = CLOCK_LEAST_NS;
	if (bpf_core_field_exists(event->hw.hrtimer._softexpires))
		bpf_core_read(&due, sizeof(due), &event->hw.hrtimer._softexpires);
	late = now - due;
	if (!due || now < due || late > LATE_MOST_NS || !~since)
		return every;
	return due_within(since, late % every, every, late - late % every + every);
}

/* Sets the period of a clock's sample to the time that it represents. */
static __always_inline void weigh(struct scratch *s, struct bpf_perf_event_data *ctx,
				  struct task_struct *task)
{
	const __u32 period = s->record.period;

	if (!is_clock)
		return;
	if (RARELY((__u32)s->record.header.time_ns - s->due >= period))
		read_timer(s, EVENT_OF(ctx), task);
	else
		s->due += period;
}

#endif
