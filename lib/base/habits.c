/* SPDX-License-Identifier: MIT */
/* Replaces options of other programs; see habits.h. */
#include "base/habits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argp_table.h"

/* One word of the command line that begins with '-', taken apart. */
struct habits_option {
	char letter;	  /* 0: a long option */
	const char *name; /* of a long option, not terminated */
	size_t name_len;
	char *value; /* in the same word; NULL: none */
};

struct habits_state {
	const struct argp *argp;
	const struct habit *table;
	struct habits_words *words;
	char **next, **end; /* the words that have not been looked at */
};

static void add(struct habits_state *s, char *word)
{
	s->words->argv[s->words->argc++] = word;
	s->words->argv[s->words->argc] = NULL;
}

/* Adds a word that was made here, which may be NULL for want of memory. */
static int add_made(struct habits_state *s, char *word)
{
	if (!word)
		return -ENOMEM;
	s->words->made[s->words->n_made++] = word;
	add(s, word);
	return 0;
}

/* Returns whether the program has the option that a replacement begins with: "--name=%". */
static bool is_known(const struct habits_state *s, const char *instead)
{
	char name[64];

	if (!*instead)
		return true;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(instead + 2, "="), instead + 2);
	return argp_table_find(s->argp, name) != NULL;
}

static bool is_option(const struct habit *habit, const struct habits_option *o)
{
	if (o->letter)
		return habit->letter == o->letter;
	return habit->name && strlen(habit->name) == o->name_len &&
	       !strncmp(habit->name, o->name, o->name_len);
}

/* Returns the value that a habit has: in the option's own word, or the next word. */
static char *value_of(const struct habits_state *s, const struct habit *habit,
		      const struct habits_option *o)
{
	if (habit->value == HABIT_ALONE)
		return NULL;
	if (o->value || habit->value == HABIT_MAYBE)
		return o->value;
	return s->next < s->end ? *s->next : NULL;
}

/* Returns whether a value, or one of the items of a list with commas, is `word`. */
static bool has_item(const char *value, const char *word)
{
	const size_t len = strlen(word);

	for (;; value++) {
		const size_t item = strcspn(value, ",");

		if (item == len && !strncmp(value, word, len))
			return true;
		value += item;
		if (!*value)
			return false;
	}
}

static const struct habit *find(const struct habits_state *s, const struct habits_option *o)
{
	for (const struct habit *habit = s->table; habit->letter || habit->name; habit++) {
		const char *value = value_of(s, habit, o);

		if (is_option(habit, o) && (!habit->instead || is_known(s, habit->instead)) &&
		    (!habit->when || (value && has_item(value, habit->when))))
			return habit;
	}
	return NULL;
}

/* Adds the replacement for one value of `len` bytes. */
static int replace(struct habits_state *s, const char *instead, const char *value, size_t len)
{
	const char *mark = strchr(instead, '%');
	char *word;

	if (!mark)
		return add_made(s, strdup(instead));
	if (asprintf(&word, "%.*s%.*s%s", (int)(mark - instead), instead, (int)len, value,
		     mark + 1) < 0)
		return -ENOMEM;
	return add_made(s, word);
}

/* Adds the replacement for each value of a list. If it has a bracket, it is the name of one C++
 * function, whose commas are its own. */
static int replace_list(struct habits_state *s, const char *instead, const char *value)
{
	size_t len;
	int err = 0;

	if (strpbrk(value, "(<"))
		return replace(s, instead, value, strlen(value));
	for (; !err && *value; value += len + (value[len] == ',')) {
		len = strcspn(value, ",");
		if (len)
			err = replace(s, instead, value, len);
	}
	return err;
}

/* Notes that an option cannot be used. */
static int refuse(struct habits_state *s, const struct habits_option *o, const char *says)
{
	const int made = o->letter
				 ? asprintf(&s->words->option, "-%c", o->letter)
				 : asprintf(&s->words->option, "--%.*s", (int)o->name_len, o->name);

	s->words->says = says;
	if (made >= 0)
		return 0;
	s->words->option = NULL;
	return -ENOMEM;
}

static int apply(struct habits_state *s, const struct habit *habit, const struct habits_option *o)
{
	const char *value = value_of(s, habit, o);

	if (!habit->instead)
		return refuse(s, o, habit->says);
	if (value && value != o->value)
		s->next++;
	if (!*habit->instead)
		return 0;
	if (habit->value != HABIT_LIST || !value)
		return replace(s, habit->instead, value ? value : "", value ? strlen(value) : 0);
	return replace_list(s, habit->instead, value);
}

/* Returns whether an option is "--no-NAME" of a habit. */
static bool is_no_habit(const struct habits_state *s, const struct habits_option *o)
{
	const struct habits_option named = {.name = o->name + 3, .name_len = o->name_len - 3};

	if (o->name_len <= 3 || strncmp(o->name, "no-", 3) != 0)
		return false;
	for (const struct habit *habit = s->table; habit->letter || habit->name; habit++)
		if (is_option(habit, &named))
			return true;
	return false;
}

/* Looks at a long option: "--name" or "--name=value". */
static int long_option(struct habits_state *s, char *word)
{
	struct habits_option o = {.name = word + 2, .name_len = strcspn(word + 2, "=")};
	char name[64];
	const struct argp_option *own;
	const struct habit *habit;

	if (word[2 + o.name_len])
		o.value = word + 2 + o.name_len + 1;
	snprintf(name, sizeof(name), "%.*s", (int)o.name_len, o.name);
	own = argp_table_find(s->argp, name);
	if (!own) {
		habit = find(s, &o);
		if (habit)
			return apply(s, habit, &o);
		if (is_no_habit(s, &o))
			return 0;
		if (!s->words->unknown && !argp_table_is_begin(s->argp, name))
			s->words->unknown = word;
	}
	add(s, word);
	if (own && own->arg && !(own->flags & OPTION_ARG_OPTIONAL) && !o.value && s->next < s->end)
		add(s, *s->next++);
	return 0;
}

static int is_letter(void *arg, const struct argp_option *o)
{
	const struct argp_option **own = arg;

	if (o->key != (*own)->key)
		return 0;
	*own = o;
	return 1;
}

/* Returns the program's own option of a letter, or NULL. */
static const struct argp_option *own_letter(const struct habits_state *s, char letter)
{
	const struct argp_option wanted = {.key = (unsigned char)letter}, *own = &wanted;

	return argp_table_each(s->argp, is_letter, &own) ? own : NULL;
}

/* Looks at a word of short options: "-x", "-xVALUE" or "-xyz". Own options keep their place; a
 * habit ends the word, and what is behind it begins another one. */
static int short_options(struct habits_state *s, char *word)
{
	for (size_t i = 1; word[i]; i++) {
		const struct argp_option *own = own_letter(s, word[i]);
		struct habits_option o = {.letter = word[i],
					  .value = word[i + 1] ? word + i + 1 : NULL};
		const struct habit *habit;
		char *before, *rest;
		int err = 0;

		if (own && own->arg) {
			add(s, word);
			if (!o.value && !(own->flags & OPTION_ARG_OPTIONAL) && s->next < s->end)
				add(s, *s->next++);
			return 0;
		}
		habit = own ? NULL : find(s, &o);
		if (!habit && !own && !s->words->unknown_letter && !strchr("?hV", word[i]))
			s->words->unknown_letter = word[i];
		if (!habit)
			continue;
		if (i > 1) {
			before = strndup(word, i);
			err = add_made(s, before);
		}
		if (!err)
			err = apply(s, habit, &o);
		if (err || habit->value != HABIT_ALONE || !o.value || s->words->option)
			return err;
		/* The rest of the word is in the caller's memory: its '-' replaces the habit. */
		rest = word + i;
		*rest = '-';
		return short_options(s, rest);
	}
	add(s, word);
	return 0;
}

int habits_translate(const struct argp *argp, const struct habit *table, bool is_in_order, int argc,
		     char **argv, struct habits_words *ret_words)
{
	struct habits_state s = {.argp = argp,
				 .table = table,
				 .words = ret_words,
				 .next = argv + 1,
				 .end = argv + argc};
	size_t letters = 0;
	int err = 0;

	for (int i = 0; i < argc; i++)
		letters += strlen(argv[i]) + 1;
	/* Each letter makes at most one word, and so does each value of a list. */
	*ret_words = (struct habits_words){.argv = calloc(letters + 2, sizeof(char *)),
					   .made = calloc(letters + 2, sizeof(char *))};
	if (!ret_words->argv || !ret_words->made)
		return -ENOMEM;
	add(&s, argv[0]);
	while (!err && !ret_words->option && s.next < s.end) {
		char *word = *s.next++;

		if (!strcmp(word, "--") || (is_in_order && (word[0] != '-' || !word[1]))) {
			add(&s, word);
			break;
		}
		if (!strncmp(word, "--", 2))
			err = long_option(&s, word);
		else if (word[0] == '-' && word[1])
			err = short_options(&s, word);
		else
			add(&s, word);
	}
	while (!err && s.next < s.end)
		add(&s, *s.next++);
	return err;
}

void habits_free(struct habits_words *words)
{
	for (int i = 0; i < words->n_made; i++)
		free(words->made[i]);
	free(words->made);
	free(words->argv);
	free(words->option);
	*words = (struct habits_words){0};
}
