/* SPDX-License-Identifier: MIT */
/*
 * Compares call paths with the emulator's truth, sample by sample:
 *
 *   score DATA TRUTH          paths of an emulated perf.data, as lib/code/lbr reconstructs them
 *   score --text FILE TRUTH   paths as perf script, or stackctl export --perf-script, printed them
 *
 * One program for all, so that all are judged alike. A frame is right if it is a frame of the true
 * path, in its order: for a caller, an address in the call instruction or behind it (perf shows
 * the call, others the return address); for the leaf, the sampled address, or another in the same
 * function (perf shows its start). Where a program has put another return address into a call's
 * slot (the unwinder of exceptions does, just before it leaves), either is right; and if that is
 * the next frame's own, memory has one frame where there were two: one is right, too. Of equal
 * sequences the longest common one counts. A sample is exact if every true frame is there and no
 * other.
 *
 * Prints: samples, exact ones, frames of the truth, wrong and missing ones, samples whose path is
 * reported as incomplete, and those whose path is reported as complete but is not exact; and the
 * sources of frames (walked, prefix, branch, stitched). --text cannot distinguish the last three.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lbr/lbr_code.h"
#include "perf/perfdata.h"
#include "proc/process.h"
#include "cfi/cfi_index.h"

#define MAX_PATH  4096
#define MAX_FILES 256
#define MAX_CELLS (4u << 20)

struct file {
	char *path;
	struct elf_file *elf;
	struct cfi_index *cfi;
};

struct map {
	uint64_t start, end, offset;
	struct file *file;
};

/* A location in a file; in the truth, the range of addresses that count as it. */
struct point {
	const struct file *file;
	uint64_t first, last;
	uint64_t address; /* of the truth, another one that is right, too; 0: none */
};

struct path {
	struct point points[MAX_PATH];
	size_t n;
};

struct totals {
	uint64_t samples, exact, frames, wrong, missing, incomplete, overclaimed, in_transition;
	uint64_t sources[FRAME_SOURCE_COUNT], verified;
};

static struct score {
	struct file files[MAX_FILES];
	size_t n_files;
	struct map maps[4096];
	size_t n_maps;
	FILE *truth;
	char *line; /* of the truth, read and not used yet */
	size_t room;
	uint64_t ip;
	struct path is, want;
	uint16_t cells[MAX_CELLS];
	struct totals totals;
	bool in_transition, verbose;
} s;

static _Noreturn void die(const char *what, const char *name)
{
	fprintf(stderr, "score: %s: %s\n", what, name);
	exit(2);
}

/* --- files and functions --------------------------------------------------------------------- */

static struct file *file_of(const char *path)
{
	struct file *file;
	int fd;

	for (size_t i = 0; i < s.n_files; i++) {
		if (!strcmp(s.files[i].path, path))
			return &s.files[i];
	}
	if (s.n_files == MAX_FILES)
		die("too many files", path);
	file = &s.files[s.n_files++];
	file->path = strdup(path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !elf_file_open(fd, &file->elf))
		cfi_index_new(file->elf, &file->cfi);
	if (fd >= 0)
		close(fd);
	return file;
}

static uint64_t function_start(const struct file *file, uint64_t offset)
{
	uint64_t vaddr, start, end;

	if (file->cfi && elf_file_offset_to_vaddr(file->elf, offset, &vaddr) &&
	    cfi_index_find(file->cfi, vaddr, &start, &end))
		return start;
	return UINT64_MAX;
}

static struct point point_of(uint64_t first, uint64_t last)
{
	for (size_t i = s.n_maps; i-- > 0;) {
		const struct map *m = &s.maps[i];

		if (first >= m->start && first < m->end)
			return (struct point){m->file, first - m->start + m->offset,
					      last - m->start + m->offset, 0};
	}
	return (struct point){NULL, first, last, 0};
}

/* --- the truth ------------------------------------------------------------------------------- */

static bool next_line(void)
{
	ssize_t n = getline(&s.line, &s.room, s.truth);

	if (n > 0 && s.line[n - 1] == '\n')
		s.line[n - 1] = 0;
	return n > 0;
}

static void add_map(void)
{
	struct map map;
	char path[4096];

	if (sscanf(s.line, "M %" SCNx64 " %" SCNx64 " %" SCNx64 " %4095[^\n]", &map.start, &map.end,
		   &map.offset, path) != 4)
		die("bad line in the truth", s.line);
	if (s.n_maps == sizeof(s.maps) / sizeof(s.maps[0]))
		die("too many mappings", path);
	map.file = file_of(path);
	s.maps[s.n_maps++] = map;
}

static void want(uint64_t first, uint64_t last)
{
	if (s.want.n < MAX_PATH)
		s.want.points[s.want.n++] = point_of(first, last);
}

/* Reads the next sample's path, leaf first. false: there is none. */
static bool next_truth(void)
{
	uint64_t a, b;

	while (s.line && s.line[0] == 'M') {
		add_map();
		if (!next_line())
			return false;
	}
	if (!s.line || sscanf(s.line, "S %*u %*u %" SCNx64, &s.ip) != 1)
		return false;
	s.want.n = 0;
	s.in_transition = false;
	want(s.ip, s.ip);
	while (next_line()) {
		if (s.line[0] == 'X')
			s.in_transition = true;
		else if (sscanf(s.line, "C %" SCNx64 " %" SCNx64, &a, &b) == 2)
			want(a, b);
		else if (sscanf(s.line, "O %" SCNx64, &a) == 1)
			s.want.points[s.want.n - 1].address = a;
		else if (sscanf(s.line, "T %" SCNx64, &a) == 1)
			want(a - 1, a);
		else if (sscanf(s.line, "I %" SCNx64, &a) == 1)
			want(a, a);
		else
			return true;
	}
	s.line[0] = 0;
	return true;
}

/* --- comparing ------------------------------------------------------------------------------- */

static bool is_point(const struct point *is, uint64_t address)
{
	struct point other = point_of(address, address);

	return is->file == other.file && is->first == other.first;
}

static bool is_right(size_t i, size_t j)
{
	const struct point *is = &s.is.points[i], *want = &s.want.points[j];

	if (want->address && is_point(is, want->address))
		return true;
	if (is->file != want->file)
		return false;
	if (is->first >= want->first && is->first <= want->last)
		return true;
	return i == 0 && j == 0 && is->file &&
	       function_start(is->file, is->first) == function_start(want->file, want->first) &&
	       function_start(is->file, is->first) != UINT64_MAX;
}

/* The longest common sequence of is[from..n) and want[from..m). */
static size_t common(size_t from, size_t n, size_t m)
{
	size_t width = m - from + 1, rows = n - from + 1;

	if (width * rows > MAX_CELLS)
		die("too long a path", "compare fewer frames");
	for (size_t k = 0; k < width; k++)
		s.cells[(rows - 1) * width + k] = 0;
	for (size_t i = n; i-- > from;) {
		uint16_t *row = &s.cells[(i - from) * width];

		row[width - 1] = 0;
		for (size_t j = m; j-- > from;) {
			uint16_t below = row[width + j - from], right = row[j - from + 1];

			row[j - from] = is_right(i, j)	? (uint16_t)(row[width + j - from + 1] + 1)
					: below > right ? below
							: right;
		}
	}
	return s.cells[0];
}

static void print_path(const char *title, const struct path *path)
{
	printf("%s", title);
	for (size_t i = 0; i < path->n; i++)
		printf(" %s+%" PRIx64,
		       path->points[i].file ? strrchr(path->points[i].file->path, '/') + 1 : "?",
		       path->points[i].first);
	printf("\n");
}

/* Is the instruction at a point a ret? */
static bool is_ret(const struct point *point)
{
	uint8_t code[2] = {0};

	if (!point->file || !point->file->elf ||
	    pread(elf_file_descriptor(point->file->elf), code, sizeof(code), (off_t)point->first) <
		    1)
		return false;
	return code[0] == 0xc3 || (code[0] == 0xf3 && code[1] == 0xc3);
}

/* Is an address a function's first one? */
static bool is_entry(uint64_t address)
{
	const struct point point = point_of(address, address);
	uint64_t vaddr;

	return point.file && point.file->elf &&
	       elf_file_offset_to_vaddr(point.file->elf, point.first, &vaddr) &&
	       function_start(point.file, point.first) == vaddr;
}

/* If the path lacks one frame, and there is one whose return address has become the next
 * frame's own: they count as one, and it may have either's. A retpoline overwrites the return
 * address of its own call with the address of a function and jumps there by a ret: at this ret,
 * the frame of the call is gone. */
static void merge_replaced(void)
{
	struct path *want = &s.want;

	for (size_t j = 1; s.is.n + 1 == want->n && j + 1 < want->n; j++) {
		const struct point *old = &want->points[j], *next = &want->points[j + 1];
		size_t gone = is_point(&s.is.points[j], old->address) ? j : j + 1;

		if (!old->address)
			continue;
		if (!is_point(&(struct point){next->file, next->last, 0, 0}, old->address)) {
			if (j > 1 || !is_ret(&want->points[0]) || !is_entry(old->address))
				continue;
			gone = j;
		}
		want->n--;
		memmove(&want->points[gone], &want->points[gone + 1],
			(want->n - gone) * sizeof(*next));
	}
}

/* `is_complete`: the path is reported as complete. */
static void compare(bool is_complete)
{
	size_t n, m, from = 0, right;

	if (s.in_transition) {
		s.totals.in_transition++;
		return;
	}
	merge_replaced();
	n = s.is.n;
	m = s.want.n;
	while (from < n && from < m && is_right(from, from))
		from++;
	right = from;
	while (n > from && m > from && is_right(n - 1, m - 1)) {
		n--;
		m--;
		right++;
	}
	right += n > from && m > from ? common(from, n, m) : 0;
	s.totals.samples++;
	s.totals.frames += s.want.n;
	s.totals.wrong += s.is.n - right;
	s.totals.missing += s.want.n - right;
	s.totals.exact += right == s.is.n && right == s.want.n;
	s.totals.overclaimed += is_complete && (right != s.is.n || right != s.want.n);
	if (s.verbose && (right != s.is.n || right != s.want.n)) {
		print_path(right == s.is.n ? "missing, is:" : "WRONG, is:", &s.is);
		print_path("  want:", &s.want);
	}
}

/* --- paths in text --------------------------------------------------------------------------- */

static void add_text_frame(char *line)
{
	char *open = NULL, *end;
	uint64_t address = strtoull(line, &end, 16);

	for (char *at = strstr(line, " ("); at; at = strstr(at + 1, " ("))
		open = at;
	if (end == line || !open || s.is.n == MAX_PATH || !strncmp(end, " [incomplete", 12))
		return;
	end = strrchr(open, ')');
	if (!end)
		return;
	*end = 0;
	if (!strcmp(open + 2, "inlined"))
		return;
	s.is.points[s.is.n++] = (struct point){file_of(open + 2), address, address, 0};
}

static void score_text(const char *name)
{
	FILE *file = fopen(name, "re");
	char *line = NULL;
	size_t room = 0;
	bool in_sample = false;

	if (!file)
		die(strerror(errno), name);
	while (getline(&line, &room, file) > 0) {
		if (line[0] == '\t' || (line[0] == ' ' && in_sample)) {
			add_text_frame(line);
			continue;
		}
		if (in_sample && line[0] == '\n') {
			compare(false);
			in_sample = false;
		} else if (line[0] != '\n' && line[0] != '#') {
			if (!next_truth())
				die("more samples than in the truth", name);
			in_sample = true;
			s.is.n = 0;
		}
	}
	if (in_sample)
		compare(false);
	free(line);
	fclose(file);
}

/* --- paths that lib/code/lbr makes
 * ---------------------------------------------------------------- */

static struct session {
	struct object_table *objects;
	struct process_table *processes;
	struct dwarf_walk *walk;
	struct lbr_code_files *code;
	struct lbr *lbr;
	pid_t pid;
	struct lbr_walked walked[LBR_MAX_FRAMES];
	struct lbr_frame frames[LBR_MAX_FRAMES];
	struct lbr_entry entries[LBR_MAX_ENTRIES];
} l;

static bool find_code(void *arg, uint64_t address, const struct object **ret_object,
		      uint64_t *ret_offset)
{
	const struct mapping *m = process_table_mapping(l.processes, l.pid, address);

	(void)arg;
	if (!m)
		return false;
	*ret_object = m->object;
	*ret_offset = address - m->start + m->offset;
	return true;
}

static void open_session(void)
{
	if (object_table_new("/nowhere", &l.objects) ||
	    process_table_new(l.objects, "/nowhere", &l.processes) ||
	    dwarf_walk_new(&(struct dwarf_walk_options){0}, &l.walk) ||
	    lbr_code_new(l.walk, &l.code) || lbr_new(&l.lbr))
		die("no memory", "lib/code/lbr");
	object_table_trust_build_ids_alone(l.objects);
}

static void on_mmap(const struct perfdata_record *r)
{
	const struct object_mapping m = {
		.start = r->mmap.start,
		.end = r->mmap.start + r->mmap.len,
		.offset = r->mmap.offset,
		.inode = r->mmap.inode,
		.build_id = r->mmap.build_id,
		.build_id_len = r->mmap.build_id_len,
		.path = r->mmap.path,
	};

	if (r->mmap.is_code && process_table_on_mmap(l.processes, (pid_t)r->pid, &m))
		die("no memory", r->mmap.path);
}

static void take_result(const struct lbr_result *result)
{
	s.is.n = 0;
	for (size_t i = 0; i < result->n_frames && s.is.n < MAX_PATH; i++) {
		s.is.points[s.is.n++] = point_of(l.frames[i].address, l.frames[i].address);
		s.totals.sources[l.frames[i].source]++;
		s.totals.verified += l.frames[i].is_verified;
	}
	s.totals.incomplete += result->end != STACKD_END_ENTRY;
}

static void on_sample(const struct perfdata_sample *p, uint32_t tid, const struct perfdata_event *e)
{
	struct walk_input walk = {.find = find_code};
	struct lbr_code_view view = {.files = l.code, .in = &walk};
	struct lbr_input in = {.ip = p->ip,
			       .entries = l.entries,
			       .n_entries = p->n_branches,
			       .top = p->hw_index == PERFDATA_NO_HW_INDEX ? -1
									  : (int64_t)p->hw_index,
			       .code = lbr_code_of(&view)};
	struct lbr_result result;
	bool is_call_stack = !e->branch_type || e->branch_type & 1 << 11;

	in.ring = is_call_stack ? (unsigned)atoi(getenv("RING") ? getenv("RING") : "32") : 0;
	for (size_t i = 0; i < p->n_branches && i < LBR_MAX_ENTRIES; i++)
		l.entries[i] = (struct lbr_entry){p->branches[i].from, p->branches[i].to};
	if (perfdata_user_regs(p, &walk.regs)) {
		walk.stack = p->stack;
		walk.stack_bytes = p->stack_bytes;
		walk.stack_cut = p->stack_bytes == p->stack_room;
		in.memory = (struct lbr_memory){p->stack, walk.regs.r[STACKD_REG_SP],
						p->stack_bytes, walk.stack_cut};
		in.walk_end = lbr_code_walk(&view, l.walked, LBR_MAX_FRAMES, &in.n_walked);
		in.walked = l.walked;
	}
	if (is_call_stack
		    ? lbr_reconstruct(l.lbr, (pid_t)tid, &in, l.frames, LBR_MAX_FRAMES, &result)
		    : lbr_replay(&in, l.frames, LBR_MAX_FRAMES, &result))
		die("cannot reconstruct", "a sample");
	take_result(&result);
	compare(result.end == STACKD_END_ENTRY);
}

static void score_data(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC), got;
	struct perfdata *reader;
	struct perfdata_record r;
	char *error = NULL;

	if (fd < 0 || perfdata_open(fd, &reader, &error))
		die(error ? error : strerror(errno), name);
	open_session();
	while ((got = perfdata_next(reader, &r)) == 1) {
		l.pid = (pid_t)r.pid;
		if (r.kind == PERFDATA_MMAP)
			on_mmap(&r);
		if (r.kind != PERFDATA_SAMPLE)
			continue;
		if (!next_truth())
			die("more samples than in the truth", name);
		on_sample(&r.sample, r.tid, perfdata_event(reader, r.event));
	}
	if (got)
		die(perfdata_error(reader), name);
	perfdata_free(reader);
	close(fd);
	lbr_free(l.lbr);
	lbr_code_free(l.code);
	dwarf_walk_free(l.walk);
	process_table_free(l.processes);
	object_table_free(l.objects);
}

int main(int argc, char **argv)
{
	bool is_text = argc == 4 && !strcmp(argv[1], "--text");

	s.verbose = getenv("VERBOSE") != NULL;
	if (argc != 3 && !is_text)
		die("usage", "score [--text] DATA TRUTH");
	s.truth = fopen(argv[argc - 1], "re");
	if (!s.truth || !next_line())
		die("cannot read the truth", argv[argc - 1]);
	if (is_text)
		score_text(argv[2]);
	else
		score_data(argv[1]);
	if (next_truth())
		die("fewer samples than in the truth", argv[argc - 2]);
	printf("samples %" PRIu64 " exact %" PRIu64 " frames %" PRIu64 " wrong %" PRIu64
	       " missing %" PRIu64 " incomplete %" PRIu64 " overclaimed %" PRIu64
	       " in_transition %" PRIu64,
	       s.totals.samples, s.totals.exact, s.totals.frames, s.totals.wrong, s.totals.missing,
	       s.totals.incomplete, s.totals.overclaimed, s.totals.in_transition);
	for (uint8_t i = 0; i < FRAME_SOURCE_COUNT; i++)
		printf(" %s %" PRIu64, frame_source_name(i), s.totals.sources[i]);
	printf(" verified %" PRIu64 "\n", s.totals.verified);
	for (size_t i = 0; i < s.n_files; i++) {
		cfi_index_free(s.files[i].cfi);
		elf_file_free(s.files[i].elf);
		free(s.files[i].path);
	}
	free(s.line);
	fclose(s.truth);
	return 0;
}
