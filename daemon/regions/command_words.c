/* SPDX-License-Identifier: MIT */
/* Splits words and scripts; see command_words.h. */
#include "daemon/regions/command_words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/named_file.h"
#include "base/text.h"
#include "base/vec.h"

#define MOST_PROGRAMS 48
#define MOST_WORDS    4096u
#define MOST_TEXT     (64u << 10) /* bytes of a script */
#define MOST_DEPTH    3		  /* most scripts of which each starts the next one */
#define MOST_WORD     1024
#define SEPARATORS    " \t\r\n;&|()`\"'<>=${}"

struct words {
	int (*each)(void *arg, const char *path);
	void *arg;
	VEC(char *) paths; /* programs so far, each once */
	unsigned n_words;
};

/* --- finding files --------------------------------------------------------------------------- */

static bool is_executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Returns the file of a command as execvp() finds it, malloc()ed; NULL: none. */
static char *find_program(const char *word)
{
	const char *folders = getenv("PATH");
	char *path = NULL;

	if (!*word)
		return NULL;
	if (strchr(word, '/'))
		return is_executable(word) ? strdup(word) : NULL;
	if (!folders)
		folders = "/bin:/usr/bin";
	while (*folders) {
		int len = (int)strcspn(folders, ":");

		if (asprintf(&path, "%.*s/%s", len ? len : 1, len ? folders : ".", word) < 0)
			return NULL;
		if (is_executable(path))
			return path;
		free(path);
		folders += len + (folders[len] == ':');
	}
	return NULL;
}

bool command_words_is_there(const char *command)
{
	char *path = find_program(command);

	free(path);
	return path != NULL;
}

bool command_words_is_launcher(const char *command)
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

/* --- words ----------------------------------------------------------------------------------- */

static int take_text(struct words *w, char *text, unsigned depth);

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

static int take_script(struct words *w, const char *path, unsigned depth)
{
	char *text = depth < MOST_DEPTH ? read_script(path) : NULL;
	int err = text ? take_text(w, text, depth + 1) : 0;

	free(text);
	return err;
}

static int take_program(struct words *w, char *path, unsigned depth)
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
	return err ? err : take_script(w, path, depth);
}

/* Adds the program or script that a word names. A name without a slash may be in the working
 * directory, too, since mpirun starts such programs. */
static int take_word(struct words *w, const char *word, unsigned depth)
{
	char here[MOST_WORD + 3];
	char *path;

	if (strlen(word) > MOST_WORD || ++w->n_words > MOST_WORDS)
		return 0;
	path = find_program(word);
	if (path)
		return take_program(w, path, depth);
	if (strchr(word, '/'))
		return take_script(w, word, depth); /* a script for `sh script` need not be
						     * executable */
	snprintf(here, sizeof(here), "./%s", word);
	path = is_executable(here) ? strdup(here) : NULL;
	if (path)
		return take_program(w, path, depth);
	return depth == 0 ? take_script(w, word, depth) : 0;
}

static int take_text(struct words *w, char *text, unsigned depth)
{
	char *rest = NULL;
	int err = 0;

	for (char *word = strtok_r(text, SEPARATORS, &rest); word && !err;
	     word = strtok_r(NULL, SEPARATORS, &rest))
		err = take_word(w, word + (word[0] == '#' && word[1] == '!' ? 2 : 0), depth);
	return err;
}

/* Adds the programs of a word of the command: the name of a program or script, or a shell's command
 * line. */
static int take_argument(struct words *w, const char *argument)
{
	char *line;
	int err = take_word(w, argument, 0);

	if (err || !strpbrk(argument, SEPARATORS))
		return err;
	line = strdup(argument);
	err = line ? take_text(w, line, 1) : -ENOMEM;
	free(line);
	return err;
}

int command_words_each(char *const *command, int (*each)(void *arg, const char *path), void *arg)
{
	struct words w = {.each = each, .arg = arg};
	char *own = find_program(command[0]);
	int err = own ? take_script(&w, own, 0) : 0;

	for (size_t i = 1; command[i] && !err; i++)
		err = take_argument(&w, command[i]);
	for (size_t i = 0; i < w.paths.count; i++)
		free(w.paths.items[i]);
	free(w.paths.items);
	free(own);
	return err;
}
