/* SPDX-License-Identifier: MIT */
/* Options of perf record; see perf_habits.h. */
#include "daemon/base/perf_habits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argp_table.h"
#include "base/habits.h"
#include "daemon/base/exit_status.h"

#define EVENT_LEVEL "-e EVENT:u samples user space alone, -e EVENT:k the kernel (cycles:u)"

static const struct habit habits[] = {
	/* which tasks */
	{'t', "tid", HABIT_VALUE, NULL, NULL,
	 "whole processes are recorded (--pid N); 'stackctl report --tid N' shows one thread"},
	{'u', "uid", HABIT_VALUE, NULL, NULL,
	 "a user's processes are a cgroup: --cgroup user.slice/user-UID.slice"},
	{'C', "cpu", HABIT_VALUE, NULL, NULL,
	 "all CPUs are recorded (--all); 'stackctl report --by cpu' shows them one by one"},
	{'i', "no-inherit", HABIT_ALONE, NULL, NULL,
	 "children are recorded, too: leave it out; 'stackctl report --pid N' shows one process"},
	{0, "per-thread", HABIT_ALONE, NULL, "", NULL},
	{0, "filter", HABIT_VALUE, NULL, NULL,
	 "everything is recorded; stackctl report --help lists its filters"},
	/* paths: each sample has its whole one */
	{0, "call-graph", HABIT_VALUE, "lbr", "--lbr", NULL},
	{0, "call-graph", HABIT_VALUE, NULL, "", NULL},
	{'g', NULL, HABIT_ALONE, NULL, "", NULL},
	{'b', "branch-any", HABIT_ALONE, NULL, "--lbr", NULL},
	{'j', "branch-filter", HABIT_VALUE, NULL, "--lbr", NULL},
	{0, "all-user", HABIT_ALONE, NULL, NULL, EVENT_LEVEL},
	{0, "all-kernel", HABIT_ALONE, NULL, NULL, EVENT_LEVEL},
	{0, "user-callchains", HABIT_ALONE, NULL, "", NULL},
	{0, "off-cpu", HABIT_ALONE, NULL, "--wait", NULL},
	{0, "max-stack", HABIT_VALUE, NULL, NULL,
	 "stacks are recorded whole; --depth N records the top N callers alone"},
	/* how much, how long */
	{'m', "mmap-pages", HABIT_VALUE, NULL, NULL, "the ring buffer's size: --ring-bytes BYTES"},
	{'D', "delay", HABIT_VALUE, NULL, NULL,
	 "'stackctl report --from 2s' leaves out the first "
	 "seconds"},
	{0, "timeout", HABIT_VALUE, NULL, NULL, "--duration SECONDS"},
	{0, "switch-output", HABIT_MAYBE, NULL, NULL, "--window 1h cuts a recording into windows"},
	{0, "max-size", HABIT_VALUE, NULL, NULL, "--keep-bytes BYTES, with --window 10m"},
	/* what stackd does anyway, or has no need of */
	{'v', "verbose", HABIT_ALONE, NULL, "", NULL},
	{'n', "no-samples", HABIT_ALONE, NULL, NULL,
	 "-e none records waits, regions or allocations alone"},
	{'W', "weight", HABIT_ALONE, NULL, NULL,
	 "stackd records no weights of events: use perf for that"},
	{'I', "intr-regs", HABIT_MAYBE, NULL, NULL,
	 "stackd records no registers: use perf for that"},
	{0, "user-regs", HABIT_MAYBE, NULL, NULL, "stackd records no registers: use perf for that"},
	{0, "phys-data", HABIT_ALONE, NULL, NULL,
	 "stackd records no addresses of data: use perf for that"},
	{0, "overwrite", HABIT_ALONE, NULL, NULL, "--window 10m --keep-age 1h keeps the last hour"},
	{'S', "snapshot", HABIT_MAYBE, NULL, NULL,
	 "--window 10m --keep-age 1h keeps the last hour"},
	{'A', "append", HABIT_ALONE, NULL, "", NULL}, /* a store holds many recordings */
	{'K', "kernel-callchains", HABIT_ALONE, NULL, "", NULL},
	{0, "per-cpu", HABIT_ALONE, NULL, "", NULL},
	{0, "threads", HABIT_MAYBE, NULL, "", NULL},
	{0, "aio", HABIT_MAYBE, NULL, "", NULL},
	{0, "buildid-all", HABIT_ALONE, NULL, "", NULL},
	{0, "strict-freq", HABIT_ALONE, NULL, "", NULL},
	{0, "tail-synthesize", HABIT_ALONE, NULL, "", NULL},
	{0, "control", HABIT_VALUE, NULL, NULL, "stackd ends with --duration, or on Ctrl+C"},
	{'f', "force", HABIT_ALONE, NULL, "", NULL},
	{'d', "data", HABIT_ALONE, NULL, "", NULL},
	{'T', "timestamp", HABIT_ALONE, NULL, "", NULL},
	{'P', "period", HABIT_ALONE, NULL, "", NULL},
	{'R', "raw-samples", HABIT_ALONE, NULL, "", NULL},
	{'s', "stat", HABIT_ALONE, NULL, "", NULL},
	{'N', "no-buildid-cache", HABIT_ALONE, NULL, "", NULL},
	{'B', "no-buildid", HABIT_ALONE, NULL, "", NULL},
	{'r', "realtime", HABIT_VALUE, NULL, "", NULL},
	{'k', "clockid", HABIT_VALUE, NULL, "", NULL},
	{'z', "compression-level", HABIT_MAYBE, NULL, "", NULL},
	{0, "exclude-perf", HABIT_ALONE, NULL, "", NULL},
	{0, "sample-cpu", HABIT_ALONE, NULL, "", NULL},
	{0, "sample-identifier", HABIT_ALONE, NULL, "", NULL},
	{0, "namespaces", HABIT_ALONE, NULL, "", NULL},
	{0, "all-cgroups", HABIT_ALONE, NULL, "", NULL},
	{0, "switch-events", HABIT_ALONE, NULL, "", NULL},
	{0, "bpf-event", HABIT_ALONE, NULL, "", NULL},
	{0, "num-thread-synthesize", HABIT_VALUE, NULL, "", NULL},
	{0, "proc-map-timeout", HABIT_VALUE, NULL, "", NULL},
	{0, "synth", HABIT_VALUE, NULL, "", NULL},
	{0, "affinity", HABIT_VALUE, NULL, "", NULL},
	{0, "mmap-flush", HABIT_VALUE, NULL, "", NULL},
	{0, "debuginfod", HABIT_MAYBE, NULL, "", NULL},
	{0, "kcore", HABIT_ALONE, NULL, "", NULL},
	{0, "buildid-mmap", HABIT_ALONE, NULL, "", NULL},
	{0, "timestamp-boundary", HABIT_ALONE, NULL, "", NULL},
	{0, "timestamp-filename", HABIT_ALONE, NULL, "", NULL},
	{0, "vmlinux", HABIT_VALUE, NULL, NULL,
	 "stackd reads the kernel's names while it records, and keeps them: leave it out"},
	{0, "dry-run", HABIT_ALONE, NULL, NULL, "'stackctl doctor' checks what can be recorded"},
	{0, "latency", HABIT_ALONE, NULL, "--wait", NULL},
	{0, "code-page-size", HABIT_ALONE, NULL, NULL,
	 "stackd records no sizes of pages: use perf for that"},
	{0, "data-page-size", HABIT_ALONE, NULL, NULL,
	 "stackd records no sizes of pages: use perf for that"},
	{0},
};

/* Returns whether PATH has a command. */
static bool is_command(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];

	for (size_t len; path && *path; path += len + (path[len] == ':')) {
		len = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/%s", (int)len, path, name);
		if (!access(file, X_OK))
			return true;
	}
	return false;
}

/* Ends the program at a long option that stackd has not: getopt would not suggest another. */
static void tell_unknown(const struct argp *argp, const char *option)
{
	char name[64];
	const char *guess;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(option + 2, "="), option + 2);
	guess = argp_table_guess(argp, name);
	if (guess)
		fprintf(stderr, "stackd: there is no option '--%s'; did you mean '--%s'?\n", name,
			guess);
	else
		fprintf(stderr, "stackd: there is no option '--%s'; 'stackd --help' lists them\n",
			name);
	exit(STATUS_USAGE);
}

char **perf_habits_translate(const struct argp *argp, int *argc, char **argv)
{
	static struct habits_words words;

	if (*argc > 1 && !strcmp(argv[1], "record") && !is_command("record")) {
		argv[1] = argv[0];
		argv++;
		(*argc)--;
	}
	if (habits_translate(argp, habits, true, *argc, argv, &words) < 0) {
		fputs("stackd: out of memory\n", stderr);
		exit(STATUS_FAILED);
	}
	if (words.option) {
		fprintf(stderr, "stackd: there is no option '%s': %s\n", words.option, words.says);
		exit(STATUS_USAGE);
	}
	if (words.unknown)
		tell_unknown(argp, words.unknown);
	if (words.unknown_letter) {
		fprintf(stderr, "stackd: there is no option '-%c'; 'stackd --help' lists them\n",
			words.unknown_letter);
		exit(STATUS_USAGE);
	}
	*argc = words.argc;
	return words.argv;
}

const char *perf_habits_command(const char *name)
{
	static const char *const verbs[] = {"report", "script",	  "annotate",	"top",	  "stat",
					    "stats",  "diff",	  "flamegraph", "export", "list",
					    "heap",   "timeline", "doctor",	"import", NULL};

	for (size_t i = 0; verbs[i]; i++)
		if (!strcmp(verbs[i], name))
			return "stackd records; what shows recordings is stackctl: stackctl help";
	return NULL;
}
