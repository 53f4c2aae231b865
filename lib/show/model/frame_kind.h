/* SPDX-License-Identifier: MIT */
/*
 * The kinds of frames: what executed the code of a frame. Views and exports show them by colours,
 * categories and names; all get them from here.
 */
#ifndef MODEL_FRAME_KIND_H
#define MODEL_FRAME_KIND_H

#include <stdbool.h>

#include "model/profile.h"

enum frame_kind {
	FRAME_NATIVE,	  /* machine code of a file */
	FRAME_INLINED,	  /* likewise, of a function that was inlined into its caller */
	FRAME_KERNEL,	  /* the kernel, or a module of it */
	FRAME_JIT,	  /* machine code that a process made at run time */
	FRAME_PYTHON,	  /* a function of Python, which an interpreter runs */
	FRAME_PHP,	  /* a function or method of PHP, or the code of a file of it, likewise */
	FRAME_PERL,	  /* a function of Perl, or code that it evaluates, likewise */
	FRAME_RUBY,	  /* a method or block of Ruby, likewise */
	FRAME_JAVA,	  /* a method of Java, compiled or not; or a stub of its machine */
	FRAME_JAVASCRIPT, /* likewise, a function of JavaScript */
	FRAME_ERLANG,	  /* likewise, a function of Erlang or Elixir */
	FRAME_MANAGED,	  /* a function of a runtime, of a language not known here */
	FRAME_NOTE,	  /* no code: a mark, what a thread waited for, frames that are missing */
	FRAME_KINDS
};

/* Returns the kind of frames whose code is of an object: any but FRAME_INLINED. */
enum frame_kind frame_kind_of_object(const struct store_object *object);

/* Returns the kind of a frame. */
enum frame_kind frame_kind_of(const struct profile_frame *frame);

/* Returns whether frames of a kind are functions of a runtime: those that an interpreter runs, or
 * that were compiled at run time. Their objects are source files, and their offsets are hashes. */
bool frame_kind_is_managed(enum frame_kind kind);

/* Returns the name of a kind in JSON and tables: "native", "python". */
const char *frame_kind_name(enum frame_kind kind);

#endif
