/* SPDX-License-Identifier: MIT */
/*
 * stackctl-mpi merge: does what `stackctl merge` does in the processes of an MPI job, one on each
 * node. Each process reads its inputs with stackctl's code; lib/record/tagset/tagset_share.h does
 * the rest.
 *
 * If a process meets an error while it reads, all processes agree upon that and end with its
 * status. If a process meets one later, while others wait for it, it ends the job by MPI_Abort().
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "base/argp_help.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/tagset_input.h"
#include "mpi/comm.h"
#include "mpi/job_file.h"
#include "mpi/watch.h"

enum { OPTION_LOCAL = 0x100 };

#define NAME_MAX_BYTES 320

struct merge {
	char **inputs;
	unsigned n;
	const char *output;
	bool is_local;
	struct comm comm;
	struct tagset *set;
};

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0, "Write to this file; process 0 does", 1},
	{"local", OPTION_LOCAL, 0, 0,
	 "Each process reads all STOREs: they are its own node's, under names that are the same on "
	 "each. Without this, each reads its part of the STOREs",
	 1},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct merge *m = state->input;

	switch (key) {
	case 'o':
		m->output = arg;
		return 0;
	case OPTION_LOCAL:
		m->is_local = true;
		return 0;
	case ARGP_KEY_ARGS:
		m->inputs = state->argv + state->next;
		m->n = (unsigned)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_help_error(state, "give what to merge: stores, or files that 'stackctl export "
				       "--tags' wrote");
		return 0;
	case ARGP_KEY_END:
		if (!m->output)
			argp_help_error(state, "give the file to write: -o FILE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "STORE...",
	.doc = "Merges the stores of an MPI job's nodes into one tag export, over MPI.\v"
	       "Started by the launcher of the MPI that it was built for, as one process a node:\n\n"
	       "  mpirun --map-by ppr:1:node stackctl-mpi merge -o job.tags nodes/*.db\n"
	       "  srun --ntasks-per-node=1 stackctl-mpi merge --local -o job.tags "
	       "/var/lib/stackd/store.db\n"
	       "  stackctl report -i job.tags --by rank\n\n"
	       "The file is that of 'stackctl merge' with the same STOREs, to the byte, whatever the "
	       "number of processes, but none of them holds all: the memory of each is in proportion "
	       "to its STOREs and to its equal part of the result (docs/FLEETS.md). If one cannot "
	       "read a STORE, or ends, all end, and there is no FILE.",
};

/* --- merging ---------------------------------------------------------------------------------- */

static int read_inputs(struct merge *m)
{
	uint32_t rank = m->comm.router.rank, size = m->comm.router.size;
	int status = CMD_DONE;

	for (unsigned i = 0; status == CMD_DONE && i < m->n; i++)
		if (m->is_local || i % size == rank)
			status = tagset_input_add(m->set, m->inputs[i], 0, TAGSET_INPUT_ALL,
						  METRIC_CPU);
	return status;
}

/* Returns the worst status of all processes. */
static int agree(struct merge *m, int status)
{
	uint64_t worst = (uint64_t)status;

	if (router_largest(&m->comm.router, &worst, 1) < 0)
		comm_abort(CMD_FAILED);
	return (int)worst;
}

/* Prints the messages about the whole job, in process 0. */
static void tell(const struct merge *m, const struct tagset_shared *shared)
{
	if (m->comm.router.rank)
		return;
	if (shared->repeated)
		message("%" PRIu64 " recording%s in more than one input: what is in both counts "
			"twice",
			shared->repeated, text_plural(shared->repeated, " is", "s are"));
	if (shared->skipped)
		message("left out %" PRIu64 " line%s that only newer versions know",
			shared->skipped, text_plural(shared->skipped, "", "s"));
}

/* Prints the message of an error that all processes have, in process 0. Returns the status. */
static int nothing(const struct merge *m)
{
	if (m->comm.router.rank == 0)
		message("there are no samples to merge");
	return CMD_NO_SAMPLES;
}

static int write_all(struct merge *m, struct job_file *file)
{
	struct tagset_sink sink = job_file_sink(file);
	struct tagset_shared shared;
	int err = tagset_share(m->set, &m->comm.router, &sink, &shared);

	if (err == -ENODATA)
		return nothing(m);
	if (err == -EOVERFLOW) {
		message("the counts add up to more than 64 bits hold");
		comm_abort(CMD_FAILED);
	}
	if (err < 0) {
		message("cannot write %s: %s", m->output, strerror(-err));
		comm_abort(CMD_FAILED);
	}
	tell(m, &shared);
	err = job_file_end(file);
	if (err < 0)
		message("cannot write %s: %s", m->output, strerror(-err));
	return agree(m, err < 0 ? CMD_FAILED : CMD_DONE);
}

static int merge(struct merge *m)
{
	struct job_file *file = NULL;
	int err, status = agree(m, read_inputs(m));

	if (status != CMD_DONE)
		return status;
	err = job_file_new(&m->comm, m->output, &file);
	if (err < 0)
		message("cannot write %s: %s", m->output, strerror(-err));
	status = agree(m, err < 0 ? CMD_FAILED : CMD_DONE);
	if (status == CMD_DONE)
		status = write_all(m, file);
	job_file_free(file);
	return status;
}

/* --- the program ------------------------------------------------------------------------------ */

/* Returns the value of the first of these variables that the launcher has set, or NULL. */
static const char *told(const char *const *names)
{
	for (; *names; names++)
		if (getenv(*names))
			return getenv(*names);
	return NULL;
}

static const char *own_rank(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
					    "SLURM_PROCID", NULL};

	return told(names);
}

/* Makes the prefix of this process's messages. */
static void name_process(char ret_name[static NAME_MAX_BYTES])
{
	static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS",
					    NULL};
	const char *rank = own_rank(), *size = told(sizes);
	char host[256] = "?";

	gethostname(host, sizeof(host) - 1);
	snprintf(ret_name, NAME_MAX_BYTES, "stackctl-mpi: process %s of %s on %s",
		 rank ? rank : "0",
		 size	? size
		 : rank ? "?"
			: "1",
		 host);
}

/* Returns whether another process of the job reads the same options, and reports the errors in
 * them. */
static bool is_another_first(void)
{
	const char *rank = own_rank();

	return rank && strcmp(rank, "0") != 0;
}

/* Reads the options before MPI is begun. If they are wrong, ends the process. */
static void read_options(int argc, char **argv, struct merge *m)
{
	static char name[] = "stackctl-mpi merge";
	int errors = is_another_first() ? dup(STDERR_FILENO) : -1;

	if (errors >= 0 && !freopen("/dev/null", "w", stderr))
		exit(CMD_FAILED);
	argv[0] = name;
	options_parse(&argp, argc, argv, m);
	if (errors >= 0) {
		fflush(stderr);
		dup2(errors, STDERR_FILENO);
		close(errors);
		setvbuf(stderr, NULL, _IONBF, 0);
	}
}

static int usage(FILE *out, int status)
{
	fputs("Usage: mpirun stackctl-mpi merge -o FILE STORE...\n\n"
	      "'stackctl-mpi merge --help' lists the options.\n",
	      out);
	return status;
}

int main(int argc, char **argv)
{
	struct merge m = {0};
	char name[NAME_MAX_BYTES];
	int status = CMD_FAILED;

	argp_err_exit_status = CMD_USAGE;
	argp_program_version = "stackctl-mpi " STACKD_VERSION;
	setlocale(LC_CTYPE, "");
	message_set_name("stackctl-mpi");
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0))
		return usage(stdout, CMD_DONE);
	if (argc > 1 && strcmp(argv[1], "--man") == 0)
		options_set_mode(OPTIONS_MAN);
	else if (argc < 2 || strcmp(argv[1], "merge") != 0)
		return usage(stderr, CMD_USAGE);
	read_options(argc - 1, argv + 1, &m);
	name_process(name);
	message_set_name(name);
	watch_begin(name);
	MPI_Init(&argc, &argv);
	comm_new(&m.comm);
	if (tagset_new(&m.set) < 0)
		comm_abort(CMD_FAILED);
	status = merge(&m);
	tagset_free(m.set);
	MPI_Finalize();
	return status;
}
