/* SPDX-License-Identifier: MIT */
/*
 * Readable names; see demangle.h.
 *
 * Names come from files that the profiled program controls, and a mangled name is a program in a
 * small language: nesting needs stack, and with back references a short name prints gigabytes.
 * These limits apply:
 *   - the mangled name's length bounds the parser's recursion (the demangler's own limit would
 *     refuse all names over 1 KiB, which template-heavy code often exceeds). Names of more than
 *     SHORT_BYTES are read in a separate thread, whose stack size depends on their length;
 *   - the readable name's length bounds time and memory: the demangler passes its output in pieces,
 *     and the piece that exceeds the limit leaves the demangler by longjmp(). The demangler keeps
 *     its state on the stack, so that loses no memory (except a small buffer in Rust's punycode
 *     names). What was printed until then is shown, shortened;
 *   - D's demangler does not pass pieces, so the work for a name is bounded before it begins.
 *
 * The demangler leaves out what is nested in more than PRINT_LEVELS levels, and each argument of a
 * list counts as one level; what it has printed around that is shown as a shortened name.
 *
 * Suffixes: compilers' ".cold", ".part.0" become " [clone .cold]". The demangler does that for C++
 * and drops them for Rust, so this file does it for Rust, D and Ada; ".llvm.123" means nothing to a
 * reader and is dropped. The part after '@' ("@plt", a symbol version) is kept as it is.
 */
#include "sym/demangle.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "sym/shorten.h"

#define SHORT_BYTES	   4096
#define MAX_MANGLED_BYTES  (64 * 1024) /* as in stores */
#define PRINT_LEVELS	   1024	       /* libiberty's */
#define MAX_READABLE_BYTES (1024 * 1024)
#define STACK_BYTES	   (8u << 20)	       /* of a thread that reads a long name; */
#define STACK_TIMES	   2048		       /* and as many more for each byte of the name */
#define MAX_D_WORK	   (UINT64_C(1) << 22) /* bytes of a D name that are read, with repetitions */

struct output {
	struct buf text;
	bool is_partial; /* not all of the name was printed */
	jmp_buf too_long;
};

static void take(const char *piece, size_t len, void *arg)
{
	struct output *out = arg;

	if (len > MAX_READABLE_BYTES - out->text.len)
		longjmp(out->too_long, 1);
	buf_put(&out->text, piece, len);
}

/* --- C++ and Rust ---------------------------------------------------------------------------- */

/* Returns where the suffixes of a Rust name start: in the older mangling behind the hash, since
 * there can be dots before it; in the newer mangling at the first dot. */
static const char *rust_suffix(const char *mangled)
{
	const char *hash = mangled;

	if (mangled[1] == 'R')
		return strchrnul(mangled, '.');
	while ((hash = strstr(hash + 1, "17h"))) {
		size_t len = 3 + strspn(hash + 3, "0123456789abcdef");

		if (len == 19 && hash[len] == 'E')
			return hash + len + 1;
	}
	return "";
}

static void put_suffix(const char *suffix, struct output *out)
{
	const char *llvm = strstr(suffix, ".llvm.");
	size_t len = llvm ? (size_t)(llvm - suffix) : strlen(suffix);

	if (!len || *suffix != '.')
		return;
	buf_put(&out->text, " [clone ", 8);
	buf_put(&out->text, suffix, len);
	buf_put_u8(&out->text, ']');
}

/* Rust is tried first: its older names are valid C++ names that end in a hash. */
static bool print(const char *mangled, struct output *out)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;

	if (setjmp(out->too_long)) {
		out->is_partial = true;
		return true;
	}
	if (rust_demangle_callback(mangled, options, take, out)) {
		put_suffix(rust_suffix(mangled), out);
		return true;
	}
	buf_clear(&out->text);
	if (mangled[1] != 'Z')
		return false;
	if (cplus_demangle_v3_callback(mangled, options, take, out))
		return true;
	out->is_partial = out->text.len && strlen(mangled) > PRINT_LEVELS;
	return out->is_partial;
}

struct printing {
	const char *mangled;
	struct output *out;
	bool done;
};

static void *print_in_thread(void *arg)
{
	struct printing *p = arg;

	p->done = print(p->mangled, p->out);
	return NULL;
}

static bool print_long(const char *mangled, size_t len, struct output *out)
{
	struct printing p = {.mangled = mangled, .out = out};
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr))
		return false;
	if (!pthread_attr_setstacksize(&attr, STACK_BYTES + len * STACK_TIMES) &&
	    !pthread_create(&thread, &attr, print_in_thread, &p))
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	return p.done;
}

/* --- D --------------------------------------------------------------------------------------- */

/* Returns the distance of a back reference, whose letters are digits of base 26, the last one in
 * lower case; 0 if it is no reference. */
static size_t d_distance(const char *at)
{
	size_t distance = 0;

	for (; *at >= 'A' && *at <= 'Z' && distance < SHORT_BYTES; at++)
		distance = distance * 26 + (size_t)(*at - 'A');
	return *at >= 'a' && *at <= 'z' ? distance * 26 + (size_t)(*at - 'a') : 0;
}

/* Returns whether the work to read a name is within the limit. A back reference ("Q" and a
 * distance) reads a part of the name again, with the references in it. */
static bool is_bounded_d(const char *mangled, size_t len)
{
	uint64_t *sums = calloc(len + 1, sizeof(*sums)); /* sums of the work before each byte */
	bool is_bounded = sums;

	for (size_t i = 0; is_bounded && i < len; i++) {
		size_t distance = mangled[i] == 'Q' ? d_distance(mangled + i + 1) : 0;
		uint64_t work = 1;

		/* An identifier is read as it is; a type may end anywhere before the reference. */
		if (distance && distance <= i) {
			char first = mangled[i - distance];

			work += first >= '0' && first <= '9' ? len : sums[i] - sums[i - distance];
		}
		sums[i + 1] = sums[i] + work;
		is_bounded = sums[i + 1] < MAX_D_WORK;
	}
	free(sums);
	return is_bounded;
}

static bool print_d(char *mangled, struct output *out)
{
	char *dot = strchr(mangled, '.'), *readable;
	char suffix[64] = "";

	if (dot) {
		snprintf(suffix, sizeof(suffix), "%s", dot);
		*dot = '\0';
	}
	if (!is_bounded_d(mangled, strlen(mangled)))
		return false;
	readable = dlang_demangle(mangled, DMGL_PARAMS);
	if (!readable)
		return false;
	buf_put(&out->text, readable, strlen(readable));
	put_suffix(suffix, out);
	free(readable);
	return true;
}

/* --- Ada ------------------------------------------------------------------------------------- */

/* Returns whether a name is of the units that every Ada program has, or of its main program. */
static bool is_plainly_ada(const char *name)
{
	static const char *const units[] = {"_ada_", "ada__", "system__", "gnat__", "interfaces__"};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strncmp(name, units[i], strlen(units[i])))
			return true;
	return false;
}

/* The demangler drops the numbers of nested and overloaded subprograms, and puts names that it
 * cannot read into angle brackets. */
static bool print_ada(char *name, struct output *out)
{
	char *dot = name, *readable;
	char suffix[64] = "";
	bool done;

	do
		dot = strchr(dot + 1, '.');
	while (dot && dot[1] >= '0' && dot[1] <= '9');
	if (dot) {
		snprintf(suffix, sizeof(suffix), "%s", dot);
		*dot = '\0';
	}
	readable = ada_demangle(name, 0);
	done = readable && *readable && *readable != '<';
	if (done) {
		buf_put(&out->text, readable, strlen(readable));
		put_suffix(suffix, out);
	}
	free(readable);
	return done;
}

/* --- OCaml ----------------------------------------------------------------------------------- */

/*
 * "caml", the modules, and what the compiler calls the function, with a number:
 *
 *   4   camlStdlib__List__map_456    5   camlStdlib__List.map_456
 *
 * Other characters than letters, digits and underscores are $ and two hexadecimal digits. Anonymous
 * functions are "fun", and keep the number, which alone tells them apart. The code that initialises
 * a module is "entry". Symbols without a number are of data, but for that.
 */
#define CAML	 "caml"
#define CAML_LEN (sizeof(CAML) - 1)
#define DUNE	 "Dune__exe__" /* before the modules of a program that dune has built */

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* Returns what is behind the modules at `at`; NULL: nothing. */
static const char *ocaml_function(const char *at, const char **ret_modules_end)
{
	const char *dot = strchr(at, '.'), *function = NULL, *next;

	if (dot) {
		*ret_modules_end = dot;
		return dot + 1;
	}
	if (!strncmp(at, DUNE, sizeof(DUNE) - 1))
		at += sizeof(DUNE) - 1;
	while ((next = strstr(at, "__"))) {
		*ret_modules_end = next;
		function = at = next + 2;
		if (!is_upper(*at))
			break;
	}
	return function; /* of a functor, it begins as a module */
}

static void put_modules(const char *at, const char *end, struct buf *text)
{
	for (; at < end; at++) {
		bool is_separator = at[0] == '_' && at[1] == '_' && at + 1 < end;

		buf_put_u8(text, is_separator ? '.' : (uint8_t)*at);
		at += is_separator;
	}
}

/* Returns the digit's value; -1: it is none. */
static int hexadecimal(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Puts the name of a function, operators in parentheses as in the language. Returns false if it is
 * none. */
static bool put_ocaml_function(const char *at, const char *end, struct buf *text)
{
	const bool is_operator = *at == '$';

	if (is_operator)
		buf_put_u8(text, '(');
	for (; at < end; at++) {
		int high = *at == '$' && at + 2 < end ? hexadecimal(at[1]) : -1;
		int c = high >= 0 && hexadecimal(at[2]) >= 0 ? high << 4 | hexadecimal(at[2]) : -1;

		if (*at == '$' && (c < ' ' || c > '~'))
			return false;
		buf_put_u8(text, *at == '$' ? (uint8_t)c : (uint8_t)*at);
		at += *at == '$' ? 2 : 0;
	}
	if (is_operator)
		buf_put_u8(text, ')');
	return true;
}

static bool print_ocaml(const char *name, struct output *out)
{
	const char *modules = name + CAML_LEN, *modules_end, *end = name + strlen(name);
	const char *function = ocaml_function(modules, &modules_end);
	const char *number = end;

	if (!function || !*function)
		return false;
	while (number > function && number[-1] >= '0' && number[-1] <= '9')
		number--;
	if (number == end || number - 1 <= function || number[-1] != '_') {
		if (strcmp(function, "entry") != 0)
			return false;
	} else if (number - function != sizeof("fun_") - 1 || strncmp(function, "fun", 3) != 0) {
		end = number - 1;
	}
	put_modules(modules, modules_end, &out->text);
	buf_put_u8(&out->text, '.');
	return put_ocaml_function(function, end, &out->text);
}

/* --- all languages --------------------------------------------------------------------------- */

enum language { NONE, CXX_OR_RUST, D, ADA, OCAML };

static enum language language_of(const char *name)
{
	if (is_plainly_ada(name))
		return ADA;
	if (!strncmp(name, CAML, CAML_LEN) && is_upper(name[CAML_LEN]))
		return OCAML;
	if (name[0] != '_')
		return NONE;
	if (name[1] == 'Z' || name[1] == 'R')
		return CXX_OR_RUST;
	return name[1] == 'D' && ((name[2] >= '0' && name[2] <= '9') || !strcmp(name, "_Dmain"))
		       ? D
		       : NONE;
}

static bool print_language(enum language language, char *mangled, struct output *out)
{
	size_t len = strlen(mangled);

	if (language == CXX_OR_RUST && len > SHORT_BYTES)
		return len <= MAX_MANGLED_BYTES && print_long(mangled, len, out);
	if (language == CXX_OR_RUST)
		return print(mangled, out);
	if (len > SHORT_BYTES)
		return false;
	if (language == OCAML)
		return print_ocaml(mangled, out);
	return language == D ? print_d(mangled, out) : print_ada(mangled, out);
}

/* Shortens a name that is too long. The hash is that of the linkage name. */
static void shorten(const char *name, bool is_partial, struct buf *text)
{
	struct buf full = *text;
	uint64_t hash = 0;
	char mark[32];

	if ((full.len <= DEMANGLE_MOST_BYTES && !is_partial) || full.failed)
		return;
	for (const char *c = name; *c; c++)
		hash = hash_mix64(hash + (uint8_t)*c);
	*text = (struct buf){0};
	buf_put_u8(&full, 0);
	if (!full.failed)
		shorten_name((const char *)full.data, full.len - 1, DEMANGLE_MOST_BYTES, text);
	snprintf(mark, sizeof(mark), " [shortened %08x]", (unsigned)hash);
	buf_put(text, mark, strlen(mark));
	text->failed |= full.failed;
	buf_free(&full);
}

static char *demangle_as(enum language language, const char *name)
{
	const char *at = strchr(name, '@');
	char *mangled = strndup(name, at ? (size_t)(at - name) : strlen(name));
	struct output out = {0};
	bool done;

	if (!mangled)
		return NULL;
	done = print_language(language, mangled, &out);
	free(mangled);
	if (!done && strlen(name) > SHORT_BYTES) {
		buf_clear(&out.text);
		buf_put(&out.text, name, strlen(name));
		at = NULL;
		done = true;
	}
	if (at)
		buf_put(&out.text, at, strlen(at));
	shorten(name, out.is_partial, &out.text);
	buf_put_u8(&out.text, 0);
	if (done && !out.text.failed && out.text.len > 1)
		return (char *)out.text.data;
	buf_free(&out.text);
	return NULL;
}

#define REGION "stackd_region."

bool is_region_name(const char *name)
{
	return !strncmp(name, REGION, sizeof(REGION) - 1) && name[sizeof(REGION) - 1];
}

char *demangle(const char *name)
{
	enum language language = language_of(name);

	if (is_region_name(name))
		return strdup(name + sizeof(REGION) - 1);

	return language == NONE ? NULL : demangle_as(language, name);
}

char *demangle_ada(const char *name)
{
	return demangle_as(ADA, name);
}
