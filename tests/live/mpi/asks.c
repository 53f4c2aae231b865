/* SPDX-License-Identifier: MIT */
/*
 * Is not linked with MPI, but asks whether it is there, by dlsym(), and if so, whether it is
 * initialized or finalized. What else it calls says that it fails.
 */
#include <dlfcn.h>
#include <stdio.h>

static int asked(const char *name)
{
	int (*ask)(int *flag) = (int (*)(int *))dlsym(RTLD_DEFAULT, name);
	int flag = 1;

	return ask ? ask(&flag) || flag : 2;
}

static int asked_for_fortran(const char *name)
{
	void (*ask)(int *flag, int *error) = (void (*)(int *, int *))dlsym(RTLD_DEFAULT, name);
	int flag = 1, error = 1;

	if (!ask)
		return 2;
	ask(&flag, &error);
	return flag || error;
}

int main(void)
{
	int (*send)(void *, int, void *, int, int, void *) =
		(int (*)(void *, int, void *, int, int, void *))dlsym(RTLD_DEFAULT, "MPI_Send");
	double (*time)(void) = (double (*)(void))dlsym(RTLD_DEFAULT, "MPI_Wtime");

	printf("%d %d %d", asked("MPI_Initialized"), asked("MPI_Finalized"),
	       asked("PMPI_Initialized"));
	printf(" %d", asked_for_fortran("mpi_initialized_"));
	printf(" %d %g\n", send && send(NULL, 1, NULL, 0, 0, NULL), time ? time() : -1);
	return 0;
}
