/* SPDX-License-Identifier: MIT */
/* Values of a Paraver trace; see paraver_names.h. */
#include "export/paraver_names.h"

#include <errno.h>

#include "base/int_map.h"
#include "base/strings.h"
#include "base/text.h"
#include "base/vec.h"

struct line {
	uint32_t file, object; /* numbers in names->texts */
	uint32_t line;
};

struct paraver_names {
	struct int_map by_name; /* profile_symbol.name_number -> index in `functions` */
	struct int_map by_line; /* (file and line, object) -> index in `lines` */
	struct strings *texts;
	VEC(uint32_t) functions; /* names of functions, as numbers in `texts` */
	VEC(struct line) lines;
	unsigned levels; /* 1 + the highest level with which paraver_names_frame() was called */
};

int paraver_names_new(struct paraver_names **ret_names)
{
	*ret_names = calloc(1, sizeof(**ret_names));
	return *ret_names ? strings_new(&(*ret_names)->texts) : -ENOMEM;
}

void paraver_names_free(struct paraver_names *names)
{
	if (!names)
		return;
	int_map_fini(&names->by_name);
	int_map_fini(&names->by_line);
	strings_free(names->texts);
	free(names->functions.items);
	free(names->lines.items);
	free(names);
}

static int find_function(struct paraver_names *names, const struct profile_symbol *symbol,
			 uint32_t *ret_value)
{
	uint32_t index = int_map_find(&names->by_name, symbol->name_number);

	if (index == INT_MAP_NONE) {
		index = (uint32_t)names->functions.count;
		if (VEC_RESERVE(&names->functions, 1) ||
		    strings_intern(names->texts, symbol->name, &names->functions.items[index]) ||
		    int_map_set(&names->by_name, symbol->name_number, index))
			return -ENOMEM;
		names->functions.count++;
	}
	*ret_value = PARAVER_FIRST + index;
	return 0;
}

static int find_line(struct paraver_names *names, const struct profile_frame *frame,
		     uint32_t *ret_value)
{
	struct line line = {.line = frame->line};
	uint32_t index;

	if (strings_intern(names->texts, text_basename(frame->file), &line.file) ||
	    strings_intern(names->texts, text_basename(frame->symbol->object), &line.object) ||
	    int_map_enter_wide(&names->by_line, (uint64_t)line.file << 32 | line.line, line.object,
			       (uint32_t)names->lines.count, &index))
		return -ENOMEM;
	if (index == names->lines.count) {
		if (VEC_RESERVE(&names->lines, 1))
			return -ENOMEM;
		names->lines.items[names->lines.count++] = line;
	}
	*ret_value = PARAVER_FIRST + index;
	return 0;
}

int paraver_names_frame(struct paraver_names *names, const struct profile_frame *frame,
			unsigned level, uint32_t *ret_function, uint32_t *ret_line)
{
	int err;

	if (level >= names->levels)
		names->levels = level + 1;
	if (frame->symbol->is_mark) {
		*ret_function = *ret_line = PARAVER_INCOMPLETE;
		return 0;
	}
	err = find_function(names, frame->symbol, ret_function);
	*ret_line = PARAVER_UNKNOWN;
	if (!err && frame->file && frame->line)
		err = find_line(names, frame, ret_line);
	return err;
}

/* --- the .pcf --------------------------------------------------------------------------------- */

/* Appends a name so that it is not empty and does not begin with a space, because readers skip such
 * names. */
static void put_name(struct buf *b, const char *name)
{
	if (!*name)
		text_put_raw(b, "[unnamed]");
	else if (*name == ' ')
		text_put_raw(b, "\\x20");
	text_put_ascii(b, *name == ' ' ? name + 1 : name);
}

static void put_common_values(struct buf *b)
{
	text_put_raw(b, "VALUES\n0   End\n1   Unresolved\n2   Incomplete call path\n");
}

static void put_functions(const struct paraver_names *names, struct buf *b)
{
	put_common_values(b);
	for (size_t i = 0; i < names->functions.count; i++) {
		text_printf(b, "%zu   ", PARAVER_FIRST + i);
		put_name(b, strings_at(names->texts, names->functions.items[i]));
		text_put_raw(b, "\n");
	}
	text_put_raw(b, "\n");
}

static void put_lines(const struct paraver_names *names, struct buf *b)
{
	put_common_values(b);
	for (size_t i = 0; i < names->lines.count; i++) {
		const struct line *line = &names->lines.items[i];

		text_printf(b, "%zu   %u (", PARAVER_FIRST + i, line->line);
		text_put_ascii(b, strings_at(names->texts, line->file));
		text_put_raw(b, ", ");
		text_put_ascii(b, strings_at(names->texts, line->object));
		text_put_raw(b, ")\n");
	}
	text_put_raw(b, "\n");
}

/* Writes a type for each level that frames have; always one for level 0, because some readers
 * expect it. */
static void put_levels(const struct paraver_names *names, struct buf *b, unsigned type,
		       const char *what)
{
	text_put_raw(b, "EVENT_TYPE\n");
	for (unsigned i = 0; i < names->levels || i == 0; i++)
		text_printf(b, "0    %u    %s (depth %u)\n", type + i, what, i);
}

static void put_counters(char *const counters[METRIC_COUNTERS], struct buf *b)
{
	bool is_first = true;

	for (unsigned i = 0; i < METRIC_COUNTERS; i++) {
		if (!counters[i])
			continue;
		text_put_raw(b, is_first ? "EVENT_TYPE\n" : "");
		text_printf(b, "7  %u ", PARAVER_COUNTER + i);
		put_name(b, counters[i]);
		text_put_raw(b, " [since the reading before]\n");
		is_first = false;
	}
	text_put_raw(b, is_first ? "" : "\n");
}

void paraver_names_put(const struct paraver_names *names, char *const counters[METRIC_COUNTERS],
		       struct buf *b)
{
	text_put_raw(b,
		     "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n"
		     "LOOK_BACK           100\nSPEED               1\n"
		     "FLAG_ICONS          ENABLED\nNUM_OF_STATE_COLORS 1000\n"
		     "YMAX_SCALE          37\n\n"
		     "DEFAULT_SEMANTIC\n\nTHREAD_FUNC          State As Is\n\n");
	text_printf(b, "EVENT_TYPE\n0    %u    User function\n", PARAVER_REGION);
	put_functions(names, b);
	text_printf(b, "EVENT_TYPE\n0    %u    User function line\n", PARAVER_REGION_LINE);
	put_lines(names, b);
	put_counters(counters, b);
	put_levels(names, b, PARAVER_CALLER, "Sampled functions");
	put_functions(names, b);
	put_levels(names, b, PARAVER_CALLER_LINE, "Sampled lines functions");
	put_lines(names, b);
}
