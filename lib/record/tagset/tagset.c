/* SPDX-License-Identifier: MIT */
/* A set of tag exports: what it holds and how things in it are found; see tagset.h. */
#include "tagset/tagset.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tagset/tagset_state.h"

uint32_t tagset_chain(const struct tagset_chains *chains, uint64_t key)
{
	return int_map_find(&chains->heads, key); /* INT_MAP_NONE is TAGSET_NONE */
}

int tagset_chain_add(struct tagset_chains *chains, uint64_t key, uint32_t number)
{
	uint32_t link = (uint32_t)chains->links.count, head;
	int err = VEC_RESERVE(&chains->links, 1);

	if (err == 0)
		err = int_map_enter(&chains->heads, key, link, &head);
	if (err < 0)
		return err;
	chains->links.items[link] = (struct tagset_link){number, TAGSET_NONE};
	if (head != link) { /* a second link: the head of the chain stays the first one */
		chains->links.items[link].next = chains->links.items[head].next;
		chains->links.items[head].next = link;
	}
	chains->links.count++;
	return 0;
}

bool tagset_is_better_path(const char *path, const char *other)
{
	return *path && (!*other || strcmp(path, other) < 0);
}

bool tagset_says_more(const char *names, const char *other)
{
	const char *a = strchr(names, '\t'), *b = strchr(other, '\t');
	bool has_a = a && a[1] != '\t', has_b = b && b[1] != '\t';

	if (has_a != has_b)
		return has_a;
	if (strlen(names) != strlen(other))
		return strlen(names) > strlen(other);
	return strcmp(names, other) > 0;
}

static void chains_release(struct tagset_chains *chains)
{
	int_map_fini(&chains->heads);
	free(chains->links.items);
}

int tagset_new(struct tagset **ret_set)
{
	struct tagset *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	if (strings_new(&set->strings) < 0 || VEC_RESERVE(&set->nodes, 1) < 0) {
		tagset_free(set);
		return -ENOMEM;
	}
	set->nodes.items[set->nodes.count++] = (struct tagset_node){.location = TAGSET_NONE};
	*ret_set = set;
	return 0;
}

void tagset_free(struct tagset *set)
{
	if (!set)
		return;
	strings_free(set->strings);
	free(set->recordings.items);
	free(set->objects.items);
	free(set->locations.items);
	free(set->nodes.items);
	free(set->processes.items);
	free(set->samples.items);
	chains_release(&set->by_recording);
	chains_release(&set->by_object);
	chains_release(&set->by_location);
	chains_release(&set->by_node);
	chains_release(&set->by_process);
	chains_release(&set->by_sample);
	free(set);
}

uint32_t tagset_recordings(const struct tagset *set)
{
	return (uint32_t)set->recordings.count;
}

uint32_t tagset_repeated(const struct tagset *set)
{
	uint32_t n = 0;

	for (size_t i = 0; i < set->recordings.count; i++)
		n += set->recordings.items[i].inputs > 1;
	return n;
}

/* The event is the fifth of a recording's fields. */
static bool is_timed(const struct tagset *set, const struct tagset_recording *recording)
{
	const char *at = strings_at(set->strings, recording->fields);
	size_t n;

	for (unsigned i = 0; at && i < 4; i++) {
		at = strchr(at, '\t');
		at = at ? at + 1 : NULL;
	}
	n = at ? strcspn(at, "\t") : 0;
	return n && memmem(at, n, "clock", strlen("clock"));
}

bool tagset_is_timed(const struct tagset *set)
{
	for (size_t i = 0; i < set->recordings.count; i++)
		if (!is_timed(set, &set->recordings.items[i]))
			return false;
	return set->recordings.count;
}

uint64_t tagset_skipped(const struct tagset *set)
{
	return set->skipped;
}

const struct tagset_sample *tagset_samples(const struct tagset *set, uint32_t *ret_count)
{
	*ret_count = (uint32_t)set->samples.count;
	return set->samples.items;
}

const struct tagset_node *tagset_nodes(const struct tagset *set, uint32_t *ret_count)
{
	*ret_count = (uint32_t)set->nodes.count;
	return set->nodes.items;
}

const struct tagset_location *tagset_locations(const struct tagset *set, uint32_t *ret_count)
{
	*ret_count = (uint32_t)set->locations.count;
	return set->locations.items;
}

const char *tagset_escaped(const struct tagset *set, uint32_t text)
{
	return strings_at(set->strings, text);
}

const char *tagset_object_path(const struct tagset *set, uint32_t object)
{
	return strings_at(set->strings, set->objects.items[object].path);
}

void tagset_text(struct buf *b, const char *escaped, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char digits[3] = {0};
		unsigned long byte;

		if (escaped[i] == '\\' && len - i >= 4 && escaped[i + 1] == 'x' &&
		    isxdigit((unsigned char)escaped[i + 2]) &&
		    isxdigit((unsigned char)escaped[i + 3])) {
			memcpy(digits, escaped + i + 2, 2);
			byte = strtoul(digits, NULL, 16);
			if (byte) {
				buf_put_u8(b, (uint8_t)byte);
				i += 3;
				continue;
			}
		}
		buf_put_u8(b, (uint8_t)escaped[i]);
	}
}
