/* SPDX-License-Identifier: MIT */
/*
 * stackctl names push: finds names for locations in a fleet's database that have none, or no lines,
 * and sends them: from files of this machine, from those that are given, and from debuginfod. So
 * the hosts that record need no debug information, and what they have recorded gets names later.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/servers/credentials.h"
#include "cli/servers/push_server.h"
#include "clickhouse/clickhouse.h"
#include "clickhouse/mend.h"
#include "elf/elf_file.h"
#include "sym/reader_names.h"

#define NAMES_FILE_NS (3600 * UINT64_C(1000000000)) /* limit for naming one file's locations */

enum { NAMES_CREDENTIALS = 0x180 };

/* A file that was given, by its build-id. */
struct named_file {
	char *build_id;
	const char *path;
};

struct cmd_names {
	bool has_push;
	const char *url, *credentials;
	VEC(struct named_file) files;
	VEC(const char *) paths; /* as given */
	struct reader_names *names;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_names *args = state->input;

	switch (key) {
	case NAMES_CREDENTIALS:
		args->credentials = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (!args->has_push && strcmp(arg, "push") != 0)
			argp_help_error(state, "'%s': the first word is 'push'", arg);
		else if (!args->has_push)
			args->has_push = true;
		else if (!args->url)
			args->url = arg;
		else if (VEC_RESERVE(&args->paths, 1) == 0)
			args->paths.items[args->paths.count++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!args->url || !clickhouse_is_url(args->url))
			argp_help_error(state, "give a database: stackctl names push "
					       "clickhouse://HOST[:PORT]/DATABASE [FILE...]");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- files ------------------------------------------------------------------------------------ */

/* Notes the build-id of a file. Returns the exit status. */
static int add_file(struct cmd_names *args, const char *path)
{
	struct elf_file *file = NULL;
	struct buf text = {0};
	const uint8_t *id = NULL;
	size_t len = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? -errno : elf_file_open_any(fd, &file);

	if (fd >= 0)
		close(fd);
	if (err == 0)
		id = elf_file_build_id(file, &len);
	for (size_t i = 0; i < len; i++)
		text_printf(&text, "%02x", id[i]);
	buf_put_u8(&text, '\0');
	elf_file_free(file);
	if (err < 0 || !len) {
		message("%s: %s", path, err < 0 ? strerror(-err) : "it has no build-id");
		buf_free(&text);
		return CMD_USAGE;
	}
	if (text.failed || VEC_RESERVE(&args->files, 1) < 0) {
		buf_free(&text);
		message("out of memory");
		return CMD_FAILED;
	}
	args->files.items[args->files.count++] =
		(struct named_file){.build_id = (char *)text.data, .path = path};
	return CMD_DONE;
}

static const char *path_of(void *arg, const char *build_id)
{
	const struct cmd_names *args = arg;

	for (size_t i = 0; i < args->files.count; i++)
		if (strcmp(args->files.items[i].build_id, build_id) == 0)
			return args->files.items[i].path;
	return NULL;
}

/* --- names ------------------------------------------------------------------------------------ */

static uint64_t now(void *arg)
{
	(void)arg;
	return clock_ns(CLOCK_MONOTONIC);
}

static int find(void *arg, struct store_reader *reader)
{
	static const struct reader_names_options options = {
		.proc_root = "/proc", .sys_root = "/sys", .now_ns = now, .is_thorough = true};
	struct cmd_names *args = arg;
	int err;

	reader_names_free(args->names);
	args->names = NULL;
	if (!reader)
		return 0;
	err = reader_names_new(&options, &args->names);
	return err == 0 ? reader_names_find(args->names, reader, NAMES_FILE_NS) : err;
}

static int names(struct cmd_names *args, struct clickhouse *c)
{
	const struct mend_finder finder = {.path = path_of, .find = find, .arg = args};
	struct cluster *cluster = NULL;
	struct mended mended = {0};
	int err = cluster_open(c, &cluster);

	if (err == 0)
		err = mend(cluster, &finder, &mended);
	cluster_free(cluster);
	if (err < 0) {
		message("%s", *clickhouse_error(c) ? clickhouse_error(c) : strerror(-err));
		return push_status_of(err);
	}
	message("%s: locations without lines: %" PRIu64 ", in %" PRIu64
		" files; better names sent: of %" PRIu64 ", in %" PRIu64 " files",
		clickhouse_name(c), mended.locations, mended.files, mended.mended_locations,
		mended.mended_files);
	return CMD_DONE;
}

static int run(struct cmd_names *args)
{
	struct clickhouse_options options = {.url = args->url};
	struct login login = {0};
	struct clickhouse *c = NULL;
	char *error = NULL;
	int status = credentials_read(args->credentials, CREDENTIALS_CLICKHOUSE, &login), err;

	for (size_t i = 0; status == CMD_DONE && i < args->paths.count; i++)
		status = add_file(args, args->paths.items[i]);
	if (status == CMD_DONE) {
		options.login = &login;
		err = clickhouse_new(&options, &c, &error);
		if (err < 0)
			message("%s", error ? error : strerror(-err));
		status = err < 0 ? push_status_of(err) : names(args, c);
	}
	free(error);
	clickhouse_free(c);
	login_fini(&login);
	return status;
}

int cmd_names(int argc, char **argv)
{
	static const struct argp_option options[] = {{"credentials", NAMES_CREDENTIALS, "FILE", 0,
						      "Log in as this file says: see stackctl push",
						      1},
						     {0}};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "push clickhouse://[USER@]HOST[:PORT]/DATABASE [FILE...]",
		.doc = "Finds names for locations in a server's database that have none, or no "
		       "lines, and sends them (docs/FLEETS.md): from programs and libraries of "
		       "this machine, from the FILEs, whose build-ids tell what they are, and from "
		       "debuginfod (DEBUGINFOD_URLS).",
	};
	struct cmd_names args = {0};
	int status;

	options_parse(&argp, argc, argv, &args);
	status = run(&args);
	for (size_t i = 0; i < args.files.count; i++)
		free(args.files.items[i].build_id);
	free(args.files.items);
	free(args.paths.items);
	return status;
}
