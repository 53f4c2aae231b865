/* SPDX-License-Identifier: MIT */
/*
 * The parts of a function's demangled name: what it returns, its own name with its scopes, its
 * template arguments, its parameters. From them come the short name that reports show
 * ("process_batch‹…›" for "void process_batch<float, 4ul>(std::vector<float> const&)"), and the
 * forms of a name by which people look for a function.
 *
 * The names are those of demanglers: C++ and Rust, D, Go, Ada and C; the grammar is that of
 * libiberty's output. A name that is something else is its own short name.
 */
#ifndef BASE_FUNCTION_NAME_H
#define BASE_FUNCTION_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* A name taken apart; all are offsets into it. */
struct function_name {
	size_t begin; /* of the name with its scopes, behind what it returns */
	size_t end;   /* of it, where the parameters begin; the length, if there are none */
	/* behind the parameters: " const", " [clone .cold]"; the length, if there is nothing */
	size_t rest;
};

/* Takes the first `len` bytes of a name apart. Any bytes will do. */
void function_name_parse(const char *name, size_t len, struct function_name *ret_parts);

/* What replaces the template arguments of a short name. */
enum function_name_arguments {
	FUNCTION_NAME_NO_ARGUMENTS, /* nothing: "process_batch" */
	FUNCTION_NAME_FOLDED,	    /* "‹…›", or "<...>" where only ASCII is shown */
	FUNCTION_NAME_FOLDED_ASCII,
};

/* Appends the short name: without what the function returns, its parameters and the qualifiers
 * behind them, and with its template arguments replaced. The suffix of a clone (" [clone .cold]")
 * or of a namesake (" (lexer.c)") stays. Errors as those of `b`. */
void function_name_put_short(const char *name, size_t len, enum function_name_arguments arguments,
			     struct buf *b);

#endif
