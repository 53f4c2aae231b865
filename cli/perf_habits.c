/* SPDX-License-Identifier: MIT */
/* Options and commands of perf; see perf_habits.h. A row of the table is skipped where a verb has
 * no option of that kind. */
#include "perf_habits.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "message.h"

#define PAGE	     "'stackctl flamegraph -o page.html' writes a page to look at in a browser"
#define SCRIPT	     "'stackctl export --perf-script' writes all samples as 'perf script' does"
#define VALUES	     "a script finds all values in --json"
#define RECORDED     "'stackd -e EVENT -F HZ' chooses it for a whole recording"
#define KERNEL_NAMES "stackd reads the kernel's names while it records, and keeps them"

const struct habit perf_habits[] = {
	/* which samples */
	{'p', NULL, HABIT_VALUE, NULL, "--pid=%", NULL},
	{'t', "field-separator", HABIT_VALUE, "", NULL, VALUES},
	{0, "field-separator", HABIT_VALUE, NULL, NULL, VALUES},
	{'x', NULL, HABIT_VALUE, NULL, NULL, VALUES},
	{'t', NULL, HABIT_VALUE, NULL, "--tid=%", NULL},
	{'c', "comms", HABIT_LIST, NULL, "--comm=%", NULL},
	{'d', "dsos", HABIT_LIST, NULL, "--dso=%", NULL},
	{'S', "symbols", HABIT_LIST, NULL, "--symbol=%", NULL},
	{0, "symbol-filter", HABIT_VALUE, NULL, "--symbol=*%*", NULL},
	{0, "parent", HABIT_VALUE, NULL, "--focus=%", NULL},
	{'C', "cpu", HABIT_VALUE, NULL, NULL,
	 "there is no filter by CPU: 'stackctl report --by cpu' shows the CPUs one by one"},
	{0, "time", HABIT_VALUE, NULL, NULL,
	 "a range of time has two options: --from START --to END, in seconds or with a unit"},
	/* how paths are shown */
	{'g', "call-graph", HABIT_VALUE, "callee", "--view=callers", NULL},
	{'g', "call-graph", HABIT_VALUE, "caller", "", NULL},
	{'g', "call-graph", HABIT_VALUE, "none", "--view=flat", NULL},
	{'g', "call-graph", HABIT_VALUE, "graph", "", NULL},
	{'g', "call-graph", HABIT_VALUE, "fractal", "", NULL},
	{'g', "call-graph", HABIT_VALUE, "folded", "", NULL},
	{'g', "call-graph", HABIT_MAYBE, NULL, "", NULL},
	{'G', "inverted", HABIT_ALONE, NULL, "--view=tree", NULL},
	{0, "no-call-graph", HABIT_ALONE, NULL, "--view=flat", NULL},
	{0, "children", HABIT_ALONE, NULL, "--view=flat", NULL},
	{0, "no-children", HABIT_ALONE, NULL, "--view=callers", NULL},
	{0, "max-stack", HABIT_VALUE, NULL, "--max-depth=%", NULL},
	{'s', NULL, HABIT_VALUE, NULL, "--sort=%", NULL},
	{'s', "sort", HABIT_VALUE, NULL, NULL,
	 "'stackctl annotate FUNCTION' takes a function; 'stackctl report --by thread' divides a "
	 "report"},
	{0, "script", HABIT_VALUE, NULL, NULL, "a script of yours can read --json"},
	{'T', "threads", HABIT_ALONE, NULL, "--by=thread", NULL},
	{0, "hierarchy", HABIT_ALONE, NULL, "--view=tree", NULL},
	{'b', "branch-stack", HABIT_ALONE, NULL, "--lbr", NULL},
	{0, "branch-history", HABIT_ALONE, NULL, "--lbr", NULL},
	{'F', "fields", HABIT_VALUE, NULL, NULL, "the columns are fixed; --json has all values"},
	{0, "order", HABIT_VALUE, NULL, NULL, "the columns are fixed; --json has all values"},
	{0, "compute", HABIT_VALUE, NULL, "", NULL},
	{'e', "event", HABIT_VALUE, NULL, NULL, RECORDED},
	{0, "freq", HABIT_VALUE, NULL, NULL, RECORDED},
	{'E', "entries", HABIT_VALUE, NULL, NULL,
	 "--percent-limit PERCENT of 'stackctl report' leaves out small rows"},
	{'K', "hide_kernel_symbols", HABIT_ALONE, NULL, NULL,
	 "'stackd -e cpu-clock:u' records user space alone"},
	{0, "hide_user_symbols", HABIT_ALONE, NULL, NULL,
	 "'stackd -e cpu-clock:k' records the kernel alone"},
	{0, "samples", HABIT_VALUE, NULL, NULL, SCRIPT},
	{0, "switch-on", HABIT_VALUE, NULL, NULL, "--from START --to END choose a range of time"},
	{0, "switch-off", HABIT_VALUE, NULL, NULL, "--from START --to END choose a range of time"},
	{0, "latency", HABIT_ALONE, NULL, NULL,
	 "after 'stackd --wait', '--metric wall' shows time instead of CPU time"},
	{'D', "dump-raw-trace", HABIT_ALONE, NULL, NULL, SCRIPT},
	{0, "stats", HABIT_ALONE, NULL, NULL, "'stackctl stats' has the figures of a recording"},
	{0, "tasks", HABIT_ALONE, NULL, NULL, "'stackctl report --by thread' shows the threads"},
	{0, "mmaps", HABIT_ALONE, NULL, NULL,
	 "'stackctl export --json' has the files that were mapped"},
	{0, "show-mmap-events", HABIT_ALONE, NULL, NULL, SCRIPT},
	{0, "show-cpu-utilization", HABIT_ALONE, NULL, NULL,
	 "kinds of functions are in --json; 'stackctl top' has shares"},
	{0, "ignore-callees", HABIT_VALUE, NULL, NULL, "--ignore NAME leaves out paths through it"},
	{0, "mem-mode", HABIT_ALONE, NULL, NULL,
	 "stackd records no addresses of data: use perf for that"},
	{0, "itrace", HABIT_MAYBE, NULL, NULL,
	 "stackd records no processor traces: use perf for that"},
	{0, "total-cycles", HABIT_ALONE, NULL, NULL,
	 "stackd records no cycles of blocks: use perf for that"},
	{0, "header-only", HABIT_ALONE, NULL, NULL,
	 "'stackctl stats' shows what a recording is of"},
	{0, "tui", HABIT_ALONE, NULL, NULL, "the report goes through a pager on a terminal; " PAGE},
	{0, "gtk", HABIT_ALONE, NULL, NULL, PAGE},
	{'M', "disassembler-style", HABIT_VALUE, "intel", "--intel", NULL},
	{'M', "disassembler-style", HABIT_VALUE, "att", "", NULL},
	{'M', "disassembler-style", HABIT_VALUE, NULL, NULL,
	 "instructions are written in one style only"},
	/* where names come from */
	{'k', "vmlinux", HABIT_VALUE, NULL, NULL, KERNEL_NAMES},
	{0, "kallsyms", HABIT_VALUE, NULL, NULL, KERNEL_NAMES},
	{'m', "modules", HABIT_ALONE, NULL, "", NULL},
	{0, "no-demangle", HABIT_ALONE, NULL, NULL,
	 "names are stored demangled; --full-names shows all of them"},
	{0, "symfs", HABIT_VALUE, NULL, NULL,
	 "names are in the recording; missing debug files are found by build-id in "
	 "/usr/lib/debug, and while stackd records also by DEBUGINFOD_URLS"},
	/* what stackctl does anyway */
	{'n', "show-nr-samples", HABIT_ALONE, NULL, "", NULL},
	{0, "show-total-period", HABIT_ALONE, NULL, "", NULL},
	{'v', "verbose", HABIT_ALONE, NULL, "", NULL},
	{'q', "quiet", HABIT_ALONE, NULL, "", NULL},
	{'f', "force", HABIT_ALONE, NULL, "", NULL},
	{'I', "show-info", HABIT_ALONE, NULL, "", NULL},
	{'P', "full-paths", HABIT_ALONE, NULL, "", NULL},
	{'l', "print-line", HABIT_ALONE, NULL, "", NULL},
	{'U', "hide-unresolved", HABIT_ALONE, NULL, NULL,
	 "code without a name is shown as object+offset: --ignore '*+0x*' leaves it out"},
	{'w', "column-widths", HABIT_VALUE, NULL, "", NULL},
	{0, "header", HABIT_ALONE, NULL, "", NULL},
	{0, "ns", HABIT_ALONE, NULL, "", NULL},
	{0, "skip-empty", HABIT_ALONE, NULL, "", NULL},
	{0, "show-ref-call-graph", HABIT_ALONE, NULL, "", NULL},
	{0, "demangle-kernel", HABIT_ALONE, NULL, "", NULL},
	{0, "addr2line", HABIT_VALUE, NULL, "", NULL},
	{0, "debuginfod", HABIT_MAYBE, NULL, "", NULL},
	{0, "percentage", HABIT_VALUE, NULL, "", NULL},
	{0, "percent-type", HABIT_VALUE, NULL, "", NULL},
	{0, "exclude-other", HABIT_ALONE, NULL, "", NULL},
	{0, "raw-trace", HABIT_ALONE, NULL, "", NULL},
	{0, "asm-raw", HABIT_ALONE, NULL, "", NULL},
	{0, "objdump", HABIT_VALUE, NULL, "", NULL},
	{0, "proc-map-timeout", HABIT_VALUE, NULL, "", NULL},
	{'a', "all-cpus", HABIT_ALONE, NULL, "", NULL},
	{0, "stdio", HABIT_ALONE, NULL, "", NULL},
	{0, "stdio2", HABIT_ALONE, NULL, "", NULL},
	{0, "source", HABIT_ALONE, NULL, "", NULL},
	{0, "demangle", HABIT_ALONE, NULL, "", NULL},
	{0, "group", HABIT_ALONE, NULL, "", NULL},
	{0},
};

static const struct {
	const char *names; /* with a blank before and behind each */
	const char *says;
} verbs[] = {
	{" stat ", "counters are read at regions: stackd --region FUNC --counter NAME, then "
		   "'stackctl fold'; the figures of a recording: 'stackctl stats'"},
	{" evlist ", "'stackctl stats' shows the event and the metrics of a recording"},
	{" buildid-list buildid-cache ",
	 "'stackctl stats --json' and 'stackctl export --json' have the build-ids"},
	{" lock ", "record with 'sudo stackd --wait --wakers', then 'stackctl report --metric "
		   "wait.blocked' and '--view wakers'"},
	{" sched ", "record with 'sudo stackd --wait', then 'stackctl report --metric "
		    "wait.runnable' and 'stackctl timeline'"},
	{" kmem mem ", "record with 'sudo stackd --alloc', then 'stackctl heap'"},
	{" c2c ", "stackd records no addresses of data: use perf for that"},
	{" probe ", "'sudo stackd --region FUNC' measures each pass through a function"},
	{" trace strace ", "record with 'sudo stackd --wait', then 'stackctl report --view waits'"},
	{" timechart ", "'stackctl timeline --svg -o FILE' draws threads over time"},
	{" archive inject data ",
	 "a recording is one file, which reports the same on any machine: copy it"},
	{" perf ", "leave 'perf' out: stackctl report, stackctl annotate, sudo stackd ..."},
	{" bench test ftrace kvm kwork iostat config daemon kallsyms ",
	 "it is perf's alone; 'stackctl help' lists the verbs"},
};

const char *perf_habits_verb(const char *name)
{
	char word[32];

	if (snprintf(word, sizeof(word), " %s ", name) >= (int)sizeof(word) || strchr(name, ' '))
		return NULL;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strstr(verbs[i].names, word))
			return verbs[i].says;
	return NULL;
}

int perf_habits_record(char **argv)
{
	static char name[] = "stackd";
	char path[PATH_MAX];
	const ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - sizeof(name));
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	argv[0] = name;
	if (slash) {
		memcpy(slash + 1, name, sizeof(name));
		execv(path, argv);
	}
	execvp(name, argv);
	message("cannot run stackd, which records: %s; install it, then: sudo stackd --pid PID",
		strerror(errno));
	return CMD_FAILED;
}
