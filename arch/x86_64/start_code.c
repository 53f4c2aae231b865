/* SPDX-License-Identifier: MIT */
/* Start code as gcc and glibc have it on x86-64; see ../start_code.h. */
#include "arch/start_code.h"

#include <string.h>

#include "arch/code_form.h"

/* bytes of register_tm_clones, the longest of these functions, up to its ret */
#define TM_CLONES_BYTES	 56
#define TM_CLONES_HEAD	 17 /* bytes by which it is recognised */
#define DTORS_BYTES	 64 /* limit of the bytes of __do_global_dtors_aux */
#define DTORS_HEAD	 21
#define FRAME_DUMMY_HEAD 29

/* [endbr64]; sub $8,%rsp */
int start_code_in_init(const uint8_t *code, size_t len, size_t at)
{
	static const uint8_t sub8[] = {0x48, 0x83, 0xec, 0x08};
	size_t sub = code_form_mark(code, len);

	if (len < sub + sizeof(sub8) || memcmp(code + sub, sub8, sizeof(sub8)) != 0)
		return -1;
	if (at <= sub)
		return 0;
	return at <= len && !code_form_may_have_return(code + sub, at - sub) ? 8 : -1;
}

/* Returns whether __do_global_dtors_aux starts at `code`, and rbp is not its frame pointer yet at
 * byte `at`. */
static bool is_dtors(const uint8_t *code, size_t at)
{
	if (code[0] != 0x80 || code[1] != 0x3d || code[7] != 0x75 || code[9] != 0x55)
		return false;
	if (!memcmp(code + 10, "\x48\x89\xe5", 3))
		return at <= 10;
	return !memcmp(code + 10, "\x48\x83\x3d", 3) && !memcmp(code + 18, "\x48\x89\xe5", 3);
}

/* The code, by offset: 0: cmpb $0,x(%rip); 7: jne ...; 9: push %rbp; 10: cmpq $0,y(%rip); 18: mov
 * %rsp,%rbp. In a static program the mov follows the push. */
int start_code_in_dtors(const uint8_t *code, size_t len, size_t at)
{
	static const uint8_t starts[] = {0, 7, 9, 10, 18};
	int pushed = -1;

	for (size_t i = 0; i < sizeof(starts) && starts[i] <= at; i++)
		if (len - (at - starts[i]) >= DTORS_HEAD &&
		    is_dtors(code + at - starts[i], starts[i]))
			pushed = starts[i] > 9 ? 8 : 0;
	return pushed;
}

static bool is_frame_dummy(const uint8_t *code)
{
	return code_form_mark(code, FRAME_DUMMY_HEAD) && code[4] == 0xb8 &&
	       !memcmp(code + 9, "\x48\x85\xc0\x74", 4) && code[14] == 0x55 &&
	       !memcmp(code + 25, "\x48\x89\xe5\xe8", 4);
}

/* The code, by offset: 0: endbr64; 4: mov $f,%eax; 9: test %rax,%rax; 12: je; 14: push %rbp; 15:
 * mov; 20: mov; 25: mov %rsp,%rbp; 28: call; 33: pop %rbp; 34: jmp ...; 48: jmp ... */
int start_code_in_frame_dummy(const uint8_t *code, size_t len, size_t at)
{
	static const uint8_t starts[] = {9, 12, 14, 15, 20, 25, 28, 33, 34, 48};
	int pushed = -1;

	for (size_t i = 0; i < sizeof(starts) && starts[i] <= at; i++)
		if (len - (at - starts[i]) >= FRAME_DUMMY_HEAD &&
		    is_frame_dummy(code + at - starts[i]))
			pushed = starts[i] > 14 && starts[i] < 34 ? 8 : 0;
	return pushed;
}

/* The function's first jump leads to its last ret. */
bool start_code_is_dtors(const uint8_t *code, size_t len, size_t at)
{
	size_t first = at < DTORS_BYTES ? 0 : at - DTORS_BYTES;

	for (size_t i = first; i + DTORS_HEAD <= len && i <= at + CODE_FORM_MARK; i++) {
		if (!is_dtors(code + i, 0))
			continue;
		if (i <= at ? at - i <= 9u + code[i + 8] : code_form_mark(code + at, len - at) != 0)
			return true;
	}
	return false;
}

/* Returns the length of register_tm_clones or deregister_tm_clones, if one of them starts here;
 * else 0. They compare the ends of an empty table: position-independent code loads both by lea;
 * other code has both as constants, which are equal. */
static size_t tm_clones_bytes(const uint8_t *code)
{
	if (!memcmp(code, "\x48\x8d\x3d", 3) && !memcmp(code + 7, "\x48\x8d", 2)) {
		if (!memcmp(code + 14, "\x48\x29\xfe", 3))
			return TM_CLONES_BYTES;
		return memcmp(code + 14, "\x48\x39\xf8", 3) ? 0 : 40;
	}
	if (code[0] == 0xbe && !memcmp(code + 5, "\x48\x81\xee", 3))
		return memcmp(code + 1, code + 8, 4) ? 0 : 48;
	if (code[0] == 0xb8 && !memcmp(code + 5, "\x48\x3d", 2))
		return memcmp(code + 1, code + 7, 4) ? 0 : 32;
	return 0;
}

bool start_code_is_tm_clones(const uint8_t *code, size_t len, size_t at)
{
	size_t first = at < TM_CLONES_BYTES ? 0 : at - TM_CLONES_BYTES;

	for (size_t i = first; i <= at && i + TM_CLONES_HEAD <= len; i++)
		if (tm_clones_bytes(code + i) > at - i)
			return true;
	return false;
}

/* [endbr64]; jmp register_tm_clones */
bool start_code_jumps(const uint8_t *code, size_t len, int64_t *ret_distance)
{
	size_t at = code_form_mark(code, len);
	int32_t distance;

	if (len < at + 5 || code[at] != 0xe9)
		return false;
	memcpy(&distance, code + at + 1, sizeof(distance));
	*ret_distance = (int64_t)at + 5 + distance;
	return true;
}
