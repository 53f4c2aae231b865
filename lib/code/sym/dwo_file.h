/* SPDX-License-Identifier: MIT */
/* Reads the sections of a .dwo or .dwp file into memory. */
#ifndef SYM_DWO_FILE_H
#define SYM_DWO_FILE_H

#include <stddef.h>
#include <stdint.h>

enum dwo_section {
	DWO_INFO,
	DWO_TYPES,
	DWO_ABBREV,
	DWO_STR,
	DWO_STR_OFFSETS,
	DWO_RNGLISTS,
	DWO_LINE,
	DWO_SECTIONS
};

struct dwo_bytes {
	const uint8_t *at; /* NULL: there is no such section */
	size_t len;
};

struct dwo_file;

/* Opens the .dwo or .dwp file behind a descriptor, which the result owns from then on. Returns 0;
 * -ENOENT: it is no such file; -ENOMEM. */
int dwo_file_open(int fd, struct dwo_file **ret_file);
void dwo_file_free(struct dwo_file *file); /* NULL is fine */

/* Reads the sections of a .dwo file, and closes its descriptor. The sections are valid as long as
 * `file`. Returns 0, -ENOENT (they cannot be read, or are too large) or -ENOMEM. */
int dwo_file_read(struct dwo_file *file, struct dwo_bytes ret_sections[DWO_SECTIONS]);

/* Reads the parts of a .dwp file's sections that belong to the unit with that id. They are in
 * *ret_owned, which the caller frees; the string section is shared by all units, and valid as long
 * as `file`. Returns 0, -ENOENT (there is no such unit, or the file is damaged) or -ENOMEM. */
int dwo_file_read_unit(struct dwo_file *file, uint64_t id,
		       struct dwo_bytes ret_sections[DWO_SECTIONS], uint8_t **ret_owned);

#endif
