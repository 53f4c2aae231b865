/* SPDX-License-Identifier: MIT */
/*
 * Options that people type because another program has them. A program with an argp table also
 * has a table of such habits: each is replaced by the program's own option, left out where the
 * program does it anyway, or answered by a sentence that says what to type.
 *
 * An option of the program's own table always has its own meaning; only others are looked up.
 * `--no-NAME` is left out, where no table has it but NAME is a habit: what nobody asked for is not
 * done.
 */
#ifndef BASE_HABITS_H
#define BASE_HABITS_H

#include <argp.h>
#include <stdbool.h>

enum habit_value {
	HABIT_ALONE, /* the option takes no value */
	HABIT_VALUE, /* it takes one: -x VALUE, -xVALUE, --name VALUE or --name=VALUE */
	HABIT_MAYBE, /* it may have one, in the same word: -xVALUE or --name=VALUE */
	HABIT_LIST,  /* it takes values with commas between them, and is replaced for each */
};

struct habit {
	char letter;	  /* of the short option; 0: there is none */
	const char *name; /* of the long option; NULL: there is none */
	enum habit_value value;
	const char *when; /* the row is for values with this item alone; NULL: for all values */
	/* A word that replaces the option, in which '%' stands for the value; "": the option is
	 * left out; NULL: `says` is the answer. The row is skipped if the program has no such
	 * option. */
	const char *instead;
	const char *says; /* a sentence that says what to type */
};

/* A command line after habits_translate(). */
struct habits_words {
	int argc;
	char **argv; /* ends with NULL; these words are owned by habits_free() */
	char **made; /* the words that were made here; the others are the caller's */
	int n_made;
	/* If the command line cannot be used: the option as it was typed, and what to type, or
	 * NULL if no table has the option. The strings are owned; NULL: there is no such option. */
	char *option;
	const char *says;
	/* the first long option that is neither in a table nor the begin of one's name; or NULL */
	const char *unknown;
	char unknown_letter; /* likewise of short options; 0: none. -?, -h and -V are known */
};

/* Replaces the habits in a command line. `table` ends with a row without letter and name.
 * `is_in_order`: options end at the first word that is none, as with ARGP_IN_ORDER. Options behind
 * the first one that cannot be used are not looked at. Returns 0 or -ENOMEM; the result is freed by
 * habits_free() in both cases. */
int habits_translate(const struct argp *argp, const struct habit *table, bool is_in_order, int argc,
		     char **argv, struct habits_words *ret_words);

/* Frees a command line of habits_translate(), and zeroes it. */
void habits_free(struct habits_words *words);

#endif
