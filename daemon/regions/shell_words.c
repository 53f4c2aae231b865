/* SPDX-License-Identifier: MIT */
/* Splits a shell's text; see shell_words.h. */
#include "daemon/regions/shell_words.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define ENDS "\n;&|()`" /* what stands before a command */

static bool is_among(const char *word, const char *const *names)
{
	for (; *names; names++) {
		if (!strcmp(word, *names))
			return true;
	}
	return false;
}

bool shell_words_is_launcher(const char *command)
{
	static const char *const names[] = {
		"env",	   "sh",	 "bash",    "dash",    "ksh",	  "zsh",     "busybox",
		"mpirun",  "mpiexec",	 "orterun", "prterun", "srun",	  "taskset", "nice",
		"ionice",  "chrt",	 "numactl", "nohup",   "time",	  "timeout", "setsid",
		"stdbuf",  "sudo",	 "flock",   "xargs",   "strace",  "ltrace",  "perf",
		"gdb",	   "unshare",	 "nsenter", "chroot",  "setarch", "prlimit", "setpriv",
		"runuser", "systemd-run"};
	const char *name = text_basename(command);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t len = strlen(names[i]);

		/* also if an ending follows the name, as in mpirun.openmpi */
		if (!strncmp(name, names[i], len) && (!name[len] || name[len] == '.'))
			return true;
	}
	return false;
}

bool shell_words_is_script(const char *text)
{
	static const char *const shells[] = {"sh",  "bash", "dash", "ash",     "ksh",
					     "zsh", "mksh", "yash", "busybox", NULL};
	char line[256];
	char *rest = NULL;

	if (strncmp(text, "#!", 2))
		return true;
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text + 2, "\n"), text + 2);
	for (char *word = strtok_r(line, " \t\r", &rest); word;
	     word = strtok_r(NULL, " \t\r", &rest)) {
		if (is_among(text_basename(word), shells))
			return true;
	}
	return false;
}

/* Returns whether a command can follow a word. */
static bool is_keyword(const char *word)
{
	static const char *const names[] = {"if",      "then",	"else",	  "elif",    "do",
					    "while",   "until", "!",	  "exec",    "eval",
					    "command", ".",	"source", "builtin", NULL};

	return is_among(word, names);
}

struct place {
	bool is_command;   /* the next word is the first of a simple command */
	bool is_launching; /* it is an argument of a program that starts others */
};

struct word {
	const char *gap; /* the separators before it, gap_len of them */
	size_t gap_len;
	char *text;
	size_t len; /* 0: the text ends behind the gap */
};

static struct word next_word(char *text)
{
	const size_t gap_len = strspn(text, SHELL_WORDS_SEPARATORS);

	return (struct word){.gap = text,
			     .gap_len = gap_len,
			     .text = text + gap_len,
			     .len = strcspn(text + gap_len, SHELL_WORDS_SEPARATORS)};
}

/* Returns whether one of a set of separators stands before a word. */
static bool is_behind(const struct word *w, const char *set)
{
	return strcspn(w->gap, set) < w->gap_len;
}

/* Returns whether a word is the name of a variable: `$A`, `${A}`, or `A=`. */
static bool is_variable(const struct word *w)
{
	return w->text[w->len] == '=' || (is_behind(w, "$") && strchr("${", w->text[-1]));
}

static bool is_number(const char *word)
{
	return !word[strspn(word, "0123456789")];
}

static int hand_out(struct place *at, const char *word, bool is_value, shell_words_each_fn each,
		    void *arg)
{
	const bool may_be_command = !is_value && (at->is_command || at->is_launching);
	int found;

	if (word[0] == '-' || is_number(word) || (may_be_command && is_keyword(word)))
		return 0;
	found = may_be_command || strchr(word, '/') ? each(arg, word, may_be_command) : 0;
	if (may_be_command && (at->is_command || found > 0)) {
		at->is_command = false;
		at->is_launching = shell_words_is_launcher(word);
	}
	return found < 0 ? found : 0;
}

int shell_words_each(char *text, bool is_shell, shell_words_each_fn each, void *arg)
{
	struct place at = {.is_command = is_shell};
	struct word w = next_word(text + (strncmp(text, "#!", 2) ? 0 : 2));
	int err = 0;

	for (; !err && w.len; w = next_word(w.text + w.len)) {
		const char end = w.text[w.len];
		const bool begins = is_behind(&w, ENDS);

		if (is_shell && begins)
			at = (struct place){.is_command = true};
		if (is_variable(&w))
			continue;
		if (is_shell && w.text[0] == '#') {
			w.len = strcspn(w.text, "\n");
			continue;
		}
		w.text[w.len] = '\0';
		err = hand_out(&at, w.text, !begins && is_behind(&w, "="), each, arg);
		w.text[w.len] = end;
	}
	return err;
}
