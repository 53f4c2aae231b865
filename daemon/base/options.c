/* SPDX-License-Identifier: MIT */
/* Parses the command line by argp; see options.h. */
#include "daemon/base/options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argp_help.h"
#include "base/argp_table.h"
#include "base/duration.h"
#include "base/parts.h"
#include "base/vec.h"
#include "daemon/base/exit_status.h"
#include "daemon/base/perf_habits.h"
#include "stack/label_set.h"
#include "stackd_abi.h"

#define SECOND_NS	  UINT64_C(1000000000)
#define LEAST_WINDOW_NS	  SECOND_NS
#define USUAL_ALLOC_BYTES (512 << 10)
#define MOST_KEEP_BYTES	  ((uint64_t)INT64_MAX >> 30 << 30) /* whole GiB */

static const char program_version[] = "stackd " STACKD_VERSION;

static void print_version(FILE *out, struct argp_state *state)
{
	(void)state;
	fprintf(out, "%s\n", program_version);
	parts_print(out);
}

void (*argp_program_version_hook)(FILE *, struct argp_state *) = print_version;

enum {
	OPTION_DURATION = 256,
	OPTION_GROUP,
	OPTION_CPU,
	OPTION_STACK,
	OPTION_RING,
	OPTION_LBR,
	OPTION_WINDOW,
	OPTION_LABEL,
	OPTION_AGE,
	OPTION_SIZE,
	OPTION_TABLES,
	OPTION_PREFIX,
	OPTION_WALK,
	OPTION_DEPTH,
	OPTION_HEIGHTS,
	OPTION_JUDGE,
	OPTION_MANAGED,
	OPTION_NO_MANAGED,
	OPTION_TAGS,
	OPTION_JUDGE_TAGS,
	OPTION_IDLE,
	OPTION_REGION,
	OPTION_MARK,
	OPTION_REGION_LIMIT,
	OPTION_COUNTER,
	OPTION_JITTER,
	OPTION_MPI,
	OPTION_ANNOTATED,
	OPTION_ALLOC,
	OPTION_ALLOC_LIMIT,
	OPTION_WAIT,
	OPTION_WAIT_MEAN,
	OPTION_WAKERS,
	OPTION_FULL
};

/* What --help shows, in reading order. */
enum { GROUP_TARGET = 1, GROUP_MEASURE, GROUP_HOW, GROUP_OUTPUT };

static const struct argp_help_group groups[] = {
	{GROUP_TARGET, "What to record (one of these, or -- COMMAND):"},
	{GROUP_MEASURE, "What to measure, beside samples of CPU time:"},
	{GROUP_HOW, "How to sample:"},
	{GROUP_OUTPUT, "How long, and where to:"},
	{0}};

static const struct argp_option argp_options[] = {
	{"pid", 'p', "N[,N...]", 0, "these processes, with their later children and threads",
	 GROUP_TARGET},
	{"all", 'a', NULL, 0, "everything on this machine", GROUP_TARGET},
	{"cgroup", 'G', "PATH", 0, "the processes of a cgroup (v2 path, or below its mount)",
	 GROUP_TARGET},
	{"full", OPTION_FULL, NULL, 0,
	 "record all that tells where time and memory go: CPU time, waits with who ended them, "
	 "and allocations; as --wakers --alloc",
	 GROUP_MEASURE},
	{"wait", OPTION_WAIT, "MIN", OPTION_ARG_OPTIONAL,
	 "sample the waits of threads by call path: blocked (metric wait.blocked), and runnable "
	 "without a CPU, after a wake-up or a preemption (wait.runnable); waits shorter than MIN "
	 "(such as 10us) are only counted",
	 GROUP_MEASURE},
	{"wakers", OPTION_WAKERS, NULL, 0,
	 "like --wait, and for each sampled wait record the thread that ended it, with its call "
	 "path (stackctl report --view wakers); costs a third more",
	 GROUP_MEASURE},
	{"alloc", OPTION_ALLOC, "BYTES", OPTION_ARG_OPTIONAL,
	 "sample allocations by call path, one per BYTES allocated on average (default 512K): "
	 "libstackalloc is preloaded into the command; in processes that run without it, the "
	 "allocator's functions are probed (stackctl heap; stackctl report --metric alloc.bytes)",
	 GROUP_MEASURE},
	{"region", OPTION_REGION, "FUNC[@OBJECT]", 0,
	 "measure each pass through a function, from its entry to its return: visits, time and CPU "
	 "time by call path (stackctl report --metric region.time); '*' and '?' take all functions "
	 "that match; may be repeated",
	 GROUP_MEASURE},
	{"mark", OPTION_MARK, "FUNC[@OBJECT]|FILE:LINE", ARGP_HELP_RARE,
	 "measure from each execution of a line or function to the next one in the same thread, "
	 "such as the iterations of a loop; --region NAME=FILE:LINE..FILE:LINE measures from one "
	 "line to another",
	 GROUP_MEASURE},
	{"mpi", OPTION_MPI, "WAY", OPTION_ARG_OPTIONAL,
	 "measure each call of an MPI function from C, C++ and Fortran, as --region does; MPI "
	 "functions that it calls itself are part of it. The time between two calls is a "
	 "computing burst: stackctl fold --burst. In a command that stackd starts, a preloaded "
	 "library counts the calls, in sums by call path (--mpi=library); --mpi=probes, and for "
	 "what runs already, measures each call by itself, which costs a hundred times as much",
	 GROUP_MEASURE},
	{"annotated", OPTION_ANNOTATED, 0, 0,
	 "count each pass through the regions that a command's programs name themselves by "
	 "STACKD_REGION(), of stackd_region.h: a preloaded library does it, as for --mpi",
	 GROUP_MEASURE},
	{"counter", OPTION_COUNTER, "NAME", ARGP_HELP_RARE,
	 "for stackctl fold, read a counter at each sample within a region, between marks or with "
	 "--mpi, and at both ends of each: " COUNTER_SPEC_NAMES
	 "; CPU time is read with them; may be repeated",
	 GROUP_MEASURE},
	{"wait-mean", OPTION_WAIT_MEAN, "TIME", ARGP_HELP_RARE,
	 "with --wait, the mean waiting time per sample (default 10ms): nearly all longer waits "
	 "are kept, shorter ones at random, with a weight; 0 keeps all waits; --max-cpu raises it",
	 GROUP_MEASURE},
	{"alloc-limit", OPTION_ALLOC_LIMIT, "N", ARGP_HELP_RARE,
	 "if an allocator is called more than N times per second, probing it would slow the "
	 "program down: sample page faults and mappings of memory instead (default 50000; 0: no "
	 "limit)",
	 GROUP_MEASURE},
	{"region-limit", OPTION_REGION_LIMIT, "N", ARGP_HELP_RARE,
	 "stop measuring a region if a thread passes through it more than N times per second, "
	 "since that would slow the thread down (default 20000; 0: never)",
	 GROUP_MEASURE},
	{"freq", 'F', "HZ", 0, "samples per second and CPU (default 997)", GROUP_HOW},
	{"event", 'e', "NAME", 0,
	 "event to sample: a libpfm4 name with modifiers (cycles:u, perf::CPU-CLOCK) or rNNNN "
	 "(default: cycles, else cpu-clock); with 'none' no samples are taken, only waits, "
	 "regions or allocations",
	 GROUP_HOW},
	{"count", 'c', "N", ARGP_HELP_RARE, "a sample every N events, instead of a frequency",
	 GROUP_HOW},
	{"max-cpu", OPTION_CPU, "SHARE", 0,
	 "lower the frequency while stackd and its kernel program use more than this share of one "
	 "core (such as 1%), and raise it again later; with --all and --cgroup",
	 GROUP_HOW},
	{"lbr", OPTION_LBR, "anyway", OPTION_ARG_OPTIONAL,
	 "record the processor's branch records (LBR), which confirm walks and continue walks "
	 "that stopped; =anyway tries even if the processor is not known to have them",
	 GROUP_HOW},
	{"depth", OPTION_DEPTH, "N", ARGP_HELP_RARE,
	 "record segments: only the function that was hit and its N callers, at a cost that does "
	 "not depend on the depth of the stack. A few samples of each thread are walked to the "
	 "end (the 1st, 2nd, 4th, ... 128th, then every 128th), and reports complete segments by "
	 "aligning them with these",
	 GROUP_HOW},
	{"idle", OPTION_IDLE, NULL, ARGP_HELP_RARE,
	 "keep samples of idle CPUs, which are otherwise only counted", GROUP_HOW},
	{"heights", OPTION_HEIGHTS, NULL, ARGP_HELP_RARE,
	 "record each frame's distance from the stack's end, with which alignment completes more "
	 "of the incomplete paths",
	 GROUP_HOW},
	{"jitter", OPTION_JITTER, "PERCENT", ARGP_HELP_RARE,
	 "vary the rate of a sampling clock at random by up to PERCENT, so that it does not lock "
	 "to a period of the program (default: 10 with --counter, else 0)",
	 GROUP_HOW},
	{"stack-bytes", OPTION_STACK, "BYTES", ARGP_HELP_RARE,
	 "most bytes of user stack to copy for a sample (K and M are understood; default 128K)",
	 GROUP_HOW},
	{"ring-bytes", OPTION_RING, "BYTES", ARGP_HELP_RARE,
	 "size of the ring buffer (default 1M a CPU, but 8M to "
	 "64M)",
	 GROUP_HOW},
	{"table-memory", OPTION_TABLES, "BYTES", ARGP_HELP_RARE,
	 "kernel memory for unwind tables; the least used ones are evicted (default: the rest of "
	 "64M that nothing else needs, at least 24M)",
	 GROUP_HOW},
	{"prefix", OPTION_PREFIX, "MODE", ARGP_HELP_RARE,
	 "how to find the part of a stack that has not changed since the thread's last sample: "
	 "verified (default), second or first (heuristics), or none (walk all of it); not with "
	 "--depth, which always walks all N frames",
	 GROUP_HOW},
	{"walk", OPTION_WALK, "WHERE", ARGP_HELP_RARE,
	 "where stacks are walked: kernel (default), or daemon (from a copy of each stack)",
	 GROUP_HOW},
	{"tags", OPTION_TAGS, "MODE", ARGP_HELP_RARE,
	 "in programs that keep a tag of their call path (libstacktag): auto (default) reads the "
	 "tag and walks the stack if the tag is new; only never walks; off ignores tags",
	 GROUP_HOW},
	{"no-managed", OPTION_NO_MANAGED, NULL, ARGP_HELP_RARE,
	 "record native functions alone: no functions of Python, Ruby, PHP and Perl, and no names "
	 "of code of Java, Erlang and JavaScript (docs/PYTHON.md, RUBY.md, PHP.md, PERL.md, "
	 "JAVA.md, ERLANG.md, JAVASCRIPT.md)",
	 GROUP_HOW},
	{"managed", OPTION_MANAGED, NULL, OPTION_HIDDEN, "The default", GROUP_HOW},
	{"judge", OPTION_JUDGE, NULL, ARGP_HELP_RARE,
	 "check each walk of the kernel half by a walk of the daemon; counts are in stackctl stats -v",
	 GROUP_HOW},
	{"judge-tags", OPTION_JUDGE_TAGS, NULL, ARGP_HELP_RARE,
	 "walk all stacks, and check each walk by the program's tag; counts are in stackctl stats -v",
	 GROUP_HOW},
	{"duration", OPTION_DURATION, "SECONDS", 0, "stop after this time", GROUP_OUTPUT},
	{"output", 'o', "FILE", 0, "store (default: /var/lib/stackd/UID/store.db)", GROUP_OUTPUT},
	{"window", OPTION_WINDOW, "TIME", 0,
	 "cut the recording into windows of this length, aligned to the clock (1h: on the hour; units "
	 "s, m, h, d); each is a recording by itself, and stackctl adds them up (--since 2h)",
	 GROUP_OUTPUT},
	{"keep-age", OPTION_AGE, "DAYS", ARGP_HELP_RARE,
	 "delete recordings of the store older than this (or a time with a unit: 12h), at the start "
	 "and after each window",
	 GROUP_OUTPUT},
	{"keep-bytes", OPTION_SIZE, "BYTES", ARGP_HELP_RARE,
	 "delete the oldest recordings of the store while it is larger than this, at the start "
	 "and after each window; so it exceeds BYTES by one window at most",
	 GROUP_OUTPUT},
	{"label", OPTION_LABEL, "NAME=VALUE", ARGP_HELP_RARE,
	 "give all threads this label, such as env=prod, in reports (--by label:env, --label "
	 "env=prod) and at servers; may be repeated",
	 GROUP_OUTPUT},
	{"group", OPTION_GROUP, "NAME", ARGP_HELP_RARE,
	 "let the members of this group read the store", GROUP_OUTPUT},
	{"quiet", 'q', NULL, ARGP_HELP_RARE, "print no status line and no summary", GROUP_OUTPUT},
	{0}};

/* Parses a whole number. `unit`: its unit, for the error message; "": none. */
static uint64_t number(struct argp_state *state, const char *option, const char *text,
		       const char *unit, uint64_t least, uint64_t most)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || value < least || value > most)
		argp_help_error(state, "%s '%s': expected a whole number%s%s from %llu to %llu",
				option, text, *unit ? " of " : "", unit, (unsigned long long)least,
				(unsigned long long)most);
	return value;
}

static const char size_units[] = "KMG";

/* Writes a number of bytes with the largest unit that divides it: "64K". */
static const char *size_text(uint64_t bytes, char *text, size_t size)
{
	static const char *const units[] = {"", "K", "M", "G"};
	unsigned unit = 0;

	while (unit < sizeof(size_units) - 1 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text, size, "%llu%s", (unsigned long long)bytes, units[unit]);
	return text;
}

/* Parses a number with an optional K, M or G. */
static uint64_t bytes(struct argp_state *state, const char *option, const char *text,
		      uint64_t least, uint64_t most)
{
	const char *unit;
	char *end, from[32], to[32];
	unsigned long long value;
	unsigned shift = 0;

	errno = 0;
	value = strtoull(text, &end, 10);
	unit = *end && end != text ? strchr(size_units, *end & ~0x20) : NULL;
	if (unit && *unit) {
		shift = 10 * (unsigned)(unit - size_units + 1);
		end++;
	}
	if (errno || end == text || *end || text[0] == '-' || value > most >> shift ||
	    value << shift < least)
		argp_help_error(
			state,
			"%s '%s': expected a whole number of bytes, or one with K, M or G, from "
			"%s to %s",
			option, text, size_text(least, from, sizeof(from)),
			size_text(most, to, sizeof(to)));
	return (uint64_t)value << shift;
}

static const char *const prefixes[] = {
	[STACKD_PREFIX_VERIFIED] = "verified",
	[STACKD_PREFIX_SECOND] = "second",
	[STACKD_PREFIX_FIRST] = "first",
	[STACKD_PREFIX_NONE] = "none",
	NULL,
};
static const char *const tag_modes[] = {
	[STACKD_TAGS_AUTO] = "auto",
	[STACKD_TAGS_ONLY] = "only",
	[STACKD_TAGS_OFF] = "off",
	NULL,
};
static const char *const walks[] = {"kernel", "daemon", NULL};

/* Refuses an option of a part that was left out of this build. */
static void need_part(struct argp_state *state, const char *option, enum part part)
{
	if (!part_is_built(part))
		argp_failure(state, STATUS_USAGE, 0, "%s: %s", option, part_missing(part));
}

/* Returns the index of a word in a NULL-terminated list. */
static int one_of(struct argp_state *state, const char *option, const char *text,
		  const char *const *words)
{
	for (int i = 0; words[i]; i++) {
		if (!strcmp(text, words[i]))
			return i;
	}
	argp_help_error(state, "%s '%s': there is no such value; --help-all lists them", option,
			text);
	return 0;
}

static void add_pids(struct argp_state *state, struct options *options, char *list)
{
	char *rest = NULL;

	for (char *one = strtok_r(list, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		if (VEC_GROW(options->pids, options->pids_cap, options->n_pids + 1)) {
			argp_failure(state, STATUS_FAILED, ENOMEM, "--pid");
			return;
		}
		options->pids[options->n_pids++] =
			(pid_t)number(state, "--pid", one, "", 1, INT32_MAX);
	}
	if (!options->n_pids)
		argp_help_error(state, "--pid '%s': expected the id of a process", list);
}

/* With another target, `sleep SECONDS` says how long to record, as it does for perf. Returns
 * whether it does. */
static bool is_sleep(struct options *options, char **command)
{
	char *end;
	double seconds;

	if (options->target == TARGET_NONE || options->target == TARGET_COMMAND || !command[0] ||
	    strcmp(command[0], "sleep") != 0 || !command[1] || command[2])
		return false;
	seconds = strtod(command[1], &end);
	if (end == command[1] || *end || !(seconds > 0 && seconds < 1e9))
		return false;
	options->duration_s = seconds;
	return true;
}

static void set_target(struct argp_state *state, struct options *options, enum target_kind kind)
{
	if ((options->target == TARGET_ALL && kind == TARGET_CGROUP) ||
	    (options->target == TARGET_CGROUP && kind == TARGET_ALL))
		argp_help_error(state, "--cgroup records everything in it, and nothing else: "
				       "leave --all out");
	if (options->target != TARGET_NONE && (options->target != kind || kind != TARGET_PIDS))
		argp_help_error(state,
				"more than one target: give one of --pid, --all, --cgroup, -- "
				"COMMAND");
	options->target = kind;
}

static void set_frequency(struct argp_state *state, struct options *options, const char *arg)
{
	if (!strcmp(arg, "max")) /* perf's word */
		argp_help_error(
			state,
			"--freq 'max': give a number, such as -F 4999; the kernel's limit is "
			"in /proc/sys/kernel/perf_event_max_sample_rate");
	options->frequency = number(state, "--freq", arg, "Hz", 1, 1000000000);
}

static void set_output(struct argp_state *state, struct options *options, const char *arg)
{
	if (!strcmp(arg, "-"))
		argp_help_error(state, "--output '-': a store is a file, not a stream; 'stackctl "
				       "export' writes to a pipe");
	options->output = arg;
}

static void set_event(struct argp_state *state, struct options *options, const char *arg)
{
	if (options->event && strcmp(options->event, arg) != 0)
		argp_help_error(
			state,
			"--event '%s' and '%s': a recording is of one event; record once for each",
			options->event, arg);
	options->event = arg;
}

static void set_duration(struct argp_state *state, struct options *options, const char *arg)
{
	char *end;

	options->duration_s = strtod(arg, &end);
	if (end == arg || *end || !(options->duration_s > 0 && options->duration_s < 1e9))
		argp_help_error(state,
				"--duration '%s': expected seconds, above 0 and below 1000000000",
				arg);
}

/* Takes a share of one core: "1%", or "1". */
static void set_max_cpu(struct argp_state *state, struct options *options, const char *arg)
{
	char *end;
	double percent = strtod(arg, &end);

	if (end == arg || (*end && strcmp(end, "%") != 0) || !(percent >= 0.01 && percent <= 10000))
		argp_help_error(
			state,
			"--max-cpu '%s': expected a share of one core, such as 1%%, from 0.01%% to 10000%%",
			arg);
	options->max_cpu = percent / 100;
}

static void set_window(struct argp_state *state, struct options *options, const char *arg)
{
	if (!duration_parse(arg, &options->window_ns) || options->window_ns < LEAST_WINDOW_NS)
		argp_help_error(
			state,
			"--window '%s': expected a time from 1s to 30 years, such as 10m or 1h",
			arg);
}

/* Takes days, or a time with a unit. */
static void set_age(struct argp_state *state, struct options *options, const char *arg)
{
	uint64_t ns;

	if (*arg && strspn(arg, "0123456789") == strlen(arg)) {
		options->keep_age_s = number(state, "--keep-age", arg, "days", 1, 100000) * 86400;
		return;
	}
	if (!duration_parse(arg, &ns) || ns < SECOND_NS)
		argp_help_error(
			state,
			"--keep-age '%s': expected whole days, or a time from 1s to 30 years, such as 12h",
			arg);
	options->keep_age_s = ns / SECOND_NS;
}

static void add_counters(struct argp_state *state, struct options *options, char *arg)
{
	const char *at = NULL, *why;

	why = counter_specs_add(options->counters, &options->n_counters, arg, &at);
	if (why)
		argp_help_error(state, "--counter '%s': %s", at, why);
}

static void set_mpi(struct argp_state *state, struct options *options, const char *arg)
{
	options->mpi = true;
	if (!arg)
		options->mpi_way = MPI_ANY_WAY;
	else if (!strcmp(arg, "library"))
		options->mpi_way = MPI_BY_LIBRARY;
	else if (!strcmp(arg, "probes"))
		options->mpi_way = MPI_BY_PROBES;
	else
		argp_error(state, "--mpi '%s': expected library or probes", arg);
}

/* Chooses how calls of MPI are measured. libstackmpi is preloaded, so it is for a command. It adds
 * calls up, and needs walks whose words of the stack are remembered (--prefix verified). */
static void choose_way_of_mpi(struct argp_state *state, struct options *options)
{
	const bool needs_each = options->n_regions || options->n_marks || options->n_counters;

	if (options->mpi_way == MPI_BY_LIBRARY && options->target != TARGET_COMMAND)
		argp_help_error(state, "--mpi=library is for a command that stackd starts: what "
				       "runs already has probes (--mpi)");
	if (options->mpi_way == MPI_BY_LIBRARY && needs_each)
		argp_help_error(state,
				"--mpi=library excludes --region, --mark and --counter, which "
				"need each call by itself (--mpi=probes)");
	if (options->annotated &&
	    (options->target != TARGET_COMMAND || needs_each || options->mpi_way == MPI_BY_PROBES))
		argp_help_error(state,
				"--annotated is for a command that stackd starts, and excludes "
				"--region, --mark, --counter and --mpi=probes");
	options->mpi_by_library = options->mpi_way == MPI_BY_LIBRARY ||
				  (options->mpi && options->annotated) ||
				  (options->mpi && options->mpi_way == MPI_ANY_WAY &&
				   options->target == TARGET_COMMAND && !needs_each &&
				   options->prefix == STACKD_PREFIX_VERIFIED &&
				   !options->segment_frames && !options->walk_in_daemon);
}

/* Ends stackd with a usage error if options exclude each other; sets the defaults of options that
 * were not given. */
static void settle(struct argp_state *state, struct options *options)
{
	static char cpu[] = "cpu";

	if (options->target == TARGET_NONE)
		argp_help_error(state, "give what to record: --pid N, --all, --cgroup PATH or -- "
				       "COMMAND");
	if (options->frequency && options->period)
		argp_help_error(state, "--freq and --count exclude each other");
	if (options->max_cpu && options->period)
		argp_help_error(state, "--max-cpu lowers a frequency: it excludes --count");
	if (options->max_cpu && options->target != TARGET_ALL && options->target != TARGET_CGROUP)
		argp_help_error(state, "--max-cpu is for --all and --cgroup");
	if (options->segment_frames && options->is_prefix_given &&
	    options->prefix != STACKD_PREFIX_NONE)
		argp_help_error(state,
				"--prefix and --depth exclude each other: the few frames of a "
				"segment are walked anew each time (--prefix none)");
	if (counter_specs_need_alloc(options->counters, options->n_counters) &&
	    !options->alloc_bytes)
		argp_help_error(state, "--counter allocated-bytes: give --alloc, too");
	if (options->n_counters && !options->n_regions && !options->n_marks && !options->mpi &&
	    !options->annotated) /* which excludes them */
		argp_help_error(state, COUNTER_SPEC_REGIONS);
	if (options->judge_tags && options->tags != STACKD_TAGS_AUTO)
		argp_help_error(state,
				"--judge-tags needs tags and walks: it excludes --tags only and "
				"off");
	if (options->event && !strcmp(options->event, "none") && !options->waits &&
	    !options->alloc_bytes && !options->n_regions && !options->n_marks && !options->mpi &&
	    !options->annotated)
		argp_help_error(state,
				"--event none: there would be nothing to record: give --wait, "
				"--alloc, --region, --mark, --mpi or --annotated");
	if (!options->period && !options->frequency)
		options->frequency = 997;
	if (options->n_counters && !options->is_jitter_given)
		options->jitter = 10;
	choose_way_of_mpi(state, options);
	if (options->mpi && !options->mpi_by_library && !options->n_counters)
		add_counters(state, options, cpu); /* measures the CPU time between two calls */
}

/* Parses the options of the target, the event and the output. */
static error_t parse_run(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'p':
		set_target(state, options, TARGET_PIDS);
		add_pids(state, options, arg);
		break;
	case 'a':
		set_target(state, options, TARGET_ALL);
		break;
	case 'G':
		set_target(state, options, TARGET_CGROUP);
		options->cgroup = arg;
		break;
	case 'e':
		set_event(state, options, arg);
		break;
	case 'F':
		set_frequency(state, options, arg);
		break;
	case 'c':
		options->period = number(state, "--count", arg, "events", 1, INT64_MAX);
		break;
	case 'o':
		set_output(state, options, arg);
		break;
	case 'q':
		options->quiet = true;
		break;
	case OPTION_GROUP:
		options->group = arg;
		break;
	case OPTION_DURATION:
		set_duration(state, options, arg);
		break;
	case OPTION_AGE:
		set_age(state, options, arg);
		break;
	case OPTION_WINDOW:
		set_window(state, options, arg);
		break;
	case OPTION_SIZE:
		options->keep_bytes = bytes(state, "--keep-bytes", arg, 65536, MOST_KEEP_BYTES);
		break;
	case ARGP_KEY_ARGS:
		if (is_sleep(options, state->argv + state->next))
			break;
		set_target(state, options, TARGET_COMMAND);
		options->command = state->argv + state->next;
		break;
	case ARGP_KEY_END:
		settle(state, options);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void add_label(struct argp_state *state, struct options *options, const char *arg)
{
	struct label_list list = {0};

	if (label_list_add_text(&list, arg) < 0)
		argp_help_error(
			state,
			"--label '%s': expected NAME=VALUE, with a name of letters, digits, "
			"'.', '_', '-' and '/'",
			arg);
	label_list_fini(&list);
	if (VEC_GROW(options->labels, options->labels_cap, options->n_labels + 1))
		argp_failure(state, STATUS_FAILED, ENOMEM, "--label");
	else
		options->labels[options->n_labels++] = arg;
}

static void add_mark(struct argp_state *state, struct options *options, const char *arg)
{
	if (VEC_GROW(options->marks, options->marks_cap, options->n_marks + 1))
		argp_failure(state, STATUS_FAILED, ENOMEM, "--mark");
	else
		options->marks[options->n_marks++] = arg;
}

static void add_region(struct argp_state *state, struct options *options, const char *arg)
{
	if (VEC_GROW(options->regions, options->regions_cap, options->n_regions + 1))
		argp_failure(state, STATUS_FAILED, ENOMEM, "--region");
	else
		options->regions[options->n_regions++] = arg;
}

static uint64_t wait_time(struct argp_state *state, const char *option, const char *arg)
{
	uint64_t ns = 0;

	if (!duration_parse(arg, &ns) || ns > 60 * SECOND_NS)
		argp_help_error(state, "%s '%s': expected a time from 0 to 1m, such as 10us or 5ms",
				option, arg);
	return ns;
}

/* Parses the options of what is measured besides samples, and of labels. */
static error_t parse_regions(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case OPTION_REGION:
		add_region(state, options, arg);
		break;
	case OPTION_MARK:
		add_mark(state, options, arg);
		break;
	case OPTION_LABEL:
		add_label(state, options, arg);
		break;
	case OPTION_ANNOTATED:
		options->annotated = true;
		break;
	case OPTION_MPI:
		set_mpi(state, options, arg);
		break;
	case OPTION_COUNTER:
		add_counters(state, options, arg);
		break;
	case OPTION_JITTER:
		options->jitter = (unsigned)number(state, "--jitter", arg, "percent", 0, 50);
		options->is_jitter_given = true;
		break;
	case OPTION_REGION_LIMIT:
		options->region_limit =
			number(state, "--region-limit", arg, "passes a second", 0, UINT32_MAX);
		break;
	case OPTION_ALLOC:
		options->alloc_bytes = arg ? bytes(state, "--alloc", arg, 1, (uint64_t)1 << 40)
					   : USUAL_ALLOC_BYTES;
		break;
	case OPTION_ALLOC_LIMIT:
		options->alloc_limit =
			number(state, "--alloc-limit", arg, "calls a second", 0, UINT32_MAX);
		break;
	case OPTION_WAIT:
		options->waits = true;
		if (arg)
			options->wait_least_ns = wait_time(state, "--wait", arg);
		break;
	case OPTION_WAIT_MEAN:
		options->wait_mean_ns = wait_time(state, "--wait-mean", arg);
		break;
	case OPTION_WAKERS:
		options->waits = options->wakers = true;
		break;
	case OPTION_FULL:
		options->waits = options->wakers = true;
		if (!options->alloc_bytes)
			options->alloc_bytes = USUAL_ALLOC_BYTES;
		break;
	default:
		return parse_run(key, arg, state);
	}
	return 0;
}

/* Returns what an option without an argument sets. */
static bool *flag_of(struct options *options, int key)
{
	switch (key) {
	case OPTION_HEIGHTS:
		return &options->heights;
	case OPTION_IDLE:
		return &options->idle;
	case OPTION_MANAGED:
	case OPTION_NO_MANAGED:
		return &options->managed;
	default:
		return &options->judge;
	}
}

/* Parses the options of how stacks are captured. */
static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case OPTION_CPU:
		set_max_cpu(state, options, arg);
		break;
	case OPTION_STACK:
		options->stack_bytes =
			(uint32_t)bytes(state, "--stack-bytes", arg, 256, STACKD_MAX_STACK_BYTES);
		break;
	case OPTION_RING:
		options->ring_bytes = bytes(state, "--ring-bytes", arg, 4096, 1u << 30);
		break;
	case OPTION_TABLES:
		options->table_bytes = bytes(state, "--table-memory", arg, 65536, 1u << 30);
		break;
	case OPTION_PREFIX:
		options->prefix = (enum stackd_prefix)one_of(state, "--prefix", arg, prefixes);
		options->is_prefix_given = true;
		break;
	case OPTION_WALK:
		options->walk_in_daemon = one_of(state, "--walk", arg, walks);
		break;
	case OPTION_DEPTH:
		options->segment_frames =
			(uint32_t)number(state, "--depth", arg, "callers", 0, 1000) + 1;
		options->heights = true;
		break;
	case OPTION_HEIGHTS:
	case OPTION_IDLE:
	case OPTION_MANAGED:
	case OPTION_NO_MANAGED:
	case OPTION_JUDGE:
		*flag_of(options, key) = key != OPTION_NO_MANAGED;
		break;
	case OPTION_TAGS:
		options->tags = (enum stackd_tags)one_of(state, "--tags", arg, tag_modes);
		if (options->tags != STACKD_TAGS_OFF)
			need_part(state, "--tags", PART_TAGS);
		break;
	case OPTION_JUDGE_TAGS:
		need_part(state, "--judge-tags", PART_TAGS);
		options->judge_tags = true;
		break;
	case OPTION_LBR:
		options->lbr = true;
		options->lbr_anyway = arg != NULL;
		if (arg && strcmp(arg, "anyway") != 0)
			argp_help_error(state, "--lbr '%s': takes nothing, or =anyway", arg);
		break;
	default:
		return parse_regions(key, arg, state);
	}
	return 0;
}

/* The default ring holds the records of all CPUs while the daemon is busy. On up to 8 CPUs the
 * kernel half takes less than 64 MiB with it (sampler_maps.c). */
static uint64_t usual_ring(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t bytes = (uint64_t)(cpus > 0 ? cpus : 1) << 20;

	return bytes < 8 << 20 ? 8 << 20 : bytes > 64 << 20 ? 64 << 20 : bytes;
}

/* Writes stackd(8) from the text of --help. */
static enum exit_status manual(const struct argp *argp)
{
	char date[ARGP_TABLE_DATE];
	const struct argp_table_page page = {.name = "stackd",
					     .groups = groups,
					     .section = 8,
					     .version = program_version,
					     .date = date,
					     .see_also = "\\fBstackctl\\fR(1)"};

	argp_table_date(getenv("SOURCE_DATE_EPOCH"), time(NULL), date);
	if (argp_table_man(argp, &page, stdout) == 0 && fflush(stdout) == 0)
		return STATUS_DONE;
	fputs("stackd: cannot write standard output\n", stderr);
	return STATUS_FAILED;
}

/* Returns whether the next word is an option's value. */
static bool takes_next(const struct argp *argp, const char *word)
{
	const struct argp_option *o;

	if (word[0] != '-' || !word[1])
		return false;
	if (word[1] != '-')
		return !word[2] && strchr("pGeFco", word[1]);
	o = argp_table_find(argp, word + 2);
	return o && o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
}

/* Writes the help and ends the program, if an option before the command asks for it. */
static void help(const struct argp *argp, int argc, char **argv)
{
	bool is_all;

	for (int i = 1; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0;
	     i += takes_next(argp, argv[i]) ? 2 : 1) {
		if (!argp_help_is_asked(argv[i], &is_all))
			continue;
		if (argp_help_write(argp, "stackd", groups, is_all, stdout) == 0 &&
		    fflush(stdout) == 0)
			exit(STATUS_DONE);
		fputs("stackd: cannot write standard output\n", stderr);
		exit(STATUS_FAILED);
	}
}

void options_parse(int argc, char **argv, struct options *ret_options)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.args_doc = "--pid N[,N...]\n--all\n--cgroup PATH\n-- COMMAND [ARG...]",
		.doc = "Records the call paths of running programs.\v"
		       "It ends with the target, after --duration, or on Ctrl+C. Then: stackctl "
		       "report.\n\nExamples:\n\n"
		       "  sudo stackd -- ./program\n"
		       "  sudo stackd --pid 1234 --duration 10 --full\n"
		       "  sudo stackd --all --duration 30\n\nExit status: 0 done, 1 failed, 2 usage, 3 no samples, 4 "
		       "permission or kernel support missing.",
	};

	*ret_options = (struct options){.stack_bytes = 128 << 10,
					.ring_bytes = usual_ring(),
					.tags = part_is_built(PART_TAGS) ? STACKD_TAGS_AUTO
									 : STACKD_TAGS_OFF,
					.managed = true,
					.alloc_limit = 50000,
					.wait_mean_ns = 10000000,
					.region_limit = 20000};
	argp_err_exit_status = STATUS_USAGE;
	if (argc == 2 && strcmp(argv[1], "--man") == 0)
		exit((int)manual(&argp));
	argv = perf_habits_translate(&argp, &argc, argv);
	help(&argp, argc, argv);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, ret_options);
}

static void put_words(FILE *out, const struct options *options)
{
	switch (options->target) {
	case TARGET_PIDS:
		for (size_t i = 0; i < options->n_pids; i++)
			fprintf(out, "%s%d", i ? "," : "pid ", options->pids[i]);
		break;
	case TARGET_CGROUP:
		fprintf(out, "cgroup %s", options->cgroup);
		break;
	case TARGET_COMMAND:
		for (char **word = options->command; *word; word++)
			fprintf(out, "%s%s", word == options->command ? "" : " ", *word);
		break;
	default:
		fputs("all", out);
	}
}

char *options_target(const struct options *options)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_words(out, options);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

void options_free(struct options *options)
{
	free(options->pids);
	free(options->regions);
	free(options->marks);
	free(options->labels);
	free(options->alloc_library);
	free(options->calls_library);
	options->pids = NULL;
	options->regions = NULL;
	options->marks = NULL;
	options->labels = NULL;
}
