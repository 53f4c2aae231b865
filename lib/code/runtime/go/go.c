/* SPDX-License-Identifier: MIT */
/*
 * Go's runtime. Each program contains it, and its table of functions (pclntab.h), from which rules
 * (go_rules.h) and names come. Only the kernel half follows Go's kinds of rules, by which a walk
 * goes from one stack to another (bpf/runtime_go.bpf.h).
 */
#include "runtime/go/go_rules.h"
#include "runtime/go/go_stack.h"
#include "runtime/go/pclntab.h"
#include "runtime/go/pclntab_find.h"
#include "runtime/runtime.h"

static bool is_file(const struct elf_file *file)
{
	struct pclntab_extent extent;

	return pclntab_find_in(file, &extent) == 0;
}

static int read_tables(const struct elf_file *file, void **ret_tables)
{
	struct pclntab *table;
	int err = pclntab_read(file, &table);

	if (!err)
		*ret_tables = table;
	return err;
}

static void free_tables(void *tables)
{
	pclntab_free(tables);
}

static size_t bytes_of(const void *tables)
{
	return pclntab_bytes(tables);
}

static int each_rule(const void *tables, const struct elf_file *file, runtime_take_rule *take,
		     void *arg)
{
	return go_rules_each(tables, file, take, arg);
}

static int rule_at(const void *tables, const struct elf_file *file, uint64_t vaddr,
		   struct runtime_rule *ret_row)
{
	return go_rules_at(tables, file, vaddr, ret_row);
}

/* Finds the function of a vaddr. If that is the byte before sigreturn, it is the return address of
 * a signal handler, less 1, and the function is sigreturn. */
static bool find_function(const struct pclntab *table, uint64_t vaddr, struct pclntab_function *ret)
{
	if (pclntab_find(table, vaddr + 1, ret) && ret->start == vaddr + 1 &&
	    go_stack_of(ret->name) == GO_STACK_SIGNAL)
		return true;
	return pclntab_find(table, vaddr, ret) && ret->name;
}

static bool name_at(const void *tables, uint64_t vaddr, bool with_line,
		    struct runtime_name *ret_name)
{
	struct pclntab_function function;

	if (!find_function(tables, vaddr, &function))
		return false;
	*ret_name = (struct runtime_name){.function = function.name, .start = function.start};
	if (with_line)
		pclntab_line(tables, &function, vaddr, &ret_name->file, &ret_name->line);
	return true;
}

static const struct runtime_files files = {
	.is_file = is_file,
	.read = read_tables,
	.free = free_tables,
	.bytes = bytes_of,
	.each_rule = each_rule,
	.rule_at = rule_at,
	.name_at = name_at,
};

extern const struct runtime runtime_go;
const struct runtime runtime_go = {
	.number = STACKD_RUNTIME_GO,
	.name = "Go",
	.unfit_regions = "whose stacks move while its functions run",
	.unfit_marks = "whose goroutines change threads",
	.files = &files,
};
