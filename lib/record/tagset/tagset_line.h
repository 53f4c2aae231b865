/* SPDX-License-Identifier: MIT */
/*
 * A line of a tag export: its fields, and the names in them. Only the reader (tagset_read.c) uses
 * this.
 */
#ifndef TAGSET_TAGSET_LINE_H
#define TAGSET_TAGSET_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "tagset/tagset_state.h"

#define TAGSET_MAX_FIELDS 16

/* A name by which the file refers to a thing: an id and the number after its point (".1"), or just
 * a number. */
struct tagset_name {
	uint64_t id;
	uint32_t dup, number;
};

struct tagset_names {
	struct tagset_chains by_name; /* hash of the name -> index in the array below */
	VEC(struct tagset_name) names;
};

struct tagset_reader {
	struct tagset *set;
	uint32_t side;
	uint64_t line;
	char *fields[TAGSET_MAX_FIELDS];
	unsigned n_fields;
	struct tagset_names objects, locations, nodes, processes;
	VEC(uint32_t) recordings; /* by their order in the file */
	/* number of the location that the previous line was about; TAGSET_NONE: it was another kind
	 * of line */
	uint32_t location;
	uint64_t location_name; /* the file's name for it: hash of the field */
	struct buf names;	/* text of the location's names so far */
	bool has_end;
	char *error;
};

/* Reports a fault of the line to the user. Returns -EBADMSG. */
int tagset_line_bad(struct tagset_reader *rd, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Splits a line into rd->fields, in place. */
void tagset_line_split(struct tagset_reader *rd, char *line);

/* Reads a number in base 10 or 16, without sign or blank. */
bool tagset_line_number(const char *field, int base, uint64_t *ret_value);

/* Reads an id: "0123456789abcdef" or "0123456789abcdef.1". */
bool tagset_line_id(const char *field, uint64_t *ret_id, uint32_t *ret_dup);

/* Interns the fields from `first` to the line's end as one text. Returns 0 or -ENOMEM. */
int tagset_line_join(struct tagset_reader *rd, unsigned first, uint32_t *ret_text);

/* Notes that a name of the file stands for the thing that has `number` in the set. Returns 0,
 * -EBADMSG (the name has a number already) or -ENOMEM. */
int tagset_line_name(struct tagset_reader *rd, struct tagset_names *names, uint64_t id,
		     uint32_t dup, uint32_t number);

/* Gives the number in the set of the thing that a field names, by id (`is_id`) or by number.
 * Returns 0; -EBADMSG: the name is malformed, or not defined. */
int tagset_line_refer(struct tagset_reader *rd, const struct tagset_names *names, const char *field,
		      bool is_id, uint32_t *ret_number);
void tagset_line_release(struct tagset_names *names);

/* Mixes three numbers into one. */
static inline uint64_t tagset_hash(uint64_t a, uint64_t b, uint64_t c)
{
	return hash_mix64(hash_mix64(hash_mix64(a) + b) + c);
}

#endif
