/* SPDX-License-Identifier: MIT */
/* Attaches to libstackmpi; see mpi_source.h. */
#include "daemon/regions/mpi_source.h"

#include <bpf/bpf.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "daemon/base/log.h"
#include "daemon/regions/alloc_library.h"
#include "libstackmpi/functions.h"

int mpi_source_start(const struct options *options, const struct sampler_regions *kernel,
		     struct mpi_source *ret_source)
{
	struct mpi_source source = MPI_SOURCE_NONE;
	uint64_t offset = 0, semaphore = 0;
	int err = alloc_library_probe(options->calls_library, "stackmpi", "call", &offset,
				      &semaphore);

	if (!err)
		err = probe_attach(kernel->call_fd, options->calls_library, offset, 0, 0,
				   &source.call);
	if (!err)
		source.switches = bpf_raw_tracepoint_open(NULL, kernel->call_switch_fd);
	if (!err && source.switches < 0)
		err = source.switches;
	*ret_source = source;
	if (err)
		mpi_source_stop(ret_source);
	if (err)
		log_error("cannot probe %s: %s", options->calls_library, probe_reason(err));
	return err;
}

void mpi_source_stop(struct mpi_source *source)
{
	probe_detach(&source->call);
	if (source->switches >= 0)
		close(source->switches);
	source->switches = -1;
}

bool mpi_source_has(const char *name)
{
#define NAME_C(name, arguments)			  "MPI_" #name,
#define NAME_PROFILED(name, arguments)		  "PMPI_" #name,
#define NAME_FORTRAN(name, arguments)		  "mpi_" #name "_",
#define NAME_FORTRAN_2008(name, arguments)	  "mpi_" #name "_f08_",
#define NAME_FORTRAN_2008_ARRAYS(name, arguments) "mpi_" #name "_f08ts_",
	static const char *const names[] = {MPI_ALL_FUNCTIONS(NAME)};
	size_t len = strlen(name);

	if (!strncasecmp(name, "MPI_Init", 8) && strncasecmp(name, "MPI_Initialized", 15))
		return false;
	len -= len > 2 && !strcmp(name + len - 2, "__"); /* another name of the same */
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strncmp(names[i], name, len) && !names[i][len])
			return true;
	}
	return false;
}
