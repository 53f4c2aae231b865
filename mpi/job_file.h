/* SPDX-License-Identifier: MIT */
/*
 * The file of a job, which one process writes, and of which all processes have parts.
 *
 * Process 0 writes: it asks one process after the other for its parts and puts them at their
 * offsets, a piece at a time. So the file may be on any file system, also one that only a single
 * node has, and no memory grows with the file. Within a section, parts are in the order of the
 * processes, so these could write by themselves (MPI_File_write_at()). That was rejected: it needs
 * a file system that all nodes share and on which several can write parts of a block, and a job
 * that ends early would leave an incomplete file under some name.
 *
 * The file has no name until it is complete (O_TMPFILE), so a process 0 that is killed leaves
 * nothing. On a file system without O_TMPFILE, it has a temporary name, which SIGINT, SIGTERM,
 * SIGHUP and SIGQUIT remove.
 */
#ifndef MPI_JOB_FILE_H
#define MPI_JOB_FILE_H

#include "mpi/comm.h"
#include "tagset/tagset_share.h"

struct job_file;

/* Begins the file in process 0; other processes only prepare for sending their parts. `path` and
 * `comm` are borrowed. Returns 0 or -errno. */
int job_file_new(struct comm *comm, const char *path, struct job_file **ret_file);

/* Returns a sink for the parts of tagset_share(). Errors of writing occur in process 0. */
struct tagset_sink job_file_sink(struct job_file *file);

/* Gives the file its name, replacing any other file of that name. Returns 0 or -errno. */
int job_file_end(struct job_file *file);

/* Frees the writer; removes the file unless job_file_end() has succeeded. NULL is fine. */
void job_file_free(struct job_file *file);

#endif
