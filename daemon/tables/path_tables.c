/* SPDX-License-Identifier: MIT */
/* Goes over the frames; see path_tables.h. */
#include "daemon/tables/path_tables.h"

int path_tables_want(struct tables *tables, const struct walk_frame *frames, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		const struct object *object = frames[i].object;

		if (object && object->elf && elf_file_is_open(object->elf) &&
		    !tables_have(tables, object))
			err = tables_want(tables, object, NULL);
	}
	return err;
}
