/* SPDX-License-Identifier: MIT */
/*
 * Prints what the parts of a walk cost on this machine, a line each of nanoseconds and a name, and
 * the mitigations that are in force. docs/COST.md describes them.
 *
 * The kernel runs each program of prices.bpf.c some hundred times and says how long that took. Of
 * several such times the least counts, since whatever else the machine does makes them longer.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prices.skel.h"

#define REPEATS		64 /* as in prices.bpf.c */
#define TURNS		20
#define RUNS		500 /* in one go */
#define COLD_RUNS	300
#define OTHER_BYTES	(16u << 20) /* more than a core has for itself */
#define VULNERABILITIES "/sys/devices/system/cpu/vulnerabilities"

/* The mean time of some runs in one go. */
static double run_once(const struct bpf_program *program, int runs)
{
	static const char packet[64];
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = runs);

	if (bpf_prog_test_run_opts(bpf_program__fd(program), &options)) {
		fprintf(stderr, "prices: %s: %s\n", bpf_program__name(program), strerror(errno));
		exit(1);
	}
	return options.duration;
}

/* The least of that. */
static double run_ns(const struct bpf_program *program)
{
	double least = run_once(program, RUNS);

	for (int i = 1; i < TURNS; i++) {
		double ns = run_once(program, RUNS);

		least = ns < least ? ns : least;
	}
	return least;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The median time of a run that finds nothing in the core's own caches: of the program, nor of the
 * memory. */
static double cold_ns(const struct bpf_program *program)
{
	static volatile char other[OTHER_BYTES];
	double ns[COLD_RUNS];

	for (int i = 0; i < COLD_RUNS; i++) {
		for (size_t at = 0; at < sizeof(other); at += 64)
			other[at]++;
		ns[i] = run_once(program, 1);
	}
	qsort(ns, COLD_RUNS, sizeof(*ns), by_value);
	return ns[COLD_RUNS / 2];
}

/* A line of the program's own code: by that of a program that runs from its start to its end. */
static double code_line_ns(const struct prices_bpf *skel)
{
	const struct bpf_program *program = skel->progs.instructions;
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len) || !info.jited_prog_len)
		return 0;
	return (cold_ns(program) - cold_ns(skel->progs.nothing) - run_ns(program)) /
	       (info.jited_prog_len / 64.0);
}

static void print_prices(const struct prices_bpf *skel)
{
	double nothing = run_ns(skel->progs.nothing), warm = run_ns(skel->progs.warm);
	double copies = run_ns(skel->progs.copies), chain = run_ns(skel->progs.chain);
	const struct {
		const char *name;
		double ns;
	} prices[] = {
		{"program", nothing},
		{"instruction", (run_ns(skel->progs.instructions) - nothing) / (32 * REPEATS)},
		{"subprogram", (run_ns(skel->progs.subprograms) - nothing) / REPEATS},
		{"body", (run_ns(skel->progs.bodies) - nothing) / REPEATS},
		{"helper", (run_ns(skel->progs.helpers) - nothing) / REPEATS},
		{"copy", (copies - nothing) / REPEATS},
		{"KiB", (run_ns(skel->progs.kibibytes) - copies) / REPEATS},
		{"line of code", code_line_ns(skel)},
		{"cold program", cold_ns(skel->progs.nothing)},
		{"line", (run_ns(skel->progs.in_order) - warm) / REPEATS},
		{"scattered line", (run_ns(skel->progs.scattered) - warm) / REPEATS},
		{"line by line", (chain - run_ns(skel->progs.warm_chain)) / REPEATS},
		{"page", (run_ns(skel->progs.in_pages) - chain) / (REPEATS - 1)},
	};

	for (size_t i = 0; i < sizeof(prices) / sizeof(*prices); i++)
		printf("%8.2f  %s\n", prices[i].ns, prices[i].name);
}

/* What slows calls and returns down; the kernel's own words. */
static void print_mitigations(void)
{
	DIR *folder = opendir(VULNERABILITIES);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		char path[512], text[256] = "";
		FILE *in;

		snprintf(path, sizeof(path), VULNERABILITIES "/%s", entry->d_name);
		in = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (in && fgets(text, sizeof(text), in) && strncmp(text, "Not affected", 12) != 0)
			printf("          %s: %s", entry->d_name, text);
		if (in)
			fclose(in);
	}
	if (folder)
		closedir(folder);
}

int main(void)
{
	static char memory[1024] = "not only zeroes";
	struct prices_bpf *skel = prices_bpf__open_and_load();

	if (!skel) {
		fprintf(stderr, "prices: BPF programs cannot be loaded here\n");
		return 1;
	}
	skel->bss->user = (__u64)(uintptr_t)memory;
	print_prices(skel);
	print_mitigations();
	prices_bpf__destroy(skel);
	return 0;
}
