/* SPDX-License-Identifier: MIT */
/* No start code is known on this processor yet: these functions have call frame information in
 * Debian's files, or end a path with a mark; see ../start_code.h. */
#include "arch/start_code.h"

int start_code_in_init(const uint8_t *code, size_t len, size_t at)
{
	(void)code, (void)len, (void)at;
	return -1;
}

int start_code_in_dtors(const uint8_t *code, size_t len, size_t at)
{
	(void)code, (void)len, (void)at;
	return -1;
}

int start_code_in_frame_dummy(const uint8_t *code, size_t len, size_t at)
{
	(void)code, (void)len, (void)at;
	return -1;
}

bool start_code_is_dtors(const uint8_t *code, size_t len, size_t at)
{
	(void)code, (void)len, (void)at;
	return false;
}

bool start_code_is_tm_clones(const uint8_t *code, size_t len, size_t at)
{
	(void)code, (void)len, (void)at;
	return false;
}

bool start_code_jumps(const uint8_t *code, size_t len, int64_t *ret_distance)
{
	(void)code, (void)len, (void)ret_distance;
	return false;
}
