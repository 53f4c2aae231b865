/* SPDX-License-Identifier: MIT */
/* The verbs of stackctl and their exit statuses. A verb gets its own arguments, with "stackctl
 * VERB" as argv[0], and returns its exit status. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

enum cmd_status {
	CMD_DONE = 0,
	CMD_FAILED = 1,	    /* output could not be written, or memory was short */
	CMD_USAGE = 2,	    /* wrong arguments, or an input that cannot be read */
	CMD_NO_SAMPLES = 3, /* nothing to show */
	CMD_NO_SUPPORT = 4, /* permission or kernel support is missing */
	CMD_GROWN = 5,	    /* diff --fail-above: something has grown by more */
};

int cmd_report(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_flamegraph(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_align(int argc, char **argv);
int cmd_heap(int argc, char **argv);
int cmd_timeline(int argc, char **argv);
int cmd_fold(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_decode(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_push(int argc, char **argv);
int cmd_names(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_web(int argc, char **argv);
int cmd_completion(int argc, char **argv);

#endif
