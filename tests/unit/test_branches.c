/* SPDX-License-Identifier: MIT */
/*
 * The journey of branch records: a stand-in for the kernel's helper gives some to the unmodified
 * kernel half; its records go through the daemon's functions, and become frames of a path. (On
 * machines without branch records, the kernel's helper only returns an error.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/perf_event.h>

#include "bpf_shim.h"

#include "../../bpf/stackd.bpf.c"
#include "daemon/recorder/branches.h"
#include "daemon/capture/record.h"
#include "daemon/capture/record_pool.h"

#define PID  123
#define TID  456
#define TIME 7890
#define PC   UINT64_C(0x401234)

static const struct stackd_branch calls[] = {{0x402010, 0x401200, 1}, {0x403020, 0x402000, 2}};

static struct task_struct task;
static struct bpf_perf_event_data context;
static uint8_t records[8][4096];
static size_t sizes[8], n_records;
static long answer; /* an error of the helper, instead of records */
static bool is_full;

static long give_branches(void *to, size_t size)
{
	if (answer)
		return answer;
	assert_true(size >= sizeof(calls));
	memcpy(to, calls, sizeof(calls));
	return sizeof(calls);
}

static long take_record(const void *record, size_t size)
{
	assert_true(n_records < 8 && size <= sizeof(records[0]));
	if (is_full)
		return -1;
	memcpy(records[n_records], record, size);
	sizes[n_records++] = size;
	return 0;
}

static const struct stackd_header *record_at(size_t i)
{
	return (const struct stackd_header *)records[i];
}

static uint64_t counted(uint32_t which)
{
	uint32_t only = 0;

	return ((struct stackd_counters *)shim_lookup(&counters, &only))->n[which];
}

static int set_up(void **state)
{
	(void)state;
	(void)shim_make_array(&scratches, 1);
	(void)shim_make_array(&counters, 1);
	shim_make_hash(&late_threads, 1);
	memset(&context, 0, sizeof(context)); /* in kernel mode, of a kernel thread */
	memset(&task, 0, sizeof(task));
	task.flags = PF_KTHREAD;
	shim_task = &task;
	shim_pid_tgid = (uint64_t)PID << 32 | TID;
	shim_time_ns = TIME;
	shim_ring = take_record;
	shim_branches = give_branches;
	with_branches = 1;
	n_records = 0;
	answer = 0;
	is_full = false;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	shim_free_maps();
	return 0;
}

/* --- the kernel half ------------------------------------------------------------------------- */

static void branches_are_sent_before_the_sample(void **state)
{
	const struct stackd_branch_record *record = (const struct stackd_branch_record *)records[0];

	(void)state;
	assert_int_equal(stackd_sample(&context), 0);
	assert_int_equal(n_records, 2);
	assert_int_equal(record->header.kind, STACKD_RECORD_BRANCHES);
	assert_int_equal(record->header.version, STACKD_ABI_VERSION);
	assert_int_equal(record->header.tid, TID);
	assert_int_equal(record->header.time_ns, TIME);
	assert_int_equal(record->n, 2);
	assert_int_equal(sizes[0], sizeof(*record) + sizeof(calls));
	assert_memory_equal(record + 1, calls, sizeof(calls));
	assert_int_equal(record_at(1)->kind, STACKD_RECORD_STACK);
	assert_int_equal(record_at(1)->time_ns, TIME);
	assert_int_equal(counted(STACKD_COUNT_BRANCHES), 1);
	assert_int_equal(counted(STACKD_COUNT_STARTED), 2);
	assert_int_equal(counted(STACKD_COUNT_SENT), 2);
}

static void missing_branches_are_no_loss(void **state)
{
	static const long answers[] = {-ENOENT, -EINVAL, 1 << 20};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		answer = answers[i];
		assert_int_equal(stackd_sample(&context), 0);
		assert_int_equal(n_records, i + 1);
		assert_int_equal(record_at(i)->kind, STACKD_RECORD_STACK);
		assert_int_equal(counted(STACKD_COUNT_NO_BRANCHES), i + 1);
	}
	assert_int_equal(counted(STACKD_COUNT_STARTED), 3);
	with_branches = 0;
	assert_int_equal(stackd_sample(&context), 0);
	assert_int_equal(counted(STACKD_COUNT_NO_BRANCHES), 3);
}

static void full_ring_is_counted(void **state)
{
	(void)state;
	is_full = true;
	assert_int_equal(stackd_sample(&context), 0);
	assert_int_equal(counted(STACKD_COUNT_STARTED), 2);
	assert_int_equal(counted(STACKD_COUNT_LOST_RING), 2);
}

/* --- the daemon ------------------------------------------------------------------------------ */

static bool find_nothing(void *arg, uint64_t address, const struct object **ret_object,
			 uint64_t *ret_offset)
{
	(void)arg;
	(void)address;
	(void)ret_object;
	(void)ret_offset;
	return false;
}

static struct daemon_side {
	struct object_table *objects;
	struct dwarf_walk *walk;
	struct branches *branches;
} d;

static void open_daemon(void)
{
	assert_int_equal(object_table_new("/nowhere", &d.objects), 0);
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &d.walk), 0);
	assert_int_equal(branches_new(d.walk, d.objects, true, 32, &d.branches), 0);
	stackd_sample(&context);
	branches_keep(d.branches, (const struct stackd_branch_record *)records[0]);
}

static void close_daemon(void)
{
	branches_free(d.branches);
	dwarf_walk_free(d.walk);
	object_table_free(d.objects);
}

static void records_belong_to_their_sample(void **state)
{
	struct stackd_header other;

	(void)state;
	open_daemon();
	assert_true(branches_belong(d.branches, record_at(1)));
	assert_false(branches_belong(NULL, record_at(1)));
	other = *record_at(1);
	other.tid++;
	assert_false(branches_belong(d.branches, &other));
	other = *record_at(1);
	other.time_ns++;
	assert_false(branches_belong(d.branches, &other));
	close_daemon();
}

/* Reads a record as it arrives in the ring; a wrong size is refused. */
static void records_are_read(void **state)
{
	struct stackd_branch_record *sent = (struct stackd_branch_record *)records[0];
	struct stackd_header *read = NULL;
	struct record_reader *reader = NULL;

	(void)state;
	stackd_sample(&context);
	assert_int_equal(record_reader_new(&reader), 0);
	assert_int_equal(record_read(reader, sent, sizes[0], TIME, &read), 0);
	assert_int_equal(read->event, STACKD_EVENT_BRANCHES);
	read->event = 0;
	assert_memory_equal(read, sent, sizes[0]);
	assert_int_equal(record_pid(read), PID);
	assert_int_equal(record_period(read, 77), 77);
	record_pool_give_back(read);
	assert_int_equal(record_read(reader, sent, sizes[0] - 8, TIME, &read), -EBADMSG);
	sent->n = UINT32_MAX;
	assert_int_equal(record_read(reader, sent, sizes[0], TIME, &read), -EBADMSG);
	assert_int_equal(record_read(reader, sent, sizeof(sent->header), TIME, &read), -EBADMSG);
	record_reader_free(reader);
}

/* AMD processors also record speculative branches that were not taken; those are ignored. */
static void wrong_paths_are_left_out(void **state)
{
	struct stackd_branch_record *sent = (struct stackd_branch_record *)records[0];
	struct stackd_branch *branches = (struct stackd_branch *)(sent + 1);
	const struct walk_input in = {.regs.r[STACKD_REG_PC] = PC, .find = find_nothing};
	struct walk_frame frames[8] = {{.address = PC, .offset = PC}};
	struct branches_path path;
	size_t count = 1;

	(void)state;
	open_daemon();
	branches[0].flags |= (uint64_t)PERF_BR_SPEC_WRONG_PATH << 24;
	branches[1].flags |= (uint64_t)PERF_BR_SPEC_CORRECT_PATH << 24;
	branches_keep(d.branches, sent);
	assert_int_equal(branches_on_walk(d.branches, TID, &in, frames, 8, &count,
					  STACKD_END_NO_RECIPE, &path),
			 0);
	assert_int_equal(count, 2);
	assert_int_equal(frames[1].address, calls[1].from);
	branches[1].flags = (uint64_t)PERF_BR_SPEC_WRONG_PATH << 24;
	branches_keep(d.branches, sent);
	assert_false(branches_belong(d.branches, record_at(1)));
	close_daemon();
}

/* Branch records extend a walk that ended at the leaf. The code is unknown here, so the addresses
 * of the calls replace the return addresses. */
static void branches_extend_walk(void **state)
{
	const struct walk_input in = {.regs.r[STACKD_REG_PC] = PC, .find = find_nothing};
	struct walk_frame frames[8] = {{.address = PC, .offset = PC}};
	struct branches_path path;
	size_t count = 1;

	(void)state;
	open_daemon();
	assert_int_equal(branches_on_walk(d.branches, TID, &in, frames, 8, &count,
					  STACKD_END_NO_RECIPE, &path),
			 0);
	assert_int_equal(count, 3);
	assert_int_equal(frames[0].address, PC);
	assert_int_equal(frames[1].address, calls[0].from);
	assert_int_equal(frames[2].address, calls[1].from);
	assert_int_equal(path.end, STACKD_END_NO_RECIPE);
	assert_false(path.origin.is_complete);
	assert_int_equal(path.origin.n_runs, 2);
	assert_int_equal(path.origin.runs[0].source, FRAME_SOURCE_BRANCH);
	assert_int_equal(path.origin.runs[0].frames, 2);
	assert_int_equal(path.origin.runs[0].confidence, LBR_CONFIDENCE_CHAIN);
	assert_int_equal(path.origin.runs[1].source, FRAME_SOURCE_WALKED);
	close_daemon();
}

/* --- locations ------------------------------------------------------------------------------- */

/* One file, mapped at 0x400000. */
static bool find_file(void *arg, uint64_t address, const struct object **ret_object,
		      uint64_t *ret_offset)
{
	*ret_object = arg;
	*ret_offset = address - 0x400000;
	return address >= 0x400000 && address < 0x500000;
}

static void branches_extend_path_of_locations(void **state)
{
	const struct object file = {.kind = OBJECT_ELF, .file_id = 5, .path = (char *)"/a/file"};
	const struct object *object;
	struct walk_input in = {.find = find_file};
	struct location_table *locations;
	struct branches_path path;
	struct location added;
	uint32_t leaf;

	(void)state;
	open_daemon();
	assert_int_equal(object_table_add(d.objects, &file, &object), 0);
	assert_int_equal(location_table_new(&locations), 0);
	in.arg = (void *)object;
	added = (struct location){.file_id = 5, .offset = PC - 0x400000, .object = object->number};
	assert_int_equal(location_intern(locations, &added, &leaf), 0);
	assert_int_equal(branches_on_path(d.branches, TID, &in, locations, &leaf, 1,
					  STACKD_END_TOO_DEEP, &path),
			 0);
	assert_int_equal(path.more, 2);
	added = branches_added(d.branches, 0);
	assert_int_equal(added.offset, calls[1].from - 0x400000);
	assert_int_equal(added.file_id, 5);
	added = branches_added(d.branches, 1);
	assert_int_equal(added.offset, calls[0].from - 0x400000);
	assert_int_equal(added.object, object->number);
	/* A walk that reached the entry is complete: nothing is added to it. */
	assert_int_equal(branches_on_path(d.branches, TID, &in, locations, &leaf, 1,
					  STACKD_END_ENTRY, &path),
			 0);
	assert_int_equal(path.more, 0);
	assert_int_equal(path.end, STACKD_END_ENTRY);
	location_table_free(locations);
	close_daemon();
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(branches_are_sent_before_the_sample),
		T(missing_branches_are_no_loss),
		T(full_ring_is_counted),
		T(records_are_read),
		T(records_belong_to_their_sample),
		T(wrong_paths_are_left_out),
		T(branches_extend_walk),
		T(branches_extend_path_of_locations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
