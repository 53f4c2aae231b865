/* SPDX-License-Identifier: MIT */
/* Looks up MPI's functions; see function.h. */
#include "function.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>

#include "functions.h"
#include "mpi/mpi_calls.h"
#include "unload.h"

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

/* One of the libraries with "mpi" in their names. */
struct candidate {
	unsigned n_before; /* how many are passed over */
	char path[PATH_MAX];
};

/* The linker has a lock here that others take while they are in dlopen(): nothing but the path is
 * taken. */
static int take_candidate(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct candidate *candidate = arg;
	const char *slash = strrchr(info->dlpi_name, '/');
	size_t len = strlen(info->dlpi_name);

	(void)size;
	if (!slash || !strstr(slash, "mpi") || strstr(slash, "libstackmpi") ||
	    len >= sizeof(candidate->path) || candidate->n_before--)
		return 0;
	memcpy(candidate->path, info->dlpi_name, len + 1);
	return 1;
}

/* An MPI library that a plugin has brought (mpi4py's, say) is not among the global ones. */
static void *look_up_in_plugins(const char *name)
{
	struct candidate candidate;
	void *found = NULL;

	for (unsigned i = 0; !found; i++) {
		void *library;

		candidate.n_before = i;
		if (!dl_iterate_phdr(take_candidate, &candidate))
			break;
		library = dlopen(candidate.path, RTLD_LAZY | RTLD_NOLOAD);
		if (library) {
			found = dlsym(library, name);
			unload_release(library); /* it stays, as the program uses it */
		}
	}
	return found;
}

static void *look_up(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	return found ? found : look_up_in_plugins(name);
}

/* What the first of several threads stores that have looked it up. A thread that looks up waits for
 * the linker, and may be waited for by one that has the linker's lock: so it waits for no other. */
static __thread const struct function_sizes *sizes_of_thread;
static bool are_sizes_set;

static void set_sizes(void)
{
	function_sizes = *sizes_of_thread;
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		const char *name = functions[i].name + (*functions[i].name == 'P');

		functions[i].call = mpi_calls_find(name, 0, 1, function_sizes.vendor);
		functions[i].frees_request = !strcmp(name, "MPI_Request_free");
	}
	if (!function_sizes.type_size || !function_sizes.comm_size || !function_sizes.comm_rank ||
	    !function_sizes.comm_test_inter)
		function_sizes.vendor = STACKD_MPI_NO_LIBRARY;
	__atomic_store_n(&are_sizes_set, true, __ATOMIC_RELEASE);
}

static void find_sizes(void)
{
	struct function_sizes found = {
		.vendor = look_up("ompi_mpi_comm_world") ? STACKD_MPI_OPEN : STACKD_MPI_MPICH,
		.type_size = (int (*)(uint64_t, int *))look_up("PMPI_Type_size"),
		.comm_size = (int (*)(uint64_t, int *))look_up("PMPI_Comm_size"),
		.comm_rank = (int (*)(uint64_t, int *))look_up("PMPI_Comm_rank"),
		.comm_test_inter = (int (*)(uint64_t, int *))look_up("PMPI_Comm_test_inter"),
	};

	if (found.vendor == STACKD_MPI_OPEN) {
		found.type_null = (uintptr_t)look_up("ompi_mpi_datatype_null");
		found.comm_null = (uintptr_t)look_up("ompi_mpi_comm_null");
	} else {
		found.type_null = 0x0c000000;
		found.comm_null = 0x04000000;
	}
	sizes_of_thread = &found;
	pthread_once(&has_sizes, set_sizes);
}

/* Several threads may look up a function, and find the same. */
__attribute__((noinline, cold)) static void find(uint64_t number)
{
	void *found = look_up(functions[number].name);

	if (!found)
		return;
	if (!__atomic_load_n(&are_sizes_set, __ATOMIC_ACQUIRE))
		find_sizes();
	__atomic_store_n(&functions[number].next, found, __ATOMIC_RELEASE);
}

const struct function *function_of(uint64_t number)
{
	if (__builtin_expect(!__atomic_load_n(&functions[number].next, __ATOMIC_ACQUIRE), 0))
		find(number);
	return &functions[number];
}

/* --- without a library ------------------------------------------------------------------------ */

#define ERR_OTHER 16 /* MPI_ERR_OTHER of Open MPI; of MPICH, MPI_ERR_INTERN */

static int succeed(void)
{
	return 0;
}

static int fail(void)
{
	return ERR_OTHER;
}

static double no_time(void)
{
	return 0;
}

/* Stores "no" for C, and for Fortran, which has the result as a further argument. */
static void say_no(const struct call *call, bool is_fortran)
{
	int *flag = (int *)(uintptr_t)call->arguments[0];
	int *result = (int *)(uintptr_t)call->arguments[1];

	if (flag)
		*flag = 0;
	if (is_fortran && result)
		*result = 0;
}

struct call_target function_missing(const struct call *call)
{
	const char *name = functions[call->number].name + (*functions[call->number].name == 'P');

	if (!strcmp(name, "MPI_Wtime") || !strcmp(name, "MPI_Wtick"))
		return (struct call_target){.function = (const void *)no_time};
	if (strncasecmp(name, "MPI_Initialized", 15) && strncasecmp(name, "MPI_Finalized", 13))
		return (struct call_target){.function = (const void *)fail};
	say_no(call, *name == 'm');
	return (struct call_target){.function = (const void *)succeed};
}
