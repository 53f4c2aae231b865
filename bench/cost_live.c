/* SPDX-License-Identifier: MIT */
/*
 * Counts the cost of walks of a running program, with and without managed frames:
 * cost_live OBJECT PID SAMPLES stops the process's first thread after each millisecond of its CPU
 * time, and runs stackd's sampler, as it is in the BPF object, on its registers and memory: in one
 * machine (cost_vm.h) with the frames of functions of Python, and in another one without. It prints
 * a line of sums for each: "with", "without", and words as "name=number".
 *
 * Both see the same stacks, so the ratio of their counts depends on neither the processor nor its
 * load. As many samples before fill the caches of rules and mappings and the remembered walks. The
 * kernel's structures are made up (cost_world.h), so mappings must not change.
 */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cost_helpers.h"
#include "cost_vm_state.h"
#undef PAGE_SHIFT
#undef PAGE_SIZE
#include "kernel_types.h"
#include "recipe_file.h"

#define MOST_FILES  64
#define ENTRIES	    (1u << 24) /* room in the tables */
#define FIXED_RULES 3

static pid_t pid;

static struct {
	struct stacks_file at;
	struct recipe_file recipes;
} files[MOST_FILES];
static uint32_t n_files, n_mappings;

struct machine {
	struct vm *vm;
	struct world world;
	struct stackd_counters *counters;
	struct sums sums;
};

static bool read_process(uint64_t address, void *to, size_t size)
{
	struct iovec here = {to, size}, there = {(void *)(uintptr_t)address, size};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* --- files ---------------------------------------------------------------------------------- */

/* Compiles the tables of a mapped file. Files without any are left out. */
static void add_file(const char *path, uint64_t start, uint64_t end, uint64_t offset)
{
	struct recipe_file *r = &files[n_files].recipes;

	if (n_files == MOST_FILES)
		vm_die("more than %d files", MOST_FILES);
	if (recipe_file_open(path, r) || recipe_compile(r->elf, &r->table))
		return;
	files[n_files++].at = (struct stacks_file){start, end - start, offset};
}

static void read_mappings(void)
{
	char line[4096], path[64];
	uint64_t start, end, offset;
	char rights[8], name[4096];
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	in = fopen(path, "r");
	if (!in)
		vm_die("%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), in)) {
		name[0] = 0;
		sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4095s", &start, &end,
		       rights, &offset, name);
		n_mappings++;
		if (rights[2] == 'x' && name[0] == '/')
			add_file(name, start, end, offset);
	}
	fclose(in);
}

/* The thread's stack pointer at the entry: the 28th field of /proc/PID/stat. */
static uint64_t start_stack(void)
{
	char path[64], line[4096] = {0}, *at;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	in = fopen(path, "r");
	if (!in || !fgets(line, sizeof(line), in))
		vm_die("%s: %s", path, strerror(errno));
	fclose(in);
	at = strrchr(line, ')');
	for (int field = 2; at && field < 28; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/* --- machines ------------------------------------------------------------------------------- */

/* Gives the rules of a table to a machine. Returns the number to add to those in its rows. */
static uint32_t put_rules(struct vm *vm, const struct recipe_table *table, bool with,
			  uint32_t *n_rules)
{
	struct stackd_rule *to = vm_map(vm, "rules", 0);
	uint32_t first = *n_rules - FIXED_RULES;
	size_t count;
	const struct stackd_rule *rules = recipe_table_rules(table, &count);

	if (*n_rules + count > RECIPE_MAX_RULES)
		vm_die("too many rules");
	for (size_t i = FIXED_RULES; i < count; i++) {
		to[first + i] = rules[i];
		if (!with && rules[i].cfa >= STACKD_CFA_EVAL)
			to[first + i].cfa = STACKD_CFA_REG;
	}
	*n_rules = first + (uint32_t)count;
	return first;
}

/* Gives a file's table to a machine. */
static void put_table(struct vm *vm, uint32_t number, bool with, uint32_t *n_rules,
		      uint32_t *n_rows, uint32_t *n_chunks)
{
	const struct recipe_table *table = files[number - 1].recipes.table;
	struct stackd_file *file = (struct stackd_file *)vm_map(vm, "files", 0) + number;
	struct stackd_row *to = vm_map(vm, "rows", 0);
	uint32_t *firsts = vm_map(vm, "chunks", 0);
	uint32_t first_rule = put_rules(vm, table, with, n_rules);
	const struct stackd_interpreter *is = recipe_table_interpreter(table);
	size_t count, rows_count;
	const uint32_t *chunks = recipe_table_chunks(table, &file->first_chunk, &count);
	const struct stackd_row *rows = recipe_table_rows(table, &rows_count);

	if (*n_rows + rows_count > ENTRIES || *n_chunks + count + 1 > ENTRIES)
		vm_die("too many rows");
	file->chunk_base = *n_chunks;
	file->n_chunks = (uint32_t)count;
	for (size_t i = 0; i <= count; i++)
		firsts[(*n_chunks)++] = *n_rows + chunks[i];
	for (size_t i = 0; i < rows_count; i++) {
		uint16_t rule = rows[i].rule;

		to[(*n_rows)++] = (struct stackd_row){
			rows[i].low, rule < FIXED_RULES ? rule : (uint16_t)(rule + first_rule)};
	}
	if (with && is && is->form != STACKD_INTERPRETER_NONE)
		vm_map_put(vm, "interpreters", &number, is);
}

static void make_machine(struct machine *m, const char *object, bool with)
{
	struct stacks stacks = {.n_mappings = n_mappings, .n_files = n_files};
	uint32_t n_rules = FIXED_RULES, n_rows = 0, n_chunks = 0;
	struct stackd_file *table;

	stacks.files = calloc(n_files, sizeof(*stacks.files));
	for (uint32_t i = 0; i < n_files; i++)
		stacks.files[i] = files[i].at;
	m->vm = vm_new(object, "perf_event");
	*(uint32_t *)vm_variable(m->vm, "with_managed") = with;
	vm_map(m->vm, "rows", ENTRIES);
	vm_map(m->vm, "chunks", ENTRIES);
	world_new(m->vm, &stacks, &m->world);
	free(stacks.files);
	helpers_set(m->vm, &m->world);
	m->world.read = read_process;
	m->counters = vm_map(m->vm, "counters", 0);
	m->world.task->mm->start_stack = start_stack();
	table = vm_map(m->vm, "files", 0);
	for (uint32_t number = 1; number <= n_files; number++) {
		table[number].is_loaded = 0;
		put_table(m->vm, number, with, &n_rules, &n_rows, &n_chunks);
	}
}

/* --- samples -------------------------------------------------------------------------------- */

static void take_registers(struct world *w, const struct user_regs_struct *from)
{
	struct pt_regs *to = &w->context->regs;

	to->rbx = from->rbx;
	to->rbp = from->rbp;
	to->rsp = from->rsp;
	to->r10 = from->r10;
	to->r11 = from->r11;
	to->r12 = from->r12;
	to->r13 = from->r13;
	to->r14 = from->r14;
	to->r15 = from->r15;
	to->rip = from->rip;
	w->task->thread.fsbase = from->fs_base;
}

static uint64_t cpu_time_ns(void)
{
	struct timespec now;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &now))
		vm_die("the process has ended");
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Stops the process when it has used another millisecond. */
static void stop_later(struct user_regs_struct *ret_regs)
{
	uint64_t until = cpu_time_ns() + WORLD_PERIOD;
	int status;

	if (ptrace(PTRACE_CONT, pid, NULL, NULL))
		vm_die("the process cannot go on: %s", strerror(errno));
	while (cpu_time_ns() < until)
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) || waitpid(pid, &status, __WALL) != pid ||
	    !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, pid, NULL, ret_regs))
		vm_die("the process cannot be stopped: %s", strerror(errno));
}

static void sample(struct machine *m, const struct user_regs_struct *regs, bool is_counted)
{
	uint64_t sent = m->counters->n[STACKD_COUNT_SENT];
	uint64_t left = m->counters->n[STACKD_COUNT_FALLBACKS];
	const struct vm_counts *counts;

	helpers_next_time(&m->world);
	take_registers(&m->world, regs);
	counts = vm_run(m->vm, m->world.context);
	if (m->counters->n[STACKD_COUNT_SENT] == sent)
		vm_die("a sample was not sent");
	if (m->counters->n[STACKD_COUNT_FALLBACKS] != left)
		vm_die("a stack was left to the daemon: do all files have tables?");
	if (is_counted)
		sums_add(&m->sums, counts);
}

int main(int argc, char **argv)
{
	static struct machine machines[2];
	static const char *const names[] = {"without", "with"};
	long wanted = argc == 4 ? atol(argv[3]) : 0;
	struct user_regs_struct regs;
	int status;

	if (wanted <= 0) {
		fprintf(stderr, "usage: cost_live OBJECT PID SAMPLES\n");
		return 2;
	}
	pid = (pid_t)atoi(argv[2]);
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) ||
	    waitpid(pid, &status, __WALL) != pid)
		vm_die("process %d cannot be stopped: %s", pid, strerror(errno));
	read_mappings();
	for (int i = 0; i < 2; i++)
		make_machine(&machines[i], argv[1], i);
	for (long n = 0; n < 2 * wanted; n++) {
		stop_later(&regs);
		for (int i = 0; i < 2; i++) {
			if (n == wanted)
				*machines[i].counters = (struct stackd_counters){0};
			sample(&machines[i], &regs, n >= wanted);
		}
	}
	for (int i = 0; i < 2; i++) {
		printf("%s", names[i]);
		sums_print(&machines[i].sums, machines[i].counters);
	}
	return 0;
}
