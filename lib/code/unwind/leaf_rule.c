/* SPDX-License-Identifier: MIT */
/*
 * Rules from a few bytes of code; see leaf_rule.h. There are six cases, all met in practice:
 *
 *   ret              The return address is on top, and all registers have the caller's values.
 *                    gcc's CFI of functions that realign the stack still finds rbp by rbp here,
 *                    after it was popped. Behind mov %reg,(%rsp) it is a jump (thunks of
 *                    retpolines): the return address is one word above.
 *   lea -8(%r10),%rsp; ret
 *                    One instruction before, in such an epilogue: the same CFI is wrong, and r10
 *                    is the CFA. (On top is a copy of the return address; the stack of the caller
 *                    is not below it but where r10 says.)
 *   syscall; ...     The C library ends an entry right before the system call that makes a
 *                    thread, since the child comes back with a stack of its own. Up to the
 *                    child's entry, which follows within a few instructions, the parent is as
 *                    before the call. The child is at its entry, and what its stack begins with
 *                    is no return address.
 *   endbr64; jmp     Where nothing covers it, the entry of a function, such as frame_dummy, which
 *                    the loader calls and often faults in; and what follows, when endbr64 is all
 *                    that has been done.
 *   jmp *x(%rip)     Where nothing covers it, a linkage stub: those of static programs, by which
 *                    the C library chooses its functions, have no CFI.
 *   sub $8,%rsp      _init and _fini, in every program and library, have no CFI; the file's dynamic
 *                    section tells where they are. Neither has __do_global_dtors_aux, before it has
 *                    its frame pointer, and a static program's frame_dummy. (de)register_tm_clones
 *                    beside them use no stack at all.
 */
#include "unwind/leaf_rule.h"

#include <string.h>

#include "elf/elf_init.h"
#include "unwind/stack_load.h"

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

#define SYSCALL_GAP 24 /* bytes from the system call to the child's entry, at most */
#define INIT_BYTES  32 /* of _init: nothing but a check and a call */

#define TM_CLONES_BYTES 56 /* of register_tm_clones, up to its ret: the longest one */
#define DTORS_BYTES	64 /* of __do_global_dtors_aux, at most */

/* On top of the stack, or above `pushed` bytes: the return address. */
static void set_plain(struct walk_rule *rule, int pushed)
{
	walk_rule_free(rule);
	*rule = (struct walk_rule){.fast = {.cfa = STACKD_CFA_REG,
					    .reg = STACKD_REG_SP,
					    .cfa_offset = 8 + pushed,
					    .ra_offset = -8}};
}

static bool is_return(const uint8_t *code)
{
	return code[0] == 0xc3 || code[0] == 0xc2 || (code[0] == 0xf3 && code[1] == 0xc3);
}

/* Whether the instruction before an offset is mov %reg,(%rsp): a ret goes where that says. */
static bool follows_target(const struct elf_file *elf, uint64_t offset)
{
	uint8_t code[4];

	return offset >= sizeof(code) &&
	       elf_file_read_whole(elf, offset - sizeof(code), code, sizeof(code)) &&
	       (code[0] & 0xfb) == 0x48 && code[1] == 0x89 && (code[2] & 0xc7) == 0x04 &&
	       code[3] == 0x24;
}

bool leaf_rule_is_return(const struct elf_file *elf, uint64_t offset)
{
	uint8_t code[2] = {0};

	return elf_file_read(elf, offset, code, sizeof(code)) > 0 && is_return(code) &&
	       !follows_target(elf, offset);
}

static bool is_realigned_return(const uint8_t *code)
{
	static const uint8_t from_r10[] = {0x49, 0x8d, 0x62, 0xf8}; /* lea -8(%r10),%rsp */

	return !memcmp(code, from_r10, 4) && is_return(code + 4);
}

static void set_r10(struct walk_rule *rule)
{
	set_plain(rule, 0);
	rule->fast.reg = 10;
	rule->fast.cfa_offset = 0;
}

static bool is_syscall(const struct elf_file *elf, uint64_t offset)
{
	uint8_t code[2];

	return elf_file_read(elf, offset, code, 2) == 2 && code[0] == 0x0f && code[1] == 0x05;
}

/* Behind an entry of the CFI that a system call ends: the rule before the call. */
static int after_syscall(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
			 uint64_t offset, struct walk_rule *rule)
{
	uint64_t start, end, back;
	int err;

	for (back = 1; back <= SYSCALL_GAP && back <= vaddr && back <= offset; back++)
		if (cfi_index_find(index, vaddr - back, &start, &end))
			break;
	if (back > SYSCALL_GAP || back > vaddr || back > offset ||
	    !is_syscall(elf, offset - back + 1))
		return 0;
	err = walk_rule_compile(index, vaddr - back, rule);
	rule->is_entry = true;
	return err;
}

/* At a function's endbr64, or right behind it. */
static bool is_at_entry(const struct elf_file *elf, uint64_t offset)
{
	const uint64_t back = offset < sizeof(endbr64) ? offset : sizeof(endbr64);
	uint8_t code[2 * sizeof(endbr64)] = {0};

	if (elf_file_read(elf, offset - back, code, back + sizeof(endbr64)) < (int64_t)back)
		return false;
	return !memcmp(code, endbr64, sizeof(endbr64)) ||
	       !memcmp(code + back, endbr64, sizeof(endbr64));
}

/* At the jump through a word of the linkage table, with or without the prefix `bnd`. */
static bool is_linkage_stub(const uint8_t *code)
{
	return (code[0] == 0xff && code[1] == 0x25) ||
	       (code[0] == 0xf2 && code[1] == 0xff && code[2] == 0x25);
}

/* In the C runtime's _init or _fini: up to its sub, or behind it. */
static void in_init(const struct elf_file *elf, uint64_t vaddr, struct walk_rule *rule)
{
	static const uint8_t sub8[] = {0x48, 0x83, 0xec, 0x08};
	uint64_t start, offset, sub = 0;
	uint8_t code[INIT_BYTES + sizeof(endbr64)] = {0};

	if (!elf_init_find(elf, vaddr, INIT_BYTES, &start) ||
	    !elf_file_vaddr_to_offset(elf, start, &offset) ||
	    elf_file_read(elf, offset, code, sizeof(code)) < (int64_t)sizeof(endbr64) * 2)
		return;
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		sub = sizeof(endbr64);
	if (memcmp(code + sub, sub8, sizeof(sub8)) != 0)
		return;
	if (vaddr - start <= sub)
		set_plain(rule, 0);
	else if (!memchr(code + sub, 0xc3, vaddr - start - sub))
		set_plain(rule, 8);
}

/* Does __do_global_dtors_aux start here? `at` bytes into it, rbp is not the frame pointer yet. */
static bool is_dtors_aux(const uint8_t code[21], uint8_t at)
{
	if (code[0] != 0x80 || code[1] != 0x3d || code[7] != 0x75 || code[9] != 0x55)
		return false;
	if (!memcmp(code + 10, "\x48\x89\xe5", 3))
		return at <= 10;
	return !memcmp(code + 10, "\x48\x83\x3d", 3) && !memcmp(code + 18, "\x48\x89\xe5", 3);
}

/* In the compiler runtime's __do_global_dtors_aux, before rbp is the frame pointer:
 *   0 cmpb $0,x(%rip)   7 jne ...   9 push %rbp   10 cmpq $0,y(%rip)   18 mov %rsp,%rbp
 * In a static program the mov follows the push. */
static void in_dtors_aux(const struct elf_file *elf, uint64_t offset, struct walk_rule *rule)
{
	static const uint8_t starts[] = {0, 7, 9, 10, 18};
	uint8_t code[21];

	for (size_t i = 0; i < sizeof(starts) && starts[i] <= offset; i++)
		if (elf_file_read(elf, offset - starts[i], code, sizeof(code)) == sizeof(code) &&
		    is_dtors_aux(code, starts[i]))
			set_plain(rule, starts[i] > 9 ? 8 : 0);
}

/* In the compiler runtime's frame_dummy of a static program, which makes CFI known:
 *   0 endbr64   4 mov $f,%eax   9 test %rax,%rax   12 je   14 push %rbp   15 mov   20 mov
 *   25 mov %rsp,%rbp   28 call   33 pop %rbp   34 jmp ...   48 jmp ... */
static void in_frame_dummy(const struct elf_file *elf, uint64_t offset, struct walk_rule *rule)
{
	static const uint8_t starts[] = {9, 12, 14, 15, 20, 25, 28, 33, 34, 48};
	uint8_t code[29];

	for (size_t i = 0; i < sizeof(starts) && starts[i] <= offset; i++)
		if (elf_file_read(elf, offset - starts[i], code, sizeof(code)) == sizeof(code) &&
		    !memcmp(code, endbr64, sizeof(endbr64)) && code[4] == 0xb8 &&
		    !memcmp(code + 9, "\x48\x85\xc0\x74", 4) && code[14] == 0x55 &&
		    !memcmp(code + 25, "\x48\x89\xe5\xe8", 4))
			set_plain(rule, starts[i] > 14 && starts[i] < 34 ? 8 : 0);
}

/* If one of the compiler runtime's register_tm_clones and deregister_tm_clones starts here, its
 * bytes; else 0. They compare the ends of an empty table: position-independent code by two lea,
 * other by two constants, the same. */
static uint64_t tm_clones_bytes(const uint8_t code[17])
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

static bool is_in_tm_clones(const struct elf_file *elf, uint64_t offset)
{
	uint64_t back = offset < TM_CLONES_BYTES ? offset : TM_CLONES_BYTES;
	uint8_t code[TM_CLONES_BYTES + 17];

	if (elf_file_read(elf, offset - back, code, back + 17) != (int64_t)back + 17)
		return false;
	for (uint64_t i = 0; i <= back; i++)
		if (tm_clones_bytes(code + i) > back - i)
			return true;
	return false;
}

int leaf_rule_improve(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
		      uint64_t offset, struct walk_rule *rule)
{
	uint8_t code[12] = {0};
	uint8_t provenance = rule->provenance;
	bool is_entry = rule->is_entry, is_read;
	int err = 0;

	is_read = elf_file_read(elf, offset, code, 8) > 0;
	if (is_read && is_return(code) && follows_target(elf, offset))
		return 0;
	if (is_read && (is_return(code) || is_realigned_return(code))) {
		if (is_return(code))
			set_plain(rule, 0);
		else
			set_r10(rule);
		rule->is_entry = is_entry;
		rule->is_called = true;
		rule->provenance = provenance;
		return 0;
	}
	if (rule->fast.cfa == STACKD_CFA_NONE && index)
		err = after_syscall(elf, index, vaddr, offset, rule);
	if (!err && rule->fast.cfa == STACKD_CFA_NONE &&
	    (is_at_entry(elf, offset) || (is_read && is_linkage_stub(code))))
		set_plain(rule, 0);
	if (!err && rule->fast.cfa == STACKD_CFA_NONE)
		in_init(elf, vaddr, rule);
	if (!err && rule->fast.cfa == STACKD_CFA_NONE)
		in_dtors_aux(elf, offset, rule);
	if (!err && rule->fast.cfa == STACKD_CFA_NONE)
		in_frame_dummy(elf, offset, rule);
	if (!err && rule->fast.cfa == STACKD_CFA_REG && rule->fast.reg == STACKD_REG_SP &&
	    stack_load_precedes(elf, offset))
		rule->fast = (struct stackd_rule){.cfa = STACKD_CFA_SWITCH};
	if (!err && rule->fast.cfa == STACKD_CFA_NONE && is_in_tm_clones(elf, offset))
		set_plain(rule, 0);
	return err;
}

/* --- start code ----------------------------------------------------------------------------- */

/* In _init or _fini, up to the first ret. */
static bool is_in_init(const struct elf_file *elf, uint64_t vaddr)
{
	uint8_t code[INIT_BYTES];
	uint64_t start, offset;

	return elf_init_find(elf, vaddr, INIT_BYTES, &start) &&
	       elf_file_vaddr_to_offset(elf, start, &offset) &&
	       elf_file_read(elf, offset, code, vaddr - start) == (int64_t)(vaddr - start) &&
	       !memchr(code, 0xc3, vaddr - start);
}

/* In __do_global_dtors_aux, up to its last ret, to which its first jump leads. */
static bool is_in_dtors_aux(const struct elf_file *elf, uint64_t offset)
{
	uint64_t back = offset < DTORS_BYTES ? offset : DTORS_BYTES;
	uint8_t code[DTORS_BYTES + sizeof(endbr64) + 21];
	int64_t len = elf_file_read(elf, offset - back, code, sizeof(code));

	for (uint64_t i = 0; (int64_t)i + 21 <= len; i++) {
		if (!is_dtors_aux(code + i, 0))
			continue;
		if (i <= back ? back - i <= 9u + code[i + 8]
			      : !memcmp(code + back, endbr64, sizeof(endbr64)))
			return true;
	}
	return false;
}

/* In frame_dummy: it jumps to register_tm_clones, or (in_frame_dummy()) does more. */
static bool is_in_frame_dummy(const struct elf_file *elf, uint64_t offset)
{
	struct walk_rule rule = {.fast = {.cfa = STACKD_CFA_NONE}};
	uint8_t code[sizeof(endbr64) + 5] = {0}, target[17];
	size_t at;
	int32_t distance;

	in_frame_dummy(elf, offset, &rule);
	if (rule.fast.cfa != STACKD_CFA_NONE)
		return true;
	if (elf_file_read(elf, offset, code, sizeof(code)) < 5)
		return false;
	at = memcmp(code, endbr64, sizeof(endbr64)) ? 0 : sizeof(endbr64);
	memcpy(&distance, code + at + 1, sizeof(distance));
	offset += at + 5 + (uint64_t)(int64_t)distance;
	return code[at] == 0xe9 && elf_file_read_whole(elf, offset, target, sizeof(target)) &&
	       tm_clones_bytes(target);
}

bool leaf_rule_is_start(const struct elf_file *elf, uint64_t vaddr, uint64_t offset)
{
	return is_in_init(elf, vaddr) || is_in_tm_clones(elf, offset) ||
	       is_in_dtors_aux(elf, offset) || is_in_frame_dummy(elf, offset);
}
