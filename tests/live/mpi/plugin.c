/* SPDX-License-Identifier: MIT */
/* A plugin that brings MPI: it asks what can be asked before MPI_Init(). */
#include <mpi.h>

int plugin_asks(void)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int flags[4], version[2], len;

	MPI_Wtick();
	MPI_Initialized(&flags[0]);
	MPI_Finalized(&flags[1]);
	PMPI_Initialized(&flags[2]);
	PMPI_Finalized(&flags[3]);
	MPI_Get_version(&version[0], &version[1]);
	MPI_Get_library_version(text, &len);
	PMPI_Get_version(&version[0], &version[1]);
	PMPI_Get_library_version(text, &len);
	return flags[0] || flags[1] || flags[2] || flags[3] ? -1 : version[0];
}
