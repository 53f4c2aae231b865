/* SPDX-License-Identifier: MIT */
/* Weighs the evidence for a path's outermost frame; see root_check.h. */
#include "daemon/recorder/root_check.h"

#include <errno.h>

#include "proc/mapping_set.h"
#include "stack/provenance.h"

void root_check_fini(struct root_check *r)
{
	int_map_fini(&r->roots);
	int_map_fini(&r->switches);
	int_map_fini(&r->many_locals);
}

void root_check_begin_anew(struct root_check *r)
{
	root_check_fini(r);
}

static const struct location *location_of(const struct root_check *r, uint32_t number)
{
	return location_at(r->locations, number);
}

static bool is_of_file(const struct root_check *r, uint32_t number)
{
	return object_table_at(r->objects, location_of(r, number)->object)->kind == OBJECT_ELF;
}

/* Gives what the code says about a location as a path's outermost one. 0 or -ENOMEM. */
static int root_of(struct root_check *r, uint32_t number, enum callflow_root *ret_root)
{
	const uint32_t known = int_map_find(&r->roots, number);
	struct walks_verdict answer;

	*ret_root = known != INT_MAP_NONE ? (enum callflow_root)known : CALLFLOW_ROOT_UNKNOWN;
	if (known != INT_MAP_NONE || !caller_check_ask(r->check, number, WALKS_ROOT, &answer))
		return 0;
	*ret_root = answer.root;
	return int_map_set(&r->roots, number, answer.root);
}

/* Gives whether the code before a location loads the stack pointer. 0 or -ENOMEM. */
static int switches(struct root_check *r, uint32_t number, bool *ret_switches)
{
	const uint32_t known = int_map_find(&r->switches, number);
	struct walks_verdict answer;

	*ret_switches = known != INT_MAP_NONE && known;
	if (known != INT_MAP_NONE || !caller_check_ask(r->check, number, WALKS_SWITCHES, &answer))
		return 0;
	*ret_switches = answer.switches;
	return int_map_set(&r->switches, number, answer.switches);
}

/* --- threads --------------------------------------------------------------------------------- */

/* Bytes of thread-local variables below a thread's control block up to which the kernel half
 * (end_away()) and the walk in user space (root_at()) know where a thread's stack begins. */
#define USUAL_LOCALS 2048

static uint64_t locals_of(const struct elf_file *elf)
{
	size_t count;
	const Elf64_Phdr *headers = elf_file_program_headers(elf, &count);

	for (size_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_TLS)
			return headers[i].p_memsz;
	return 0;
}

/* Gives whether a process has so many thread-local variables that its threads' stacks begin further
 * down than usual. The answer is kept in bit 0, below the version of the mappings, which change
 * when a library is loaded, at an exec, and when the pid is another process's. 0 or -ENOMEM. */
static int has_many_locals(struct root_check *r, pid_t pid, bool *ret_has)
{
	const struct mapping_set *set = r->mappings_of(r->processes, pid);
	const uint32_t known = int_map_find(&r->many_locals, (uint64_t)pid);
	const uint32_t version = set ? (uint32_t)set->version << 1 & INT32_MAX : 0;
	uint64_t sum = 0;

	*ret_has = set && known != INT_MAP_NONE && known & 1;
	if (!set || (known != INT_MAP_NONE && (known & ~1u) == version))
		return 0;
	for (uint32_t i = 0; i < set->count; i++) {
		const struct mapping *m = &set->maps[i];

		if (m->object->kind == OBJECT_ELF && m->object->elf &&
		    (!i || m->object != set->maps[i - 1].object))
			sum += locals_of(m->object->elf);
	}
	*ret_has = sum > USUAL_LOCALS;
	return int_map_set(&r->many_locals, (uint64_t)pid, version | *ret_has);
}

/* --- evidence -------------------------------------------------------------------------------- */

/* What a path needs besides its outermost frame. */
struct need {
	enum {
		NEED_NOTHING,
		NEED_CALLS,	/* each call goes to the callee, or is indirect */
		NEED_CONFIRMED, /* each call goes to the callee */
		NEED_MORE,	/* no evidence would do */
	} what;
	bool is_put;	 /* the outermost frame may have made no direct call, or none at all: its
			  * address was put on the stack */
	bool is_kernels; /* as in caller_check_step() */
	bool has_stale_signal; /* the handler of a signal whose frame the path goes through may
				* have returned */
};

/* Returns whether frame `at` is the code to which the kernel lets a signal handler return. */
static bool is_of_signal(const struct root_check *r, const struct path *path, size_t at)
{
	return at > 0 && !location_of(r, path->locations[at - 1])->is_return;
}

/* Gives whether there is evidence that frame `at` was called by the one before. 0 or -ENOMEM. */
static int is_evident(struct root_check *r, const struct path *path, size_t at,
		      const struct need *need, bool *ret_is_evident)
{
	const uint32_t caller = path->locations[at - 1], callee = path->locations[at];
	const bool is_lenient = need->what == NEED_CALLS;
	enum callflow_step verdict;
	const bool is_interrupted = !location_of(r, caller)->is_return;
	int err;

	*ret_is_evident = (is_interrupted && !need->has_stale_signal) ||
			  is_of_signal(r, path, at - 1) || (at == 1 && need->is_put);
	if (*ret_is_evident || is_interrupted)
		return 0;
	*ret_is_evident = is_lenient;
	if (!is_of_file(r, caller) || !is_of_file(r, callee))
		return 0;
	err = caller_check_step(r->check, path, at, need->is_kernels, &verdict);
	*ret_is_evident = verdict == CALLFLOW_STEP_CONFIRMED ||
			  (is_lenient && verdict == CALLFLOW_STEP_PROBABLE);
	return err;
}

/* Gives the frame nearest to the leaf for whose call there is no evidence; 0: there is none. 0 or
 * -ENOMEM. */
static int find_first(struct root_check *r, const struct path *path, const struct need *need,
		      size_t *ret_at)
{
	bool is = true;
	int err = 0;

	*ret_at = 0;
	for (size_t at = path->count; at-- > 1 && !err && is;) {
		err = is_evident(r, path, at, need, &is);
		*ret_at = is ? 0 : at;
	}
	return err;
}

/* Returns how many frames there are from the root to the outermost one that a signal has
 * interrupted, and all of them if there is none. */
static size_t before_signal(const struct root_check *r, const struct path *path)
{
	for (size_t i = 0; i + 1 < path->count; i++)
		if (!location_of(r, path->locations[i])->is_return)
			return i + 1;
	return path->count;
}

/* Returns whether the rule of a frame can lead to another stack. One that counts from the stack
 * pointer leads on in the same one. */
static bool may_leave(const struct root_check *r, uint32_t number)
{
	const struct location *l = location_of(r, number);
	struct stackd_rule rule;

	return !r->tables ||
	       tables_rule(r->tables, object_table_at(r->objects, l->object), l->offset, &rule) ||
	       rule.cfa != STACKD_CFA_REG || rule.reg != STACKD_REG_SP;
}

/* Gives whether the path may lead from one stack to another: one of the first `count` frames has
 * switched to it, and its rule leads back; or there is code that cannot be examined. 0 or
 * -ENOMEM. */
static int may_cross(struct root_check *r, const struct path *path, size_t count, bool *ret_may)
{
	int err = 0;

	*ret_may = false;
	for (size_t i = 0; i < count && !err && !*ret_may; i++) {
		const struct location *l = location_of(r, path->locations[i]);

		if (l->provenance == PROVENANCE_RUNTIME_TABLE || !is_of_file(r, path->locations[i]))
			*ret_may = true;
		else if (may_leave(r, path->locations[i]))
			err = switches(r, path->locations[i], ret_may);
	}
	return err;
}

/* Gives what a path needs whose outermost frame is at another place than its thread's. 0 or
 * -ENOMEM. */
static int need_away(struct root_check *r, const struct path *path, pid_t pid, struct need *need)
{
	const struct location *l = location_of(r, path->locations[0]);
	enum callflow_root kind;
	bool has_many;
	int err;

	if (path->count == 1 || l->provenance == PROVENANCE_RUNTIME_TABLE ||
	    !is_of_file(r, path->locations[0]))
		return 0;
	err = root_of(r, path->locations[0], &kind);
	need->is_put = true;
	need->what = kind == CALLFLOW_ROOT_ENTRY ? NEED_MORE : NEED_CALLS;
	if (err || (kind != CALLFLOW_ROOT_THREAD && kind != CALLFLOW_ROOT_FREE_THREAD))
		return err;
	err = has_many_locals(r, pid, &has_many);
	need->what = has_many ? NEED_NOTHING : NEED_CONFIRMED;
	return err;
}

static int find_need(struct root_check *r, const struct path *path, pid_t pid,
		     enum stackd_root root, struct need *need)
{
	const size_t count = before_signal(r, path);
	enum callflow_root kind;
	bool may = false;
	int err;

	switch (root) {
	case STACKD_ROOT_PROVEN:
		return 0;
	case STACKD_ROOT_CROSSED:
		err = may_cross(r, path, count, &may);
		need->what = may ? NEED_NOTHING : NEED_MORE;
		need->has_stale_signal = count < path->count;
		return err;
	case STACKD_ROOT_AWAY:
		return need_away(r, path, pid, need);
	default:
		err = root_of(r, path->locations[0], &kind);
		need->what = kind == CALLFLOW_ROOT_FREE || kind == CALLFLOW_ROOT_FREE_THREAD
				     ? NEED_CALLS
			     : kind == CALLFLOW_ROOT_RETURNS ? NEED_CONFIRMED
							     : NEED_MORE;
		return err;
	}
}

int root_check_path(struct root_check *r, struct path *path, pid_t pid, enum stackd_root root,
		    bool is_kernels, bool *ret_is_proven)
{
	struct need need = {.what = NEED_NOTHING, .is_kernels = is_kernels};
	const uint64_t postponed = caller_check_counts(r->check).postponed;
	size_t at;
	int err = path->count ? find_need(r, path, pid, root, &need) : 0;

	*ret_is_proven = true;
	if (err || need.what == NEED_NOTHING)
		return err;
	err = find_first(r, path, &need, &at);
	if (err || (!at && need.what != NEED_MORE))
		return err;
	*ret_is_proven = false;
	path->cut = at;
	path->cut_reason = caller_check_counts(r->check).postponed != postponed
				   ? STACKD_END_NO_TIME
				   : STACKD_END_UNPROVEN_ROOT;
	return 0;
}
