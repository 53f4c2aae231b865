/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks: "comm;root;...;leaf count", one line per distinct path, for flame graphs.
 *
 * Threads with the same name count as one, even of different processes, and functions are
 * distinguished by name alone, so no two lines have the same path. In names, ';', backslash,
 * control characters and bytes that are not UTF-8 become \xNN: readers split at ';' and at the last
 * space. All else stays, also spaces, which are common in C++ names and which readers of this
 * format expect.
 *
 * With kinds of frames, names are those that flame graphs color by in the dialects of others: the
 * kernel's end in _[k], names of inlined functions in _[i], of JIT code in _[j], as those of
 * FlameGraph's stackcollapse-perf.pl, and a function of Python is "py::NAME:FILE", as perf has it.
 * Functions of one name are then distinguished by their objects, too, so two lines can have the
 * same path: readers add them up.
 */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/vec.h"
#include "model/frame_kind.h"
#include "tree/calltree.h"
#include "tree/groups.h"
#include "base/strings.h"
#include "base/text.h"

#define FOLDED_SPECIAL ";\\"

/* what is put before and behind names */
static const struct {
	const char *before, *behind;
	bool has_file;
} folded_kinds[FRAME_KINDS] = {
	[FRAME_INLINED] = {"", "_[i]", false},	  [FRAME_KERNEL] = {"", "_[k]", false},
	[FRAME_JIT] = {"", "_[j]", false},	  [FRAME_PYTHON] = {"py::", "", true},
	[FRAME_RUBY] = {"rb::", "", true},	  [FRAME_PHP] = {"php::", "", true},
	[FRAME_PERL] = {"pl::", "", true},	  [FRAME_JAVA] = {"", "_[j]", false},
	[FRAME_JAVASCRIPT] = {"", "_[j]", false}, [FRAME_ERLANG] = {"", "_[j]", false},
};

struct folded {
	struct profile *profile;
	FILE *out;
	bool has_kinds;
	/* thread names, interned; the number of a name is the number of its group in `tree` */
	struct strings *comms;
	uint32_t *comm_of_thread;
	struct groups groups;
	struct calltree *tree;
	struct buf line;       /* the path to the current node */
	size_t *end_of_parent; /* by depth: where the line ends without the node's own name */
	size_t cap_depth;
};

static int folded_group(struct folded *f)
{
	const struct store_tables *t = profile_tables(f->profile);
	int err = strings_new(&f->comms);

	if (err < 0)
		return err;
	f->comm_of_thread = calloc((size_t)t->n_threads + 1, sizeof(*f->comm_of_thread));
	if (!f->comm_of_thread)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < t->n_threads; i++) {
		const char *comm = t->threads[i].comm;

		err = strings_intern(f->comms, comm && *comm ? comm : "[unnamed]",
				     &f->comm_of_thread[i]);
	}
	if (err == 0)
		err = groups_make(f->profile, f->comm_of_thread, strings_count(f->comms),
				  &f->groups);
	return err;
}

static int folded_write_line(struct folded *f, uint64_t count)
{
	char number[32];
	int len = snprintf(number, sizeof(number), " %" PRIu64 "\n", count);

	if (f->line.failed)
		return -ENOMEM;
	if (fwrite(f->line.data, 1, f->line.len, f->out) != f->line.len ||
	    fwrite(number, 1, (size_t)len, f->out) != (size_t)len)
		return -EIO;
	return 0;
}

/* Appends a function's name, in the form of its kind. */
static void folded_name(struct folded *f, uint32_t node)
{
	uint32_t n;
	const struct profile_symbol *symbol = calltree_symbol(f->tree, node);
	const bool is_inlined = calltree_nodes(f->tree, &n)[node].is_inlined;
	const struct profile_frame frame = {.symbol = symbol, .is_inlined = is_inlined};
	const enum frame_kind kind = f->has_kinds ? frame_kind_of(&frame) : FRAME_NATIVE;

	text_put_raw(&f->line, folded_kinds[kind].before ? folded_kinds[kind].before : "");
	text_put(&f->line, symbol->name, FOLDED_SPECIAL);
	if (folded_kinds[kind].has_file) {
		text_put_raw(&f->line, ":");
		text_put(&f->line, symbol->object, FOLDED_SPECIAL);
	}
	text_put_raw(&f->line, folded_kinds[kind].behind ? folded_kinds[kind].behind : "");
}

static int folded_enter(struct folded *f, uint32_t node, uint32_t depth, uint64_t self)
{
	if (VEC_GROW(f->end_of_parent, f->cap_depth, (size_t)depth + 1) < 0)
		return -ENOMEM;
	f->end_of_parent[depth] = f->line.len;
	text_put_raw(&f->line, ";");
	folded_name(f, node);
	return self ? folded_write_line(f, self) : 0;
}

/* Writes a line for each path, walking depth first through the tree: the line grows and shrinks
 * with the path. */
static int folded_write_tree(struct folded *f)
{
	uint32_t n, depth = 0;
	const struct calltree_node *nodes = calltree_nodes(f->tree, &n);
	uint32_t at = nodes[0].first_child;

	while (at != CALLTREE_NONE) {
		int err = folded_enter(f, at, depth, nodes[at].self);

		if (err < 0)
			return err;
		if (nodes[at].first_child != CALLTREE_NONE) {
			at = nodes[at].first_child;
			depth++;
			continue;
		}
		while (at && nodes[at].next_sibling == CALLTREE_NONE) {
			at = nodes[at].parent;
			depth -= at != 0;
		}
		if (!at)
			break;
		f->line.len = f->end_of_parent[depth];
		at = nodes[at].next_sibling;
	}
	return 0;
}

static int folded_comm(struct folded *f, uint32_t comm)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(f->profile, &n);
	int err = 0;

	calltree_clear(f->tree);
	for (uint32_t i = f->groups.first[comm]; err == 0 && i < f->groups.first[comm + 1]; i++) {
		const struct profile_entry *e = &entries[f->groups.order[i]];

		err = calltree_add(f->tree, e);
	}
	if (err < 0)
		return err;
	buf_clear(&f->line);
	text_put(&f->line, strings_at(f->comms, comm), FOLDED_SPECIAL);
	return folded_write_tree(f);
}

static int export_folded_by(struct profile *profile, FILE *out, bool has_kinds)
{
	struct folded f = {.profile = profile, .out = out, .has_kinds = has_kinds};
	int err = folded_group(&f);

	if (err == 0)
		err = calltree_new(profile, has_kinds ? CALLTREE_BY_SYMBOL : CALLTREE_BY_NAME,
				   &f.tree);
	for (uint32_t i = 0; err == 0 && i < f.groups.n_ranking; i++)
		err = folded_comm(&f, f.groups.ranking[i]);
	if (err == 0 && fflush(out) != 0)
		err = -EIO;
	calltree_free(f.tree);
	groups_free(&f.groups);
	strings_free(f.comms);
	free(f.comm_of_thread);
	free(f.end_of_parent);
	buf_free(&f.line);
	return err;
}

int export_folded(struct profile *profile, FILE *out)
{
	return export_folded_by(profile, out, false);
}

int export_folded_kinds(struct profile *profile, FILE *out)
{
	return export_folded_by(profile, out, true);
}
