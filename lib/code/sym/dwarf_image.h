/* SPDX-License-Identifier: MIT */
/* Makes a DWARF handle of libdw from sections in memory, wherever they come from. */
#ifndef SYM_DWARF_IMAGE_H
#define SYM_DWARF_IMAGE_H

#include <elfutils/libdw.h>
#include <stddef.h>

#define DWARF_IMAGE_PARTS 12

struct dwarf_part {
	const char *name; /* ".debug_info" */
	const void *at;	  /* borrowed; NULL: the section is missing */
	size_t len;
};

struct dwarf_image;

/* Makes a handle from at most DWARF_IMAGE_PARTS parts. Returns 0, and the caller frees *ret_image;
 * -ENOENT: libdw refuses the parts; -ENOMEM. */
int dwarf_image_new(const struct dwarf_part *parts, size_t n, struct dwarf_image **ret_image);

void dwarf_image_free(struct dwarf_image *image); /* NULL is fine */

Dwarf *dwarf_image_dwarf(const struct dwarf_image *image); /* lives as long as the image */

#endif
