/* SPDX-License-Identifier: MIT */
/*
 * The strings and frames that an answer refers to by number: each string once, each function once.
 * Strings are escaped (base/text.h) and cut to WORDS_LONGEST bytes, since a program can have names
 * of megabytes.
 */
#ifndef WEB_WORDS_H
#define WEB_WORDS_H

#include "base/int_map.h"
#include "base/json_put.h"
#include "base/strings.h"
#include "base/vec.h"
#include "model/profile.h"

#define WORDS_LONGEST 1000

/* The kinds of frames (docs/WEB.md). */
#define WORDS_KINDS(X)                                                                             \
	X(ALL, "all")                                                                              \
	X(PART, "part")                                                                            \
	X(NATIVE, "native")                                                                        \
	X(KERNEL, "kernel")                                                                        \
	X(INLINED, "inlined")                                                                      \
	X(UNNAMED, "unnamed")                                                                      \
	X(MARK, "mark")                                                                            \
	X(PYTHON, "python")                                                                        \
	X(RUBY, "ruby")                                                                            \
	X(PHP, "php")                                                                              \
	X(PERL, "perl")                                                                            \
	X(JAVA, "java")                                                                            \
	X(ERLANG, "erlang")                                                                        \
	X(JAVASCRIPT, "javascript")                                                                \
	X(MANAGED, "managed")                                                                      \
	X(JIT, "jit")                                                                              \
	X(BLOCKED, "blocked")                                                                      \
	X(RUNNABLE, "runnable")                                                                    \
	X(AWAITED, "awaited")                                                                      \
	X(OTHER, "other")

enum words_kind {
#define WORDS_X(e, name) WORDS_##e,
	WORDS_KINDS(WORDS_X)
#undef WORDS_X
};

struct words_frame {
	uint32_t name, object; /* numbers of strings */
	enum words_kind kind;
};

/* A zeroed struct is not usable: words_begin(). */
struct words {
	struct strings *strings; /* [0] is "" */
	size_t bytes;		 /* that the strings take in the answer, about */
	VEC(struct words_frame) frames;
	struct int_map by_symbol; /* symbol, is_inlined -> frame */
	struct int_map by_name;	  /* name, object and kind -> frame, of the other frames */
	struct buf text;
};

/* Makes the table. Returns 0 or -ENOMEM; the caller calls words_end() in any case. */
int words_begin(struct words *words);
void words_end(struct words *words);

/* Returns whether a text is one that an answer shows so. */
bool words_is(const char *text, const char *shown);

/* Finds or adds a string; NULL is "". Returns 0, -ENOMEM or -EOVERFLOW. */
int words_string(struct words *words, const char *text, uint32_t *ret_number);

/* Returns the kind of a symbol's frame. */
enum words_kind words_kind(const struct profile_symbol *symbol, bool is_inlined);

/* Returns the word of a kind. */
const char *words_kind_name(enum words_kind kind);

/* Finds or adds the frame of a symbol. Errors as words_string(). */
int words_symbol(struct words *words, const struct profile_symbol *symbol, bool is_inlined,
		 uint32_t *ret_frame);

/* Does the same, by the text of its name and of an object: for symbols of several profiles, of
 * which each numbers its own. words_symbol() must not be used for the same table. */
int words_unified(struct words *words, const struct profile_symbol *symbol, const char *object,
		  bool is_inlined, uint32_t *ret_frame);

/* Finds or adds a frame that is no symbol, by its name. Errors as words_string(). */
int words_named(struct words *words, const char *name, enum words_kind kind, uint32_t *ret_frame);

/* Returns about how many bytes words_put() writes. */
size_t words_size(const struct words *words);

/* Writes the members "strings", "kinds" and, with `frames`, "frames". */
void words_put(const struct words *words, bool frames, struct json *j);

#endif
