/* SPDX-License-Identifier: MIT */
/*
 * symbolizer: DWARF of functions that the linker has discarded. The program's first code has no
 * DWARF; another unit has that of a function, larger than the program, which is not in it, and of
 * one that is.
 */
#include "symbolizer_case.h"

#include "sym/line_places.h"

#define DEAD_LINE 100
#define LIVE_LINE 5000

static const char program_first[] =
	"int live(int x);\n"
	"__attribute__((noinline)) int first(int x)\n"
	"{ __asm__ volatile(\".globl mark; mark: nop\"); return live(x) + 1; }\n"
	"int main(int c, char **v) { (void)v; return first(c); }\n";

static const char program_dead[] =
	"volatile long sink;\n"
	"#line 100\n"
	"static inline __attribute__((always_inline)) void inner(void)\n"
	"{ sink++; __asm__ volatile(\".skip 20000, 0x90\"); sink--; }\n"
	"void dead(void) { inner(); sink++; inner(); }\n"
	"#line 5000\n"
	"int live(int x) { __asm__ volatile(\".globl in_live; in_live: nop\"); return x; }\n";

struct way {
	const char *cc, *flags, *link;
};

/* GNU ld writes 0 for the address of what it discards, lld -1, or what it is told to. */
static const struct way ways[] = {
	{"cc", "-gdwarf-5", ""},
	{"cc", "-gdwarf-4", ""},
	{"cc", "-gdwarf-5 -gz", ""},
	{"cc", "-gdwarf-5", "-no-pie"},
	{"cc", "-gdwarf-5", "-Wl,-z,noseparate-code"},
	{"clang", "-gdwarf-5", ""},
	{"clang", "-gdwarf-5", "-fuse-ld=lld"},
	{"clang", "-gdwarf-4", "-fuse-ld=lld"},
	{"cc", "-gdwarf-5", "-fuse-ld=lld"},
	{"clang", "-gdwarf-5", "-fuse-ld=lld -Wl,-z,dead-reloc-in-nonalloc=.debug_*=0"},
	{"clang", "-gdwarf-5",
	 "-fuse-ld=lld -Wl,-z,dead-reloc-in-nonalloc=.debug_*=0xfffffffffffffffe"},
};

static bool link_discarding(const struct way *w)
{
	if (program_shell("command -v %s >/dev/null", w->cc) ||
	    (strstr(w->link, "lld") && program_shell("command -v ld.lld >/dev/null")))
		return false;
	assert_int_equal(program_shell("%s -O2 -c -o first.o first.c", w->cc), 0);
	assert_int_equal(program_shell("%s -O2 %s -ffunction-sections -c -o dead.o $PWD/dead.c",
				       w->cc, w->flags),
			 0);
	assert_int_equal(
		program_shell("cc %s -Wl,--gc-sections -o discarding first.o dead.o", w->link), 0);
	assert_int_not_equal(program_shell("nm discarding | grep -q ' dead$'"), 0);
	return true;
}

/* Code without DWARF has none of the other's, and code of the same unit has its own line. */
static void test_discarded_functions(void **state)
{
	(void)state;
	program_write("first.c", program_first);
	program_write("dead.c", program_dead);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct symbolizer_frame frames[FRAMES] = {0};
		struct opened o;

		if (!link_discarding(&ways[i]))
			continue;
		o = open_with("discarding", &no_debug_files);
		assert_int_equal(symbolizer_resolve(o.object, program_offset(o.file, "mark"),
						    frames, FRAMES),
				 1);
		assert_string_equal(frames[0].function, "first");
		assert_null(frames[0].file);
		assert_int_equal(symbolizer_resolve(o.object, program_offset(o.file, "in_live"),
						    frames, FRAMES),
				 1);
		assert_string_equal(frames[0].function, "live");
		assert_true(ends_with(frames[0].file, "/dead.c"));
		assert_int_equal(frames[0].line, LIVE_LINE);
		close_opened(&o);
	}
}

/* A line of a discarded function has no place, and one that is there has its own. */
static void test_discarded_places(void **state)
{
	(void)state;
	program_write("first.c", program_first);
	program_write("dead.c", program_dead);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct line_places dead = {0}, live = {0};
		struct elf_file *file;
		uint64_t vaddr;

		if (!link_discarding(&ways[i]))
			continue;
		file = program_open("discarding");
		assert_int_equal(line_places_find(file, "dead.c", DEAD_LINE + 1, &dead), 0);
		assert_int_equal(dead.all.count, 0);
		assert_int_equal(line_places_find(file, "dead.c", LIVE_LINE, &live), 0);
		assert_true(live.all.count > 0);
		assert_true(
			elf_file_offset_to_vaddr(file, program_offset(file, "in_live"), &vaddr));
		for (size_t p = 0; p < live.all.count; p++)
			assert_true(live.all.items[p].vaddr + 64 > vaddr &&
				    live.all.items[p].vaddr < vaddr + 64);
		line_places_free(&dead);
		line_places_free(&live);
		elf_file_free(file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_discarded_functions),
		cmocka_unit_test(test_discarded_places),
	};

	return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
