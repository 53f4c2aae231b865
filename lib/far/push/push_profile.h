/* SPDX-License-Identifier: MIT */
/*
 * The profiles that a recording becomes at a profile server, and their names there.
 *
 * Each metric is a profile of its own, in requests of its own. A server may refuse one metric and
 * take the others, and a request with several would have to be sent again as a whole. With OTLP
 * each value is a profile: samples and cpu are two. For the same reason a request of OTLP has the
 * entries of one resource only (export_otlp_place()), so entries stand in the order of these.
 *
 * A name may have letters, digits and '_' only: Parca parses a profile's name and types as a name
 * of PromQL, whose colons it separates them by, and Pyroscope refuses '-' in a type. So
 * wait.blocked is wait_blocked there.
 */
#ifndef PUSH_PUSH_PROFILE_H
#define PUSH_PUSH_PROFILE_H

#include "export/pprof_parts.h"
#include "push/server.h"

struct push_profile {
	uint32_t part;	  /* number of the part of the recording */
	uint32_t value;	  /* OTLP: number of the value in that part */
	size_t before;	  /* number of entries in the parts before */
	size_t count;	  /* number of entries */
	bool is_by_place; /* OTLP: its entries stand in the order of their places */
	char *name;	  /* what notes call it: the last value's name, with OTLP its own */
	char *names[2], *units[2]; /* of the part's values */
	/* What it is a profile of, for servers that have a name beside the types of values: the
	 * metric's group ("wait"), or "cpu" or the event for samples. */
	char *group;
};

struct push_profiles {
	struct pprof_parts parts;
	/* OTLP: the entries of all parts, in each part by place, and their places. Else NULL. */
	struct profile_entry *entries;
	uint32_t *places;
	struct push_profile *items;
	size_t n;
};

/* Lists the profiles of a recording, those of the samples first. Returns 0, -ENOMEM, or an error of
 * pprof_parts_new(); `ret_profiles` must be freed in any case. */
int push_profiles_new(struct profile *profile, enum server_kind kind,
		      struct push_profiles *ret_profiles);
void push_profiles_free(struct push_profiles *profiles);

/* Returns how many entries of a profile, from its number `from` on, one request may have: at least
 * 1, at most `most`. `from` must be below the profile's count. */
size_t push_profiles_run(const struct push_profiles *profiles, const struct push_profile *profile,
			 size_t from, size_t most);

/* Makes the parts with `n` entries of a profile, from its number `from` on, and with its names.
 * They borrow from `profiles`. */
void push_profiles_slice(const struct push_profiles *profiles, const struct push_profile *profile,
			 size_t from, size_t n, struct pprof_parts *ret_slice);

#endif
