/* SPDX-License-Identifier: MIT */
/* Looks for the files of words; see command_words.h. */
#include "daemon/regions/command_words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/named_file.h"
#include "base/vec.h"
#include "daemon/regions/shell_words.h"

#define MOST_PROGRAMS 48
#define MOST_LOOKS    400u		   /* at files, for all words together */
#define MOST_LOOK_NS  UINT64_C(1000000000) /* that they take, as on a network's file system */
#define MOST_TEXT     (64u << 10)	   /* bytes of a script */
#define MOST_DEPTH    3			   /* most scripts of which each starts the next one */
#define MOST_WORD     1024

struct words {
	int (*each)(void *arg, const char *path);
	void *arg;
	VEC(char *) paths; /* programs so far, each once */
	VEC(char *) known; /* words that were looked at, each once */
	unsigned n_looks, depth;
	uint64_t look_ns;
};

/* --- finding files --------------------------------------------------------------------------- */

static bool is_executable(struct words *w, const char *path)
{
	const uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	struct stat st;
	bool is;

	if (w->n_looks >= MOST_LOOKS || w->look_ns >= MOST_LOOK_NS)
		return false;
	w->n_looks++;
	is = stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
	w->look_ns += clock_ns(CLOCK_MONOTONIC) - begun_ns;
	return is;
}

/* Returns the file of a command as execvp() finds it, malloc()ed; NULL: none. */
static char *find_program(struct words *w, const char *word)
{
	const char *folders = getenv("PATH");
	char *path = NULL;

	if (!*word)
		return NULL;
	if (strchr(word, '/'))
		return is_executable(w, word) ? strdup(word) : NULL;
	if (!folders)
		folders = "/bin:/usr/bin";
	while (*folders) {
		int len = (int)strcspn(folders, ":");

		if (asprintf(&path, "%.*s/%s", len ? len : 1, len ? folders : ".", word) < 0)
			return NULL;
		if (is_executable(w, path))
			return path;
		free(path);
		folders += len + (folders[len] == ':');
	}
	return NULL;
}

bool command_words_is_there(const char *command)
{
	struct words w = {.n_looks = 0};
	char *path = find_program(&w, command);

	free(path);
	return path != NULL;
}

/* --- words ----------------------------------------------------------------------------------- */

static int take_text(struct words *w, char *text, bool is_shell);

/* Reads a script, for free(); NULL: the file is no script. */
static char *read_script(const char *path)
{
	int fd = named_file_open(path);
	char *text = fd >= 0 ? calloc(1, MOST_TEXT + 1) : NULL;
	ssize_t got = text ? read(fd, text, MOST_TEXT) : -1;

	if (fd >= 0)
		close(fd);
	if (got > 0 && !memchr(text, '\0', (size_t)got))
		return text;
	free(text);
	return NULL;
}

/* Takes the words of a script. If it is for another language, its first line has the program that
 * runs it. `is_run`: a file without such a line is a shell's script. */
static int take_script(struct words *w, const char *path, bool is_run)
{
	char *text = w->depth < MOST_DEPTH ? read_script(path) : NULL;
	int err = 0;

	if (text && (is_run || !strncmp(text, "#!", 2))) {
		if (!shell_words_is_script(text))
			text[strcspn(text, "\n")] = '\0';
		err = take_text(w, text, true);
	}
	free(text);
	return err;
}

static int take_program(struct words *w, char *path, bool is_run)
{
	int err;

	for (size_t i = 0; i < w->paths.count; i++) {
		if (!strcmp(w->paths.items[i], path)) {
			free(path);
			return 0;
		}
	}
	if (w->paths.count >= MOST_PROGRAMS || VEC_RESERVE(&w->paths, 1)) {
		free(path);
		return w->paths.count >= MOST_PROGRAMS ? 0 : -ENOMEM;
	}
	w->paths.items[w->paths.count++] = path;
	err = w->each(w->arg, path);
	return err ? err : take_script(w, path, is_run);
}

/* Notes a word. Returns 1 if it was noted before, or -ENOMEM. */
static int note_word(struct words *w, const char *word)
{
	char *copy;

	for (size_t i = 0; i < w->known.count; i++) {
		if (!strcmp(w->known.items[i], word))
			return 1;
	}
	copy = VEC_RESERVE(&w->known, 1) ? NULL : strdup(word);
	if (copy)
		w->known.items[w->known.count++] = copy;
	return copy ? 0 : -ENOMEM;
}

/* Adds the program or script that a word names. A name without a slash may be in the working
 * directory, too, since mpirun starts such programs. `is_run`: the word is at the place of a
 * command, or of a shell's script, which need not be executable. Returns 1 if it is a program. */
static int take_word(void *arg, const char *word, bool is_run)
{
	struct words *w = arg;
	char here[MOST_WORD + 3];
	char *path;
	int err;

	if (!*word || strlen(word) > MOST_WORD || w->n_looks >= MOST_LOOKS)
		return 0;
	err = note_word(w, word);
	if (err)
		return err < 0 ? err : 0;
	path = find_program(w, word);
	if (!path && !strchr(word, '/')) {
		snprintf(here, sizeof(here), "./%s", word);
		path = is_executable(w, here) ? strdup(here) : NULL;
	}
	if (path)
		err = take_program(w, path, is_run);
	else if (is_run && (strchr(word, '/') || !w->depth))
		err = take_script(w, word, true);
	return err ? err : path != NULL;
}

static int take_text(struct words *w, char *text, bool is_shell)
{
	int err;

	w->depth++;
	err = shell_words_each(text, is_shell, take_word, w);
	w->depth--;
	return err;
}

/* Adds the programs of a word of the command: the name of a program or script, or a shell's command
 * line. Clears `*launches` if it is a program that starts no others. */
static int take_argument(struct words *w, const char *argument, bool *launches)
{
	const bool is_line = strpbrk(argument, SHELL_WORDS_SEPARATORS) != NULL;
	const bool is_shell = *launches;
	char *line;
	int err = argument[0] == '-' ? 0 : take_word(w, argument, *launches);

	if (err > 0)
		*launches = shell_words_is_launcher(argument);
	if (err || !is_line)
		return err < 0 ? err : 0;
	line = strdup(argument);
	err = line ? take_text(w, line, is_shell) : -ENOMEM;
	free(line);
	return err;
}

static void free_names(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

int command_words_each(char *const *command, int (*each)(void *arg, const char *path), void *arg)
{
	struct words w = {.each = each, .arg = arg};
	char *own = find_program(&w, command[0]);
	bool launches = shell_words_is_launcher(command[0]);
	int err = own ? take_script(&w, own, true) : 0;

	for (size_t i = 1; command[i] && !err; i++)
		err = take_argument(&w, command[i], &launches);
	free_names(w.paths.items, w.paths.count);
	free_names(w.known.items, w.known.count);
	free(own);
	return err;
}
