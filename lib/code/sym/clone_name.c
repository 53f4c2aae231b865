/* SPDX-License-Identifier: MIT */
/* Compares suffixes; see clone_name.h. */
#include "sym/clone_name.h"

#include <stdbool.h>
#include <string.h>

static bool is_suffix(const char *suffix)
{
	static const char *const names[] = {".constprop", ".isra",	  ".part",
					    ".cold",	  ".lto_priv",	  ".llvm",
					    ".clone",	  ".specialized", ".localalias"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t len = strlen(names[i]);

		if (!strncmp(suffix, names[i], len) &&
		    (!suffix[len] || suffix[len] == '.' || suffix[len] == ']'))
			return true;
	}
	return false;
}

size_t clone_name_base(const char *name)
{
	const char *clone = strstr(name, " [clone .");

	if (clone && is_suffix(clone + 8))
		return (size_t)(clone - name);
	for (const char *at = *name ? strchr(name + 1, '.') : NULL; at; at = strchr(at + 1, '.'))
		if (is_suffix(at))
			return (size_t)(at - name);
	return strlen(name);
}
