/* SPDX-License-Identifier: MIT */
/*
 * The pass that keeps the tag: tag = tag * 11 ^ id on entry, and the previous tag on every way out.
 *
 *	entry		saved = stacktag_current; stacktag_current = saved * 11 ^ id
 *	return		stacktag_current = saved
 *	tail call	stacktag_current = saved, before it: the callee replaces the function
 *	landing pad	stacktag_current = saved * 11 ^ id: an exception came from deeper down
 *	setjmp() etc.	the same behind it: longjmp() may have come from deeper down
 *
 * So a function that is left in an unusual way does nothing, and the place at which control arrives
 * restores the tag. A function without such places pays for one load and two stores. `saved` is a
 * local variable, in a register or on the stack, as the compiler decides.
 *
 * The pass is the last one before code is generated: an inlined function is already part of its
 * caller, clones are separate functions, and a chain of tags has one link for every frame that an
 * unwinder sees. (-finstrument-functions comes early, before inlining: it pays for functions that
 * have no frame, and hinders inlining.)
 *
 * Accesses are volatile, because the reader is outside of the program: nothing in the program reads
 * what a leaf function writes.
 *
 * A function that is left out must still restore the tag if control comes back to it by a landing
 * pad or a second return: it saves the tag on entry, and restores it there.
 *
 * Later passes decide whether a call that is marked as a tail call becomes a jump. If it does not,
 * the chain lacks a frame that exists. So the mark is removed unless all arguments and the result
 * are in registers: then nothing prevents the jump.
 */
#include "plugin.h"

#include "cgraph.h"
#include "fold-const.h"
#include "gimple-iterator.h"
#include "ssa.h"
#include "stringpool.h"
#include "attribs.h"
#include "tree-cfg.h"
#include "tree-eh.h"
#include "tree-inline.h"
#include "varasm.h"

/* --- the variable ----------------------------------------------------------------------------- */

static tree current_tag; /* the declaration of stacktag_current */

static const struct ggc_root_tab roots[] = {
	{&current_tag, 1, sizeof(current_tag), &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node},
	LAST_GGC_ROOT_TAB,
};

static tree tag_type(void)
{
	return long_long_unsigned_type_node;
}

static tree declare_tag(void)
{
	tree type = build_qualified_type(tag_type(), TYPE_QUAL_VOLATILE);

	if (current_tag)
		return current_tag;
	current_tag =
		build_decl(UNKNOWN_LOCATION, VAR_DECL, get_identifier("stacktag_current"), type);
	TREE_PUBLIC(current_tag) = 1;
	DECL_EXTERNAL(current_tag) = 1;
	DECL_ARTIFICIAL(current_tag) = 1;
	TREE_USED(current_tag) = 1;
	TREE_THIS_VOLATILE(current_tag) = 1;
	TREE_SIDE_EFFECTS(current_tag) = 1;
	set_decl_tls_model(current_tag, TLS_MODEL_INITIAL_EXEC);
	return current_tag;
}

/* --- statements ------------------------------------------------------------------------------- */

/* How a function handles the tag. */
struct keeper {
	uint64_t id;
	bool is_kept; /* false: the function is left out, and only restores the tag */
	bool is_root;
	tree saved; /* an SSA name: the tag at entry */
};

static void add_store(gimple_seq *seq, tree value)
{
	gimple_seq_add_stmt(seq, gimple_build_assign(declare_tag(), value));
}

/* The scheduler moves nothing past this barrier, so the function's code stays between its
 * stores. */
static void add_barrier(gimple_seq *seq)
{
	gasm *barrier = gimple_build_asm_vec("", NULL, NULL, NULL, NULL);

	gimple_asm_set_volatile(barrier, true);
	gimple_seq_add_stmt(seq, barrier);
}

/* Appends the store of this function's tag to stacktag_current. */
static void add_enter(gimple_seq *seq, const struct keeper *k)
{
	tree id = build_int_cstu(tag_type(), k->id), product, tag;

	if (!k->is_kept) {
		add_store(seq, k->saved);
		return;
	}
	if (k->is_root) {
		add_store(seq, id);
		return;
	}
	product = make_ssa_name(tag_type());
	tag = make_ssa_name(tag_type());
	gimple_seq_add_stmt(seq, gimple_build_assign(product, MULT_EXPR, k->saved,
						     build_int_cstu(tag_type(), 11)));
	gimple_seq_add_stmt(seq, gimple_build_assign(tag, BIT_XOR_EXPR, product, id));
	add_store(seq, tag);
}

static gimple_seq enter_seq(const struct keeper *k)
{
	gimple_seq seq = NULL;

	add_enter(&seq, k);
	return seq;
}

static gimple_seq leave_seq(const struct keeper *k)
{
	gimple_seq seq = NULL;

	add_barrier(&seq);
	add_store(&seq, k->saved);
	return seq;
}

/* --- calls ------------------------------------------------------------------------------------ */

static bool in_one_register(tree type)
{
	if (VOID_TYPE_P(type) || POINTER_TYPE_P(type) || INTEGRAL_TYPE_P(type))
		return !TYPE_SIZE(type) || tree_to_uhwi(TYPE_SIZE(type)) <= 64;
	return SCALAR_FLOAT_TYPE_P(type) && tree_to_uhwi(TYPE_SIZE(type)) <= 64;
}

/* Returns whether a call that is marked as a tail call will certainly be a jump. */
static bool is_surely_jump(gcall *call)
{
	unsigned integers = 0, floats = 0;
	tree type = gimple_call_fntype(call);

	if (!type || !in_one_register(TREE_TYPE(type)) || gimple_call_chain(call))
		return false;
	for (unsigned i = 0; i < gimple_call_num_args(call); i++) {
		tree arg = TREE_TYPE(gimple_call_arg(call, i));

		if (!in_one_register(arg))
			return false;
		SCALAR_FLOAT_TYPE_P(arg) ? floats++ : integers++;
	}
	return integers <= 6 && floats <= 8;
}

static const char *called_name(gcall *call)
{
	tree callee = gimple_call_fndecl(call);

	return callee ? linkage_name(callee) : "";
}

/* Returns whether control may come back to the place behind this call in another way than by the
 * callee's return. */
static bool comes_back(gcall *call)
{
	return gimple_call_flags(call) & ECF_RETURNS_TWICE ||
	       gimple_call_builtin_p(call, BUILT_IN_SETJMP_RECEIVER) ||
	       fits(options.switches, called_name(call));
}

/* --- points where a function restores the tag ------------------------------------------------- */

struct points {
	auto_vec<gimple *> returns;    /* and tail calls; before them */
	auto_vec<gcall *> comebacks;   /* after them */
	auto_vec<basic_block> landing; /* at their start */
	std::set<edge_record> edges;
	unsigned calls = 0;
};

static void look_at_call(gcall *call, uint64_t id, struct points *points)
{
	edge_record edge;

	if (gimple_call_tail_p(call) && !gimple_call_must_tail_p(call) && !is_surely_jump(call))
		gimple_call_set_tail(call, false);
	if (gimple_call_tail_p(call))
		points->returns.safe_push(call);
	if (comes_back(call))
		points->comebacks.safe_push(call);
	if (!edge_of_call(id, call, &edge))
		return;
	points->calls++;
	points->edges.insert(edge);
}

static bool is_landing(basic_block bb)
{
	glabel *label = safe_dyn_cast<glabel *>(first_stmt(bb));
	edge_iterator it;
	edge e;

	if (label && DECL_NONLOCAL(gimple_label_label(label)))
		return true;
	FOR_EACH_EDGE(e, it, bb->preds)
	{
		if (e->flags & EDGE_EH)
			return true;
	}
	return false;
}

static void find_points(function *fun, uint64_t id, struct points *points)
{
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun)
	{
		if (is_landing(bb))
			points->landing.safe_push(bb);
		for (auto at = gsi_start_bb(bb); !gsi_end_p(at); gsi_next(&at)) {
			gimple *stmt = gsi_stmt(at);

			if (gimple_code(stmt) == GIMPLE_RETURN)
				points->returns.safe_push(stmt);
			else if (gcall *call = dyn_cast<gcall *>(stmt))
				look_at_call(call, id, points);
		}
	}
}

/* --- what is left out ------------------------------------------------------------------------- */

/* Returns whether a function is a resolver of an indirect function, which runs before thread-local
 * variables exist. */
static bool is_resolver(tree fndecl)
{
	cgraph_node *node = cgraph_node::get(fndecl);
	ipa_ref *ref;

	if (!node)
		return false;
	FOR_EACH_ALIAS(node, ref)
	{
		cgraph_node *alias = dyn_cast<cgraph_node *>(ref->referring);

		if (alias && alias->ifunc_resolver)
			return true;
	}
	return false;
}

/* Returns whether a function is one into which no statement may be inserted. */
static bool is_untouchable(tree fndecl)
{
	return lookup_attribute("naked", DECL_ATTRIBUTES(fndecl)) ||
	       lookup_attribute("interrupt", DECL_ATTRIBUTES(fndecl)) || is_resolver(fndecl);
}

static bool is_left_out(tree fndecl, const struct points *points)
{
	if (lookup_attribute("no_instrument_function", DECL_ATTRIBUTES(fndecl)) ||
	    (!options.leaves && !points->calls))
		return true;
	if (options.min_size &&
	    (unsigned)estimate_num_insns_fn(fndecl, &eni_size_weights) < options.min_size)
		return true;
	return fits(options.exclude, linkage_name(fndecl)) ||
	       (DECL_SOURCE_FILE(fndecl) && fits(options.files, DECL_SOURCE_FILE(fndecl)));
}

/* --- the pass --------------------------------------------------------------------------------- */

static void enter_at_entry(function *fun, struct keeper *k)
{
	gimple_seq seq = NULL;

	k->saved = make_ssa_name(tag_type());
	gimple_seq_add_stmt(&seq, gimple_build_assign(k->saved, declare_tag()));
	if (k->is_kept) {
		add_enter(&seq, k);
		add_barrier(&seq);
	}
	gsi_insert_seq_on_edge(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(fun)), seq);
}

/* Restores the tag behind a call from which control can come back twice. */
static void enter_after(gcall *call, const struct keeper *k)
{
	gimple_stmt_iterator at = gsi_for_stmt(call);
	edge_iterator it;
	edge e;

	if (!stmt_ends_bb_p(call)) {
		gsi_insert_seq_after(&at, enter_seq(k), GSI_SAME_STMT);
		return;
	}
	FOR_EACH_EDGE(e, it, gimple_bb(call)->succs)
	{
		if (!(e->flags & (EDGE_EH | EDGE_ABNORMAL)))
			gsi_insert_seq_on_edge(e, enter_seq(k));
	}
}

static void keep_tag(function *fun, struct keeper *k, struct points *points)
{
	enter_at_entry(fun, k);
	for (basic_block bb : points->landing) {
		gimple_stmt_iterator at = gsi_after_labels(bb);

		gsi_insert_seq_before(&at, enter_seq(k), GSI_SAME_STMT);
	}
	for (gcall *call : points->comebacks)
		enter_after(call, k);
	if (k->is_kept) {
		for (gimple *stmt : points->returns) {
			gimple_stmt_iterator at = gsi_for_stmt(stmt);

			gsi_insert_seq_before(&at, leave_seq(k), GSI_SAME_STMT);
		}
	}
	gsi_commit_edge_inserts();
}

static unsigned run_on(function *fun)
{
	tree fndecl = fun->decl;
	struct keeper k = {function_id(fndecl), false, false, NULL_TREE};
	struct points points;
	bool restores;

	find_points(fun, k.id, &points);
	k.is_kept = !is_untouchable(fndecl) && !is_left_out(fndecl, &points);
	k.is_root = fits(options.roots, linkage_name(fndecl));
	record_function(fndecl, (k.is_kept ? 0 : LOC_LEFT_OUT) | (k.is_root ? LOC_ROOT : 0),
			points.edges);
	restores = !points.landing.is_empty() || !points.comebacks.is_empty();
	if (is_untouchable(fndecl) || (!k.is_kept && !restores))
		return 0;
	keep_tag(fun, &k, &points);
	return TODO_update_ssa_only_virtuals;
}

namespace
{

const pass_data stacktag_pass_data = {
	GIMPLE_PASS, "stacktag", OPTGROUP_NONE, TV_NONE, PROP_ssa | PROP_cfg, 0, 0, 0, 0,
};

class stacktag_pass : public gimple_opt_pass
{
      public:
	stacktag_pass() : gimple_opt_pass(stacktag_pass_data, g)
	{
	}
	unsigned execute(function *fun) override
	{
		return run_on(fun);
	}
};

} // namespace

opt_pass *make_stacktag_pass(void)
{
	register_callback("stacktag", PLUGIN_REGISTER_GGC_ROOTS, NULL, (void *)roots);
	return new stacktag_pass();
}
