/* SPDX-License-Identifier: MIT */
/* The files that processes have mapped, which opens them, and which of them were overwritten or can
 * be closed. Only recorder*.c include this. */
#ifndef RECORDER_RECORDER_FILES_H
#define RECORDER_RECORDER_FILES_H

#include "daemon/recorder/new_mappings.h"
#include "daemon/recorder/recorder.h"
#include "daemon/recorder/user_shares.h"
#include "daemon/worker/ask_worker.h"
#include "daemon/worker/slow_files.h"
#include "proc/fuse_devices.h"
#include "proc/object.h"
#include "proc/open_files.h"
#include "proc/process.h"
#include "proc/written_files.h"

struct recorder_files {
	struct object_table *objects;
	struct ask_files *ask;	       /* the worker that opens files; NULL: this process opens
					* them */
	struct slow_files *slow;       /* copies of files on mounts that may not answer; NULL: none
					* are made */
	struct open_files *open;       /* NULL: files stay open */
	struct written_files *written; /* NULL: writes to mapped files are not noticed */
	int watch_error;	       /* why writes are not noticed, as -errno; 0: they are */
	struct new_mappings new_mappings;
	struct fuse_devices fuse_devices;
	struct user_shares shares; /* of files to read */
	struct user_shares waits;  /* seconds that the loop waits for slow files */
	uid_t user;		   /* whose file is being opened */
	bool has_user;		   /* and no file was opened for it yet */
	pid_t refused_pid;	   /* the process that was refused one last, and when */
	uint64_t refused_ns;
	uint64_t refused;   /* times that a file was not read for want of a share */
	double budget;	    /* which the shares are of: recorder_options.budget */
	double full_budget; /* as it was at first */
	double price;	    /* of a file in these shares: 1, and more while stackd is in debt */
	bool is_running;    /* the files of processes that ran before have been read */
	struct mount_lists *mounts; /* of which files to copy is found out */
	bool has_news;		    /* copies have become complete */
	bool is_again;		    /* mappings are being resolved again */
	uint64_t again_ns;	    /* when the next ones may be */
	uint64_t failed_again_ns;   /* when those that have failed are looked at */
};

/* Makes the table of files, in a zeroed struct. 0 or -ENOMEM; recorder_files_fini() in any case. */
int recorder_files_init(struct recorder_files *files, const struct recorder_options *options);
void recorder_files_fini(struct recorder_files *files); /* a zeroed one is fine */

/* As the options say, begins to notice writes to files that processes have mapped, and to close
 * files that no process maps any more. `processes` is borrowed. 0 or -ENOMEM. */
int recorder_files_watch(struct recorder_files *files, const struct recorder_options *options,
			 struct process_table *processes);

/* Sets the budget of the options. While it is less than at first, files also cost more, so that
 * what users have saved does not go as far. */
void recorder_files_set_budget(struct recorder_files *files, double budget);

/* Looks whether copies of files on slow mounts have become complete, and enters these files into
 * the mappings that have waited for them. 0 or -ENOMEM. */
int recorder_files_look(struct recorder_files *files, struct process_table *processes);

/* Returns whether files are being copied, so that one looks every few milliseconds. */
bool recorder_files_are_copied(const struct recorder_files *files);

/* Counts the memory of these copies. To be called about once a second. */
void recorder_files_count(struct recorder_files *files);

/* Returns how many such files there were. */
struct slow_files_counts recorder_files_slow(const struct recorder_files *files);

/* Requests the vDSO's table. */
void recorder_files_want_vdso(struct recorder_files *files, struct tables *tables);

#endif
