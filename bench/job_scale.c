/* SPDX-License-Identifier: MIT */
/*
 * The merge of a large MPI job, simulated: job_scale SHARED OWN under SimGrid's smpirun. Each
 * process has a set of SHARED tags that all have and OWN tags of its own, with counts that depend
 * on tag and rank, and writes it with the others by tagset_share() over mpi/comm.c, as stackctl-mpi
 * does. What would go to the file is checked where it is made: all counts, and the totals of the
 * tags. Process 0 prints the figures of all as JSON. Time is not measured: it is the simulation's.
 *
 * All processes are in one here, and one of them runs until it calls MPI. What it has allocated is
 * counted by the linker's --wrap, which job_scale.py asks for: of calls from this program's own
 * objects, and not from SimGrid's.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "base/hash.h"
#include "base/text.h"
#include "mpi/comm.h"
#include "stack/location.h"
#include "tagset/tagset_share.h"

#define FILE_ID 0x1234u
#define DEPTH	20u /* of shared tags: chains of that many frames */

static void must(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "job_scale: %s\n", what);
	comm_abort(1);
}

static uint64_t count_of(uint64_t rank, uint64_t tag)
{
	return 1 + (rank * 7 + tag * 3) % 13;
}

/* --- a process's memory ----------------------------------------------------------------------- */

struct memory {
	uint64_t now, most; /* bytes that are allocated, as the allocator has them */
};

static struct memory *running; /* that of the process that runs; NULL: what it has is not counted */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *memory);
int __real_MPI_Sendrecv(const void *out, int n_out, MPI_Datatype type_out, int to, int tag_out,
			void *in, int n_in, MPI_Datatype type_in, int from, int tag_in,
			MPI_Comm comm, MPI_Status *status);

static void *counted(void *memory)
{
	if (memory && running) {
		running->now += malloc_usable_size(memory);
		running->most = running->now > running->most ? running->now : running->most;
	}
	return memory;
}

static void uncounted(void *memory)
{
	if (memory && running)
		running->now -= malloc_usable_size(memory);
}

void *__wrap_malloc(size_t size)
{
	return counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return counted(__real_calloc(n, size));
}

/* While a block moves, there are two of it. */
void *__wrap_realloc(void *old, size_t size)
{
	size_t before = old ? malloc_usable_size(old) : 0;
	void *grown = counted(__real_realloc(old, size));

	if (grown && running)
		running->now -= before;
	return grown;
}

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(n, size, &bytes) ? NULL : __wrap_realloc(old, bytes);
}

void __wrap_free(void *memory)
{
	uncounted(memory);
	__real_free(memory);
}

/* Others run until it returns. */
int __wrap_MPI_Sendrecv(const void *out, int n_out, MPI_Datatype type_out, int to, int tag_out,
			void *in, int n_in, MPI_Datatype type_in, int from, int tag_in,
			MPI_Comm comm, MPI_Status *status)
{
	struct memory *mine = running;
	int err = __real_MPI_Sendrecv(out, n_out, type_out, to, tag_out, in, n_in, type_in, from,
				      tag_in, comm, status);

	running = mine;
	return err;
}

/* --- a process's set -------------------------------------------------------------------------- */

static void put_tag(struct buf *b, uint64_t tag, uint64_t parent, uint64_t id, uint64_t offset)
{
	text_printf(b,
		    "location\t%016" PRIx64 "\t0\t%" PRIx64 "\tcall\tfunction_%" PRIx64
		    "\tsolver.c\t%" PRIu64 "\n",
		    id, offset, offset, offset);
	text_printf(b, "tag\t%016" PRIx64 "\t%016" PRIx64 "\t%016" PRIx64 "\n", tag, parent, id);
}

/* The offset of the location of a tag: shared ones are below 2^20. */
static uint64_t offset_of(uint64_t rank, uint32_t shared, uint32_t i)
{
	return i < shared ? 16 + 16ull * i : (1ull << 20) + rank * 1024 + i;
}

static void make_export(struct buf *b, uint64_t rank, uint64_t ranks, uint32_t shared, uint32_t own)
{
	uint64_t *tags = calloc(shared + own + 1, sizeof(*tags));

	must(tags, "out of memory");
	text_printf(b,
		    "stackd-tags 1\nrecording\t1\t%" PRIu64 "\tnode%" PRIu64
		    "\t6.1.0\tcpu-clock\nobject\t0\telf\t%016x\tabcd\t/opt/solver\n",
		    1700000000000000000 + hash_mix64(rank) % 1000000000, rank, FILE_ID);
	for (uint32_t i = 0; i < shared + own; i++) {
		uint64_t offset = offset_of(rank, shared, i), id = location_id(FILE_ID, offset);
		uint64_t parent = i < shared && i % DEPTH == 0 ? 0
				  : i < shared		       ? tags[i - 1]
							       : tags[0];

		tags[i] = hash_chain(parent, id);
		put_tag(b, tags[i], parent, id, offset);
	}
	text_printf(b,
		    "process\t0\t%" PRIu64 "\t1\tsolver\t/opt/solver\nrank\t0\t%" PRIu64
		    "\t%" PRIu64 "\n",
		    1000 + rank % 30000, rank, ranks);
	for (uint32_t i = 0; i < shared + own; i++)
		text_printf(b,
			    "sample\t%016" PRIx64 "\t0\tsolver\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			    "\tentry\tcomplete\t0\n",
			    tags[i], count_of(rank, i), 1000 * count_of(rank, i),
			    1000 + rank % 30000);
	text_put_raw(b, "end\n");
	must(!b->failed, "out of memory");
	free(tags);
}

static struct tagset *make_set(uint64_t rank, uint64_t ranks, uint32_t shared, uint32_t own)
{
	struct tagset *set;
	struct buf b = {0};
	char *error = NULL;
	FILE *in;

	make_export(&b, rank, ranks, shared, own);
	in = fmemopen(b.data, b.len, "r");
	must(in && tagset_new(&set) == 0, "out of memory");
	must(tagset_read(set, in, 0, &error) == 0, error ? error : "the export");
	fclose(in);
	buf_free(&b);
	return set;
}

/* --- judging what is written ------------------------------------------------------------------ */

struct judging {
	uint64_t ranks;
	uint32_t shared, own;
	uint64_t samples, totals, tags, ends; /* counts in samples and totals; lines */
	uint64_t bytes, largest;	      /* text of this process, and of one section */
};

/* The total of a tag must be that of a shared one, or of one rank's own. */
static void judge_total(struct judging *j, uint64_t n, uint64_t ranks, uint64_t least,
			uint64_t most, uint64_t rank)
{
	if (ranks == 1 && j->ranks > 1) {
		must(least == n && most == n && rank < j->ranks, "the total of an own tag");
		return;
	}
	must(ranks == j->ranks, "ranks of a shared tag");
	for (uint32_t i = 0; i < j->shared; i++) {
		uint64_t sum = 0, max = 0, min = UINT64_MAX, first = 0;

		if (count_of(rank, i) != most)
			continue;
		for (uint64_t r = 0; r < j->ranks; r++) {
			uint64_t count = count_of(r, i);

			sum += count;
			min = count < min ? count : min;
			first = count > max ? r : first;
			max = count > max ? count : max;
		}
		if (sum == n && min == least && max == most && first == rank)
			return;
	}
	must(false, "the total of a shared tag");
}

static void judge_line(struct judging *j, const char *line)
{
	uint64_t n, ranks, least, most, rank;

	if (sscanf(line, "sample\t%*[^\t]\t%*u\t%*[^\t]\t%" SCNu64, &n) == 1) {
		j->samples += n;
	} else if (sscanf(line,
			  "total\t%*[^\t]\tcpu\t%" SCNu64 "\t%*u\t%" SCNu64 "\t%" SCNu64
			  "\t%" SCNu64 "\t%" SCNu64,
			  &n, &ranks, &least, &most, &rank) == 5) {
		j->totals += n;
		judge_total(j, n, ranks, least, most, rank);
	} else {
		j->tags += strncmp(line, "tag\t", 4) == 0;
		j->ends += strcmp(line, "end") == 0;
	}
}

static int judge(void *arg, const struct tagset_part *parts, size_t n, const struct buf *text)
{
	struct judging *j = arg;
	const char *at = (const char *)text->data, *end = at + text->len;
	char line[1024];

	(void)parts;
	(void)n;
	j->bytes += text->len;
	j->largest = text->len > j->largest ? text->len : j->largest;
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		must(stop && (size_t)(stop - at) < sizeof(line), "a line");
		memcpy(line, at, (size_t)(stop - at));
		line[stop - at] = '\0';
		judge_line(j, line);
		at = stop + 1;
	}
	return 0;
}

/* --- figures ---------------------------------------------------------------------------------- */

static void check_sums(const struct comm *comm, struct judging *j, const struct tagset_shared *all)
{
	uint64_t sums[] = {j->samples, j->totals, j->tags, j->ends, 0};
	uint64_t n = comm->router.size;

	for (uint32_t i = 0; i < j->shared + j->own; i++)
		sums[4] += count_of(comm->router.rank, i);
	must(router_sum(&comm->router, sums, 5, NULL) == 0, "a sum");
	must(sums[0] == sums[4] && all->samples == sums[4], "the sum of samples");
	must(sums[1] == sums[4], "the sum of totals");
	must(sums[2] == j->shared + n * j->own && sums[3] == 1, "the number of tags");
	must(all->recordings == n && !all->repeated && !all->skipped, "recordings");
}

static void print(struct comm *comm, const struct judging *j, const struct tagset_shared *all,
		  const struct memory *set, const struct memory *whole)
{
	uint64_t most[] = {comm->figures.largest,
			   comm->figures.bytes,
			   comm->figures.messages,
			   j->bytes,
			   set->now,
			   whole->most};
	uint64_t sums[] = {comm->figures.bytes, comm->figures.messages, whole->most};

	must(router_largest(&comm->router, most, 6) == 0 &&
		     router_sum(&comm->router, sums, 3, NULL) == 0,
	     "figures");
	if (comm->router.rank)
		return;
	printf("{\"ranks\":%u,\"largest_message\":%" PRIu64 ",\"most_bytes\":%" PRIu64
	       ",\"mean_bytes\":%" PRIu64 ",\"most_messages\":%" PRIu64
	       ",\"mean_messages\":%" PRIu64 ",\"most_text\":%" PRIu64 ",\"file\":%" PRIu64
	       ",\"most_set\":%" PRIu64 ",\"mean_memory\":%" PRIu64 ",\"most_memory\":%" PRIu64
	       "}\n",
	       comm->router.size, most[0], most[1], sums[0] / comm->router.size, most[2],
	       sums[1] / comm->router.size, most[3], all->bytes, most[4],
	       sums[2] / comm->router.size, most[5]);
}

int main(int argc, char **argv)
{
	struct judging j = {0};
	struct tagset_shared all;
	struct tagset *set;
	struct comm comm;
	const struct tagset_sink sink = {judge, &j};
	struct memory memory = {0}, of_set;

	MPI_Init(&argc, &argv);
	comm_new(&comm);
	must(argc == 3, "job_scale SHARED OWN");
	j.ranks = comm.router.size;
	j.shared = (uint32_t)atoi(argv[1]);
	j.own = (uint32_t)atoi(argv[2]);
	running = &memory;
	set = make_set(comm.router.rank, j.ranks, j.shared, j.own);
	of_set = memory;
	memory.most = memory.now; /* the text that it was made of is not of interest */
	must(tagset_share(set, &comm.router, &sink, &all) == 0, "tagset_share()");
	running = NULL;
	print(&comm, &j, &all, &of_set, &memory);
	check_sums(&comm, &j, &all);
	tagset_free(set);
	MPI_Finalize();
	return 0;
}
