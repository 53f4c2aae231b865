/* SPDX-License-Identifier: MIT */
/*
 * perf.data into a store: paths, processes, objects that are here and that are not, the kernel's
 * frames, stacks to be walked, several events, and refused files.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "import_fixture.h"
#include "proc/object.h"
#include "walk_self.h"

/* --- paths ----------------------------------------------------------------------------------- */

static void test_call_chains(void **state)
{
	static const uint8_t id[20] = "a-build-id-of-nobod";
	struct fixture f;
	(void)state;

	set_up(&f);
	make_event(&f.make, SAMPLE, 1);
	make_string_feature(&f.make, PERFDATA_FEATURE_HOSTNAME, "elsewhere");
	make_kernel_mmap(&f.make, 0xffffffff81000000, 0x1000000, 0xffffffff81000000,
			 "[kernel.kallsyms]_text");
	make_comm(&f.make, PID, PID, "program", true, 1);
	make_mmap2(&f.make, PID, 0x400000, 0x10000, 0x1000, "/bin/x", id, 20, 2);
	add_chain(&f.make, PERF_RECORD_MISC_USER, 3, 3, USER, (uint64_t)0x400500,
		  (uint64_t)0x400700);
	add_chain(&f.make, PERF_RECORD_MISC_KERNEL, 4, 6, KERNEL, (uint64_t)0xffffffff81000010,
		  (uint64_t)0xffffffff81000020, USER, (uint64_t)0x400500, (uint64_t)0x400700);
	add_chain(&f.make, PERF_RECORD_MISC_USER, 5, 2, USER, (uint64_t)0x999999);
	add_chain(&f.make, PERF_RECORD_MISC_KERNEL, 6, 2, KERNEL, (uint64_t)0xffffffff81000010);
	import_and_read(&f);
	assert_int_equal(f.n_samples, 4);
	assert_true(f.result.samples == 4 && f.result.complete == 1 && f.result.partial == 3);

	assert_int_equal(depth_of(&f, 0), 2);
	assert_int_equal(frame_of(&f, 0, 0)->offset, 0x1500); /* the leaf, exact */
	assert_false(frame_of(&f, 0, 0)->is_return);
	assert_int_equal(frame_of(&f, 0, 1)->offset, 0x16ff); /* the call's last byte */
	assert_true(frame_of(&f, 0, 1)->is_return);
	assert_string_equal(object_of(&f, frame_of(&f, 0, 0))->path, "/bin/x");
	assert_memory_equal(object_of(&f, frame_of(&f, 0, 0))->build_id, id, 20);
	assert_null(name_of(&f, frame_of(&f, 0, 0)));
	assert_non_null(object_of(&f, frame_of(&f, 0, 0))->problem);
	assert_int_equal(f.samples[0].end_reason, STACKD_END_AS_RECORDED);

	assert_int_equal(depth_of(&f, 1), 4);
	assert_int_equal(object_of(&f, frame_of(&f, 1, 0))->kind, OBJECT_KERNEL);
	assert_int_equal(frame_of(&f, 1, 1)->offset, 0x1f);
	assert_int_equal(frame_of(&f, 1, 2)->offset, 0x1500);
	assert_false(frame_of(&f, 1, 2)->is_return); /* where it entered the kernel */

	assert_string_equal(object_of(&f, frame_of(&f, 2, 0))->path, "[unknown]");
	assert_int_equal(f.samples[3].end_reason, STACKD_END_NO_USER);
	tear_down(&f);
}

/* An address means other code after another library was mapped over the first. */
static void test_mappings_change(void **state)
{
	struct fixture f;
	(void)state;

	set_up(&f);
	make_event(&f.make, SAMPLE, 1);
	for (uint64_t i = 0; i < 4; i++) {
		make_mmap2(&f.make, PID, 0x400000, 0x1000, 0, i % 2 ? "/lib/b.so" : "/lib/a.so",
			   i % 2 ? "bbbb" : "aaaa", 4, 10 * i + 1);
		add_chain(&f.make, PERF_RECORD_MISC_USER, 10 * i + 2, 2, USER, (uint64_t)0x400500);
	}
	import_and_read(&f);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(object_of(&f, frame_of(&f, i, 0))->path,
				    i % 2 ? "/lib/b.so" : "/lib/a.so");
	tear_down(&f);
}

static void test_processes(void **state)
{
	struct fixture f;
	const struct store_tables *t;
	(void)state;

	set_up(&f);
	make_event(&f.make, SAMPLE, 1);
	make_comm(&f.make, 1, 1, "parent", false, 1);
	make_mmap2(&f.make, 1, 0x400000, 0x1000, 0, "/bin/x", "xxxx", 4, 2);
	make_task(&f.make, PERF_RECORD_FORK, PID, PID, 1, 3);
	add_chain(&f.make, PERF_RECORD_MISC_USER, 4, 2, USER, (uint64_t)0x400500);
	make_comm(&f.make, PID, PID, "child", true, 5);
	add_chain(&f.make, PERF_RECORD_MISC_USER, 6, 2, USER, (uint64_t)0x400500);
	import_and_read(&f);
	t = store_reader_tables(f.reader);
	assert_string_equal(t->threads[f.samples[0].thread].comm, "parent");
	assert_string_equal(t->threads[f.samples[1].thread].comm, "child");
	assert_string_equal(object_of(&f, frame_of(&f, 0, 0))->path, "/bin/x");	   /* inherited */
	assert_string_equal(object_of(&f, frame_of(&f, 1, 0))->path, "[unknown]"); /* gone */
	tear_down(&f);
}

/* At the exec of a setuid program the kernel reports an exit of the thread, which goes on. */
static void test_exec_that_ends_events(void **state)
{
	struct fixture f;
	(void)state;

	set_up(&f);
	make_event(&f.make, SAMPLE, 1);
	make_comm(&f.make, PID, PID, "sudo", true, 1);
	make_task(&f.make, PERF_RECORD_EXIT, PID, PID, 1, 2);
	make_mmap2(&f.make, PID, 0x400000, 0x10000, 0x1000, "/bin/x", "xxxx", 4, 3);
	add_chain(&f.make, PERF_RECORD_MISC_USER, 4, 2, USER, (uint64_t)0x400500);
	import_and_read(&f);
	assert_int_equal(f.n_samples, 1);
	assert_string_equal(object_of(&f, frame_of(&f, 0, 0))->path, "/bin/x");
	tear_down(&f);
}

static void test_bpf_program_has_its_recorded_name(void **state)
{
	struct fixture f;
	struct buf b = {0};
	(void)state;

	set_up(&f);
	make_event(&f.make, SAMPLE, 1);
	make_u64(&b, 0xffffffffc0001000);
	make_u32(&b, 0x100);
	make_u32(&b, 1); /* BPF */
	buf_put(&b, "bpf_prog_of_mine", 17);
	make_pad(&b);
	make_trailer(&b, 0, 0, 1);
	make_take(&f.make, PERF_RECORD_KSYMBOL, 0, &b);
	add_chain(&f.make, PERF_RECORD_MISC_KERNEL, 2, 2, KERNEL, (uint64_t)0xffffffffc0001010);
	import_and_read(&f);
	assert_string_equal(name_of(&f, frame_of(&f, 0, 0)), "bpf_prog_of_mine");
	tear_down(&f);
}

/* --- files that are here --------------------------------------------------------------------- */

/* Adds this process's own mappings, by build-id. */
static struct self_map *add_self(struct fixture *f, bool right)
{
	struct self_map *map = self_map_new();

	for (size_t i = 0; i < map->count; i++) {
		const struct self_mapping *m = &map->mappings[i];
		uint8_t id[20] = {0};
		size_t len = 0;
		const uint8_t *own =
			m->object->elf ? elf_file_build_id(m->object->elf, &len) : NULL;

		if (own)
			memcpy(id, own, len);
		id[0] = (uint8_t)(right ? id[0] : ~id[0]);
		make_mmap2(&f->make, PID, m->start, m->end - m->start, m->offset, m->object->path,
			   own ? id : NULL, (uint8_t)len, 1);
	}
	return map;
}

static void import_self(struct fixture *f, bool right)
{
	struct self_map *map;

	set_up(f);
	make_event(&f->make, SAMPLE, 1);
	map = add_self(f, right);
	add_chain(&f->make, PERF_RECORD_MISC_USER, 2, 2, USER, (uint64_t)(uintptr_t)import_run);
	import_and_read(f);
	self_map_free(map);
}

static void test_names_by_build_id(void **state)
{
	struct fixture f;
	(void)state;

	import_self(&f, true);
	assert_string_equal(name_of(&f, frame_of(&f, 0, 0)), "import_run");
	tear_down(&f);
	import_self(&f, false);
	assert_null(name_of(&f, frame_of(&f, 0, 0)));
	tear_down(&f);
}

/* A sample with registers and stack, taken of ourselves: its walk reaches the entry. */
static void test_stacks_are_walked(void **state)
{
	static const uint8_t order[] = {0, 3, 2, 1, 4,
					5, 6, 7, 16}; /* AX BX CX DX SI DI BP SP IP */
	struct perf_event_attr *attr;
	struct snapshot snapshot = {0};
	struct self_map *map;
	struct fixture f;
	struct buf b = {0};
	size_t bytes;
	(void)state;

	set_up(&f);
	attr = make_event(&f.make, MAKE_PLAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, 1);
	attr->sample_regs_user = 0xff01ff;
	map = add_self(&f, true);
	recurse(&snapshot, 20);
	bytes = snapshot.stack_bytes & ~(size_t)7;
	bytes = bytes < 60000 ? bytes : 60000; /* a large environment lies above */
	make_u64(&b, PERFDATA_REGS_64);
	for (size_t i = 0; i < sizeof(order); i++)
		make_u64(&b, snapshot.regs.r[order[i]]);
	for (size_t i = 8; i < 16; i++)
		make_u64(&b, snapshot.regs.r[i]);
	make_u64(&b, bytes + 8); /* as if there had been room for more */
	buf_put(&b, snapshot.stack, bytes);
	make_words(&b, 2, (uint64_t)0, (uint64_t)bytes);
	make_sample(&f.make, PERF_RECORD_MISC_USER, snapshot.regs.r[STACKD_REG_PC], PID, 2, &b);
	import_and_read(&f);
	assert_int_equal(f.samples[0].end_reason, STACKD_END_ENTRY);
	assert_true(depth_of(&f, 0) > 20);
	assert_string_equal(name_of(&f, frame_of(&f, 0, 5)), "recurse");
	assert_int_equal(f.result.complete, 1);
	snapshot_free(&snapshot);
	self_map_free(map);
	tear_down(&f);
}

/* Adds a sample with registers, whose program counter is given, and without a stack. */
static void add_bare(struct fixture *f, uint16_t mode, uint64_t time, uint64_t pc)
{
	struct buf b = {0};

	make_u64(&b, PERFDATA_REGS_64);
	for (int i = 0; i < 17; i++)
		make_u64(&b, pc);
	make_u64(&b, 0);
	make_sample(&f->make, mode,
		    mode == PERF_RECORD_MISC_USER ? pc : UINT64_C(0xffffffff81000010), PID, time,
		    &b);
}

/* Within exec(2), a sample has the registers of the program that is gone. */
static void test_within_exec(void **state)
{
	const uint64_t gone = 0x7f0000000000;
	struct perf_event_attr *attr;
	struct fixture f;
	(void)state;

	set_up(&f);
	attr = make_event(&f.make, MAKE_PLAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, 1);
	attr->sample_regs_user = 0xff01ff;
	make_comm(&f.make, PID, PID, "program", true, 1);
	make_mmap2(&f.make, PID, 0x400000, 0x10000, 0, "/bin/x", "xxxx", 4, 2);
	add_bare(&f, PERF_RECORD_MISC_KERNEL, 3, gone);
	add_bare(&f, PERF_RECORD_MISC_USER, 4, 0x400100);
	add_bare(&f, PERF_RECORD_MISC_KERNEL, 5, gone);
	import_and_read(&f);
	assert_int_equal(f.samples[0].end_reason, STACKD_END_NO_USER);
	assert_int_not_equal(f.samples[1].end_reason, STACKD_END_NO_USER);
	assert_int_equal(f.samples[2].end_reason, STACKD_END_NO_MAPPING);
	tear_down(&f);
}

/* Registers of another architecture have the same form, and must not be used. */
static void test_another_architecture(void **state)
{
	struct perf_event_attr *attr;
	struct fixture f;
	struct buf b = {0};
	(void)state;

	set_up(&f);
	attr = make_event(&f.make, MAKE_PLAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, 1);
	attr->sample_regs_user = 0xff01ff;
	make_string_feature(&f.make, PERFDATA_FEATURE_ARCH, "aarch64");
	make_mmap2(&f.make, PID, 0x400000, 0x10000, 0, "/bin/x", "xxxx", 4, 1);
	make_u64(&b, PERFDATA_REGS_64);
	for (size_t i = 0; i < 17; i++)
		make_u64(&b, 0x400100 + i);
	make_words(&b, 3, (uint64_t)8, (uint64_t)0x400105, (uint64_t)8);
	make_sample(&f.make, PERF_RECORD_MISC_USER, 0x402010, PID, 2, &b);
	import_and_read(&f);
	assert_int_equal(f.samples[0].end_reason, STACKD_END_FOREIGN_ABI);
	assert_int_equal(depth_of(&f, 0), 1);
	assert_int_equal(frame_of(&f, 0, 0)->offset, 0x2010);
	assert_non_null(strstr(note_of(&f), "recorded on aarch64"));
	tear_down(&f);
}

/* --- the recording --------------------------------------------------------------------------- */

static void test_the_recording(void **state)
{
	struct fixture f;
	const struct store_recording *info;
	struct perf_event_attr *attr;
	struct buf b = {0};
	(void)state;

	set_up(&f);
	attr = make_event(&f.make, SAMPLE, 1);
	attr->freq = 1;
	attr->sample_freq = 999;
	make_string_feature(&f.make, PERFDATA_FEATURE_HOSTNAME, "elsewhere");
	make_string_feature(&f.make, PERFDATA_FEATURE_OSRELEASE, "5.4.0");
	make_string_feature(&f.make, PERFDATA_FEATURE_VERSION, "5.4.1");
	make_words(&b, 2, (uint64_t)1000, (uint64_t)1000001000);
	make_feature(&f.make, PERFDATA_FEATURE_SAMPLE_TIME, &b);
	add_chain(&f.make, PERF_RECORD_MISC_USER, 1000, 2, USER, (uint64_t)0x400500);
	make_words(&b, 2, (uint64_t)0, (uint64_t)17);
	make_trailer(&b, 0, 0, 2000);
	make_take(&f.make, PERF_RECORD_LOST, 0, &b);
	import_and_read(&f);
	info = &store_reader_tables(f.reader)->recording;
	assert_string_equal(info->host, "elsewhere");
	assert_string_equal(info->kernel, "5.4.0");
	assert_string_equal(info->event, "cycles");
	assert_string_equal(info->note, "imported from perf 5.4.1");
	assert_true(info->frequency_hz == 999 && info->period == 0);
	assert_int_equal(info->start_ns, 1000);
	assert_int_equal(info->start_unix_ns, 4000000000);
	assert_int_equal(info->lost, 17);
	assert_true(info->finished);
	tear_down(&f);
}

static void add_two_events(struct fixture *f)
{
	set_up(f);
	for (uint64_t id = 1; id <= 2; id++)
		make_event(&f->make, MAKE_PLAIN | PERF_SAMPLE_ID, id);
	for (uint64_t i = 0; i < 3; i++) {
		struct buf b = {0};

		make_u64(&b, 1 + i % 2);
		make_sample(&f->make, PERF_RECORD_MISC_USER, 0x400500, PID, 1 + i, &b);
	}
}

/* With several events the user must choose one; a refused import leaves no store behind. */
static void test_several_events(void **state)
{
	struct fixture f;

	(void)state;

	add_two_events(&f);
	assert_int_equal(import(&f), -EINVAL);
	assert_non_null(strstr(f.error, "'cycles' and 'instructions'"));
	assert_int_equal(access(f.path, F_OK), -1);
	tear_down(&f);

	add_two_events(&f);
	f.events[f.n_events++] = "instructions";
	import_and_read(&f);
	assert_true(f.n_samples == 1 && f.result.other_samples == 2);
	tear_down(&f);

	add_two_events(&f);
	f.events[f.n_events++] = "branches";
	assert_int_equal(import(&f), -EINVAL);
	assert_non_null(strstr(f.error, "3 of other events"));
	tear_down(&f);
}

static void test_no_samples(void **state)
{
	struct stat st;
	struct fixture f;
	(void)state;

	set_up(&f);
	make_event(&f.make, SAMPLE, 1);
	make_comm(&f.make, PID, PID, "program", true, 1);
	assert_int_equal(import(&f), -ENODATA);
	assert_int_not_equal(stat(f.path, &st), 0);
	tear_down(&f);
}

/* Addresses, sizes and paths of all kinds, from a file that was changed by chance: imported or
 * refused, never a crash. */
static void test_random_damage(void **state)
{
	struct fixture f;
	struct self_map *map;
	struct utsname machine;
	struct buf bytes = {0};
	size_t imported = 0;
	(void)state;

	set_up(&f);
	make_event(&f.make, SAMPLE | PERF_SAMPLE_BRANCH_STACK, 1)->branch_sample_type =
		PERF_SAMPLE_BRANCH_CALL_STACK;
	map = add_self(&f, true);
	make_kernel_mmap(&f.make, 0xffffffff81000000, 0x1000000, 0xffffffff81000000,
			 "[kernel.kallsyms]_text");
	make_task(&f.make, PERF_RECORD_FORK, 3, 3, PID, 2);
	make_comm(&f.make, 3, 3, "x", true, 3);
	for (uint64_t i = 0; i < 20; i++) {
		struct buf b = {0};

		make_words(&b, 4, (uint64_t)3, KERNEL, (uint64_t)0xffffffff81000010, USER);
		make_words(&b, 4, (uint64_t)1, map->mappings[0].start, map->mappings[0].start + 64,
			   (uint64_t)0);
		make_sample(&f.make, PERF_RECORD_MISC_KERNEL, 0xffffffff81000010, PID, 4 + i, &b);
	}
	make_file(&f.make, &bytes);
	uname(&machine);
	srandom(5);
	for (int i = 0; i < 150; i++) {
		const struct import_options options = {
			.store = f.path, .target = "x", .machine = &machine};
		struct import_result result;
		struct perfdata *reader;
		char *error = NULL;
		uint8_t *copy = malloc(bytes.len);
		int fd;

		memcpy(copy, bytes.data, bytes.len);
		for (long n = random() % 6; n >= 0; n--)
			copy[300 + (size_t)random() % (bytes.len - 300)] ^=
				(uint8_t)(1u << random() % 8);
		fd = make_fd(copy, bytes.len);
		free(copy);
		if (!perfdata_open(fd, &reader, &error)) {
			if (!import_run(reader, &options, &result, &error)) {
				imported++;
				free(result.missing);
			}
			perfdata_free(reader);
		}
		free(error);
		close(fd);
	}
	assert_true(imported >= 1 && imported < 150);
	self_map_free(map);
	buf_free(&bytes);
	tear_down(&f);
}

/* Damage after valid samples: nothing is imported. */
static void test_damage_leaves_nothing(void **state)
{
	struct fixture f;

	(void)state;

	set_up(&f);
	make_event(&f.make, SAMPLE, 1);
	add_chain(&f.make, PERF_RECORD_MISC_USER, 3, 2, USER, (uint64_t)0x400500);
	make_round(&f.make);
	make_round(&f.make);
	make_u64(&f.make.records, 9);
	assert_int_equal(import(&f), -EBADMSG);
	assert_non_null(strstr(f.error, "at offset"));
	assert_int_equal(access(f.path, F_OK), -1);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call_chains),
		cmocka_unit_test(test_mappings_change),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_exec_that_ends_events),
		cmocka_unit_test(test_bpf_program_has_its_recorded_name),
		cmocka_unit_test(test_names_by_build_id),
		cmocka_unit_test(test_stacks_are_walked),
		cmocka_unit_test(test_within_exec),
		cmocka_unit_test(test_another_architecture),
		cmocka_unit_test(test_the_recording),
		cmocka_unit_test(test_several_events),
		cmocka_unit_test(test_no_samples),
		cmocka_unit_test(test_damage_leaves_nothing),
		cmocka_unit_test(test_random_damage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
