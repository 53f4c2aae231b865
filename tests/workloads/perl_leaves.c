/* SPDX-License-Identifier: MIT */
/*
 * Leaves for perl_tree.pl to call: an extension of Perl, by its own headers. Its boot function
 * makes the functions Leaves::leaf_00 to leaf_77, each of which calls a native function of its own.
 */
#define PERL_NO_GET_CONTEXT
#include "EXTERN.h"
#include "perl.h"

#include "XSUB.h"

#include "leaf_table.h"

XS_EXTERNAL(call_leaf);
XS_EXTERNAL(call_leaf)
{
	dXSARGS;
	dXSI32;

	leaves[ix](items ? SvIV(ST(0)) : 1);
	XSRETURN_IV(1);
}

/* Calls its argument, which may be a function in C, by call_sv(). */
XS_EXTERNAL(call_back);
XS_EXTERNAL(call_back)
{
	dXSARGS;
	SV *function = items ? ST(0) : &PL_sv_undef, *argument = items > 1 ? ST(1) : &PL_sv_undef;

	SP -= items;
	PUSHMARK(SP);
	XPUSHs(argument);
	PUTBACK;
	call_sv(function, G_DISCARD | (items > 2 ? G_EVAL : 0));
	XSRETURN_EMPTY;
}

XS_EXTERNAL(boot_leaves);
XS_EXTERNAL(boot_leaves)
{
	dXSARGS;
	char name[32];

	PERL_UNUSED_VAR(items);
	for (int i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "Leaves::leaf_%o%o", (unsigned)i / 8, (unsigned)i % 8);
		CvXSUBANY(newXS(name, call_leaf, __FILE__)).any_i32 = i;
	}
	newXS("Leaves::call_back", call_back, __FILE__);
	XSRETURN_YES;
}
