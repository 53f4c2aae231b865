/* SPDX-License-Identifier: MIT */
/*
 * Gives threads their labels (stack/label_set.h), from three sources, of which the first one that
 * has a key counts: the names of the container and pod that the thread's cgroup belongs to
 * (proc/container_names.h), the environment of its process, and the labels of stackd's options
 * (--label). What the environment says of Kubernetes, containers and hosts (k8s.*, container.*,
 * host.*) has "claimed." before its key. So no program can pass for another pod.
 *
 * The kubelet makes its files when a container has been started already, so names that are missing
 * are looked for again, LABELS_TRIES times, a second apart; meanwhile threads have the labels that
 * are known. A thread gets its labels once, and once more if names are found later. Names are
 * looked for 8 times a second at most, but LABELS_READS times at once after a quiet time; threads
 * wait for theirs without holding up others.
 */
#ifndef RECORDER_LABELS_H
#define RECORDER_LABELS_H

#include <stddef.h>
#include <stdint.h>

#define LABELS_TRIES   5u
#define LABELS_READS   64u
#define LABELS_CLAIMED "claimed."

struct labels;

/* `given`: `n` labels "KEY=VALUE" of the options, borrowed; `root`: "" but for tests, borrowed.
 * Returns 0 or -ENOMEM. */
int labels_new(const char *const *given, size_t n, const char *root, struct labels **ret_labels);
void labels_free(struct labels *labels); /* NULL is fine */

/* What labels are made of, of a thread with the row `row` in the store. */
struct labels_of {
	uint32_t row;
	uint64_t cgroup;	 /* id; 0: it is not known yet */
	const char *path;	 /* of the cgroup; NULL: unknown */
	const char *environment; /* labels of the process; NULL: none */
	uint64_t time_ns;
};

/* Makes the labels of a thread, if they are to be stored now: 1, with a malloc()ed text in
 * *ret_text; 0: it has them already, or has none; -ENOMEM. */
int labels_take(struct labels *labels, const struct labels_of *of, char **ret_text);

/* Begins a window of the recording, in which threads have other rows. */
void labels_begin_anew(struct labels *labels);

#endif
