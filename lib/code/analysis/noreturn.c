/* SPDX-License-Identifier: MIT */
/* Recognises functions by name, also behind linkage stubs; see noreturn.h. */
#include "analysis/noreturn.h"

#include <string.h>

#include "arch/code_form.h"

/* Complete names. */
static const char *const names[] = {
	"abort",
	"exit",
	"_exit",
	"_Exit",
	"quick_exit",
	"pthread_exit",
	"thrd_exit",
	"longjmp",
	"_longjmp",
	"siglongjmp",
	"__longjmp",
	"__longjmp_chk",
	"__stack_chk_fail",
	"__stack_chk_fail_local",
	"__fortify_fail",
	"__chk_fail",
	"__libc_fatal",
	"__assert",
	"__assert_fail",
	"__assert_perror_fail",
	"__libc_assert_fail",
	"__malloc_assert",
	"g_abort",
	"g_assertion_message",
	"g_assertion_message_expr",
	"_Unwind_Resume",
	"__cxa_throw",
	"__cxa_rethrow",
	"__cxa_bad_cast",
	"__cxa_bad_typeid",
	"__cxa_throw_bad_array_new_length",
	"__cxa_throw_bad_array_length",
	"__cxa_call_unexpected",
	"__cxa_call_terminate",
	"__cxa_pure_virtual",
	"__cxa_deleted_virtual",
	"__clang_call_terminate",
	"_ZSt9terminatev",
	"_ZSt10unexpectedv",
	"rust_begin_unwind",
	"rust_panic",
	/* err(3), libiberty and binutils */
	"err",
	"errx",
	"verr",
	"verrx",
	"xexit",
	"xmalloc_failed",
	"_bfd_abort",
	/* gfortran, Perl, Ruby, Tcl, Python */
	"_gfortran_error_stop_string",
	"_gfortran_os_error_at",
	"_gfortran_runtime_error",
	"_gfortran_runtime_error_at",
	"_gfortran_stop_string",
	"Perl_croak",
	"Perl_croak_nocontext",
	"Perl_croak_no_modify",
	"Perl_croak_xs_usage",
	"Perl_my_exit",
	"Py_FatalError",
	"_Py_FatalErrorFunc",
	"rb_bug",
	"rb_exc_raise",
	"rb_fatal",
	"rb_raise",
	"rb_sys_fail",
	"Tcl_Panic",
	/* GNAT */
	"__gnat_reraise",
	"__gnat_reraise_zcx",
	"system__assertions__raise_assert_failure",
	"ada__exceptions__raise_exception",
	"ada__exceptions__raise_exception_always",
	"ada__exceptions__reraise_occurrence_always",
	"ada__exceptions__reraise_occurrence_no_defer",
};

/* Beginnings of names: the checks of Ada's programs. */
static const char *const beginnings[] = {
	"__gnat_rcheck_",
	"__gnat_raise_",
};

/* Parts of names: std::__throw_...() of libstdc++, and core::panicking::...() of Rust. */
static const char *const parts[] = {
	"__throw_", "4core9panicking", "handle_alloc_error", "unwrap_failed", "expect_failed",
};

/* Complete names of functions that can return twice. Compilers put a landing pad after calls of
 * them, which is not the start of the next function. */
static const char *const returning[] = {
	"setjmp", "_setjmp", "__setjmp", "sigsetjmp", "__sigsetjmp", "getcontext", "vfork",
};

/* Complete names of functions that return or do not return, depending on an argument. */
static const char *const unsure[] = {"error", "error_at_line"};

static bool is_among(const char *name, const char *const *all, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(name, all[i]))
			return true;
	}
	return false;
}

bool noreturn_is_name(const char *name)
{
	if (!name || !*name)
		return false;
	if (is_among(name, names, sizeof(names) / sizeof(*names)))
		return true;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	}
	if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0)
		return false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (strstr(name, parts[i]))
			return true;
	}
	return false;
}

int noreturn_add_function(struct noreturn *n, const char *name, uint64_t vaddr)
{
	if (!noreturn_is_name(name))
		return 0;
	if (VEC_RESERVE(&n->functions, 1))
		return -ENOMEM;
	n->functions.items[n->functions.count++] = vaddr;
	return 0;
}

int noreturn_add_slot(struct noreturn *n, const char *name, uint64_t vaddr, uint64_t function)
{
	struct noreturn_slot slot = {.vaddr = vaddr, .does_not_return = noreturn_is_name(name)};

	if (n->slots.count >= NORETURN_MAX_SLOTS)
		return 0;
	if (VEC_RESERVE(&n->slots, 1))
		return -ENOMEM;
	slot.function = slot.does_not_return ? 0 : function;
	slot.returns = name && is_among(name, returning, sizeof(returning) / sizeof(*returning));
	slot.is_unsure = name && is_among(name, unsure, sizeof(unsure) / sizeof(*unsure));
	n->slots.items[n->slots.count++] = slot;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int compare_slots(const void *a, const void *b)
{
	const struct noreturn_slot *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

int noreturn_finish(struct noreturn *n)
{
	if (n->functions.count)
		qsort(n->functions.items, n->functions.count, sizeof(uint64_t), compare);
	if (n->slots.count)
		qsort(n->slots.items, n->slots.count, sizeof(*n->slots.items), compare_slots);
	n->cache = calloc(NORETURN_CACHE, sizeof(*n->cache));
	return n->cache ? 0 : -ENOMEM;
}

void noreturn_fini(struct noreturn *n)
{
	free(n->functions.items);
	free(n->slots.items);
	free(n->cache);
	memset(n, 0, sizeof(*n));
}

static struct noreturn_slot *find_slot(const struct noreturn *n, uint64_t slot)
{
	const struct noreturn_slot key = {.vaddr = slot};

	return n->slots.count ? bsearch(&key, n->slots.items, n->slots.count,
					sizeof(*n->slots.items), compare_slots)
			      : NULL;
}

bool noreturn_has_slot(const struct noreturn *n, uint64_t slot)
{
	const struct noreturn_slot *found = find_slot(n, slot);

	return found && found->does_not_return;
}

uint64_t noreturn_slot_function(const struct noreturn *n, uint64_t slot)
{
	const struct noreturn_slot *found = find_slot(n, slot);

	return found ? found->function : 0;
}

/* Returns the slot through which the linkage stub at `vaddr` jumps; NULL: there is no stub, or the
 * slot is not known. */
static struct noreturn_slot *slot_of_stub(const struct noreturn *n, const struct elf_file *elf,
					  uint64_t vaddr)
{
	uint8_t code[CODE_FORM_STUB];
	uint64_t offset, slot;

	if (!n->slots.count || !elf_file_vaddr_to_offset(elf, vaddr, &offset) ||
	    elf_file_read(elf, offset, code, sizeof(code)) != sizeof(code))
		return NULL;
	return code_form_stub_slot(code, sizeof(code), vaddr, &slot) ? find_slot(n, slot) : NULL;
}

static const struct noreturn_cached *look_up(struct noreturn *n, const struct elf_file *elf,
					     uint64_t vaddr)
{
	struct noreturn_cached *c = &n->cache[(vaddr >> 4 ^ vaddr >> 14) & (NORETURN_CACHE - 1)];

	if (c->is_known && c->vaddr == vaddr)
		return c;
	*c = (struct noreturn_cached){
		.vaddr = vaddr, .is_known = true, .slot = slot_of_stub(n, elf, vaddr)};
	c->is_named = n->functions.count && bsearch(&vaddr, n->functions.items, n->functions.count,
						    sizeof(vaddr), compare);
	return c;
}

bool noreturn_has_function(struct noreturn *n, const struct elf_file *elf, uint64_t vaddr)
{
	const struct noreturn_cached *c = look_up(n, elf, vaddr);

	return c->is_named || (c->slot && c->slot->does_not_return);
}

struct noreturn_slot *noreturn_slot_of_call(struct noreturn *n, const struct elf_file *elf,
					    const struct insn *i)
{
	if (i->idiom == INSN_SLOT)
		return find_slot(n, i->target);
	return i->flow == INSN_CALL ? look_up(n, elf, i->target)->slot : NULL;
}

bool noreturn_is_call(struct noreturn *n, const struct elf_file *elf, const struct insn *i)
{
	if (i->flow == INSN_CALL)
		return noreturn_has_function(n, elf, i->target);
	return i->idiom == INSN_SLOT && noreturn_has_slot(n, i->target);
}

bool noreturn_returns(struct noreturn *n, const struct elf_file *elf, const struct insn *i)
{
	const struct noreturn_slot *slot = noreturn_slot_of_call(n, elf, i);

	return slot && slot->returns;
}

uint64_t noreturn_callee(struct noreturn *n, const struct elf_file *elf, const struct insn *i)
{
	const struct noreturn_slot *slot;

	if (i->idiom == INSN_SLOT)
		return noreturn_slot_function(n, i->target);
	if (i->flow != INSN_CALL && i->flow != INSN_JUMP && i->flow != INSN_BRANCH)
		return 0;
	slot = look_up(n, elf, i->target)->slot;
	return slot && slot->function ? slot->function : i->target;
}
