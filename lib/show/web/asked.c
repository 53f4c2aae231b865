/* SPDX-License-Identifier: MIT */
/* Finds the function that a question is about; see asked.h. */
#include "web/asked.h"

#include <errno.h>
#include <string.h>

int asked_find(struct ask *ask, struct selection *s, const struct flat_row **ret_row)
{
	const char *name = ask_text(ask, "function"), *object = ask_text(ask, "object");
	const struct flat *flat;
	int err;

	if (!name || !*name)
		return ask_fail(ask, 400, "give the name of a function of /functions",
				"'function' is missing");
	err = selection_flat(ask, s, &flat);
	for (uint32_t i = 0; err == 0 && i < flat->n; i++) {
		const struct profile_symbol *symbol =
			profile_symbol_at(s->profile, flat->rows[i].symbol);

		if (words_is(symbol->name, name) && (!object || words_is(symbol->object, object))) {
			*ret_row = &flat->rows[i];
			return 0;
		}
	}
	return err ? err
		   : ask_fail(ask, 404, "choose a longer time, all threads, or another function",
			      "no path of the selection goes through '%.300s'", name);
}

void asked_put(struct json *j, const struct profile_symbol *symbol)
{
	struct words words;
	uint32_t frame;
	int err = words_begin(&words);

	if (err == 0)
		err = words_symbol(&words, symbol, false, &frame);
	if (err == 0) {
		const struct words_frame *f = &words.frames.items[frame];

		json_put_object(j, "function");
		json_put_string(j, "name", strings_at(words.strings, f->name));
		json_put_string(j, "object", strings_at(words.strings, f->object));
		json_put_string(j, "kind", words_kind_name(f->kind));
		json_put_end(j);
	} else {
		j->err = err;
	}
	words_end(&words);
}
