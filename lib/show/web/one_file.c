/* SPDX-License-Identifier: MIT */
/* The page as one file; see one_file.h. The Makefile writes one_file.html.inc. */
#include "web/one_file.h"

#include <stdint.h>

static const uint8_t one_file[] = {
#include "one_file.html.inc"
	0};

const char *one_file_page(void)
{
	return (const char *)one_file;
}
