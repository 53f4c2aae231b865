/* SPDX-License-Identifier: MIT */
/*
 * Attaches to the target: opens the event on its processes or on all CPUs, and loads the running
 * processes into the recorder. Logs its own errors.
 */
#ifndef ATTACH_H
#define ATTACH_H

#include <stdbool.h>

#include "daemon/capture/event_choice.h"
#include "daemon/base/exit_status.h"
#include "daemon/base/options.h"
#include "daemon/recorder/recorder.h"
#include "daemon/capture/sampler.h"
#include "daemon/capture/target.h"

struct attach {		 /* all borrowed */
	bool is_on_cpus; /* events are opened on CPUs, and the sampler filters processes */
	const struct options *options;
	const struct event_choice *event;
	const struct target *target;
	struct recorder *recorder;
	struct sampler *sampler;
};

/*
 * Returns whether processes are sampled by events of the CPUs, whose clocks continue from task to
 * task, so that short tasks count (bpf/scope.bpf.h). With branch records and with a period of 1,
 * each thread has an event of its own. With a period of 1 that is because no sample may be missed,
 * and because an event on a CPU would interrupt all other processes at each of their counts, too.
 * But if there are very many threads, CPUs are used even then, since opening an event for each
 * thread would take minutes. Context switches are always counted on CPUs, because the kernel takes
 * a thread's own events away before the thread's last switch, and because counting the switch of
 * another process costs no interrupt.
 */
bool attach_is_on_cpus(const struct options *options, const struct event_spec *spec,
		       const struct target *target);

/* Returns whether the target has so many threads that they would take all CPUs from stackd while it
 * attaches. */
bool attach_is_crowd(const struct options *options, const struct target *target);

/* Reads the processes of the target that run already, but for a command. If some have an
 * interpreter, waits for the tables without which their functions cannot be read, so that the first
 * sample has them. Waits for three seconds at most, and not if a signal is to
 * end the recording. Logs what fails; returns the status to exit
 * with. */
enum exit_status attach_load(const struct attach *attach);

/* Opens the event on the target. Logs what fails; returns the status to exit with. To be called
 * after attach_load(). */
enum exit_status attach(const struct attach *attach);

/*
 * Opens a thread's event again after the kernel has removed it, at the exec of a program that gains
 * rights (setuid). Does nothing if events are opened on CPUs. Logs what fails. Of `attach` it uses
 * `is_on_cpus`, `options`, `event` and `sampler`.
 */
void attach_again(const struct attach *attach, pid_t tid);

#endif
