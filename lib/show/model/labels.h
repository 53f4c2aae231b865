/* SPDX-License-Identifier: MIT */
/*
 * Labels of threads as views divide and filter by them. A label's value comes from the labels that
 * were recorded (stack/label_set.h); some are also known by short names, and some can be told from
 * the path of the cgroup, which older recordings have, too:
 *
 *   service     service.name; else the systemd service, without ".service"
 *   namespace   k8s.namespace.name
 *   pod         k8s.pod.name; else the pod's id, from the path
 *   container   k8s.container.name or container.name; else the container's id, from the path
 *   workload    k8s.deployment.name and the like; else what the pod's name tells
 *   node        k8s.node.name; else the host's name
 */
#ifndef MODEL_LABELS_H
#define MODEL_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "store/store_reader.h"

/* Appends the value of a label of a thread, by its key or short name. Returns false, with nothing
 * appended, if the thread has no such label. */
bool labels_put(const struct store_tables *tables, const struct store_thread *thread,
		const char *key, struct buf *b);

/* Returns the short name of this number, from 0; NULL: there are no more. */
const char *labels_short_name(size_t number);

/* Returns whether a thread's value of `key` is only the name of its host: the node of a thread
 * without a label for it. */
bool labels_is_host(const struct store_thread *thread, const char *key);

/* Returns whether a thread's label matches "NAME=PATTERN", with a pattern of model/pattern.h.
 * "NAME=" matches threads without the label. */
bool labels_match(const struct store_tables *tables, const struct store_thread *thread,
		  const char *text);

/* Returns whether a text has the form "NAME=PATTERN". */
bool labels_is_pattern(const char *text);

#endif
