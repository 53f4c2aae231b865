/* SPDX-License-Identifier: MIT */
/*
 * The labels of a thread as one text: a line KEY=VALUE for each, without a newline at the end, in
 * the order of the keys. Threads of one process, and of one container, have the same text, so a
 * store has it once.
 *
 * Keys are the names of OpenTelemetry's conventions where there is one: service.name,
 * k8s.namespace.name, k8s.pod.name, k8s.pod.uid, k8s.container.name, container.id, container.name.
 * A key has letters, digits, and the characters "._-/"; a value has no control characters.
 */
#ifndef STACK_LABEL_SET_H
#define STACK_LABEL_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

#define LABEL_KEY_BYTES	  128u
#define LABEL_VALUE_BYTES 256u /* a longer value is cut */
#define LABEL_COUNT	  32u  /* of a set; more are left out */

struct label {
	char key[LABEL_KEY_BYTES], value[LABEL_VALUE_BYTES];
};

/* A set that is being made. It is empty if it is zeroed. */
struct label_list {
	VEC(struct label) items;
};

/* Frees the list's memory, not the list itself. */
void label_list_fini(struct label_list *list);

/* Adds a label, unless the set has one of this key, so sources are added in the order of their
 * weight. Returns 0, also if the set is full; -EINVAL: that is no key, or the value is empty;
 * -ENOMEM. */
int label_list_add(struct label_list *list, const char *key, size_t key_len, const char *value,
		   size_t value_len);

/* Adds "KEY=VALUE". Returns as label_list_add() does; -EINVAL also means that there is no '='. */
int label_list_add_text(struct label_list *list, const char *text);

/* Adds the labels that a process has been given by its environment, which is `size` bytes of
 * strings, each with a NUL behind it: OTEL_SERVICE_NAME, then OTEL_RESOURCE_ATTRIBUTES, a list
 * "KEY=VALUE,KEY=VALUE" with percent-encoded values, as OpenTelemetry's specification has them.
 * What is not well formed is left out. Returns 0 or -ENOMEM. */
int label_list_add_environment(struct label_list *list, const char *environment, size_t size);

/* Makes the text of a set, malloc()ed; "" for an empty one. NULL: memory is short. */
char *label_list_text(struct label_list *list);

/* Finds the value of a label in a set's text (NULL: an empty one). Returns NULL if it has none;
 * *ret_len is the value's length. */
const char *label_set_value(const char *set, const char *key, size_t *ret_len);

/* Gives the next label of a set's text, whose `*at` is the text at first. Returns false at the end.
 */
bool label_set_next(const char **at, const char **ret_key, size_t *ret_key_len,
		    const char **ret_value, size_t *ret_value_len);

#endif
