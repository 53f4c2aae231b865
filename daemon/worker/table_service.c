/* SPDX-License-Identifier: MIT */
/* Compiles recipe tables in a worker, and writes them as plain rows (unwind/recipe_wire.h). */
#include <errno.h>

#include "daemon/worker/fault_injection.h"
#include "daemon/worker/service.h"
#include "unwind/recipe_wire.h"

int table_service(struct service *s, struct buf_reader *request, struct buf *reply)
{
	const struct object *object;
	struct recipe_table *table;
	uint64_t most_bytes;
	uint32_t number, is_quick;
	int err;

	BUF_GET(request, number);
	BUF_GET(request, is_quick);
	if (!BUF_GET(request, most_bytes))
		return -EBADMSG;
	object = service_object(s, number);
	if (!object)
		return -ENOMEM;
	if (!object->elf)
		return object->error ? object->error : -ENOENT;
	fault_at(object->elf, FAULT_TABLE);
	err = is_quick ? recipe_compile_quick(object->elf, &table)
		       : recipe_compile_within(object->elf, most_bytes, &table);
	if (err)
		return err;
	if (elf_file_is_touched(object->elf)) { /* the file was changed while it was read */
		recipe_table_free(table);
		return -ESTALE;
	}
	recipe_wire_put(table, reply);
	recipe_table_free(table);
	return 0;
}
