/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: a perf.data file through the importer, up to the store: processes and mappings, call
 * chains, walks of copied stacks, branch records of both kinds, in code that exists (see
 * make_perfdata.c). Every sample has a path, every frame a location, and an origin speaks of no
 * more frames than there are.
 */
#include <errno.h>

#include "fuzz_reader.h"
#include "perf/import_processes.h"
#include "perf/import_stack.h"

struct fuzz {
	struct perfdata *reader;
	struct import_processes *processes;
	struct origin_table *origins;
	struct import_stack *stack;
};

static void check_origin(const struct fuzz *f, const struct import_stack_frames *path)
{
	const struct origin origin = origin_at(f->origins, path->origin);
	size_t frames = 0;

	for (uint32_t i = 0; i < origin.n_runs; i++)
		frames += origin.runs[i].frames;
	fuzz_check(frames <= path->count);
	fuzz_check(origin_inferred(&origin) <= frames);
}

static int take_sample(struct fuzz *f, const struct perfdata_record *record)
{
	struct import_stack_frames path;
	struct import_thread *thread;
	uint32_t location;
	int err = import_processes_thread(f->processes, record->pid, record->tid, &thread);

	if (!err)
		err = import_stack_take(f->stack, record, &path);
	if (err)
		return err;
	fuzz_check(path.count > 0 && path.end < STACKD_END_COUNT);
	check_origin(f, &path);
	for (size_t i = 0; !err && i < path.count; i++) {
		err = import_processes_locate(f->processes, thread, &path.frames[i], &location);
		fuzz_check(err || location < location_count(f->processes->locations));
	}
	return err;
}

static int take(struct fuzz *f, const struct perfdata_record *record)
{
	if (record->kind == PERFDATA_SAMPLE)
		return take_sample(f, record);
	import_stack_event(f->stack, record);
	return import_processes_event(f->processes, record);
}

static int prepare(struct fuzz *f)
{
	static const struct utsname machine = {.nodename = "host", .release = "fuzz"};
	int err = import_processes_new(f->reader, &machine, &f->processes);

	if (!err)
		err = origin_table_new(&f->origins);
	return err ? err : import_stack_new(f->reader, f->processes, f->origins, &f->stack);
}

static void read_all(struct perfdata *reader)
{
	struct fuzz f = {.reader = reader};
	struct perfdata_record record;
	int err = 0;

	while (!err && perfdata_next(reader, &record) == 1) {
		if (!f.stack)
			err = prepare(&f);
		if (!err)
			err = take(&f, &record);
	}
	fuzz_check(!err || err == -E2BIG);
	import_stack_free(f.stack);
	origin_table_free(f.origins);
	import_processes_free(f.processes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_read(data, size, read_all);
}
