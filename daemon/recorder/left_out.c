/* SPDX-License-Identifier: MIT */
/* Keeps a list of sizes and their objects; see left_out.h. */
#include "daemon/recorder/left_out.h"

#include <inttypes.h>
#include <stdio.h>

#include "stack/left_out_name.h"

#define MIB (UINT64_C(1) << 20)

int left_out_find(struct left_out *l, struct object_table *objects, uint64_t bytes,
		  const struct object **ret_object)
{
	uint64_t mib = (bytes + MIB / 2) / MIB;
	char name[64] = "[" LEFT_OUT_END;
	uint32_t i = 0;
	int err;

	while (i < l->count && i < LEFT_OUT_SIZES && l->sizes[i].mib != mib)
		i++;
	if (i == l->count) {
		if (i < LEFT_OUT_SIZES && mib)
			snprintf(name, sizeof(name), "[%" PRIu64 " MiB of " LEFT_OUT_END, mib);
		else if (i < LEFT_OUT_SIZES)
			snprintf(name, sizeof(name), "[less than 1 MiB of " LEFT_OUT_END);
		err = object_table_add(objects, &(struct object){.kind = OBJECT_MARK, .path = name},
				       &l->sizes[i].object);
		if (err)
			return err;
		l->sizes[i].mib = mib;
		l->count++;
	}
	*ret_object = l->sizes[i].object;
	return 0;
}
