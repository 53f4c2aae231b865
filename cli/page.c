/* SPDX-License-Identifier: MIT */
/* Describes an opened input for a page; see page.h. */
#include "page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "input_fleet.h"
#include "input_tags.h"

/* Returns whether paths or samples are not as they were recorded. */
static bool is_chosen(const struct input *input, const struct profile *profile)
{
	const struct profile_filter *f = profile_filter(profile);

	return input->shows_interpreter || profile_is_filtered(profile) || f->max_depth ||
	       f->fold_recursion || f->no_inlined || f->no_reconstructed;
}

/* Appends a word as a shell reads it. */
static void put_word(struct buf *b, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_@%+=:,./-";

	if (*word && !word[strspn(word, plain)]) {
		text_put_raw(b, word);
		return;
	}
	buf_put_u8(b, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			text_put_raw(b, "'\\'");
		buf_put_u8(b, (uint8_t)*word);
	}
	buf_put_u8(b, '\'');
}

/* Joins words with blanks, for a shell. Returns NULL if memory is short; the caller frees the text.
 */
static char *join(char *const *words)
{
	struct buf b = {0};

	text_put_raw(&b, *words++); /* "stackctl", and the verb */
	for (; *words; words++) {
		buf_put_u8(&b, ' ');
		put_word(&b, *words);
	}
	buf_put_u8(&b, '\0');
	if (!b.failed)
		return (char *)b.data;
	buf_free(&b);
	return NULL;
}

/* Marks the threads that have chosen samples. Returns NULL if memory is short. */
static bool *threads_of(const struct profile *profile)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);
	bool *threads = calloc((size_t)profile_tables(profile)->n_threads + 1, sizeof(*threads));

	for (size_t i = 0; threads && i < n; i++)
		threads[entries[i].thread] = true;
	return threads;
}

/* Takes the chosen time out of the filter: the page selects it, and shows all time in its lanes. */
static void take_times(const struct profile *profile, struct page *page)
{
	const struct store_recording *r = &profile_tables(profile)->recording;

	page->from_ns = page->filter.from_ns;
	page->to_ns = page->filter.to_ns;
	if (page->from_ns && !page->to_ns && r->end_ns > r->start_ns)
		page->to_ns = r->end_ns - r->start_ns;
	page->filter.from_ns = page->filter.to_ns = 0;
}

int page_begin(const struct input *input, const struct input_open *open, char *const *words,
	       struct page *page)
{
	const struct profile *profile = open->profile;

	*page = (struct page){.filter = *profile_filter(profile)};
	page->path = input_path(input);
	page->words = join(words);
	page->threads = threads_of(profile);
	if (!page->path || !page->words || !page->threads)
		return -ENOMEM;
	take_times(profile, page);
	page->given = (struct web_given){
		.reader = open->reader,
		.filter = &page->filter,
		.threads = profile_is_filtered(profile) && !page->to_ns ? page->threads : NULL,
		.chosen = is_chosen(input, profile) ? page->words : NULL,
		.is_sums = input_is_fleet(input) || input_is_tags(input)};
	page->source = (struct web_source){.path = page->path,
					   .label = page->path,
					   .metric = page->filter.metric,
					   .given = &page->given};
	return 0;
}

void page_end(struct page *page)
{
	free(page->path);
	free(page->words);
	free(page->threads);
}
