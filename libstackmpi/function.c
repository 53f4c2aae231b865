/* SPDX-License-Identifier: MIT */
/* Looks up MPI's functions; see function.h. */
#include "function.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "functions.h"
#include "mpi/mpi_calls.h"

#define ROW(its_name, arguments)                                                                   \
	{.name = (its_name),                                                                       \
	 .n_stacked = (arguments) > CALL_ARGUMENTS ? (arguments)-CALL_ARGUMENTS : 0},
#define ROW_C(name, arguments)	      ROW("MPI_" #name, arguments)
#define ROW_PROFILED(name, arguments) ROW("PMPI_" #name, arguments)
#define ROW_FORTRAN(name, arguments)  ROW("mpi_" #name "_", MPI_FORTRAN_ARGUMENTS(arguments))
#define ROW_FORTRAN_2008(name, arguments)                                                          \
	ROW("mpi_" #name "_f08_", MPI_FORTRAN_ARGUMENTS(arguments))
#define ROW_FORTRAN_2008_ARRAYS(name, arguments)                                                   \
	ROW("mpi_" #name "_f08ts_", MPI_FORTRAN_ARGUMENTS(arguments))

static struct function functions[] = {MPI_ALL_FUNCTIONS(ROW)};

#define N_FUNCTIONS (sizeof(functions) / sizeof(*functions))

struct function_sizes function_sizes;

static pthread_once_t has_sizes = PTHREAD_ONCE_INIT;

/* --- looking up ------------------------------------------------------------------------------- */

static void give_up(const char *name)
{
	static const char text[] = "libstackmpi: there is no function behind this library's ";
	ssize_t n = write(STDERR_FILENO, text, sizeof(text) - 1);

	n += write(STDERR_FILENO, name, strlen(name));
	n += write(STDERR_FILENO, "\n", 1);
	(void)n;
	abort();
}

struct wanted {
	const char *name;
	void *found;
};

/* An MPI library that a plugin has brought (mpi4py's, say) is not among the global ones. */
static int look_at_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct wanted *w = arg;
	const char *slash = strrchr(info->dlpi_name, '/');
	void *library;

	(void)size;
	if (!slash || !strstr(slash, "mpi") || strstr(slash, "libstackmpi"))
		return 0;
	library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
	if (library) {
		w->found = dlsym(library, w->name);
		dlclose(library); /* it stays, as the program uses it */
	}
	return w->found != NULL;
}

static void *look_up(const char *name)
{
	struct wanted wanted = {.name = name, .found = dlsym(RTLD_NEXT, name)};

	if (!wanted.found)
		dl_iterate_phdr(look_at_library, &wanted);
	return wanted.found;
}

static void find_sizes(void)
{
	const struct function_sizes found = {
		.vendor = look_up("ompi_mpi_comm_world") ? STACKD_MPI_OPEN : STACKD_MPI_MPICH,
		.type_size = (int (*)(uint64_t, int *))look_up("PMPI_Type_size"),
		.comm_size = (int (*)(uint64_t, int *))look_up("PMPI_Comm_size"),
		.comm_rank = (int (*)(uint64_t, int *))look_up("PMPI_Comm_rank"),
		.comm_test_inter = (int (*)(uint64_t, int *))look_up("PMPI_Comm_test_inter"),
	};

	function_sizes = found;
	if (found.vendor == STACKD_MPI_OPEN) {
		function_sizes.type_null = (uintptr_t)look_up("ompi_mpi_datatype_null");
		function_sizes.comm_null = (uintptr_t)look_up("ompi_mpi_comm_null");
	} else {
		function_sizes.type_null = 0x0c000000;
		function_sizes.comm_null = 0x04000000;
	}
	if (!found.type_size || !found.comm_size || !found.comm_rank || !found.comm_test_inter)
		function_sizes.vendor = STACKD_MPI_NO_LIBRARY;
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		const char *name = functions[i].name + (*functions[i].name == 'P');

		functions[i].call = mpi_calls_find(name, 0, 1, found.vendor);
		functions[i].frees_request = !strcmp(name, "MPI_Request_free");
	}
}

/* Several threads may look up a function, and find the same. */
__attribute__((noinline, cold)) static void find(uint64_t number)
{
	void *found = look_up(functions[number].name);

	if (!found)
		give_up(functions[number].name);
	pthread_once(&has_sizes, find_sizes);
	__atomic_store_n(&functions[number].next, found, __ATOMIC_RELEASE);
}

const struct function *function_of(uint64_t number)
{
	if (__builtin_expect(!__atomic_load_n(&functions[number].next, __ATOMIC_ACQUIRE), 0))
		find(number);
	return &functions[number];
}
