/* SPDX-License-Identifier: MIT */
/*
 * CFI made by hand: which entries are shown to libdw, what rules become of them, and code without
 * any CFI.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>

#include "cfi/cfi_check.h"
#include "cfi/cfi_image.h"
#include "cfi/cfi_section.h"
#include "unwind/walk_rule.h"
#include "unwind/walk_step.h"
#include "walk_self.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- sections made by hand ----------------------------------------------------------------- */

struct bytes {
	uint8_t data[1024];
	size_t len;
};

static void put(struct bytes *b, const void *data, size_t len)
{
	assert_true(b->len + len <= sizeof(b->data));
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void put32(struct bytes *b, uint32_t v)
{
	put(b, &v, 4);
}

/* An entry: id, then the body, padded with nops to a multiple of 8. Returns where it is. */
static size_t put_entry(struct bytes *b, uint32_t id, const void *body, size_t len)
{
	static const uint8_t nops[8];
	size_t at = b->len, padded = (len + 7) & ~(size_t)7;

	put32(b, (uint32_t)padded + 4);
	put32(b, id);
	put(b, body, len);
	put(b, nops, padded - len);
	return at;
}

/* version 1, "zR", code 1, data -8, column 16, pcrel sdata4; CFA = rsp + 8, ra at CFA - 8 */
static const uint8_t good_cie[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};

static size_t put_fde(struct bytes *b, size_t cie, const void *program, size_t len)
{
	uint8_t body[512] = {0};
	int32_t start = 0x100;

	memcpy(body, &start, 4);	      /* 0x100 above this field */
	memcpy(body + 4, &(uint32_t){16}, 4); /* bytes of code */
	memcpy(body + 9, program, len);	      /* after an empty augmentation */
	return put_entry(b, (uint32_t)(b->len + 4 - cie), body, 9 + len);
}

static size_t count_good(struct bytes *b, bool is_debug)
{
	struct cfi_fde_list list = {0};
	uint8_t *copy = malloc(b->len);
	size_t n;

	memcpy(copy, b->data, b->len);
	assert_int_equal(cfi_check_section(copy, b->len, 0x400000, is_debug, 0, &list), 0);
	n = list.count;
	cfi_fde_list_free(&list);
	free(copy);
	return n;
}

static bool program_passes(const void *program, size_t len)
{
	struct bytes b = {.len = 0};

	put_fde(&b, put_entry(&b, 0, good_cie, sizeof(good_cie)), program, len);
	return count_good(&b, false) == 1;
}

#define PASSES(...)                                                                                \
	assert_true(program_passes((const uint8_t[]){__VA_ARGS__},                                 \
				   sizeof((const uint8_t[]){__VA_ARGS__})))
#define REFUSED(...)                                                                               \
	assert_false(program_passes((const uint8_t[]){__VA_ARGS__},                                \
				    sizeof((const uint8_t[]){__VA_ARGS__})))

/* Programs are padded with nops to 8 - 1 = 7 bytes (after 9 of the head): 7, 15, ... are whole. */
static void test_programs(void **state)
{
	uint8_t remembers[CFI_MAX_REMEMBERED + 1];

	(void)state;
	PASSES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0xc6, 0x0c, 7, 8);
	PASSES(0x02, 0x41, 0x03, 1, 0, 0x04, 1, 0, 0, 0);
	PASSES(0x0a, 0x0b, 0x07, 16, 0x08, 3, 0x09, 16, 5, 0x06, 3);
	PASSES(0x0f, 3, 0x77, 8, 0x06, 0x10, 6, 2, 0x76, 0, 0x16, 3, 1, 0x30);
	PASSES(0x2e, 0xff, 0x01, 0x11, 6, 2, 0x12, 7, 0x7f, 0x13, 0x70);
	/* operands that run over the end */
	REFUSED(0, 0, 0, 0, 0, 0, 0x02);
	REFUSED(0, 0, 0, 0, 0, 0x03, 1);
	REFUSED(0, 0, 0, 0, 0, 0x0e, 0x80);
	REFUSED(0, 0, 0, 0, 0, 0, 0x86);
	REFUSED(0, 0, 0, 0, 0x0f, 3, 0x30);
	/* a register that would cost gigabytes */
	REFUSED(0x05, 0xff, 0xff, 0xff, 0x3f, 1);
	REFUSED(0x07, 0x80, 0x02);
	PASSES(0x07, 0xff, 0x01);
	/* LEB128 longer than libdw reads */
	REFUSED(0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01);
	/* unknown: set_loc, a hole, vendor's */
	REFUSED(0x01, 0, 0, 0, 0);
	REFUSED(0x17);
	REFUSED(0x3f);
	/* states */
	REFUSED(0x0b);
	memset(remembers, 0x0a, sizeof(remembers));
	assert_true(program_passes(remembers, CFI_MAX_REMEMBERED));
	assert_false(program_passes(remembers, CFI_MAX_REMEMBERED + 1));
	/* operations: unknown, cut, and what does not belong into CFI */
	REFUSED(0x0f, 1, 0x03);
	REFUSED(0x0f, 1, 0x77);
	REFUSED(0x0f, 3, 0x9e, 1, 0);
	REFUSED(0x10, 6, 2, 0xf0, 0);
}

static void test_entries(void **state)
{
	static const uint8_t program[] = {0x0e, 16};
	uint8_t cie[32];
	struct bytes b;

	(void)state;
	for (size_t i = 0; i < sizeof(good_cie); i++) {
		static const uint8_t bad[] = {9, 'y', 'X', 'X', 0x80, 0x80, 0xff, 99, 0x9b};

		if (i >= sizeof(bad))
			break;
		memcpy(cie, good_cie, sizeof(good_cie));
		cie[i] = bad[i];
		if (i == 4 || i == 5) /* an endless LEB128 */
			memset(cie + i, 0x80, sizeof(good_cie) - i);
		b.len = 0;
		put_fde(&b, put_entry(&b, 0, cie, sizeof(good_cie)), program, sizeof(program));
		if (count_good(&b, false) != (i == 6)) /* column 255 is a number like others */
			fail_msg("byte %zu of the CIE", i);
	}
	/* an FDE without its CIE; cut at every byte */
	b.len = 0;
	put_entry(&b, 0, good_cie, sizeof(good_cie));
	put_fde(&b, 4, program, sizeof(program));
	assert_int_equal(count_good(&b, false), 0);
	b.len = 0;
	put_fde(&b, put_entry(&b, 0, good_cie, sizeof(good_cie)), program, sizeof(program));
	put_fde(&b, 0, program, sizeof(program));
	assert_int_equal(count_good(&b, false), 2);
	for (size_t whole = b.len; b.len; b.len--)
		assert_int_equal(count_good(&b, false), b.len == whole ? 2 : b.len >= 48);
}

/* --- a file made by hand ------------------------------------------------------------------- */

struct file_image {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdr[3];
	char names[64];
	uint8_t data[1024];
};

#define FILE_DATA_OFFSET offsetof(struct file_image, data)

/* An ELF file at 0x400000 with one segment and one section of the given name and content, whose
 * first byte is the entry. */
static struct elf_file *make_file(const char *name, uint64_t flags, const void *data, size_t len)
{
	struct file_image image = {
		.ehdr = {.e_ident = ELFMAG "\2\1\1",
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_entry = 0x400000 + FILE_DATA_OFFSET,
			 .e_phoff = offsetof(struct file_image, phdr),
			 .e_shoff = offsetof(struct file_image, shdr),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 3,
			 .e_shstrndx = 2},
		.phdr = {.p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_vaddr = 0x400000,
			 .p_filesz = sizeof(image),
			 .p_memsz = sizeof(image)},
	};
	struct elf_file *file = NULL;

	strcpy(image.names + 1, name);
	memcpy(image.data, data, len);
	image.shdr[1] =
		(Elf64_Shdr){.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = FILE_DATA_OFFSET};
	image.shdr[1].sh_size = len;
	image.shdr[1].sh_flags = flags;
	if (!strcmp(name, ".eh_frame"))
		image.shdr[1].sh_addr = 0x400000 + FILE_DATA_OFFSET;
	image.shdr[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				     .sh_offset = offsetof(struct file_image, names)};
	image.shdr[2].sh_size = sizeof(image.names);
	assert_int_equal(elf_file_open_memory(&image, sizeof(image), &file), 0);
	return file;
}

/* Version 4, absolute addresses, return address at CFA - 8, rbx saved from the fourth byte on. */
static void put_debug_frame(struct bytes *b)
{
	static const uint8_t cie[] = {4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1};
	static const uint8_t program[] = {0x44, 0x0e, 16, 0x83, 2};
	uint8_t body[16 + sizeof(program)];

	memcpy(body, &(uint64_t){0x400100}, 8);
	memcpy(body + 8, &(uint64_t){0x40}, 8);
	memcpy(body + 16, program, sizeof(program));
	put_entry(b, UINT32_MAX, cie, sizeof(cie));
	put_entry(b, 0, body, sizeof(body));
}

static void check_debug_frame(uint64_t flags, const struct bytes *b)
{
	struct elf_file *file = make_file(".debug_frame", flags, b->data, b->len);
	struct cfi_image *image = NULL;
	struct walk_rule rule;

	assert_int_equal(cfi_image_new(file, &image), 0);
	assert_int_equal(walk_rule_compile(image, 0x400102, &rule), 0);
	assert_int_equal(rule.fast.cfa, STACKD_CFA_REG);
	assert_int_equal(rule.fast.reg, STACKD_REG_RSP);
	assert_int_equal(rule.fast.cfa_offset, 8);
	assert_int_equal(rule.fast.ra_offset, -8);
	assert_int_equal(rule.fast.saved[1], 0);
	assert_int_equal(walk_rule_compile(image, 0x400104, &rule), 0);
	assert_int_equal(rule.fast.cfa_offset, 16);
	assert_int_equal(rule.fast.saved[1], -16);
	for (uint64_t outside = 0x4000ff; outside <= 0x400140; outside += 0x41) {
		assert_int_equal(walk_rule_compile(image, outside, &rule), 0);
		assert_int_equal(rule.fast.cfa, STACKD_CFA_NONE);
	}
	cfi_image_free(image);
	elf_file_free(file);
}

static void test_debug_frame(void **state)
{
	struct bytes b = {.len = 0};

	(void)state;
	put_debug_frame(&b);
	check_debug_frame(0, &b);
}

/* `from` as a compressed section: a header, and a zlib stream of one stored block. */
static void compress(struct bytes *to, const struct bytes *from, uint64_t size_in_header)
{
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_addralign = 1};
	uint8_t head[] = {0x78, 1, 1, (uint8_t)from->len, 0, (uint8_t)~from->len, 0xff};
	uint32_t a = 1, b = 0; /* Adler-32 */

	assert_true(from->len < 256);
	header.ch_size = size_in_header;
	put(to, &header, sizeof(header));
	put(to, head, sizeof(head));
	put(to, from->data, from->len);
	for (size_t i = 0; i < from->len; i++) {
		a = (a + from->data[i]) % 65521;
		b = (b + a) % 65521;
	}
	put32(to, __builtin_bswap32(b << 16 | a));
}

static void test_compressed_debug_frame(void **state)
{
	static const uint64_t lies[] = {0, 1, CFI_SECTION_MAX_BYTES + 1, UINT64_MAX};
	struct bytes plain = {.len = 0}, packed = {.len = 0};
	struct cfi_image *image = NULL;

	(void)state;
	put_debug_frame(&plain);
	compress(&packed, &plain, plain.len);
	check_debug_frame(SHF_COMPRESSED, &packed);
	for (size_t i = 0; i < COUNT(lies); i++) {
		struct elf_file *file;

		packed.len = 0;
		compress(&packed, &plain, lies[i]);
		file = make_file(".debug_frame", SHF_COMPRESSED, packed.data, packed.len);
		assert_int_equal(cfi_image_new(file, &image), -ENODATA);
		elf_file_free(file);
	}
}

/* A file's only rule, and what it refers to. */
struct one_rule {
	struct elf_file *file;
	struct cfi_image *image;
	struct walk_rule rule;
	uint64_t start, end;
};

static void make_rule(struct one_rule *r, const uint8_t *cie, size_t cie_len,
		      const uint8_t *program, size_t len)
{
	struct bytes b = {.len = 0};

	put_fde(&b, put_entry(&b, 0, cie, cie_len), program, len);
	r->file = make_file(".eh_frame", 0, b.data, b.len);
	assert_int_equal(cfi_image_new(r->file, &r->image), 0);
	assert_int_equal(cfi_image_count(r->image), 1);
	cfi_image_range(r->image, 0, &r->start, &r->end);
	assert_int_equal(walk_rule_compile(r->image, r->start, &r->rule), 0);
}

static void free_rule(struct one_rule *r)
{
	walk_rule_free(&r->rule);
	cfi_image_free(r->image);
	elf_file_free(r->file);
}

/* What the fixed form cannot say keeps its operations, and a step evaluates them. */
static void test_slow_rule(void **state)
{
	/* CFA = rsp + 32; rbx at *(rsp + 8), rbp = CFA - 3, r12 in rax, ra in memory at rsp */
	static const uint8_t program[] = {0x0c, 7,    32,   0x10, 3,  3, 0x77, 8,  0x06, 0x16, 6,
					  2,	0x33, 0x1c, 0x09, 12, 0, 0x10, 16, 2,	 0x77, 0};
	struct walk_state s = {.known = WALK_KNOWN_ALL, .may_be_at_cfa = true};
	uint64_t stack[8] = {0x1234, 0, 2, 3, 4, 5, 6, 7};
	struct walk_memory memory = {(uint8_t *)stack, 0x7000, sizeof(stack), false, 0};
	struct one_rule r;

	(void)state;
	make_rule(&r, good_cie, sizeof(good_cie), program, sizeof(program));
	assert_int_equal(r.end - r.start, 16);
	assert_int_equal(r.rule.fast.cfa, STACKD_CFA_DAEMON);
	assert_non_null(r.rule.slow);
	stack[1] = 0x7018;
	s.r[STACKD_REG_RSP] = 0x7000;
	s.r[0] = 0x55;
	s.r[15] = 0xf;
	assert_int_equal(walk_step(&r.rule, &memory, &s), WALK_GOES_ON);
	assert_int_equal(s.r[STACKD_REG_RIP], 0x1234);
	assert_int_equal(s.slot, 0x7000);
	assert_int_equal(s.r[STACKD_REG_RSP], 0x7020);
	assert_int_equal(s.r[3], 3);
	assert_int_equal(s.r[STACKD_REG_RBP], 0x701d);
	assert_int_equal(s.r[12], 0x55);
	assert_int_equal(s.r[15], 0xf);
	assert_false(s.known & 1);
	free_rule(&r);
}

/* A signal frame as low as the fixed form can say: the registers would stand lower than that. */
static void test_lowest_signal_frame(void **state)
{
	static const uint8_t cie[] = {1, 'z',  'R',  'S', 0, 1,	   0x78, 16,
				      1, 0x1b, 0x0c, 7,	  8, 0x90, 1};
	/* CFA = *(rsp - 2^31); rax at rsp */
	static const uint8_t program[] = {0x0f, 7, 0x77, 0x80, 0x80, 0x80, 0x80,
					  0x78, 6, 0x10, 0,    2,    0x77, 0};
	struct one_rule r;

	(void)state;
	make_rule(&r, cie, sizeof(cie), program, sizeof(program));
	assert_true(r.rule.is_signal);
	assert_int_equal(r.rule.fast.cfa, STACKD_CFA_DAEMON);
	assert_non_null(r.rule.slow);
	free_rule(&r);
}

/* --- files without CFI --------------------------------------------------------------------- */

static bool find_in_file(void *arg, uint64_t address, const struct object **ret_object,
			 uint64_t *ret_offset)
{
	if (address - 0x400000 >= 0x1000)
		return false;
	*ret_object = arg;
	*ret_offset = address - 0x400000;
	return true;
}

#define CODE_AT (0x400000 + FILE_DATA_OFFSET)

/* Walks from `pc` in a file whose only section is `code`, with rsp at the start of `stack`. */
static enum stackd_end_reason walk_file(const void *code, size_t len, uint64_t pc, uint64_t rbp,
					const uint64_t *stack, size_t words,
					struct walk_frame *frames, size_t *ret_count)
{
	struct object object = {.elf = make_file(".text", 0, code, len)};
	struct walk_input in = {.stack = (const uint8_t *)stack,
				.stack_bytes = words * 8,
				.find = find_in_file,
				.arg = &object};
	enum stackd_end_reason reason;
	struct dwarf_walk *walk;

	in.regs.r[STACKD_REG_RIP] = pc;
	in.regs.r[STACKD_REG_RSP] = 0x7000;
	in.regs.r[STACKD_REG_RBP] = rbp;
	assert_int_equal(dwarf_walk_new(&walk), 0);
	reason = dwarf_walk_stack(walk, &in, frames, 8, ret_count);
	dwarf_walk_free(walk);
	elf_file_free(object.elf);
	return reason;
}

/* nops; mov $15, %rax; syscall; call .+5; nops. The file's entry is its first byte of data. */
static const uint8_t bare_code[200] = {[100] = 0x90, 0x48, 0xc7,	 0xc0, 0x0f, 0, 0, 0,
				       0x0f,	     0x05, [120] = 0xe8, 0,    0,    0, 0};

static void test_signal_return_without_cfi(void **state)
{
	uint64_t stack[64] = {0};
	struct walk_frame frames[8];
	uint64_t *context = stack + 5;
	size_t n;

	(void)state;
	context[walk_sigcontext_slot[STACKD_REG_RIP]] = CODE_AT + 10; /* in the entry function */
	context[walk_sigcontext_slot[STACKD_REG_RSP]] = 0x7180;
	for (unsigned at = 0; at <= 7; at += 7) {
		assert_int_equal(walk_file(bare_code, sizeof(bare_code), CODE_AT + 101 + at, 0,
					   stack, COUNT(stack), frames, &n),
				 STACKD_END_ENTRY);
		assert_int_equal(n, 2);
		assert_int_equal(frames[1].address, CODE_AT + 10);
		assert_int_equal(frames[1].slot, 0x7000 + 168);
		assert_false(frames[1].is_return);
	}
	assert_int_equal(walk_file(bare_code, sizeof(bare_code), CODE_AT + 102, 0, stack,
				   COUNT(stack), frames, &n),
			 STACKD_END_NO_RECIPE);
}

static void test_entry_without_cfi(void **state)
{
	/* rbp frames: 0x7010 -> 0x7020 -> 0 */
	uint64_t stack[16] = {0};
	struct walk_frame frames[8];
	size_t n;

	(void)state;
	for (unsigned at = 0; at < 80; at++) {
		assert_int_equal(walk_file(bare_code, sizeof(bare_code), CODE_AT + at, 0x1, stack,
					   COUNT(stack), frames, &n),
				 at < 64 ? STACKD_END_ENTRY : STACKD_END_NO_RECIPE);
		assert_int_equal(n, 1);
	}
	stack[2] = 0x7020;
	stack[3] = CODE_AT + 125; /* after the call */
	assert_int_equal(walk_file(bare_code, sizeof(bare_code), CODE_AT + 150, 0x7010, stack,
				   COUNT(stack), frames, &n),
			 STACKD_END_ENTRY); /* a frame pointer and a return address of 0 */
	assert_int_equal(n, 2);
	assert_true(frames[1].is_guess && frames[1].is_return);
	assert_int_equal(frames[1].offset, FILE_DATA_OFFSET + 124);
	stack[3]++;
	assert_int_equal(walk_file(bare_code, sizeof(bare_code), CODE_AT + 150, 0x7010, stack,
				   COUNT(stack), frames, &n),
			 STACKD_END_NO_RECIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_debug_frame),
		cmocka_unit_test(test_compressed_debug_frame),
		cmocka_unit_test(test_slow_rule),
		cmocka_unit_test(test_lowest_signal_frame),
		cmocka_unit_test(test_signal_return_without_cfi),
		cmocka_unit_test(test_entry_without_cfi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
