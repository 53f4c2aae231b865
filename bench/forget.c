/* SPDX-License-Identifier: MIT */
/*
 * What a service keeps in memory, however much it records: forget STORE paths|samples N
 *
 * The daemon's recorder and archive get a stream of records as the kernel half sends them, as fast
 * as they take it. Time is compressed: ten thousand samples are a second, after which a batch goes
 * to the store; windows end on the hour, or before, when recorder_is_full() says so.
 *
 *   paths    almost every sample has a path of its own (an hour with 10 million: N = 10000000)
 *   samples  a few thousand paths, again and again (a day of 10^8 samples: N = 100000000)
 *
 * Prints a line for each twentieth part. The exit status is 1 if more than 64 MiB were resident.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/archive/archive.h"
#include "daemon/base/own_cost.h"
#include "daemon/recorder/recorder.h"
#include "daemon/worker/names.h"

#define DEPTH	     24
#define PER_SECOND   10000
#define SECOND	     UINT64_C(1000000000)
#define WINDOW_NS    (3600 * SECOND)
#define KEEP_BYTES   (UINT64_C(256) << 20)
#define TARGET_BYTES (UINT64_C(64) << 20)
#define QUEUE	     4	   /* batches that may wait */
#define USUAL	     64	   /* locations of the few paths */
#define CODE_BYTES   65536 /* of this program, in which frames lie */

struct run {
	struct recorder *recorder;
	struct archive *archive;
	struct names *names;
	struct store_recording info;
	uint64_t now_ns, samples, chance, windows, full, peak;
	uint32_t file;
	uint8_t sequence;
	bool is_new; /* most paths are */
};

static void fail(const char *what, int err)
{
	fprintf(stderr, "forget: %s: %s\n", what, strerror(-err));
	exit(2);
}

static uint32_t random_below(struct run *r, uint32_t n)
{
	r->chance = r->chance * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((r->chance >> 32) % n);
}

/* Sends a walk of DEPTH frames that keeps all but the last `changed` of the one before. */
static void send(struct run *r, unsigned changed)
{
	struct {
		struct stackd_header header;
		uint8_t bytes[DEPTH * 12];
	} sent = {.header = {.version = STACKD_ABI_VERSION,
			     .kind = STACKD_RECORD_WALKED,
			     .tid = (uint32_t)getpid(),
			     .time_ns = r->now_ns,
			     .kept = (uint16_t)(DEPTH - changed),
			     .bytes = (uint16_t)(changed * 12),
			     .sequence = r->sequence++,
			     .end_reason = STACKD_END_ENTRY}};
	const uint32_t mark = STACKD_FRAME_LONG;
	int err;

	for (unsigned i = 0; i < changed; i++) {
		uint32_t at = random_below(r, r->is_new ? CODE_BYTES : USUAL);
		uint64_t location = (uint64_t)r->file << 48 | (0x1000 + at) | STACKD_LOCATION_EXACT;

		memcpy(sent.bytes + i * 12, &mark, sizeof(mark));
		memcpy(sent.bytes + i * 12 + 4, &location, sizeof(location));
	}
	err = recorder_sample(r->recorder, &sent.header);
	if (err)
		fail("a record", err);
	r->samples++;
	r->now_ns += SECOND / PER_SECOND;
}

/* Hands what is new to the archive. */
static void submit(struct run *r, bool ends)
{
	struct batch *b = recorder_take_batch(r->recorder);

	if (!b)
		fail("a batch", -ENOMEM);
	r->info.end_ns = r->now_ns;
	r->info.samples = r->samples;
	b->totals = r->info;
	b->ends_window = ends;
	if (ends) {
		r->info.start_unix_ns += r->now_ns - r->info.start_ns;
		r->info.start_ns = r->now_ns;
		r->samples = r->info.samples = 0;
		b->after = r->info;
	}
	archive_submit(r->archive, b);
	while (archive_waiting(r->archive) > QUEUE)
		usleep(1000);
}

static void end_window(struct run *r, bool is_full)
{
	int err;

	submit(r, true);
	err = recorder_begin_anew(r->recorder);
	if (err)
		fail("a window", err);
	r->windows++;
	r->full += is_full;
}

static void second(struct run *r)
{
	bool is_full;
	uint64_t bytes;

	for (int i = 0; i < PER_SECOND; i++)
		send(r, 1 + random_below(r, 2));
	is_full = recorder_is_full(r->recorder);
	if (is_full || r->now_ns - r->info.start_ns >= WINDOW_NS)
		end_window(r, is_full);
	else
		submit(r, false);
	bytes = own_cost_resident_bytes();
	if (bytes > r->peak)
		r->peak = bytes;
}

static void begin(struct run *r, const char *path)
{
	struct archive_options options = {.path = path, .keep_bytes = KEEP_BYTES};
	char *sentence = NULL, exe[4096];
	struct batch *b;
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int err = recorder_new(&(struct recorder_options){.usual_period = 1000}, &r->recorder);

	if (!err)
		err = recorder_load_process(r->recorder, getpid());
	if (err || len < 0)
		fail("the recorder", err);
	exe[len] = '\0';
	r->info = (struct store_recording){.host = "bench",
					   .kernel = "",
					   .arch = "",
					   .command = "",
					   .target = "",
					   .event = "",
					   .note = "",
					   .run = 1,
					   .start_ns = r->now_ns,
					   .start_unix_ns = SECOND};
	err = names_here_new(&r->names);
	options.names = r->names;
	if (!err)
		err = archive_new(&options, &r->archive, &sentence);
	if (!err)
		err = archive_begin(r->archive, &r->info, &sentence);
	if (err)
		fail(sentence ? sentence : path, err);
	b = recorder_take_batch(r->recorder);
	for (size_t i = 0; b && i < b->n_objects; i++) {
		if (!strcmp(b->objects[i]->path, exe))
			r->file = b->objects[i]->number + 1;
	}
	if (!b || !r->file)
		fail("this program is not among the objects", -ENOENT);
	b->totals = r->info;
	archive_submit(r->archive, b);
	send(r, DEPTH);
}

int main(int argc, char **argv)
{
	struct run r = {.now_ns = SECOND, .chance = 1};
	uint64_t n = argc == 4 ? strtoull(argv[3], NULL, 10) : 0, done = 0;
	char *sentence = NULL;
	struct stat file;
	int err;

	if (n < 20 * PER_SECOND || (strcmp(argv[2], "paths") && strcmp(argv[2], "samples"))) {
		fprintf(stderr, "usage: forget STORE paths|samples N (at least %d)\n",
			20 * PER_SECOND);
		return 2;
	}
	r.is_new = !strcmp(argv[2], "paths");
	begin(&r, argv[1]);
	printf("%12s %9s %7s %10s %8s %10s\n", "samples", "CPU s", "windows", "full ones",
	       "resident", "store MiB");
	for (int part = 1; part <= 20; part++) {
		for (; done < n * (uint64_t)part / 20; done += PER_SECOND)
			second(&r);
		memset(&file, 0, sizeof(file));
		stat(argv[1], &file);
		printf("%12" PRIu64 " %9.1f %7" PRIu64 " %10" PRIu64 " %8.1f %10.1f\n", done,
		       (double)own_cost_cpu_ns() / 1e9, r.windows, r.full,
		       (double)own_cost_resident_bytes() / 0x1p20, (double)file.st_size / 0x1p20);
		fflush(stdout);
	}
	err = archive_finish(r.archive, false, &sentence);
	if (err)
		fail(sentence ? sentence : "the store", err);
	printf("peak %.1f MiB, target %.0f%s\n", (double)r.peak / 0x1p20,
	       (double)TARGET_BYTES / 0x1p20, r.peak > TARGET_BYTES ? "   MISSED" : "");
	archive_free(r.archive);
	names_free(r.names);
	recorder_free(r.recorder);
	return r.peak > TARGET_BYTES;
}
