/* SPDX-License-Identifier: MIT */
/* Gives threads their labels; see labels.h. */
#define HASH_NONFATAL_OOM 1
#include "daemon/recorder/labels.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/vec.h"
#include "proc/container_names.h"
#include "stack/label_set.h"

#define SECOND_NS     UINT64_C(1000000000)
#define MOST_CGROUPS  4096 /* beyond, their names are forgotten, and read again when needed */
#define READ_EVERY_NS (SECOND_NS / 8) /* names of a container, on the average */

/* What is known of a cgroup. */
struct known {
	uint64_t id;
	struct container_names names;
	unsigned tries;
	uint64_t next_ns; /* when to look again */
	bool is_final;
	UT_hash_handle hh;
};

/* What a thread's row has. */
enum { GIVEN_NOTHING, GIVEN_SOME, GIVEN_ALL };

struct labels {
	const char *const *given;
	size_t n_given;
	const char *root;
	struct known *by_id;
	uint64_t read_ns;  /* up to when READ_EVERY_NS are used up */
	VEC(uint8_t) rows; /* by row of a thread: GIVEN_... */
};

int labels_new(const char *const *given, size_t n, const char *root, struct labels **ret_labels)
{
	struct labels *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->given = given;
	l->n_given = n;
	l->root = root;
	*ret_labels = l;
	return 0;
}

static void forget_cgroups(struct labels *l)
{
	struct known *known, *next;

	HASH_ITER (hh, l->by_id, known, next) {
		HASH_DEL(l->by_id, known);
		container_names_fini(&known->names);
		free(known);
	}
}

void labels_free(struct labels *l)
{
	if (!l)
		return;
	forget_cgroups(l);
	free(l->rows.items);
	free(l);
}

void labels_begin_anew(struct labels *l)
{
	l->rows.count = 0;
}

/* --- cgroups ---------------------------------------------------------------------------------- */

static struct known *add(struct labels *l, uint64_t id)
{
	struct known *known = calloc(1, sizeof(*known));

	if (!known)
		return NULL;
	known->id = id;
	HASH_ADD(hh, l->by_id, id, sizeof(id), known);
	if (!known->hh.tbl) { /* uthash ran out of memory and left it out */
		free(known);
		return NULL;
	}
	return known;
}

/* Returns whether names may be read now. Anybody who may start containers can make as many of their
 * cgroups as they like, and reading names takes the time of the loop. */
static bool may_read(struct labels *l, uint64_t time_ns)
{
	const uint64_t saved = LABELS_READS * READ_EVERY_NS;

	if (time_ns > saved && l->read_ns < time_ns - saved)
		l->read_ns = time_ns - saved;
	if (l->read_ns + READ_EVERY_NS > time_ns)
		return false;
	l->read_ns += READ_EVERY_NS;
	return true;
}

/* Returns the entry of a cgroup, after looking for the cgroup's names if that is due. NULL: memory
 * is short. */
static const struct known *look(struct labels *l, const struct labels_of *of)
{
	struct known *known;

	HASH_FIND(hh, l->by_id, &of->cgroup, sizeof(of->cgroup), known);
	if (!known) {
		if (HASH_COUNT(l->by_id) >= MOST_CGROUPS)
			forget_cgroups(l);
		known = add(l, of->cgroup);
		if (!known)
			return NULL;
		known->is_final = container_names_ids(of->path, &known->names) < 0;
	}
	if (known->is_final || of->time_ns < known->next_ns || !may_read(l, of->time_ns))
		return known;
	container_names_read(l->root, &known->names);
	known->is_final = known->names.pod || known->names.name || ++known->tries >= LABELS_TRIES;
	known->next_ns = of->time_ns + SECOND_NS;
	return known;
}

/* --- labels ----------------------------------------------------------------------------------- */

static int add_label(struct label_list *list, const char *key, const char *value)
{
	const int err = value ? label_list_add(list, key, strlen(key), value, strlen(value)) : 0;

	return err == -ENOMEM ? err : 0;
}

static int add_names(struct label_list *list, const struct container_names *n)
{
	const char *const labels[][2] = {
		{"k8s.namespace.name", n->name_space}, {"k8s.pod.name", n->pod},
		{"k8s.pod.uid", n->pod_uid},	       {"k8s.container.name", n->container},
		{"container.name", n->name},	       {"container.id", n->id},
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(labels) / sizeof(*labels); i++)
		err = add_label(list, labels[i][0], labels[i][1]);
	return err;
}

/* Returns whether a key says where a thread runs, which its program's environment cannot prove. */
static bool is_place(const char *key, size_t len)
{
	static const char *const groups[] = {"k8s.", "container.", "host."};

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		if (len > strlen(groups[i]) && memcmp(key, groups[i], strlen(groups[i])) == 0)
			return true;
	return false;
}

/* Adds the labels of a process's environment, but for those for which there would be no room for
 * the labels of the options. */
static int add_environment(const struct labels *l, const char *environment, struct label_list *list)
{
	char claimed[sizeof(LABELS_CLAIMED) + LABEL_KEY_BYTES];
	const char *key, *value;
	size_t key_len, value_len;
	int err = 0;

	while (err != -ENOMEM && list->items.count + l->n_given < LABEL_COUNT &&
	       label_set_next(&environment, &key, &key_len, &value, &value_len)) {
		if (is_place(key, key_len)) {
			key_len = (size_t)snprintf(claimed, sizeof(claimed), "%s%.*s",
						   LABELS_CLAIMED, (int)key_len, key);
			key = claimed;
		}
		err = label_list_add(list, key, key_len, value, value_len);
	}
	return err == -ENOMEM ? err : 0;
}

static int add_all(const struct labels *l, const struct known *known, const char *environment,
		   struct label_list *list)
{
	int err = known ? add_names(list, &known->names) : 0;

	if (!err)
		err = add_environment(l, environment, list);
	for (size_t i = 0; err != -ENOMEM && i < l->n_given; i++)
		err = label_list_add_text(list, l->given[i]);
	return err == -ENOMEM ? err : 0;
}

/* Returns what a row has been given; NULL: memory is short. */
static uint8_t *given_to(struct labels *l, uint32_t row)
{
	if (row >= l->rows.count) {
		if (VEC_RESERVE(&l->rows, row + 1 - l->rows.count) < 0)
			return NULL;
		while (l->rows.count <= row)
			l->rows.items[l->rows.count++] = GIVEN_NOTHING;
	}
	return &l->rows.items[row];
}

int labels_take(struct labels *l, const struct labels_of *of, char **ret_text)
{
	uint8_t *given = given_to(l, of->row);
	const struct known *known = NULL;
	struct label_list list = {0};
	bool is_final = false;
	int err = 0;

	if (!given)
		return -ENOMEM;
	if (*given == GIVEN_ALL || (*given == GIVEN_SOME && !of->cgroup))
		return 0;
	if (of->cgroup && of->path) {
		known = look(l, of);
		if (!known)
			return -ENOMEM;
		is_final = known->is_final;
	}
	if (*given == GIVEN_SOME && !is_final)
		return 0;
	*given = is_final ? GIVEN_ALL : GIVEN_SOME;
	err = add_all(l, known, of->environment, &list);
	if (!err && list.items.count) {
		*ret_text = label_list_text(&list);
		err = *ret_text ? 1 : -ENOMEM;
	}
	label_list_fini(&list);
	return err;
}
