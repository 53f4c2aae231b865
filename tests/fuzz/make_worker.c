/* SPDX-License-Identifier: MIT */
/* Makes inputs for fuzz_worker: what a worker sends of the file that is given, to a folder. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/worker/name_wire.h"
#include "elf/elf_file.h"
#include "unwind/recipe_wire.h"

static void write_input(const char *folder, const char *name, uint8_t kind, const struct buf *bytes)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	if (!file || fputc(kind, file) < 0 ||
	    fwrite(bytes->data, 1, bytes->len, file) != bytes->len || fclose(file))
		exit(1);
}

int main(int argc, char **argv)
{
	const struct store_line line = {
		.function = "f", .file = "f.c", .line = 3, .function_start = 16};
	struct buf table = {0}, identity = {0}, lines = {0};
	int fd = argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct recipe_table *recipes;
	struct elf_file *file;

	if (fd < 0 || elf_file_open(fd, &file) || recipe_compile(file, &recipes))
		return 1;
	recipe_wire_put(recipes, &table);
	elf_file_put_identity(file, &identity);
	name_wire_put(&line, &lines);
	name_wire_put(&line, &lines);
	write_input(argv[2], "table", 0, &table);
	write_input(argv[2], "identity", 1, &identity);
	write_input(argv[2], "lines", 2, &lines);
	recipe_table_free(recipes);
	elf_file_free(file);
	close(fd);
	buf_free(&table);
	buf_free(&identity);
	buf_free(&lines);
	return 0;
}
