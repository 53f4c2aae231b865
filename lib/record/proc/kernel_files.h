/* SPDX-License-Identifier: MIT */
/*
 * The files of /proc that state addresses of the kernel. Where kernel.kptr_restrict hides them, the
 * kernel shows them if the process had CAP_SYSLOG when it opened the files. So a process that opens
 * them first need not keep that right, which also lets it empty the kernel's log.
 */
#ifndef PROC_KERNEL_FILES_H
#define PROC_KERNEL_FILES_H

struct kernel_files {
	int symbols, modules; /* descriptors of kallsyms and modules; -errno */
};

#define KERNEL_FILES_NONE                                                                          \
	(struct kernel_files)                                                                      \
	{                                                                                          \
		-1, -1                                                                             \
	}

/* Opens the files below `root` ("/proc"). An error stands in place of the descriptor. */
void kernel_files_open(const char *root, struct kernel_files *ret_files);

/* Closes what is open. */
void kernel_files_close(struct kernel_files *files);

#endif
