/* SPDX-License-Identifier: MIT */
/*
 * Readable names; see demangle.h.
 *
 * Names come from files that the profiled program controls, and a mangled name is a program in a
 * small language: nesting costs stack, and back references make a short name print as gigabytes.
 * Two limits keep it harmless:
 *  - the mangled name's length bounds the parser's recursion (the demangler's own limit would
 *    refuse everything over 1 KiB, which template-heavy code exceeds daily);
 *  - the readable name's length bounds time and memory: the demangler hands its output on in
 *    pieces, and the piece that exceeds the limit leaves it by longjmp(). It keeps its state on
 *    the stack, so that loses no memory (but for a small buffer in Rust's punycode names).
 * A name beyond a limit is shown as it is.
 *
 * Suffixes: compilers' ".cold", ".part.0" become " [clone .cold]". The demangler does that for C++
 * and drops them for Rust, so there it is done here; ".llvm.123" means nothing to a reader and is
 * dropped. The part after '@' ("@plt", a symbol version) is kept as it is.
 */
#include "sym/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define MAX_MANGLED_BYTES  4096
#define MAX_READABLE_BYTES (64 * 1024)

struct output {
	struct buf text;
	jmp_buf too_long;
};

static void take(const char *piece, size_t len, void *arg)
{
	struct output *out = arg;

	if (len > MAX_READABLE_BYTES - out->text.len)
		longjmp(out->too_long, 1);
	buf_put(&out->text, piece, len);
}

static bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/* Finds the start of a Rust name's suffixes: after the hash of an older name, which may hold dots
 * before that, and at the first dot of a new one. */
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

static void put_rust_suffix(const char *mangled, struct output *out)
{
	const char *suffix = rust_suffix(mangled);
	const char *llvm = strstr(suffix, ".llvm.");
	size_t len = llvm ? (size_t)(llvm - suffix) : strlen(suffix);

	if (!len || *suffix != '.')
		return;
	buf_put(&out->text, " [clone ", 8);
	buf_put(&out->text, suffix, len);
	buf_put_u8(&out->text, ']');
}

/* Rust first: its older names are valid C++ names that end in a hash. */
static bool print(const char *mangled, struct output *out)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;

	if (setjmp(out->too_long))
		return false;
	if (rust_demangle_callback(mangled, options, take, out)) {
		put_rust_suffix(mangled, out);
		return true;
	}
	buf_clear(&out->text);
	return mangled[1] == 'Z' && cplus_demangle_v3_callback(mangled, options, take, out);
}

char *demangle(const char *name)
{
	struct output out = {0};
	const char *at;
	char *mangled;
	bool done;
	size_t len;

	if (!is_mangled(name))
		return NULL;
	len = strnlen(name, MAX_MANGLED_BYTES + 1);
	if (len > MAX_MANGLED_BYTES)
		return NULL;
	at = strchr(name, '@');
	mangled = strndup(name, at ? (size_t)(at - name) : len);
	if (!mangled)
		return NULL;
	done = print(mangled, &out);
	free(mangled);
	if (at)
		buf_put(&out.text, at, strlen(at));
	buf_put_u8(&out.text, 0);
	if (done && !out.text.failed && out.text.len > 1)
		return (char *)out.text.data;
	buf_free(&out.text);
	return NULL;
}
