/* SPDX-License-Identifier: MIT */
/* Call instructions are recognised before a return address. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "arch/call_site.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct call_case {
	const char *bytes;
	size_t len;
	bool is_call;
};

#define CALL(bytes) ((struct call_case){bytes, sizeof(bytes) - 1, true})
#define NONE(bytes) ((struct call_case){bytes, sizeof(bytes) - 1, false})

static void test_call_sites(void **state)
{
	static const struct call_case cases[] = {
		CALL("\xe8\x11\x22\x33\x44"), /* call rel32 */
		CALL("\x90\x90\xe8\xff\xff\xff\xff"),
		CALL("\x67\xe8\x11\x22\x33\x44"),	  /* with a prefix */
		CALL("\xff\xd0"),			  /* call *%rax */
		CALL("\x41\xff\xd3"),			  /* call *%r11 */
		CALL("\x3e\xff\xd0"),			  /* notrack call *%rax */
		CALL("\xff\x10"),			  /* call *(%rax) */
		CALL("\xff\x15\x11\x22\x33\x44"),	  /* call *x(%rip) */
		CALL("\xff\x14\x24"),			  /* call *(%rsp) */
		CALL("\x41\xff\x14\xc4"),		  /* call *(%r12,%rax,8) */
		CALL("\xff\x14\xc5\x11\x22\x33\x44"),	  /* call *x(,%rax,8) */
		CALL("\xff\x50\x18"),			  /* call *0x18(%rax) */
		CALL("\xff\x54\x24\x08"),		  /* call *8(%rsp) */
		CALL("\xff\x90\x11\x22\x33\x44"),	  /* call *x(%rax) */
		CALL("\xff\x94\x24\x11\x22\x33\x44"),	  /* call *x(%rsp) */
		CALL("\x64\xff\x14\x25\x11\x22\x33\x44"), /* call *%fs:x */
		NONE("\x90\x90\x90\x90\x90\x90\x90"),
		NONE("\xe9\x11\x22\x33\x44"),	  /* jmp rel32 */
		NONE("\xff\xe0"),		  /* jmp *%rax */
		NONE("\xff\x25\x11\x22\x33\x44"), /* jmp *x(%rip) */
		NONE("\xff\x18"),		  /* lcall *(%rax) */
		NONE("\xff\xd0\x90"),		  /* a call, but not the last */
		NONE("\xe8\x11\x22\x33\x44\x90"),
		NONE("\xe8\x11\x22\x33"), /* cut */
		NONE("\xff\x15\x11\x22\x33"),
		NONE("\xff\x14"),
		NONE("\xff\x50"),
		NONE("\xff\x54\x24"),
		NONE("\x9a\x11\x22\x33\x44\x55\x66"), /* lcall, invalid in 64-bit code */
		NONE("\xd0"),
		NONE(""),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		/* in memory of its own, so that the sanitizer sees a read before it */
		uint8_t *copy = malloc(cases[i].len + 1);

		memcpy(copy, cases[i].bytes, cases[i].len);
		if (call_site_ends(copy, cases[i].len) != cases[i].is_call)
			fail_msg("case %zu", i);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
