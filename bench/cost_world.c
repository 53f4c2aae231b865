/* SPDX-License-Identifier: MIT */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif

#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "cost_vm_state.h"
#include "cost_world.h"
#include "kernel_types.h"

#define NODE_BYTES     256
#define KERNEL_BYTES   (64u * VM_PAGE)
#define MAPPINGS_APART UINT64_C(0x200000)
#define OTHER_MAPPINGS UINT64_C(0x7e0000000000) /* where those without code are */
#define MOST_RULES     65536

/* As in bpf/mapping.bpf.h, by which the kernel half reads these nodes. */
#define LEAF	   1
#define ARANGE	   3
#define LEAF_SLOTS 16
#define LEAF_META  31
#define LEAF_ROOM  12 /* entries in a leaf, of 16; nodes are rarely full */
#define TREE_SLOTS 10
#define TREE_META  30
#define TREE_ROOM  8

static struct {
	uint8_t *bytes;
	size_t used;
} pages; /* of the kernel, of the world that is being made */

/* Memory of the kernel for a structure, on lines of its own. */
static void *kernel(struct vm *vm, size_t size)
{
	size_t whole = (size + NODE_BYTES - 1) & ~(size_t)(NODE_BYTES - 1);
	void *at;

	if (!pages.bytes || pages.used + whole > KERNEL_BYTES) {
		pages.bytes = vm_share(vm, VM_KERNEL, 0, KERNEL_BYTES);
		pages.used = 0;
	}
	at = pages.bytes + pages.used;
	pages.used += whole;
	return at;
}

/* --- the tree of mappings ------------------------------------------------------------------- */

struct entry {
	uint64_t last, word; /* last address; mapping or node, 0: nothing */
};

struct entries {
	struct entry items[4096];
	size_t count;
};

static void add(struct entries *list, uint64_t last, const void *pointer, uint64_t type)
{
	if (list->count == sizeof(list->items) / sizeof(*list->items))
		vm_die("too many mappings");
	list->items[list->count++] = (struct entry){last, (uintptr_t)pointer | type};
}

/* Puts entries into nodes, and these into `ret`. */
static void make_level(struct vm *vm, const struct entries *list, bool is_leaf, struct entries *ret)
{
	size_t room = is_leaf ? LEAF_ROOM : TREE_ROOM, slots = is_leaf ? LEAF_SLOTS : TREE_SLOTS;

	ret->count = 0;
	for (size_t i = 0; i < list->count; i += room) {
		uint64_t *node = kernel(vm, NODE_BYTES);
		size_t n = list->count - i < room ? list->count - i : room;

		for (size_t k = 0; k < n; k++) {
			node[1 + k] = list->items[i + k].last;
			node[slots + k] = list->items[i + k].word;
		}
		node[is_leaf ? LEAF_META : TREE_META] = n - 1;
		add(ret, list->items[i + n - 1].last, node, (is_leaf ? LEAF : ARANGE) << 3 | 2);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct vm_area_struct *x = *(void *const *)a, *y = *(void *const *)b;

	return x->vm_start < y->vm_start ? -1 : x->vm_start > y->vm_start;
}

static void make_tree(struct vm *vm, struct mm_struct *mm, struct vm_area_struct **areas,
		      size_t count)
{
	static struct entries lists[2];
	uint64_t at = 0;
	int which = 0;

	qsort(areas, count, sizeof(*areas), by_start);
	lists[0].count = 0;
	for (size_t i = 0; i < count; i++) {
		if (areas[i]->vm_start > at)
			add(&lists[0], areas[i]->vm_start - 1, NULL, 0);
		add(&lists[0], areas[i]->vm_end - 1, areas[i], 0);
		at = areas[i]->vm_end;
	}
	add(&lists[0], UINT64_MAX, NULL, 0);
	make_level(vm, &lists[0], true, &lists[1]);
	for (which = 1; lists[which].count > 1; which = !which)
		make_level(vm, &lists[which], false, &lists[!which]);
	mm->mm_mt.ma_root = (void *)(uintptr_t)lists[which].items[0].word;
}

/* A copy of the tree's root, to change to. */
static void *copy_root(struct vm *vm, const void *root)
{
	uintptr_t type = (uintptr_t)root & (NODE_BYTES - 1);
	uint8_t *node = kernel(vm, NODE_BYTES);

	memcpy(node, (const uint8_t *)root - type, NODE_BYTES);
	return node + type;
}

/* --- the process ---------------------------------------------------------------------------- */

static struct vm_area_struct *new_area(struct vm *vm, struct mm_struct *mm, uint64_t start,
				       uint64_t size)
{
	struct vm_area_struct *area = kernel(vm, sizeof(*area));

	*area = (struct vm_area_struct){.vm_start = start, .vm_end = start + size, .vm_mm = mm};
	return area;
}

/* Maps a file, which the daemon has made known by its number. */
static struct vm_area_struct *map_file(struct vm *vm, struct mm_struct *mm,
				       const struct stacks_file *from, uint32_t number)
{
	struct vm_area_struct *area = new_area(vm, mm, from->start, from->size);
	struct stackd_inode key = {.inode = 100 + number, .dev = 1};

	area->vm_pgoff = from->offset >> PAGE_SHIFT;
	area->vm_flags = VM_EXEC;
	area->vm_file = kernel(vm, sizeof(struct file));
	area->vm_file->f_inode = kernel(vm, sizeof(struct inode));
	area->vm_file->f_inode->i_ino = key.inode;
	area->vm_file->f_inode->i_sb = kernel(vm, sizeof(struct super_block));
	area->vm_file->f_inode->i_sb->s_dev = key.dev;
	vm_map_put(vm, "inodes", &key, &number);
	return area;
}

static struct mm_struct *make_memory(struct vm *vm, const struct stacks *s)
{
	size_t count = 0, most = s->n_files + 1 + s->n_mappings;
	struct vm_area_struct **areas = calloc(most, sizeof(*areas));
	struct mm_struct *mm = kernel(vm, sizeof(*mm));

	if (!areas)
		vm_die("no memory");
	for (uint32_t i = 0; i < s->n_files; i++)
		areas[count++] = map_file(vm, mm, &s->files[i], i + 1);
	areas[count++] = new_area(vm, mm, WORLD_STACK_TOP - STACKS_BYTES, STACKS_BYTES);
	for (uint64_t i = count; i < s->n_mappings; i++)
		areas[count++] = new_area(vm, mm, OTHER_MAPPINGS + i * MAPPINGS_APART, VM_PAGE);
	make_tree(vm, mm, areas, count);
	mm->mm_users.counter = 1;
	free(areas);
	return mm;
}

static void make_task(struct vm *vm, const struct stacks *s, struct world *w)
{
	w->task = kernel(vm, sizeof(*w->task));
	w->task->pid = w->task->tgid = WORLD_PID;
	w->task->start_time = 1;
	w->task->group_leader = w->task;
	w->task->mm = make_memory(vm, s);
	w->other_root = copy_root(vm, w->task->mm->mm_mt.ma_root);
	w->task->cgroups = kernel(vm, sizeof(struct css_set));
	w->task->cgroups->dfl_cgrp = kernel(vm, sizeof(struct cgroup));
	w->task->cgroups->dfl_cgrp->kn = kernel(vm, sizeof(struct kernfs_node));
	w->task->thread.fsbase = 0x7f0000000000;
	w->context = kernel(vm, sizeof(*w->context));
	w->context->sample_period = WORLD_PERIOD;
	w->event = kernel(vm, sizeof(*w->event));
	w->event->hw.sample_period = WORLD_PERIOD;
	w->context->regs.cs = 0x33;
	w->stack = vm_share(vm, VM_USER, WORLD_STACK_TOP - STACKS_BYTES, STACKS_BYTES);
}

/* --- the tables ----------------------------------------------------------------------------- */

/* The rule that a row has which begins at an offset: that of a location, if one is there. */
static uint16_t rule_at(const struct stacks *s, uint32_t file, uint64_t offset, uint64_t *ret_end)
{
	for (size_t i = 0; i < s->n_locations; i++) {
		const struct stacks_location *at = &s->locations[i];

		if (at->file == file && offset >= at->from && offset < at->to) {
			*ret_end = at->to;
			return (uint16_t)at->rule;
		}
	}
	return STACKD_RULE_NONE;
}

/* The begin of the first rule's range in the chunk from an offset on. */
static uint64_t next_range(const struct stacks *s, uint32_t file, uint64_t offset, uint64_t end)
{
	for (size_t i = 0; i < s->n_locations; i++) {
		const struct stacks_location *at = &s->locations[i];

		if (at->file == file && at->from >= offset && at->from < end)
			end = at->from;
	}
	return end;
}

/* A chunk's rows: those of the locations' rules, and the others spread in between. */
static uint32_t make_rows(const struct stacks *s, const struct stacks_chunk *chunk,
			  struct stackd_row *rows)
{
	uint64_t start = (uint64_t)chunk->number << STACKD_CHUNK_SHIFT, at = start;
	uint64_t end = start + (1u << STACKD_CHUNK_SHIFT), to = 0;
	uint64_t apart = (1u << STACKD_CHUNK_SHIFT) / (chunk->rows ? chunk->rows : 1);
	uint32_t n = 0;

	while (at < end && n < 1u << STACKD_CHUNK_SHIFT) {
		uint16_t rule = rule_at(s, chunk->file, at, &to);
		uint64_t next = next_range(s, chunk->file, at + 1, end);

		rows[n++] = (struct stackd_row){(uint16_t)(at - start), rule};
		at = rule ? to : at + apart < next ? at + apart : next;
	}
	return n;
}

static void make_table(struct vm *vm, const struct stacks *s, uint32_t file, uint32_t *n_chunks,
		       uint32_t *n_rows)
{
	struct stackd_file *f = (struct stackd_file *)vm_map(vm, "files", 0) + file;
	struct stackd_row *rows = vm_map(vm, "rows", 0);
	uint32_t *firsts = vm_map(vm, "chunks", 0), last = 0;
	static uint16_t slices;

	for (size_t i = 0; i < s->n_chunks; i++) {
		if (s->chunks[i].file == file && s->chunks[i].number >= last)
			last = s->chunks[i].number + 1;
	}
	f->chunk_base = *n_chunks;
	f->n_chunks = last;
	f->is_loaded = 1;
	f->first_slice = file == 1 ? slices = 0 : slices;
	f->n_slices =
		(uint16_t)((((uint64_t)last << STACKD_CHUNK_SHIFT) >> STACKD_SLICE_SHIFT) + 1);
	slices = (uint16_t)(slices + f->n_slices);
	for (uint32_t number = 0; number < last; number++) {
		firsts[(*n_chunks)++] = *n_rows;
		for (size_t i = 0; i < s->n_chunks; i++) {
			if (s->chunks[i].file == file && s->chunks[i].number == number)
				*n_rows += make_rows(s, &s->chunks[i], rows + *n_rows);
		}
	}
	firsts[(*n_chunks)++] = *n_rows;
}

static void make_tables(struct vm *vm, const struct stacks *s)
{
	struct stackd_rule *rules = vm_map(vm, "rules", 0);
	uint32_t n_chunks = 0, n_rows = 0, room = 2;

	for (size_t i = 0; i < s->n_chunks; i++)
		room += s->chunks[i].rows + 2 * (uint32_t)s->n_locations;
	vm_map(vm, "files", (uint32_t)s->n_files + 1);
	vm_map(vm, "rows", room);
	vm_map(vm, "chunks", (uint32_t)s->n_files * MOST_RULES / 16);
	rules[STACKD_RULE_END].cfa = STACKD_CFA_END;
	rules[STACKD_RULE_DAEMON].cfa = STACKD_CFA_DAEMON;
	for (size_t i = 0; i < s->n_rules; i++) {
		if (s->rules[i].number >= MOST_RULES)
			vm_die("there is no rule of number %u", s->rules[i].number);
		rules[s->rules[i].number] = s->rules[i].rule;
	}
	for (uint32_t file = 1; file <= s->n_files; file++)
		make_table(vm, s, file, &n_chunks, &n_rows);
}

void world_new(struct vm *vm, const struct stacks *s, struct world *ret_world)
{
	uint32_t slots = *(uint32_t *)vm_variable(vm, "state_slots");

	pages.bytes = NULL;
	*ret_world = (struct world){0};
	*(uint32_t *)vm_variable(vm, "usual_period") = WORLD_PERIOD;
	*(uint32_t *)vm_variable(vm, "is_clock") = 1;
	make_task(vm, s, ret_world);
	make_tables(vm, s);
	vm_map(vm, "scratches", 1);
	vm_map(vm, "states", slots);
	vm_map(vm, "rule_cache", STACKD_RULE_SETS);
	vm_map(vm, "counters", 1);
	vm_map(vm, "bounds_cache", 0);
}

/* Changes the mappings to the same ones with another root: that is where the kernel's count of
 * changes is here, since kernel_types.h declares both as the first field of theirs. */
static void change_mappings(struct world *w)
{
	void *before = w->task->mm->mm_mt.ma_root;

	w->task->mm->mm_mt.ma_root = w->other_root;
	w->other_root = before;
}

void world_go_to(struct world *w, const struct stacks *s, const struct stacks_sample *sample)
{
	struct pt_regs *to = &w->context->regs;
	struct stackd_regs regs;

	w->task->mm->start_stack = stacks_write(s, sample, w->stack, WORLD_STACK_TOP, &regs);
	if (sample->changes)
		change_mappings(w);
	to->rbx = regs.r[3];
	to->rbp = regs.r[STACKD_REG_FP];
	to->rsp = regs.r[STACKD_REG_SP];
	to->r10 = regs.r[10];
	to->r11 = regs.r[11];
	to->r12 = regs.r[12];
	to->r13 = regs.r[13];
	to->r14 = regs.r[14];
	to->r15 = regs.r[15];
	to->rip = regs.r[STACKD_REG_PC];
}
