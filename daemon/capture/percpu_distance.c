/* SPDX-License-Identifier: MIT */
/* Finds per-CPU variables; see percpu_distance.h. */
#include "daemon/capture/percpu_distance.h"

#include <bpf/btf.h>
#include <string.h>

/* Returns the offset of a variable in the per-CPU section; -1: the section does not have it. */
static int64_t offset_of(const struct btf *btf, const struct btf_type *section, const char *name)
{
	const struct btf_var_secinfo *var = btf_var_secinfos(section);

	for (uint32_t i = 0; i < btf_vlen(section); i++, var++) {
		const struct btf_type *type = btf__type_by_id(btf, var->type);

		if (type && !strcmp(btf__name_by_offset(btf, type->name_off), name))
			return var->offset;
	}
	return -1;
}

int64_t percpu_distance(const char *btf_path, const char *from, const char *to)
{
	struct btf *btf = btf__parse(btf_path, NULL);
	int64_t start = -1, end = -1;
	int id;

	if (!btf)
		return 0;
	id = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	if (id > 0) {
		start = offset_of(btf, btf__type_by_id(btf, (uint32_t)id), from);
		end = offset_of(btf, btf__type_by_id(btf, (uint32_t)id), to);
	}
	btf__free(btf);
	return start < 0 || end < 0 ? 0 : end - start;
}
