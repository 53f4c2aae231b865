/* SPDX-License-Identifier: MIT */
/* Lines of a tag export; see tagset_line.h. */
#include "tagset/tagset_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tagset_line_bad(struct tagset_reader *rd, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	if (asprintf(&rd->error, "line %" PRIu64 ": %s", rd->line, what) < 0)
		rd->error = NULL;
	return -EBADMSG;
}

/* --- fields -------------------------------------------------------------------------------- */

void tagset_line_split(struct tagset_reader *rd, char *line)
{
	rd->n_fields = 0;
	for (;;) {
		char *tab = strchr(line, '\t');

		rd->fields[rd->n_fields++] = line;
		/* What follows the last field stays in one piece with it. */
		if (!tab || rd->n_fields == TAGSET_MAX_FIELDS)
			return;
		*tab = '\0';
		line = tab + 1;
	}
}

bool tagset_line_number(const char *field, int base, uint64_t *ret_value)
{
	char *end;

	if (!*field ||
	    strspn(field, base == 16 ? "0123456789abcdef" : "0123456789") != strlen(field))
		return false;
	errno = 0;
	*ret_value = strtoull(field, &end, base);
	return !errno && !*end;
}

bool tagset_line_id(const char *field, uint64_t *ret_id, uint32_t *ret_dup)
{
	char hex[17] = {0};
	uint64_t dup = 0;

	if (strlen(field) < 16)
		return false;
	memcpy(hex, field, 16);
	if (!tagset_line_number(hex, 16, ret_id))
		return false;
	if (field[16] &&
	    (field[16] != '.' || !tagset_line_number(field + 17, 10, &dup) || dup > UINT32_MAX - 1))
		return false;
	*ret_dup = (uint32_t)dup;
	return true;
}

/* The fields are still side by side in the line, so joining them only restores their tabs. */
int tagset_line_join(struct tagset_reader *rd, unsigned first, uint32_t *ret_text)
{
	for (unsigned i = first + 1; i < rd->n_fields; i++)
		rd->fields[i][-1] = '\t';
	return strings_intern(rd->set->strings, rd->fields[first], ret_text);
}

/* --- names in the file --------------------------------------------------------------------- */

/* Hashes the whole name, so that many names with one id do not make one long chain. The hash
 * includes the address of `names`, so that nobody can prepare a file whose names collide. */
static uint64_t tagset_line_key(const struct tagset_names *names, uint64_t id, uint32_t dup)
{
	return tagset_hash((uintptr_t)names + id, dup, 0);
}

static uint32_t tagset_line_find(const struct tagset_names *names, uint64_t id, uint32_t dup)
{
	const struct tagset_chains *chains = &names->by_name;

	for (uint32_t at = tagset_chain(chains, tagset_line_key(names, id, dup)); at != TAGSET_NONE;
	     at = chains->links.items[at].next) {
		const struct tagset_name *name =
			&names->names.items[chains->links.items[at].number];

		if (name->id == id && name->dup == dup)
			return name->number;
	}
	return TAGSET_NONE;
}

int tagset_line_name(struct tagset_reader *rd, struct tagset_names *names, uint64_t id,
		     uint32_t dup, uint32_t number)
{
	int err;

	if (tagset_line_find(names, id, dup) != TAGSET_NONE)
		return tagset_line_bad(rd, "'%s' is named twice", rd->fields[1]);
	err = VEC_RESERVE(&names->names, 1);
	if (err == 0)
		err = tagset_chain_add(&names->by_name, tagset_line_key(names, id, dup),
				       (uint32_t)names->names.count);
	if (err == 0)
		names->names.items[names->names.count++] = (struct tagset_name){id, dup, number};
	return err;
}

int tagset_line_refer(struct tagset_reader *rd, const struct tagset_names *names, const char *field,
		      bool is_id, uint32_t *ret_number)
{
	uint32_t dup = 0;
	uint64_t id;

	if (!(is_id ? tagset_line_id(field, &id, &dup) : tagset_line_number(field, 10, &id)))
		return tagset_line_bad(rd, "'%.40s' is not a valid %s", field,
				       is_id ? "id" : "number");
	*ret_number = tagset_line_find(names, id, dup);
	if (*ret_number == TAGSET_NONE)
		return tagset_line_bad(rd, "'%.40s' was not named before", field);
	return 0;
}

void tagset_line_release(struct tagset_names *names)
{
	int_map_fini(&names->by_name.heads);
	free(names->by_name.links.items);
	free(names->names.items);
}
