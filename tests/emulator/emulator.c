/* SPDX-License-Identifier: MIT */
/*
 * An emulator of branch records: a valgrind tool that runs a program, sees every instruction that
 * retires, feeds rings of 8, 16 and 32 entries in call-stack mode and one of 32 with any branch
 * (ring.h), and takes a sample every so many instructions. It writes
 *
 *   PREFIX.ring8.data, .ring16.data, .ring32.data   as perf record --call-graph lbr would
 *   PREFIX.stack8.data, ...                         the same with user registers and stack
 *   PREFIX.any.data                                 as perf record -b would
 *   PREFIX.dwarf.data                               registers and stack alone
 *   PREFIX.truth                                    the true call path of each sample, as text
 *
 * all from one run, so that they can be compared sample by sample. Everything it makes says that
 * it is emulated: the machine's name is "emulated", and so is the event.
 *
 *   translated block ─► instrument() ─┬─ each instruction: count down; at 0 take_sample()
 *                                     ├─ call:   on_call()   push everywhere
 *                                     ├─ return: on_return() pop, prune
 *                                     └─ jump:   on_jump()
 *
 * valgrind keeps the guest's registers in memory between instructions (allregs-at-each-insn), so
 * a sample can hit any instruction, prologues and epilogues included. It runs one thread at a
 * time; each has rings of its own, as the kernel gives each thread its own call stack.
 *
 * Rejected: single-stepping by ptrace (50,000 instructions a second; perl alone starts with four
 * million), and qemu's plugins (those of Debian 12 cannot read registers).
 *
 * A child process writes nothing.
 */
#include "emulator.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_options.h"
#include "pub_tool_threadstate.h"
#include "libvex_guest_amd64.h"

static struct emulator e = {
	.prefix = "emulated", .period = 100000, .stack_bytes = 32768, .max_samples = 1000};

/* Instructions until the next sample; the code that instrument() makes counts it down. */
static ULong countdown;
static ULong seed = 88172645463325252ull;

/* --- threads --------------------------------------------------------------------------------- */

static struct emulated_thread *thread_of(ThreadId tid)
{
	struct emulated_thread *t = e.threads[tid];

	tl_assert(tid < MAX_THREADS);
	if (t)
		return t;
	t = VG_(calloc)("emulator.thread", 1, sizeof(*t));
	t->truth.stack = VG_(malloc)("emulator.truth", TRUTH_MAX * sizeof(*t->truth.stack));
	for (UInt i = 0; i < RINGS; i++)
		ring_init(&t->rings[i], emulator_ring_size[i]);
	ring_init(&t->any, RING_MAX);
	e.threads[tid] = t;
	return t;
}

static void on_thread(ThreadId parent, ThreadId child)
{
	struct emulated_thread *t = e.threads[child];

	if (t) { /* its thread id was another thread's before */
		VG_(free)(t->truth.stack);
		VG_(free)(t);
		e.threads[child] = NULL;
	}
	if (parent != VG_INVALID_THREADID)
		thread_of(child)->is_new = True;
}

/* --- branches -------------------------------------------------------------------------------- */

static VG_REGPARM(3) void on_call(HWord from, HWord to, HWord address)
{
	struct emulated_thread *t = thread_of(VG_(get_running_tid)());
	HWord sp = VG_(get_SP)(VG_(get_running_tid)());

	for (UInt i = 0; i < RINGS; i++)
		ring_push(&t->rings[i], from, to);
	ring_push(&t->any, from, to);
	/* `call 1f; 1: pop` is no call: nothing returns to it. */
	if (to == address)
		return;
	truth_push(&t->truth, (struct truth_entry){.slot = sp, .from = from, .address = address});
}

static VG_REGPARM(2) void on_return(HWord from, HWord to)
{
	struct emulated_thread *t = thread_of(VG_(get_running_tid)());

	for (UInt i = 0; i < RINGS; i++)
		ring_pop(&t->rings[i]);
	ring_push(&t->any, from, to);
	truth_prune(&t->truth, VG_(get_SP)(VG_(get_running_tid)()));
}

static VG_REGPARM(2) void on_jump(HWord from, HWord to)
{
	struct emulated_thread *t = thread_of(VG_(get_running_tid)());

	ring_push(&t->any, from, to);
	truth_prune(&t->truth, VG_(get_SP)(VG_(get_running_tid)()));
}

/* --- signals --------------------------------------------------------------------------------- */

static void before_signal(ThreadId tid, Int number, Bool is_alternate)
{
	struct emulated_thread *t = thread_of(tid);

	(void)number;
	(void)is_alternate;
	t->interrupted = VG_(get_IP)(tid);
	t->interrupted_sp = VG_(get_SP)(tid);
	truth_prune(&t->truth, t->interrupted_sp);
}

/* The signal's frame: the handler's return address stands at its start, above the red zone. */
static void on_signal_frame(Addr start, SizeT size, ThreadId tid)
{
	struct emulated_thread *t = thread_of(tid);
	Addr slot = start + VG_STACK_REDZONE_SZB;

	(void)size;
	if (!t->interrupted || t->truth.n + 2 > TRUTH_MAX)
		return;
	t->truth.stack[t->truth.n++] = (struct truth_entry){.slot = slot + 8,
							    .from = t->interrupted,
							    .address = t->interrupted,
							    .below = t->interrupted_sp,
							    .kind = TRUTH_SIGNAL};
	t->truth.stack[t->truth.n++] = (struct truth_entry){.slot = slot, .kind = TRUTH_TRAMPOLINE};
	t->interrupted = 0;
}

/* --- samples --------------------------------------------------------------------------------- */

/* Varied by a quarter, so that no loop is synchronous with it. */
static ULong next_period(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return e.period - e.period / 4 + seed % (e.period / 2 + 1);
}

static void finish(Int status);

static VG_REGPARM(2) void take_sample(HWord ip, VexGuestAMD64State *state)
{
	ThreadId tid = VG_(get_running_tid)();
	struct emulated_thread *t = thread_of(tid);

	e.instructions += e.waited;
	countdown = e.waited = next_period();
	if (e.is_child)
		return;
	e.n_samples++;
	t->in_transition = truth_prune(&t->truth, state->guest_RSP) > 0;
	write_sample(&e, t, ip, state);
	if (e.n_samples == (ULong)e.max_samples) {
		finish(0);
		VG_(exit)(0);
	}
}

/* --- translation ----------------------------------------------------------------------------- */

struct block {
	IRSB *out;
	Addr at;		  /* of the instruction at hand */
	UInt len;		  /* of it */
	Bool exit_is_fallthrough; /* its conditional exit goes on; it branches to the block's end */
};

static IRExpr *number(HWord n)
{
	return mkIRExpr_HWord(n);
}

static IRExpr *as_atom(IRSB *out, IRType type, IRExpr *expression)
{
	IRTemp temp = newIRTemp(out->tyenv, type);

	addStmtToIRSB(out, IRStmt_WrTmp(temp, expression));
	return IRExpr_RdTmp(temp);
}

/* The function reads the guest's registers. */
static void reads_registers(IRDirty *call)
{
	call->nFxState = 2;
	VG_(memset)(&call->fxState, 0, sizeof(call->fxState));
	call->fxState[0].fx = Ifx_Read;
	call->fxState[0].offset = offsetof(VexGuestAMD64State, guest_RAX);
	call->fxState[0].size = 16 * 8;
	call->fxState[1].fx = Ifx_Read;
	call->fxState[1].offset = offsetof(VexGuestAMD64State, guest_RIP);
	call->fxState[1].size = 8;
}

static void add_call(struct block *b, Int regparms, const HChar *name, void *function,
		     IRExpr **arguments, IRExpr *guard)
{
	IRDirty *call =
		unsafeIRDirty_0_N(regparms, name, VG_(fnptr_to_fnentry)(function), arguments);

	if (guard)
		call->guard = guard;
	reads_registers(call);
	addStmtToIRSB(b->out, IRStmt_Dirty(call));
}

static void add_countdown(struct block *b)
{
	IRExpr *address = number((HWord)&countdown);
	IRExpr *left = as_atom(b->out, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, address));
	IRExpr *less = as_atom(b->out, Ity_I64,
			       IRExpr_Binop(Iop_Sub64, left, IRExpr_Const(IRConst_U64(1))));
	IRExpr *is_zero;

	addStmtToIRSB(b->out, IRStmt_Store(Iend_LE, address, less));
	is_zero = as_atom(b->out, Ity_I1,
			  IRExpr_Binop(Iop_CmpEQ64, less, IRExpr_Const(IRConst_U64(0))));
	IRDirty *call = unsafeIRDirty_0_N(2, "take_sample", VG_(fnptr_to_fnentry)(take_sample),
					  mkIRExprVec_2(number(b->at), IRExpr_GSPTR()));
	call->guard = is_zero;
	reads_registers(call);
	addStmtToIRSB(b->out, IRStmt_Dirty(call));
}

static void add_exit(struct block *b, const IRStmt *exit)
{
	Addr to = exit->Ist.Exit.dst->Ico.U64;

	if (exit->Ist.Exit.jk != Ijk_Boring || to == b->at) /* a turn of a repeated instruction */
		return;
	if (to == b->at + b->len) {
		b->exit_is_fallthrough = True;
		return;
	}
	add_call(b, 2, "on_jump", on_jump, mkIRExprVec_2(number(b->at), number(to)),
		 exit->Ist.Exit.guard);
}

static void add_end(struct block *b, const IRSB *in)
{
	IRExpr *next = in->next;
	Addr behind = b->at + b->len;

	switch (in->jumpkind) {
	case Ijk_Call:
		add_call(b, 3, "on_call", on_call,
			 mkIRExprVec_3(number(b->at), next, number(behind)), NULL);
		break;
	case Ijk_Ret:
		add_call(b, 2, "on_return", on_return, mkIRExprVec_2(number(b->at), next), NULL);
		break;
	case Ijk_Boring:
		if (next->tag == Iex_Const && !b->exit_is_fallthrough &&
		    (next->Iex.Const.con->Ico.U64 == behind ||
		     next->Iex.Const.con->Ico.U64 == b->at))
			break;
		add_call(b, 2, "on_jump", on_jump, mkIRExprVec_2(number(b->at), next), NULL);
		break;
	default:
		break;
	}
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
			const VexGuestExtents *extents, const VexArchInfo *arch, IRType guest_word,
			IRType host_word)
{
	struct block b = {.out = deepCopyIRSBExceptStmts(in)};

	(void)closure, (void)layout, (void)extents, (void)arch, (void)guest_word, (void)host_word;
	for (Int i = 0; i < in->stmts_used; i++) {
		IRStmt *statement = in->stmts[i];

		if (!statement || statement->tag == Ist_NoOp)
			continue;
		if (statement->tag == Ist_IMark) {
			b.at = statement->Ist.IMark.addr;
			b.len = statement->Ist.IMark.len;
			b.exit_is_fallthrough = False;
			addStmtToIRSB(b.out, statement);
			add_countdown(&b);
			continue;
		}
		if (statement->tag == Ist_Exit)
			add_exit(&b, statement);
		addStmtToIRSB(b.out, statement);
	}
	add_end(&b, in);
	return b.out;
}

/* --- the tool -------------------------------------------------------------------------------- */

static void on_mapping(Addr start, SizeT size, Bool r, Bool w, Bool x, ULong handle)
{
	(void)r, (void)w, (void)handle;
	if (x && !e.is_child)
		write_mapping(&e, start, size);
}

static void on_protection(Addr start, SizeT size, Bool r, Bool w, Bool x)
{
	on_mapping(start, size, r, w, x, 0);
}

static void in_child(ThreadId tid)
{
	(void)tid;
	e.is_child = True;
}

static Bool on_option(const HChar *argument)
{
	if VG_STR_CLO (argument, "--prefix", e.prefix) {
	} else if VG_INT_CLO (argument, "--period", e.period) {
	} else if VG_BINT_CLO (argument, "--stack", e.stack_bytes, 0, EMULATOR_MAX_STACK) {
	} else if VG_INT_CLO (argument, "--samples", e.max_samples) {
	} else {
		return False;
	}
	return True;
}

static void show_options(void)
{
	VG_(printf)
	("    --prefix=PATH    files to write begin with this [emulated]\n"
	 "    --period=N       instructions between samples [100000]\n"
	 "    --stack=BYTES    of user stack in a sample, at most [32768]\n"
	 "    --samples=N      at most [1000]\n");
}

static void show_debug_options(void)
{
}

static void after_options(void)
{
	if (e.period < 4)
		e.period = 4;
	countdown = e.waited = next_period();
	open_files(&e);
}

static void finish(Int status)
{
	(void)status;
	if (!e.is_child)
		close_files(&e);
	VG_(umsg)("emulated %llu instructions, %llu samples\n", e.instructions, e.n_samples);
}

static void before_options(void)
{
	VG_(details_name)("Branch record emulator");
	VG_(details_version)(NULL);
	VG_(details_description)("emulates the processor's last-branch records");
	VG_(details_copyright_author)("");
	VG_(details_bug_reports_to)("the project");
	VG_(basic_tool_funcs)(after_options, instrument, finish);
	VG_(needs_command_line_options)(on_option, show_options, show_debug_options);
	VG_(track_pre_thread_ll_create)(on_thread);
	VG_(track_pre_deliver_signal)(before_signal);
	VG_(track_new_mem_stack_signal)(on_signal_frame);
	VG_(track_new_mem_startup)(on_mapping);
	VG_(track_new_mem_mmap)(on_mapping);
	VG_(track_change_mem_mprotect)(on_protection);
	VG_(atfork)(NULL, NULL, in_child);
	/* Every instruction's registers are in memory, and a block ends at each branch. */
	VG_(clo_vex_control).iropt_register_updates_default = VexRegUpdAllregsAtEachInsn;
	VG_(clo_px_file_backed) = VexRegUpdAllregsAtEachInsn;
	VG_(clo_vex_control).guest_chase = False;
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
