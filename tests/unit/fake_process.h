/* SPDX-License-Identifier: MIT */
/*
 * A generated process for the kernel half in user space: the threads of fake_thread.h with their
 * mappings, code and recipes in the BPF maps, and samples of them. Include bpf_shim.h,
 * bpf/stackd.bpf.c and daemon/capture/record.c first.
 */
#ifndef FAKE_PROCESS_H
#define FAKE_PROCESS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "fake_thread.h"

#define STATES		   16
#define PLUGIN_FILES	   2
#define RULE_ENTRY	   3
#define RULE_RESTORE_RT	   4
#define RULE_BODIES	   5
#define ROOTS		   8192 /* nodes of trees: one for each change of the mappings */
#define MAPPINGS	   (FAKE_MODULES + FAKE_THREADS)
#define STACKS_AT	   UINT64_C(0x7ffc00000000)
#define THREAD_STACK_BYTES ((uint64_t)FAKE_STACK_BYTES + 2 * FAKE_AREA_BYTES)

/* --- the process ---------------------------------------------------------------------------- */

static struct fake_machine machine;
static struct mm_struct mm;
static struct task_struct tasks[FAKE_THREADS];
static struct super_block super_block;
static struct inode inodes_of_files[4];
static struct file files_of_inodes[4];
static struct vm_area_struct mappings[MAPPINGS];
static uint64_t *roots;
static uint32_t n_roots;
static int plugin_file;

/* A new tree of the mappings, as any change makes one. */
static inline void change_mappings(void)
{
	uint64_t *node = roots + 32 * (n_roots++ % ROOTS), at = 0;
	uint32_t n = 0;

	memset(node, 0, 256);
	for (int i = 0; i < MAPPINGS; i++) {
		if (mappings[i].vm_start > at) {
			node[1 + n] = mappings[i].vm_start - 1;
			n++;
		}
		node[1 + n] = mappings[i].vm_end - 1;
		node[RANGE_SLOTS + n] = (uint64_t)(uintptr_t)&mappings[i];
		n++;
		at = mappings[i].vm_end;
	}
	assert_true(n < RANGE_PIVOTS);
	node[RANGE_META] = n;
	mm.mm_mt.ma_root = (void *)((uintptr_t)node | MAPLE_LEAF << 3 | 2);
}

/* The file that is mapped as the plugin: 2 or 3. Both hold the same code. */
static inline void map_plugin(int file)
{
	plugin_file = file;
	mappings[FAKE_PLUGIN].vm_file = &files_of_inodes[file];
	change_mappings();
}

static inline void make_mappings(void)
{
	for (int i = 0; i < MAPPINGS; i++)
		mappings[i] = (struct vm_area_struct){.vm_mm = &mm};
	for (int i = 0; i < FAKE_MODULES; i++) {
		mappings[i].vm_start = fake_base[i];
		mappings[i].vm_end = fake_base[i] + 2 * PAGE_SIZE;
		mappings[i].vm_flags = VM_EXEC;
	}
	for (uint64_t i = 0; i < FAKE_THREADS; i++) {
		mappings[FAKE_MODULES + i].vm_start = STACKS_AT + (i << 24);
		mappings[FAKE_MODULES + i].vm_end = STACKS_AT + (i << 24) + THREAD_STACK_BYTES;
	}
	for (uint64_t i = 1; i < 4; i++) {
		inodes_of_files[i] = (struct inode){.i_ino = 100 + i, .i_sb = &super_block};
		files_of_inodes[i].f_inode = &inodes_of_files[i];
	}
	mappings[FAKE_PROGRAM].vm_file = &files_of_inodes[1];
	map_plugin(2);
}

/* Code that does nothing, with a call before each return address. */
static inline void write_code(void)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};
	static uint8_t nops[2 * PAGE_SIZE];

	memset(nops, 0x90, sizeof(nops));
	for (int i = 0; i < FAKE_MODULES; i++) {
		shim_add_region(fake_base[i], sizeof(nops));
		shim_write(fake_base[i], nops, sizeof(nops));
	}
	for (int f = 0; f < FAKE_FUNCTIONS; f++) {
		for (uint64_t site = 0; site < FAKE_SITES; site++)
			shim_write(fake_address(&machine, f) + 0x20 + 0x10 * site - sizeof(call),
				   call, sizeof(call));
	}
}

static inline void make_threads(void)
{
	for (uint64_t i = 0; i < FAKE_THREADS; i++) {
		uint64_t low = STACKS_AT + (i << 24), high = low + THREAD_STACK_BYTES;
		struct fake_thread *t = &machine.threads[i];

		/* The main stack above the others, or below. */
		*t = (struct fake_thread){.tid = 1000 + (uint32_t)i, .start_time = 1};
		t->main_top = i & 1 ? low + FAKE_STACK_BYTES : high;
		t->coroutine_top = i & 1 ? high : low + FAKE_AREA_BYTES;
		t->signal_top = i & 1 ? high - FAKE_AREA_BYTES : low + 2 * FAKE_AREA_BYTES;
		shim_add_region(low, THREAD_STACK_BYTES);
		fake_thread_start(&machine, t);
		tasks[i] = (struct task_struct){.pid = (int)t->tid,
						.start_time = t->start_time,
						.group_leader = &tasks[0],
						.mm = &mm};
	}
}

/* --- the tables ----------------------------------------------------------------------------- */

static inline void make_recipes(void)
{
	struct stackd_rule *r = shim_make_array(&rules, RULE_BODIES + FAKE_FUNCTIONS);
	struct stackd_row *row = (struct stackd_row *)shim_make_array(&rows, 32)->rows;
	struct chunk_pair *pair = shim_make_array(&chunks, 1);

	r[STACKD_RULE_END].cfa = STACKD_CFA_END;
	r[STACKD_RULE_DAEMON].cfa = STACKD_CFA_DAEMON;
	r[RULE_ENTRY] = (struct stackd_rule){
		.cfa = STACKD_CFA_REG, .reg = STACKD_REG_SP, .cfa_offset = 8, .ra_offset = -8};
	r[RULE_RESTORE_RT] = (struct stackd_rule){
		.cfa = STACKD_CFA_SIGNAL, .reg = STACKD_REG_SP, .cfa_offset = 40};
	*row++ = (struct stackd_row){0, STACKD_RULE_NONE};
	*row++ = (struct stackd_row){FAKE_RESTORE_RT - 1, RULE_RESTORE_RT};
	*row++ = (struct stackd_row){FAKE_RESTORE_RT + 9, STACKD_RULE_NONE};
	for (int i = 0; i < FAKE_FUNCTIONS; i++) {
		uint16_t at = (uint16_t)(0x1000 + 0x100 * i);

		r[RULE_BODIES + i] = fake_rule(&machine.functions[i]);
		*row++ = (struct stackd_row){at, RULE_ENTRY};
		*row++ = (struct stackd_row){at + 0x10, (uint16_t)(RULE_BODIES + i)};
	}
	pair->first_rows[1] = 3 + 2 * FAKE_FUNCTIONS;
}

static inline void make_files(void)
{
	struct stackd_file *file = shim_make_array(&files, 4);

	shim_make_hash(&inodes, 4);
	for (uint32_t i = 1; i < 4; i++) {
		struct stackd_inode key = {.inode = inodes_of_files[i].i_ino};

		shim_put(&inodes, i, &key, &i);
		file[i] = (struct stackd_file){.n_chunks = 1, .is_loaded = 1};
		file[i].first_slice = (uint16_t)(i - 1);
		file[i].n_slices = i < 3; /* file 3's frames are long */
	}
}

static inline void make_program(uint64_t number)
{
	machine.random = number << 32;
	mm = (struct mm_struct){0};
	fake_make_functions(&machine);
	make_mappings();
	write_code();
	make_recipes();
	make_files();
	make_threads();
	state_slots = fake_chance(&machine, 30) ? 1 : STATES; /* 1: the threads take it in turns */
	shim_make_array(&rule_cache, STACKD_RULE_SETS);
	shim_make_array(&states, STATES);
	shim_make_array(&scratches, 1);
	shim_make_array(&counters, 1);
	shim_make_array(&bounds_cache, BOUNDS_SLOTS);
	shim_make_hash(&late_threads, 1);
	has_late_threads = 1;
}

/* --- paths ---------------------------------------------------------------------------------- */

struct known_path {
	uint64_t locations[MAX_FRAMES + MAX_MARKS]; /* root first, with the exact bit */
	int count;
	uint8_t sequence;
};

/* The location of a frame. */
static inline uint64_t location_in(const struct record_frame *frame)
{
	if (!frame->has_slice)
		return frame->location;
	return (uint64_t)(frame->slice + 1) << 48 | frame->location |
	       (frame->is_exact ? STACKD_LOCATION_EXACT : 0);
}

/* The location of a frame of the true path. */
static inline uint64_t location_of(const struct fake_frame *frame)
{
	uint64_t address = frame->pc - !frame->is_exact, file, base = 0;
	uint64_t exact = frame->is_exact ? STACKD_LOCATION_EXACT : 0;

	if (address - fake_base[FAKE_JIT] < 2 * PAGE_SIZE)
		file = STACKD_FILE_NONE;
	else if (address - fake_base[FAKE_PLUGIN] < 2 * PAGE_SIZE)
		file = (uint64_t)plugin_file, base = fake_base[FAKE_PLUGIN];
	else
		file = 1, base = fake_base[FAKE_PROGRAM];
	return file << 48 | exact | (address - base);
}

static inline bool is_true(const struct known_path *path, const struct fake_frame *frames, int n)
{
	if (path->count != n)
		return false;
	for (int i = 0; i < n; i++) {
		if (path->locations[i] != location_of(&frames[i]))
			return false;
	}
	return true;
}

/* --- a sample ------------------------------------------------------------------------------- */

/* The record goes to shim_ring. */
static inline void take_sample(int thread)
{
	struct fake_thread *t = &machine.threads[thread];
	struct bpf_perf_event_data context = {.sample_period = 1};
	const uint64_t *r = fake_chain(t)->r;

	context.regs = (struct pt_regs){.rax = r[0],
					.rdx = r[1],
					.rcx = r[2],
					.rbx = r[3],
					.rsi = r[4],
					.rdi = r[5],
					.rbp = r[6],
					.rsp = r[7],
					.r8 = r[8],
					.r9 = r[9],
					.r10 = r[10],
					.r11 = r[11],
					.r12 = r[12],
					.r13 = r[13],
					.r14 = r[14],
					.r15 = r[15],
					.cs = 0x33};
	context.regs.rip = fake_leaf(fake_chain(t))->pc;
	tasks[thread].start_time = t->start_time;
	shim_task = &tasks[thread];
	shim_pid_tgid = (uint64_t)1000 << 32 | t->tid;
	shim_time_ns += 1000;
	stackd_sample(&context);
}

#endif
