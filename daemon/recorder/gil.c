/* SPDX-License-Identifier: MIT */
/* Looks for the mapping of a file that has a CPython; see gil.h. */
#include "daemon/recorder/gil.h"

bool gil_has(const struct tables *tables, const struct mapping_set *mappings, uint64_t futex)
{
	for (uint32_t i = 0; mappings && i < mappings->count; i++) {
		const struct mapping *m = &mappings->maps[i];
		const struct stackd_interpreter *is =
			m->is_copy ? NULL : tables_interpreter(tables, m->object);
		uint64_t start = m->start - m->offset;

		if (is && is->language == STACKD_RUNTIME_PYTHON &&
		    futex - (start + (uint64_t)is->runtime) < is->runtime_bytes)
			return true;
	}
	return false;
}
