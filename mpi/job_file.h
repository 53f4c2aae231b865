/* SPDX-License-Identifier: MIT */
/*
 * The file of a job, which one process writes and all have parts of.
 *
 * Process 0 writes: it asks one process after the other for its parts and puts them at their
 * offsets, a piece at a time. So the file may be on any file system, as that of one node alone, and
 * no memory grows with the file. Parts are in the processes' own order within a section, so these
 * could write by themselves (MPI_File_write_at()); that was rejected, for it needs a file system of
 * all nodes on which parts of a block can be written by several, and a job that ends in between
 * leaves what it had written under some name.
 *
 * The file has no name until it is complete (O_TMPFILE), so a process 0 that is killed leaves
 * nothing. On a file system without that, it has a name of its own, which all but SIGKILL removes.
 */
#ifndef MPI_JOB_FILE_H
#define MPI_JOB_FILE_H

#include "mpi/comm.h"
#include "tagset/tagset_share.h"

struct job_file;

/* Begins the file in process 0; the others only take part. `path` and `comm` are borrowed. 0 or
 * -errno. */
int job_file_new(struct comm *comm, const char *path, struct job_file **ret_file);

/* Takes what tagset_share() puts. Errors are those of writing, in process 0. */
struct tagset_sink job_file_sink(struct job_file *file);

/* Gives it its name, in place of another that has it. 0 or -errno. */
int job_file_end(struct job_file *file);

/* Leaves nothing unless job_file_end() has; NULL is fine. */
void job_file_free(struct job_file *file);

#endif
