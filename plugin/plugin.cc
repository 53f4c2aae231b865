/* SPDX-License-Identifier: MIT */
/*
 * The GCC plugin by which programs keep the tag of their call path (docs/TAGS.md):
 *
 *	gcc -fplugin=.../stacktag.so [-fplugin-arg-stacktag-OPTION[=VALUE]]... -lstacktag
 *
 *	leaves=no	leave out functions that call nothing
 *	min-size=N	leave out functions of fewer than N statements (after optimisation)
 *	exclude=GLOB	leave out functions whose linkage name fits
 *	exclude-file=GLOB	leave out functions whose source file fits
 *	root=GLOB	functions at which a chain begins anew: the first one of a coroutine
 *	switch=GLOB	functions like swapcontext(): during a call of one, the thread may
 *			have run on another stack
 *
 * Options can be given more than once. A function with the attribute no_instrument_function is
 * left out, too.
 */
#include "plugin.h"

#include "diagnostic-core.h"
#include "plugin-version.h"

int plugin_is_GPL_compatible;

struct options options;

bool fits(const std::vector<std::string> &patterns, const char *name)
{
	for (const std::string &pattern : patterns) {
		if (!fnmatch(pattern.c_str(), name, 0))
			return true;
	}
	return false;
}

static bool take_number(const char *value, unsigned *ret_number)
{
	char *end;
	unsigned long number = strtoul(value, &end, 10);

	if (!ISDIGIT(*value) || *end || number > 1000000)
		return false;
	*ret_number = (unsigned)number;
	return true;
}

/* Takes an option. Returns false if it is unknown, or its value is wrong. */
static bool take_option(const char *key, const char *value)
{
	const struct {
		const char *name;
		std::vector<std::string> *list;
	} lists[] = {
		{"exclude", &options.exclude},
		{"exclude-file", &options.files},
		{"root", &options.roots},
		{"switch", &options.switches},
	};

	if (!value)
		return false;
	if (!strcmp(key, "leaves")) {
		options.leaves = strcmp(value, "no");
		return !options.leaves || !strcmp(value, "yes");
	}
	if (!strcmp(key, "min-size"))
		return take_number(value, &options.min_size);
	for (const auto &list : lists) {
		if (strcmp(key, list.name))
			continue;
		list.list->push_back(value);
		return true;
	}
	return false;
}

static void at_end_of_file(void *, void *)
{
	write_records();
}

int plugin_init(struct plugin_name_args *info, struct plugin_gcc_version *version)
{
	struct register_pass_info pass;

	if (!plugin_default_version_check(version, &gcc_version)) {
		error("the stacktag plugin was built for GCC %s: build it for this one (%s)",
		      gcc_version.basever, version->basever);
		return 1;
	}
	options.switches.push_back("swapcontext");
	for (int i = 0; i < info->argc; i++) {
		const char *value = info->argv[i].value;

		if (take_option(info->argv[i].key, value))
			continue;
		error("the stacktag plugin has no option %<%s%s%s%>: leaves, min-size, exclude, "
		      "exclude-file, root and switch are there",
		      info->argv[i].key, value ? "=" : "", value ? value : "");
		return 1;
	}
	pass.pass = make_stacktag_pass();
	pass.reference_pass_name = "optimized";
	pass.ref_pass_instance_number = 1;
	pass.pos_op = PASS_POS_INSERT_AFTER;
	register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &pass);
	register_callback(info->base_name, PLUGIN_FINISH_UNIT, at_end_of_file, NULL);
	return 0;
}
