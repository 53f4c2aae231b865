/* SPDX-License-Identifier: MIT */
/* Keeps pieces of code, in which new bytes replace old ones; see runtime_code.h. */
#include "unwind/runtime_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/entry_frame.h"
#include "arch/call_site.h"
#include "arch/code_form.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/int_map.h"
#include "base/vec.h"
#include "unwind/code_piece.h"
#include "unwind/cfi_repair.h"

#define SAVED_FP  0   /* index of the frame pointer in STACKD_SAVED_REGS */
#define AROUND	  32  /* bytes on either side of an address that are compared again */
#define ELSEWHERE 256 /* bytes of code outside of the piece that are read at once */

/* An address in the memory of a process, or in a file. */
struct place {
	pid_t pid;		   /* 0: it is in a file */
	const struct object *file; /* NULL: it is in a process */
	uint64_t address;	   /* or file offset */
};

struct piece {
	int64_t owner;	  /* see owner_of(); 0: the slot is free */
	uint64_t number;  /* of a piece: address / RUNTIME_CODE_CORE; of a version: its mark's
			   * key */
	uint64_t made;	  /* number that changes whenever the piece's bytes do */
	uint64_t used;	  /* number of the use at which it was last used */
	uint64_t checked; /* of a process: tick at which its bytes were last compared with
			   * memory; of a file: tick of its last use */
	struct code_piece code;
	struct object object; /* its elf has the piece's bytes */
	/* Rules from paths to returns, for addresses without a row. */
	VEC(struct stackd_rule) exits;
	struct int_map exit_of;	 /* address → index of its rule, or NO_EXIT */
	struct int_map taken_of; /* likewise for runtime_code_taken(), by taken_key() */
};

#define NO_EXIT	    (UINT32_MAX - 1)
#define NO_EXIT_YET (UINT32_MAX - 2) /* likewise, and code outside was not searched */
#define MAX_EXITS   4096	     /* most addresses of a piece whose results are kept */

#define WAYS	4
#define ENTRIES 64 /* entries, each of the last process with that remainder of its id */

/* The start of a mapping where a process's code is entered; more of the code is in other
 * mappings. */
struct entry {
	pid_t pid;
	uint64_t start;
};

/* The code marks of the present walk. */
struct sampled {
	pid_t pid; /* 0: no walk is under way */
	const struct stackd_code_mark *marks;
	size_t count;
	struct {
		bool is_known;	     /* the piece was looked for */
		struct piece *piece; /* NULL: none has the sample's bytes */
		uint64_t made;	     /* its `made` at that time */
	} found[STACKD_MAX_CODE];    /* by number of the mark */
};

struct runtime_code {
	struct runtime_code_options with;
	int64_t credit_ns;
	uint64_t ticks;
	uint64_t uses;
	uint64_t makes;
	struct piece pieces[RUNTIME_CODE_PIECES];     /* in sets of WAYS, by the hash of owner and
						       * number */
	struct piece versions[RUNTIME_CODE_VERSIONS]; /* the same, by the hash of the mark's key */
	struct sampled sampled;
	const struct runtime_code_outside *outside; /* NULL: no walk is under way */
	struct entry entries[ENTRIES];
	uint8_t bytes[RUNTIME_CODE_BYTES]; /* buffer for code that is read */
};

static uint64_t thread_clock(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int runtime_code_new(const struct runtime_code_options *options, struct runtime_code **ret_code)
{
	struct runtime_code *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->with = *options;
	if (!c->with.clock)
		c->with.clock = thread_clock;
	c->credit_ns = RUNTIME_CODE_SAVED_NS;
	*ret_code = c;
	return 0;
}

static void forget_exits(struct piece *p)
{
	p->exits.count = 0;
	int_map_clear(&p->exit_of);
	int_map_clear(&p->taken_of);
}

static void drop(struct piece *p)
{
	code_piece_fini(&p->code);
	free(p->exits.items);
	int_map_fini(&p->exit_of);
	int_map_fini(&p->taken_of);
	*p = (struct piece){0};
}

void runtime_code_free(struct runtime_code *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < RUNTIME_CODE_PIECES; i++)
		drop(&c->pieces[i]);
	for (size_t i = 0; i < RUNTIME_CODE_VERSIONS; i++)
		drop(&c->versions[i]);
	free(c);
}

/* Returns a process's id, or a negative number for a file. */
static int64_t owner_of(const struct place *at)
{
	return at->file ? -1 - (int64_t)at->file->number : at->pid;
}

/* Drops the pieces of files that were not used lately: once a file has its recipes, it does not
 * need them. */
static void drop_unused(struct runtime_code *c)
{
	for (size_t i = 0; i < RUNTIME_CODE_PIECES; i++) {
		if (c->pieces[i].owner < 0 && c->pieces[i].checked + 1 < c->ticks)
			drop(&c->pieces[i]);
	}
}

void runtime_code_tick(struct runtime_code *c)
{
	c->ticks++;
	drop_unused(c);
	c->credit_ns += RUNTIME_CODE_EARNED_NS;
	if (c->credit_ns > RUNTIME_CODE_SAVED_NS)
		c->credit_ns = RUNTIME_CODE_SAVED_NS;
}

/* --- pieces -------------------------------------------------------------------------------- */

/* Makes or renews a piece from the `len` bytes that were read at `start` into c->bytes. */
static int take(struct runtime_code *c, struct piece *p, bool is_file, uint64_t start, size_t len)
{
	int err = p->owner ? code_piece_renew(&p->code, c->bytes, len, start)
			   : code_piece_make(&p->code, c->bytes, len, start, is_file);

	forget_exits(p);
	p->made = ++c->makes;
	p->object.kind = OBJECT_JIT;
	p->object.path = "[jit]";
	p->object.elf = p->code.elf;
	return err;
}

/* Returns whether a piece has the range and the bytes of what was read. */
static bool is_same(const struct runtime_code *c, const struct piece *p, uint64_t start, size_t len)
{
	return p->code.start == start && p->code.len == len &&
	       code_piece_has(&p->code, c->bytes, len, start);
}

/* Reads code of a file, which may be in its data, as runtime_code_read_fn reads that of a process.
 */
static size_t read_file(const struct elf_file *elf, uint64_t offset, uint64_t before,
			uint64_t after, uint8_t *bytes, uint64_t *ret_start)
{
	size_t count;
	const Elf64_Phdr *p = elf_file_program_headers(elf, &count);
	int64_t len;

	for (; count && !(p->p_type == PT_LOAD && p->p_flags & (PF_X | PF_W) &&
			  offset >= p->p_offset && offset - p->p_offset < p->p_filesz);
	     count--)
		p++;
	if (!count)
		return 0;
	if (before > offset - p->p_offset)
		before = offset - p->p_offset;
	if (after > p->p_offset + p->p_filesz - offset)
		after = p->p_offset + p->p_filesz - offset;
	*ret_start = offset - before;
	len = elf_file_read(elf, *ret_start, bytes, before + after);
	return len > (int64_t)before ? (size_t)len : 0;
}

/* Reads the code around a place into c->bytes. */
static size_t read_around(struct runtime_code *c, const struct place *at, uint64_t before,
			  uint64_t after, uint64_t *ret_start)
{
	if (at->file)
		return read_file(at->file->elf, at->address, before, after, c->bytes, ret_start);
	return c->with.read(c->with.arg, at->pid, at->address, before, after, c->bytes, ret_start);
}

/* Compares a piece with the memory, and analyses what differs. If the memory cannot be read, the
 * process has ended, and the old piece stays for samples that are still to come. */
static void refresh(struct runtime_code *c, struct piece *p, const struct place *at)
{
	uint64_t in_core = at->address % RUNTIME_CODE_CORE;
	uint64_t begin = c->with.clock(), start = 0;
	size_t len = read_around(c, at, RUNTIME_CODE_MARGIN + in_core,
				 RUNTIME_CODE_CORE - in_core + RUNTIME_CODE_MARGIN, &start);

	if (len && (!p->owner || !is_same(c, p, start, len))) {
		if (take(c, p, at->file, start, len))
			drop(p);
		else
			p->owner = owner_of(at);
	}
	p->number = at->address / RUNTIME_CODE_CORE;
	p->checked = c->ticks;
	c->credit_ns -= (int64_t)(c->with.clock() - begin);
}

/* Returns whether the bytes around an address are the same as in a piece, or cannot be read. */
static bool is_as_read(struct runtime_code *c, const struct piece *p, const struct place *at)
{
	uint64_t start = 0;
	size_t len = read_around(c, at, AROUND, AROUND, &start);

	return !len || code_piece_has(&p->code, c->bytes, len, start);
}

/* Returns the slot of the piece with this owner and number, or the slot that it is to replace. */
static struct piece *find_room(struct runtime_code *c, int64_t owner, uint64_t number)
{
	uint64_t hash = hash_mix64(number ^ (uint64_t)owner << 40);
	struct piece *set = &c->pieces[hash % (RUNTIME_CODE_PIECES / WAYS) * WAYS], *oldest = set;

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].owner == owner && set[i].number == number)
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	return oldest;
}

/* Returns the piece whose core has a place, or NULL. */
static struct piece *find_piece(struct runtime_code *c, const struct place *at)
{
	int64_t owner = owner_of(at);
	uint64_t number = at->address / RUNTIME_CODE_CORE;
	struct piece *p;

	if (!at->file && at->pid <= 0)
		return NULL;
	p = find_room(c, owner, number);
	if (p->owner != owner || p->number != number) {
		if (c->credit_ns <= 0)
			return NULL;
		drop(p);
	}
	if (!p->owner || (!at->file && p->checked != c->ticks && c->credit_ns > 0))
		refresh(c, p, at);
	p->used = ++c->uses;
	/* If there is no time left, an old piece is used where its bytes are still the same. */
	if (!p->owner || (!at->file && p->checked != c->ticks && !is_as_read(c, p, at)))
		return NULL;
	if (at->file)
		p->checked = c->ticks;
	return p;
}

/* Returns whether a piece has block `i` of a mark, as it was then. The piece must have the block of
 * the mark's address; other blocks are compared only if both have them. */
static bool has_block(const struct piece *p, const struct stackd_code_mark *then, unsigned i)
{
	uint64_t from = then->address / STACKD_CODE_BLOCK - STACKD_CODE_BEFORE;
	uint64_t at = (from + i) * STACKD_CODE_BLOCK;
	__u64 words[STACKD_CODE_BLOCK / 8];

	if (!then->hashes[i] ||
	    elf_file_read(p->object.elf, at, (uint8_t *)words, sizeof(words)) != sizeof(words))
		return i != STACKD_CODE_BEFORE;
	return stackd_code_hash(words) == then->hashes[i];
}

/* Returns whether a piece has the blocks of a mark as they were then. If the range of the address's
 * function is known, only its blocks count, since no rule in it depends on others. */
static bool has_blocks(const struct piece *p, const struct stackd_code_mark *then)
{
	uint64_t from = 0, to = UINT64_MAX, at;

	code_piece_function(&p->code, then->address, &from, &to);
	for (unsigned i = 0; i < STACKD_CODE_BLOCKS; i++) {
		at = (then->address / STACKD_CODE_BLOCK - STACKD_CODE_BEFORE + i) *
		     STACKD_CODE_BLOCK;
		if (at < to && at + STACKD_CODE_BLOCK > from && !has_block(p, then, i))
			return false;
	}
	return true;
}

/* --- versions ------------------------------------------------------------------------------ */

/* Copies the blocks of a sample over the bytes that were read at `start`. Returns whether the block
 * of the mark's address is among them. */
static bool lay_over(uint8_t *bytes, size_t len, uint64_t start,
		     const struct stackd_code_mark *then, const uint8_t *window)
{
	uint64_t from = then->address / STACKD_CODE_BLOCK - STACKD_CODE_BEFORE;
	bool has_own = false;

	for (unsigned i = 0; i < STACKD_CODE_BLOCKS; i++) {
		uint64_t at = (from + i) * STACKD_CODE_BLOCK - start;

		if (!then->hashes[i] || at > len || len - at < STACKD_CODE_BLOCK)
			continue;
		memcpy(bytes + at, window + i * STACKD_CODE_BLOCK, STACKD_CODE_BLOCK);
		has_own |= i == STACKD_CODE_BEFORE;
	}
	return has_own;
}

/* Gives the range of the known blocks around the address, for code that can no longer be read. */
static size_t window_alone(const struct stackd_code_mark *then, uint64_t *ret_start)
{
	unsigned first = STACKD_CODE_BEFORE, end = STACKD_CODE_BEFORE;

	while (first && then->hashes[first - 1])
		first--;
	while (end < STACKD_CODE_BLOCKS && then->hashes[end])
		end++;
	*ret_start = (then->address / STACKD_CODE_BLOCK - STACKD_CODE_BEFORE + first) *
		     STACKD_CODE_BLOCK;
	return (size_t)(end - first) * STACKD_CODE_BLOCK;
}

/* Makes a version from the bytes of a sample, and up to `margin` bytes on either side as they are
 * in memory now. */
static void make_version(struct runtime_code *c, struct piece *p, pid_t pid,
			 const struct stackd_code_mark *then, uint64_t margin)
{
	const uint64_t own = then->address & ~(uint64_t)(STACKD_CODE_BLOCK - 1);
	uint8_t window[STACKD_CODE_BYTES];
	uint64_t begin, start = 0;
	size_t len;

	if (!c->with.window(c->with.arg, pid, then, window))
		return;
	begin = c->with.clock();
	len = c->with.read(c->with.arg, pid, own, margin, margin + STACKD_CODE_BLOCK, c->bytes,
			   &start);
	if (!len)
		len = window_alone(then, &start);
	if (lay_over(c->bytes, len, start, then, window)) {
		if (take(c, p, false, start, len))
			drop(p);
		else
			p->owner = pid;
	}
	c->credit_ns -= (int64_t)(c->with.clock() - begin);
}

static bool has_function(const struct piece *p, const struct stackd_code_mark *mark)
{
	uint64_t from, to;

	return p && p->owner && code_piece_function(&p->code, mark->address, &from, &to);
}

/* Reads `now`, the piece around a mark, again if it knows no function at the mark's address, and
 * the code there has changed since the last tick. */
static void find_function(struct runtime_code *c, pid_t pid, const struct stackd_code_mark *then,
			  struct piece *now)
{
	const struct place at = {.pid = pid, .address = then->address};

	if (now && c->credit_ns > RUNTIME_CODE_RESERVED_NS && !has_function(now, then) &&
	    !is_as_read(c, now, &at))
		refresh(c, now, &at);
}

/* Makes a version again, with all of its function, if the piece `now` knows one but the version
 * does not. A compiler's function can be long, and can change while it runs, by patches of its
 * calls; its rules are proven by its start and its returns. */
static void widen_version(struct runtime_code *c, struct piece *p, pid_t pid,
			  const struct stackd_code_mark *then, const struct piece *now)
{
	if (c->credit_ns <= RUNTIME_CODE_RESERVED_NS || has_function(p, then) ||
	    !has_function(now, then))
		return;
	drop(p);
	make_version(c, p, pid, then, RUNTIME_CODE_MARGIN);
}

/* Returns the version of a mark, or `now`, the piece around it, if that has the mark's bytes when
 * it is read again. Returns NULL if the bytes are not known, or there is no time left. */
static struct piece *find_version(struct runtime_code *c, pid_t pid,
				  const struct stackd_code_mark *then, struct piece *now)
{
	uint64_t key = stackd_code_key((uint32_t)pid, then);
	struct piece *set = &c->versions[hash_mix64(key) % (RUNTIME_CODE_VERSIONS / WAYS) * WAYS];
	struct piece *p = set;

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].owner == pid && set[i].number == key) {
			p = &set[i];
			break;
		}
		p = set[i].used < p->used ? &set[i] : p;
	}
	if (p->owner != pid || p->number != key) {
		if (!c->with.window || c->credit_ns <= 0)
			return NULL;
		find_function(c, pid, then, now);
		if (now && now->owner && has_blocks(now, then))
			return now;
		drop(p);
		make_version(c, p, pid, then, RUNTIME_CODE_VERSION_MARGIN);
		widen_version(c, p, pid, then, now);
		p->number = key;
	}
	p->used = ++c->uses;
	return p->owner && has_blocks(p, then) ? p : NULL;
}

/* Returns the piece with the bytes of a mark, or NULL. Prefers a piece that already has them to one
 * that is read now. */
static struct piece *find_as(struct runtime_code *c, pid_t pid, const struct stackd_code_mark *then)
{
	const struct place at = {.pid = pid, .address = then->address};
	struct piece *p = find_room(c, pid, at.address / RUNTIME_CODE_CORE), *version;

	if (p->owner == pid && p->number == at.address / RUNTIME_CODE_CORE && has_blocks(p, then)) {
		p->used = ++c->uses;
		return p;
	}
	p = find_piece(c, &at);
	if (p && has_blocks(p, then))
		return p;
	version = find_version(c, pid, then, p);
	if (version || !p || !p->owner || c->credit_ns <= 0)
		return version;
	refresh(c, p, &at);
	return p->owner && has_blocks(p, then) ? p : NULL;
}

void runtime_code_begin(struct runtime_code *c, pid_t pid, const struct stackd_code_mark *marks,
			size_t count)
{
	struct sampled *s = &c->sampled;

	s->pid = pid;
	s->marks = marks;
	s->count = count < STACKD_MAX_CODE ? count : STACKD_MAX_CODE;
	memset(s->found, 0, s->count * sizeof(s->found[0]));
}

void runtime_code_use_outside(struct runtime_code *c, const struct runtime_code_outside *outside)
{
	c->outside = outside;
}

void runtime_code_end(struct runtime_code *c)
{
	c->sampled.pid = 0;
	c->outside = NULL;
}

/* Returns the number of the mark whose block contains an address, or s->count. */
static size_t mark_of(const struct sampled *s, pid_t pid, uint64_t address)
{
	size_t i = 0;

	if (!s->pid || s->pid != pid)
		return s->count;
	while (i < s->count &&
	       s->marks[i].address / STACKD_CODE_BLOCK != address / STACKD_CODE_BLOCK)
		i++;
	return i;
}

/* Returns whether a place, or the byte behind it (for a return address), is in a mark's block. If
 * so, gives the piece with the bytes of the sample, or NULL. */
static bool is_sampled(struct runtime_code *c, const struct place *at, struct piece **ret_piece)
{
	struct sampled *s = &c->sampled;
	size_t i = at->file ? s->count : mark_of(s, at->pid, at->address);

	if (i == s->count && !at->file)
		i = mark_of(s, at->pid, at->address + 1);
	if (at->file || s->pid != at->pid || !s->pid || i == s->count)
		return false;
	if (!s->found[i].is_known ||
	    (s->found[i].piece && s->found[i].piece->made != s->found[i].made)) {
		s->found[i].is_known = true;
		s->found[i].piece = find_as(c, s->pid, &s->marks[i]);
		s->found[i].made = s->found[i].piece ? s->found[i].piece->made : 0;
	}
	*ret_piece = s->found[i].piece;
	return true;
}

bool runtime_code_is_sampled(struct runtime_code *c, pid_t pid, uint64_t address)
{
	const struct place at = {.pid = pid, .address = address};
	struct piece *p = NULL;

	return is_sampled(c, &at, &p) && p;
}

/* Returns the piece that has a place, or NULL; if the walk has a mark there, the one with the
 * sample's bytes. */
static struct piece *find(struct runtime_code *c, const struct place *at)
{
	struct piece *p;

	return is_sampled(c, at, &p) ? p : find_piece(c, at);
}

static struct piece *find_in_process(struct runtime_code *c, pid_t pid, uint64_t address)
{
	return find(c, &(struct place){.pid = pid, .address = address});
}

const struct object *runtime_code_at(struct runtime_code *c, pid_t pid, uint64_t address)
{
	struct piece *p = find_in_process(c, pid, address);

	return p ? &p->object : NULL;
}

/* Reads the bytes around an address as they are now. If they have changed, renews the piece, or
 * drops it if there is no time for that, and returns true. */
static bool catch_up(struct runtime_code *c, struct piece *p, const struct place *at)
{
	struct piece *then;

	if (!p || is_sampled(c, at, &then) || is_as_read(c, p, at))
		return false;
	if (c->credit_ns > 0)
		refresh(c, p, at);
	else
		drop(p);
	return true;
}

bool runtime_code_has_changed(struct runtime_code *c, pid_t pid, uint64_t address)
{
	const struct place at = {.pid = pid, .address = address};

	return catch_up(c, find(c, &at), &at);
}

/* --- rules --------------------------------------------------------------------------------- */

static void rule_of(const struct piece *p, uint64_t address, bool is_return,
		    struct stackd_rule *ret_rule)
{
	*ret_rule = (struct stackd_rule){.cfa = STACKD_CFA_NONE};
	if (!p)
		return;
	code_piece_rule(&p->code, address, ret_rule);
	if (!is_return && cfi_repair_is_return(p->object.elf, address))
		*ret_rule = (struct stackd_rule){.cfa = STACKD_CFA_REG,
						 .reg = STACKD_REG_SP,
						 .cfa_offset = 8,
						 .ra_offset = -8};
}

void runtime_code_rule(struct runtime_code *c, pid_t pid, uint64_t address, bool is_return,
		       struct stackd_rule *ret_rule)
{
	const struct place at = {.pid = pid, .address = address};
	struct piece *p = find(c, &at);

	rule_of(p, address, is_return, ret_rule);
	/* The code may have changed since the last tick. */
	if (ret_rule->cfa == STACKD_CFA_NONE && catch_up(c, p, &at))
		rule_of(p->owner ? p : NULL, address, is_return, ret_rule);
}

/* A reader of code: of a piece, or outside of it in the same file, or in its process as it is
 * now. */
struct code_reader {
	struct runtime_code *code;
	const struct piece *piece;
	const struct elf_file *file; /* NULL: the piece is of JIT code */
	uint64_t start;		     /* address of the process's bytes that were read last */
	size_t len;
	uint8_t bytes[ELSEWHERE];
};

/* Reads code of the piece's process that is in no file. */
static size_t read_made(struct code_reader *r, uint64_t vaddr, uint8_t *bytes, size_t size)
{
	struct runtime_code *c = r->code;

	if (vaddr - r->start >= r->len || r->len - (vaddr - r->start) < size)
		r->len = c->with.read(c->with.arg, (pid_t)r->piece->owner, vaddr, 0,
				      sizeof(r->bytes), r->bytes, &r->start);
	if (!r->len || vaddr < r->start)
		return 0;
	if (size > r->len - (vaddr - r->start))
		size = r->len - (vaddr - r->start);
	memcpy(bytes, r->bytes + (vaddr - r->start), size);
	return size;
}

static size_t read_code(void *arg, uint64_t vaddr, uint8_t *bytes, size_t size)
{
	struct code_reader *r = arg;
	const struct runtime_code_outside *outside = r->code->outside;
	int64_t got = elf_file_read(r->piece->object.elf, vaddr, bytes, size);
	size_t len;

	if (got <= 0 && r->file)
		got = elf_file_read(r->file, vaddr, bytes, size);
	if (got > 0 || r->file)
		return got > 0 ? (size_t)got : 0;
	len = outside ? outside->read(outside->arg, vaddr, bytes, size) : 0;
	return len ? len : read_made(r, vaddr, bytes, size);
}

static bool find_outside(void *arg, uint64_t vaddr, struct stackd_rule *ret_rule)
{
	const struct code_reader *r = arg;

	return r->code->outside->rule(r->code->outside->arg, vaddr, ret_rule);
}

/* Returns whether there is time to search for paths to returns. Makes room for the result. */
static bool may_look(struct runtime_code *c, struct piece *p)
{
	if (c->credit_ns <= RUNTIME_CODE_RESERVED_NS)
		return false;
	if (p->exit_of.used + p->taken_of.used >= MAX_EXITS)
		forget_exits(p);
	return !VEC_RESERVE(&p->exits, 1);
}

/* Gives the rule from paths to returns, which are searched once for an address. */
static bool find_exit(struct runtime_code *c, struct piece *p, const struct elf_file *file,
		      uint64_t address, struct stackd_rule *ret_rule)
{
	uint32_t index = int_map_find(&p->exit_of, address);
	struct code_reader reader = {.code = c, .piece = p, .file = file};
	const bool has_outside = c->outside && p->owner > 0;
	uint64_t begin = c->with.clock();
	struct stackd_rule rule;

	if ((index == INT_MAP_NONE || (index == NO_EXIT_YET && has_outside)) && may_look(c, p)) {
		index = has_outside ? NO_EXIT : NO_EXIT_YET;
		if (exit_frame_find_outside(read_code, has_outside ? find_outside : NULL, &reader,
					    address, &rule)) {
			index = (uint32_t)p->exits.count;
			p->exits.items[p->exits.count++] = rule;
		}
		if (int_map_set(&p->exit_of, address, index))
			return false;
		c->credit_ns -= (int64_t)(c->with.clock() - begin);
	}
	if (index >= NO_EXIT_YET)
		return false;
	*ret_rule = p->exits.items[index];
	return true;
}

bool runtime_code_exit(struct runtime_code *c, pid_t pid, uint64_t address,
		       struct stackd_rule *ret_rule)
{
	struct piece *p = find_in_process(c, pid, address);

	return p && find_exit(c, p, NULL, address, ret_rule);
}

/* Makes one number of both addresses: `address` counts from the piece's start. */
static uint64_t taken_key(const struct piece *p, uint64_t address, uint64_t pc)
{
	_Static_assert(RUNTIME_CODE_BYTES <= 1 << 16, "16 bits hold the distance");
	return (address - p->code.start) << 48 | pc;
}

/* Gives the rule of the frame that is made for the code at `address`, which is searched once. */
static bool find_taken(struct runtime_code *c, struct piece *p, struct code_reader *reader,
		       uint64_t address, uint64_t pc, struct runtime_code_taken *taken)
{
	const uint64_t key = taken_key(p, address, pc);
	uint32_t index = int_map_find(&p->taken_of, key);

	if (index == INT_MAP_NONE && may_look(c, p)) {
		index = NO_EXIT;
		if (exit_frame_find_taken(read_code, find_outside, reader, pc, &taken->where,
					  address, &taken->rule)) {
			index = (uint32_t)p->exits.count;
			p->exits.items[p->exits.count++] = taken->rule;
		}
		if (int_map_set(&p->taken_of, key, index))
			return false;
	}
	if (index >= NO_EXIT_YET)
		return false;
	taken->rule = p->exits.items[index];
	return true;
}

/* Finds the target of the direct call before a return address. */
static bool find_callee(const struct piece *p, uint64_t address, uint64_t *ret_callee)
{
	uint8_t call[CALL_SITE_BYTES];

	if (elf_file_read(p->object.elf, address - sizeof(call), call, sizeof(call)) !=
		    sizeof(call) ||
	    !(call_site_kinds(call, sizeof(call)) & CALL_SITE_DIRECT))
		return false;
	*ret_callee = call_site_target(call + sizeof(call), address);
	return true;
}

bool runtime_code_taken(struct runtime_code *c, pid_t pid, uint64_t address, uint64_t pc,
			struct runtime_code_taken *ret_taken)
{
	struct piece *p = c->outside ? find_in_process(c, pid, address - 1) : NULL;
	struct code_reader reader = {.code = c, .piece = p};
	uint64_t begin = c->with.clock(), callee;
	bool is_found;

	if (!p || !find_callee(p, address, &callee))
		return false;
	is_found = exit_frame_is_taken(read_code, &reader, callee, pc, &ret_taken->where) &&
		   find_taken(c, p, &reader, address, pc, ret_taken);
	c->credit_ns -= (int64_t)(c->with.clock() - begin);
	return is_found;
}

bool runtime_code_file_rule(struct runtime_code *c, const struct object *object, uint64_t offset,
			    bool is_return, struct stackd_rule *ret_rule)
{
	const struct piece *p = find(c, &(struct place){.file = object, .address = offset});

	rule_of(p, offset, is_return, ret_rule);
	return p && (ret_rule->cfa != STACKD_CFA_NONE || !is_return);
}

bool runtime_code_file_exit(struct runtime_code *c, const struct object *object, uint64_t offset,
			    struct stackd_rule *ret_rule)
{
	struct piece *p = find(c, &(struct place){.file = object, .address = offset});

	return p && find_exit(c, p, object->elf, offset, ret_rule);
}

/* Returns whether a step by frame pointer leads to the caller though the frame is not set up. At
 * the instruction that pushes the frame pointer, at the one that sets it, and at a return, the step
 * takes the return address from where the stack pointer is. */
static bool begins_frame(const struct piece *p, uint64_t address, const struct stackd_rule *rule)
{
	uint8_t code[3];

	if (cfi_repair_is_return(p->object.elf, address))
		return true;
	if (rule->cfa_offset == 8)
		return elf_file_read(p->object.elf, address, code, 1) == 1 &&
		       code_form_may_save_fp(code);
	return rule->cfa_offset == 16 && rule->saved[SAVED_FP] == -16 &&
	       elf_file_read(p->object.elf, address, code, sizeof(code)) == sizeof(code) &&
	       code_form_sets_fp(code, sizeof(code));
}

/* Returns what the analysis's rule shows about the frame pointer. If the CFA counts from it, it is
 * the frame's. A function that has saved it may use the register for anything, or leave a caller's
 * value in it, as HotSpot's do. */
static enum runtime_code_frame frame_of(const struct piece *p, uint64_t address, bool is_return,
					const struct stackd_rule *rule)
{
	if (rule->cfa != STACKD_CFA_REG)
		return RUNTIME_CODE_UNTOLD;
	if (rule->reg == STACKD_REG_FP || (!is_return && begins_frame(p, address, rule)))
		return RUNTIME_CODE_FRAMED;
	return rule->reg == STACKD_REG_SP ? RUNTIME_CODE_BARE : RUNTIME_CODE_UNTOLD;
}

enum runtime_code_frame runtime_code_frame(struct runtime_code *c, pid_t pid, uint64_t address,
					   bool is_return)
{
	const struct place at = {.pid = pid, .address = address};
	struct piece *p = find(c, &at);
	struct stackd_rule rule;
	uint8_t byte;

	catch_up(c, p, &at);
	if (!p || !p->owner || elf_file_read(p->object.elf, address, &byte, 1) != 1)
		return RUNTIME_CODE_UNREAD;
	runtime_code_rule(c, pid, address, is_return, &rule);
	/* In code that keeps frame pointers, a function that calls, or has more on its stack than
	 * the saved frame pointer, has set up its frame. */
	if (rule.cfa == STACKD_CFA_NONE && runtime_code_exit(c, pid, address + is_return, &rule) &&
	    !is_return && rule.cfa_offset <= 16)
		return RUNTIME_CODE_UNTOLD;
	return frame_of(p, address, is_return, &rule);
}

/* Gives the frame that the code at `start` sets up, as it is at an address or at its jump. */
static bool entry_at(struct runtime_code *c, pid_t pid, uint64_t start, uint64_t address,
		     struct stackd_rule *ret_rule)
{
	struct piece *p = start ? find_in_process(c, pid, start) : NULL;

	return p && entry_frame_find(p->object.elf, start, address, ret_rule);
}

bool runtime_code_entry(struct runtime_code *c, pid_t pid, uint64_t address,
			struct stackd_rule *ret_rule)
{
	uint64_t start = c->with.start(c->with.arg, pid, address);
	struct entry *entry = &c->entries[(uint32_t)pid % ENTRIES];

	if (entry_at(c, pid, start, address, ret_rule)) {
		*entry = (struct entry){pid, start};
		return true;
	}
	return start && start != entry->start && entry->pid == pid &&
	       entry_at(c, pid, entry->start, UINT64_MAX, ret_rule);
}
