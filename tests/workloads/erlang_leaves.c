/* SPDX-License-Identifier: MIT */
/*
 * Leaves for the modules of tests/live/erlang_tree.py to call: native functions (NIFs) of the
 * module erlang_leaves. leaf(N, Turns) calls leaf_00 to leaf_77, whose numbers are octal. It needs
 * no headers of Erlang: what is declared here is the same in all versions from 2.14 of that
 * interface on, and arguments and results are small integers, which are numbers above a tag of four
 * bits.
 */
#include "leaf_table.h"

typedef unsigned long term;

#define SMALL(n) ((term)(n) << 4 | 0xf)
#define VALUE(t) ((long)(t) >> 4)

static term leaf(void *env, int count, const term arguments[])
{
	(void)env;
	(void)count;
	leaves[VALUE(arguments[0]) & 63](VALUE(arguments[1]));
	return SMALL(1);
}

static struct function {
	const char *name;
	unsigned arity;
	term (*function)(void *env, int count, const term arguments[]);
	unsigned flags;
} functions[] = {{"leaf", 2, leaf, 0}};

static struct entry {
	int major, minor;
	const char *name;
	int n_functions;
	struct function *functions;
	void *load, *reload, *upgrade, *unload;
	const char *variant;
	unsigned options;
	unsigned long init_bytes;
	const char *least_version;
} entry = {2, 14, "erlang_leaves", 1, functions, 0, 0, 0, 0, "beam.vanilla", 1, 32, "erts-12.0"};

struct entry *nif_init(void);
struct entry *nif_init(void)
{
	return &entry;
}
