/* SPDX-License-Identifier: MIT */
/* Keeps records in a table of sets, like a cache's, by the kernel half's key for the bytes; see
 * code_windows.h. */
#include "daemon/recorder/code_windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define WAYS 4

struct window {
	uint64_t key;
	uint64_t used;			  /* time of the last use, counted in uses; 0: the entry is
					   * empty */
	struct stackd_code_bytes *record; /* owned */
};

struct code_windows {
	uint64_t uses;
	struct window windows[CODE_WINDOWS_MOST];
};

int code_windows_new(struct code_windows **ret_windows)
{
	*ret_windows = calloc(1, sizeof(**ret_windows));
	return *ret_windows ? 0 : -ENOMEM;
}

void code_windows_free(struct code_windows *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < CODE_WINDOWS_MOST; i++)
		free(c->windows[i].record);
	free(c);
}

static struct window *set_of(struct code_windows *c, uint64_t key)
{
	return &c->windows[hash_mix64(key) % (CODE_WINDOWS_MOST / WAYS) * WAYS];
}

void code_windows_keep(struct code_windows *c, const struct stackd_code_bytes *record)
{
	uint64_t key = stackd_code_key(record->pid, &record->mark);
	struct window *set = set_of(c, key), *w = set;

	for (size_t i = 1; i < WAYS; i++)
		w = set[i].used < w->used ? &set[i] : w;
	for (size_t i = 0; i < WAYS; i++)
		w = set[i].used && set[i].key == key ? &set[i] : w;
	if (!w->record)
		w->record = malloc(sizeof(*w->record));
	if (!w->record)
		return;
	*w->record = *record;
	w->key = key;
	w->used = ++c->uses;
}

/* Returns whether a record has the bytes that the mark describes. Its key alone does not show it,
 * because keys of different bytes can be equal by chance. */
static bool is_of(const struct stackd_code_bytes *record, pid_t pid,
		  const struct stackd_code_mark *mark)
{
	return record->pid == (uint32_t)pid &&
	       record->mark.address / STACKD_CODE_BLOCK == mark->address / STACKD_CODE_BLOCK &&
	       !memcmp(record->mark.hashes, mark->hashes, sizeof(mark->hashes));
}

bool code_windows_find(struct code_windows *c, pid_t pid, const struct stackd_code_mark *mark,
		       uint8_t *ret_bytes)
{
	uint64_t key = stackd_code_key((uint32_t)pid, mark);
	struct window *set = set_of(c, key);

	for (size_t i = 0; i < WAYS; i++) {
		if (!set[i].used || set[i].key != key || !is_of(set[i].record, pid, mark))
			continue;
		set[i].used = ++c->uses;
		memcpy(ret_bytes, set[i].record->words, STACKD_CODE_BYTES);
		return true;
	}
	return false;
}
