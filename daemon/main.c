/* SPDX-License-Identifier: MIT */
/* stackd: records the call paths of running programs. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/log.h"
#include "daemon/base/options.h"
#include "daemon/capture/call_tables.h"
#include "daemon/regions/alloc_library.h"
#include "daemon/regions/region_service.h"
#include "daemon/session.h"
#include "daemon/worker/copier.h"
#include "daemon/worker/fetcher.h"
#include "daemon/worker/sandbox.h"
#include "daemon/worker/service.h"

/* Joins the command line with spaces. The result is malloc()ed; NULL without memory. */
static char *join(int argc, char **argv)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (int i = 0; i < argc; i++)
		fprintf(out, "%s%s", i ? " " : "", argv[i]);
	return fclose(out) ? NULL : text;
}

/* Sets up malloc() so that a daemon that runs for weeks returns unused memory to the kernel,
 * because symbol tables come and go, and must not leave holes in the heap. Memory that is needed
 * each second, such as a batch's arrays, stays mapped: page faults on it were a tenth of the
 * daemon's CPU time. */
static void give_memory_back(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	mallopt(M_TRIM_THRESHOLD, 2 << 20);
	mallopt(M_ARENA_MAX, 2);
}

/* Chooses probes if libstackmpi is not there and need not be. */
static void find_mpi(struct options *options)
{
	if (options->mpi_way == MPI_BY_LIBRARY ||
	    !alloc_library_find("libstackmpi.so", &options->calls_library))
		return;
	log_warning("--mpi: there is no libstackmpi.so, so probes measure the calls: install "
		    "stackd again");
	options->mpi_by_library = false;
	options->annotated = false;
}

static enum exit_status find_one(const char *option, const char *name, char **ret_path)
{
	if (!alloc_library_find(name, ret_path))
		return STATUS_DONE;
	log_error("%s: there is no %s, neither beside stackd nor in lib/stackd below its prefix: "
		  "install stackd again",
		  option, name);
	return STATUS_FAILED;
}

/* Finds the libraries that --alloc, --mpi and --annotated preload and probe. */
static enum exit_status find_libraries(struct options *options)
{
	enum exit_status status = STATUS_DONE;

	if (options->alloc_bytes)
		status = find_one("--alloc", "libstackalloc.so", &options->alloc_library);
	if (!status && options->mpi_by_library)
		find_mpi(options);
	if (!status && options->mpi_by_library && !options->calls_library)
		status = find_one("--mpi", "libstackmpi.so", &options->calls_library);
	if (!status && options->annotated && !options->mpi)
		status = find_one("--annotated", "libstackregion.so", &options->calls_library);
	if (!status && options->calls_library && call_tables_name(options->calls_socket)) {
		log_error("there are no random numbers");
		status = STATUS_FAILED;
	}
	return status;
}

/* Logs which rights the workers could not give up, if stackd runs as root, where that is
 * unexpected. */
static void tell_gaps(unsigned gaps, bool quiet)
{
	if (!gaps || geteuid() || quiet)
		return;
	log_info("the process that reads files keeps stackd's%s%s%s%s: the right to give it up, or "
		 "the kernel's support, is missing here",
		 gaps & SANDBOX_SAME_USER ? " user" : "",
		 gaps & SANDBOX_SAME_ROOT ? " root folder" : "",
		 gaps & SANDBOX_CAPABILITIES ? " capabilities" : "",
		 gaps & SANDBOX_NO_FILTER ? " system calls" : "");
}

static void run_worker(int socket, void *page)
{
	service_run(socket, page, region_service);
}

/* Starts the process that forks the workers. It is started first, so that workers inherit no data,
 * and little memory. */
static enum exit_status start_fork_server(const struct options *options,
					  struct fork_server **ret_server)
{
	int err;

	service_prepare();
	err = fork_server_new(run_worker, ret_server);
	if (err) {
		log_error("cannot start the process that reads files: %s", strerror(-err));
		return STATUS_FAILED;
	}
	tell_gaps(fork_server_gaps(*ret_server), options->quiet);
	return STATUS_DONE;
}

#define FETCH_BYTES (UINT64_C(1) << 30) /* of a file from a debuginfod server */
#define FETCH_NS    UINT64_C(10000000000)

/* Without servers, there is none. */
static void start_fetcher(struct fetcher **ret_fetcher)
{
	int err = fetcher_new(FETCH_BYTES, FETCH_NS, ret_fetcher);

	if (err && err != -ENOENT)
		log_warning("debuginfod servers will not be asked: %s", strerror(-err));
}

int main(int argc, char **argv)
{
	struct fork_server *server = NULL;
	struct copier *copier = NULL;
	struct fetcher *fetcher = NULL;
	struct options options;
	enum exit_status status;
	char *command_line;

	give_memory_back();
	log_setup();
	command_line = join(argc, argv); /* before options are cut to pieces */
	options_parse(argc, argv, &options);
	status = start_fork_server(&options, &server);
	if (!status && copier_new(&copier))
		log_warning("files on FUSE and network mounts will not be read");
	if (!status)
		start_fetcher(&fetcher);
	if (!status)
		status = find_libraries(&options);
	if (!status)
		status = session_run(&options, server, copier, fetcher,
				     command_line ? command_line : "stackd");
	fetcher_free(fetcher);
	copier_free(copier);
	fork_server_free(server);
	free(command_line);
	options_free(&options);
	return (int)status;
}
