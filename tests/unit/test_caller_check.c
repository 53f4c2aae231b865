/* SPDX-License-Identifier: MIT */
/*
 * Paths end before a wrong step, also where the kernel half keeps the frames beyond it, and each
 * pair of caller and callee is judged once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/recorder/caller_check.h"
#include "daemon/worker/walks_in_process.h"
#include "walk_self.h"

/* outer calls middle, which calls leaf; nobody calls other; any calls what a register says. Never
 * run. */
/* clang-format off */
__asm__(".pushsection .text\n"
	"outer: call middle\nin_outer: ret\n"
	"middle: call leaf\nin_middle: ret\n"
	"other: call leaf\nin_other: ret\n"
	"leaf: nop\nin_leaf: ret\n"
	"any: call *%rax\nin_any: ret\n"
	"runs_any: call any\nin_runs_any: ret\n"
	"goes_on: .cfi_startproc\ncall *%rax\nin_goes_on: ret\n.cfi_endproc\n"
	/* with call frame information: one that never returns, and who calls it or another one */
	"ends: .cfi_startproc\nsub $8,%rsp\ncall leaf\nin_ends: add $8,%rsp\nret\n.cfi_endproc\n"
	"endless: .cfi_startproc\npush %rax\n1: call leaf\nin_endless: jmp 1b\n.cfi_endproc\n"
	"to_ends: .cfi_startproc\ncall ends\nin_to_ends: ret\n.cfi_endproc\n"
	"to_endless: .cfi_startproc\ncall endless\nin_to_endless: ret\n.cfi_endproc\n"
	"to_stub: .cfi_startproc\ncall stub\nin_to_stub: ret\n.cfi_endproc\n"
	"stub: .cfi_startproc\njmp endless\n.cfi_endproc\n"
	".popsection\n");
/* clang-format on */
extern const char in_ends[], in_endless[], in_to_ends[], in_to_endless[], in_to_stub[];
extern const char in_outer[], in_middle[], in_other[], leaf[], in_leaf[], in_any[], in_runs_any[],
	in_goes_on[];

#define TID 7

static struct fixture {
	struct self_map *map;
	struct object_table *objects;
	struct location_table *locations;
	struct tag_trie *trie;
	struct thread_paths *paths;
	struct walks *walks;
	struct caller_check *steps;
	struct path path;
	struct stackd_header record;
	uint64_t now_ns, check_ns;
	bool is_kernels, is_unreadable;
	enum stackd_end_reason reason;		     /* why walks end */
	uint32_t outer, middle, other, leaf, leaf_2; /* locations */
} f;

static uint32_t location_of(const char *label, bool is_return, enum provenance provenance)
{
	struct location location = {.is_return = is_return, .provenance = (uint8_t)provenance};
	const struct object *object;
	uint32_t number;

	assert_true(self_find(f.map, (uint64_t)label - is_return, &object, &location.offset));
	object = object_table_at(f.objects, 0);
	location.file_id = object->file_id;
	assert_int_equal(location_intern(f.locations, &location, &number), 0);
	return number;
}

static void add_object(void)
{
	struct object object = {.kind = OBJECT_ELF, .file_id = 1, .path = (char *)"/proc/self/exe"};
	int fd = open(object.path, O_RDONLY | O_CLOEXEC);
	const struct object *added;

	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &object.elf), 0);
	close(fd);
	assert_int_equal(object_table_add(f.objects, &object, &added), 0);
	assert_int_equal(added->number, 0);
}

/* Each check takes f.check_ns. */
static uint64_t read_clock(void)
{
	return f.now_ns += f.check_ns;
}

#define CODE UINT64_C(0x7f0000010000)
#define PID  77

/* Two functions of a process: the caller's return address is at 9, the callee begins at 16. */
static uint8_t memory[64] = {0x48, 0x83, 0xec, 0x28, 0xe8, 0,	 0,
			     0,	   0,	 0x48, 0x83, 0xc4, 0x28, 0xc3};

static size_t read_memory(void *arg, pid_t pid, uint64_t address, uint64_t before, uint64_t after,
			  uint8_t *bytes, uint64_t *ret_start)
{
	(void)arg;
	(void)before;
	(void)after;
	if (pid != PID || address - CODE >= sizeof(memory) || f.is_unreadable)
		return 0;
	memcpy(bytes, memory, sizeof(memory));
	*ret_start = CODE;
	return sizeof(memory);
}

static uint64_t start_of_memory(void *arg, pid_t pid, uint64_t address)
{
	(void)arg;
	return pid == PID && address - CODE < sizeof(memory) ? CODE : 0;
}

static int set_up(void **state)
{
	(void)state;
	memset(&f, 0, sizeof(f));
	f.reason = STACKD_END_ENTRY;
	f.map = self_map_new();
	assert_non_null(f.map);
	assert_int_equal(object_table_new("/proc", &f.objects), 0);
	assert_int_equal(location_table_new(&f.locations), 0);
	assert_int_equal(tag_trie_new(&f.trie), 0);
	assert_int_equal(thread_paths_new(f.trie, f.locations, false, &f.paths), 0);
	assert_int_equal(
		walks_in_process_new(
			&(struct walks_in_process_options){.code = {.read = read_memory,
								    .start = start_of_memory,
								    .clock = read_clock}},
			&f.walks),
		0);
	assert_int_equal(caller_check_new(&(struct caller_check_options){.objects = f.objects,
									 .locations = f.locations,
									 .walks = f.walks,
									 .clock = read_clock},
					  &f.steps),
			 0);
	add_object();
	f.outer = location_of(in_outer, true, PROVENANCE_CFI);
	f.middle = location_of(in_middle, true, PROVENANCE_ANALYSED);
	f.other = location_of(in_other, true, PROVENANCE_ANALYSED);
	f.leaf = location_of(leaf, false, PROVENANCE_FRAME_POINTER);
	f.leaf_2 = location_of(in_leaf, false, PROVENANCE_RUNTIME_TABLE);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	caller_check_free(f.steps);
	walks_free(f.walks);
	thread_paths_free(f.paths);
	tag_trie_free(f.trie);
	location_table_free(f.locations);
	object_table_free(f.objects);
	self_map_free(f.map);
	return 0;
}

/* A WALKED record that keeps `kept` frames and has `n` new ones, root first: its sample's frames.
 */
static size_t take(size_t kept, const uint32_t *locations, size_t n, uint32_t *ret_frames)
{
	uint32_t node;
	size_t depth = 0;

	f.record = (struct stackd_header){.kind = STACKD_RECORD_WALKED,
					  .tid = TID,
					  .kept = (uint32_t)kept,
					  .sequence = (uint8_t)(f.record.sequence + 1)};
	f.path.added = f.path.cut = 0;
	assert_int_equal(thread_paths_recall(f.paths, &f.record, &f.path), 0);
	for (size_t i = 0; i < n; i++) {
		const struct location *l = location_at(f.locations, locations[i]);

		f.path.locations[f.path.count] = locations[i];
		f.path.ids[f.path.count++] = location_id(l->file_id, l->offset);
	}
	f.path.user = f.path.count;
	assert_int_equal(caller_check_path(f.steps, &f.path, f.reason, f.is_kernels), 0);
	assert_int_equal(thread_paths_enter(f.paths, &f.record, &f.path, &node), 0);
	for (; node; node = tag_trie_at(f.trie, node)->parent)
		ret_frames[depth++] = tag_trie_at(f.trie, node)->location;
	return depth; /* leaf first */
}

static void assert_counts(uint64_t confirmed, uint64_t wrong)
{
	struct caller_check_counts counts = caller_check_counts(f.steps);

	assert_int_equal(counts.confirmed, confirmed);
	assert_int_equal(counts.wrong, wrong);
	assert_int_equal(counts.probable + counts.unchecked, 0);
}

static void right_steps(void **state)
{
	const uint32_t path[] = {f.outer, f.middle, f.leaf};
	uint32_t frames[8];

	(void)state;
	assert_int_equal(take(0, path, 3, frames), 3);
	assert_int_equal(f.path.cut, 0);
	assert_counts(2, 0);
	assert_int_equal(take(0, path, 3, frames), 3);
	assert_counts(2, 0);
}

static void path_ends_before_wrong_step(void **state)
{
	const uint32_t path[] = {f.outer, f.other, f.leaf};
	uint32_t frames[8];

	(void)state;
	assert_int_equal(take(0, path, 3, frames), 2);
	assert_int_equal(frames[0], f.leaf);
	assert_int_equal(frames[1], f.other);
	assert_counts(1, 1);
}

/* A step by a frame pointer out of a file's code is a guess, which an indirect call does not
 * confirm. Steps by rules may lead there. */
static void guess_that_is_not_confirmed(void **state)
{
	const uint32_t any = location_of(in_any, true, PROVENANCE_CFI);
	const uint32_t guessed[] = {f.outer, any, f.leaf}, ruled[] = {any, f.other};
	const uint32_t called[] = {f.outer, f.middle, f.leaf};
	uint32_t frames[8];

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(take(0, guessed, 3, frames), 1);
		assert_int_equal(f.path.cut, 2);
		assert_int_equal(f.path.cut_reason, STACKD_END_NO_RECIPE);
	}
	assert_int_equal(caller_check_counts(f.steps).probable, 1);
	assert_int_equal(take(0, ruled, 2, frames), 2);
	assert_int_equal(take(0, called, 3, frames), 3);
}

/* A walk that has left its stack may have gone on to words that no call has left there, whatever
 * the rule: the path begins behind the last step that is confirmed. */
static void walk_that_has_left_its_stack(void **state)
{
	const uint32_t any = location_of(in_any, true, PROVENANCE_CFI);
	const uint32_t path[] = {any, any, f.outer, f.middle, f.leaf};
	uint32_t frames[8];

	(void)state;
	location_set_provenance(f.locations, f.middle, PROVENANCE_CFI);
	assert_int_equal(take(0, path, 5, frames), 5);
	f.reason = STACKD_END_STACK_SWITCH;
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(take(0, path, 5, frames), 3);
		assert_int_equal(frames[2], f.outer);
		assert_int_equal(f.path.cut, 2);
		assert_int_equal(f.path.cut_reason, STACKD_END_STACK_SWITCH);
	}
	f.reason = STACKD_END_NO_RECIPE;
	assert_int_equal(take(0, path, 5, frames), 5);
}

/* The thread's next walk keeps frames beyond the wrong step, and then drops them. */
static void kept_frames_stay_cut(void **state)
{
	const uint32_t path[] = {f.outer, f.other, f.leaf}, right[] = {f.middle, f.leaf};
	uint32_t frames[8];

	(void)state;
	assert_int_equal(take(0, path, 3, frames), 2);
	assert_int_equal(take(2, &f.leaf_2, 1, frames), 2);
	assert_int_equal(f.path.cut, 1);
	assert_int_equal(frames[0], f.leaf_2);
	assert_counts(2, 1);
	assert_int_equal(take(1, right, 2, frames), 3);
	assert_int_equal(f.path.cut, 0);
	assert_int_equal(frames[2], f.outer);
	assert_counts(4, 1);
}

/* A return address that no call has made is nobody's frame: the path begins in front of it. */
static void return_address_that_was_put(void **state)
{
	const uint32_t path[] = {f.outer, f.middle, f.leaf};
	uint32_t frames[8];

	(void)state;
	location_set_put(f.locations, f.outer, LOCATION_PUT);
	assert_int_equal(take(0, path, 3, frames), 2);
	assert_int_equal(frames[1], f.middle);
	assert_int_equal(f.path.cut_reason, STACKD_END_BAD_RETURN);
	assert_int_equal(take(2, &f.leaf_2, 1, frames), 2);
	location_set_put(f.locations, f.middle, LOCATION_PUT);
	assert_int_equal(take(0, path, 3, frames), 1);
	assert_int_equal(frames[0], f.leaf);
}

/* Behind a call, another function begins: the step is checked, whatever the rule, and so it is in
 * frames that are kept if that was found out later. */
static void return_address_in_doubt(void **state)
{
	uint32_t cfi = location_of(in_leaf + 1, false, PROVENANCE_CFI);
	const uint32_t path[] = {f.outer, f.other, cfi}, wrong[] = {f.outer, cfi};
	uint32_t frames[8];

	(void)state;
	location_set_provenance(f.locations, f.other, PROVENANCE_CFI);
	location_set_provenance(f.locations, f.leaf_2, PROVENANCE_CFI);
	assert_int_equal(take(0, path, 3, frames), 3);
	assert_counts(0, 0);
	location_set_put(f.locations, f.outer, LOCATION_DOUBTED);
	assert_int_equal(take(2, &f.leaf_2, 1, frames), 3);
	assert_counts(0, 0);
	caller_check_recheck_kept(f.steps);
	assert_int_equal(take(2, &cfi, 1, frames), 2);
	assert_int_equal(frames[1], f.other);
	assert_int_equal(f.path.cut_reason, STACKD_END_WRONG_CALLER);
	assert_counts(0, 1);
	assert_int_equal(take(0, wrong, 2, frames), 1);
}

/* A call by address whose caller is in doubt counts if that was called itself. A verdict from
 * before the doubt is another one. */
static void call_by_address_in_doubt(void **state)
{
	const uint32_t any = location_of(in_any, true, PROVENANCE_CFI);
	const uint32_t caller = location_of(in_runs_any, true, PROVENANCE_CFI);
	const uint32_t called[] = {caller, any, f.other}, stale[] = {f.outer, any, f.other};
	enum callflow_step verdict;
	uint32_t frames[8];

	(void)state;
	assert_int_equal(take(0, stale, 3, frames), 3);
	assert_int_equal(caller_check_counts(f.steps).probable, 1);
	location_set_put(f.locations, any, LOCATION_DOUBTED);
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(take(0, stale, 3, frames), 1);
		assert_int_equal(f.path.cut_reason, STACKD_END_WRONG_CALLER);
		assert_int_equal(caller_check_step(f.steps, &f.path, 2, false, &verdict), 0);
		assert_int_equal(verdict, CALLFLOW_STEP_WRONG);
		assert_int_equal(take(0, called, 3, frames), 3);
		assert_int_equal(f.path.cut, 0);
		assert_int_equal(caller_check_step(f.steps, &f.path, 2, false, &verdict), 0);
		assert_int_equal(verdict, CALLFLOW_STEP_PROBABLE);
	}
	assert_int_equal(take(0, &called[1], 2, frames), 1);
	assert_int_equal(f.path.cut_reason, STACKD_END_WRONG_CALLER);
}

/* The return address is in the function of the call, by call frame information. */
static void doubt_within_a_function(void **state)
{
	const uint32_t goes_on = location_of(in_goes_on, true, PROVENANCE_CFI);
	const uint32_t path[] = {f.outer, goes_on, f.other};
	uint32_t frames[8];

	(void)state;
	location_set_put(f.locations, goes_on, LOCATION_DOUBTED);
	assert_int_equal(take(0, path, 3, frames), 3);
	assert_int_equal(caller_check_counts(f.steps).probable, 1);
}

/* A rule of unwind information, and a frame that was interrupted. */
static void steps_that_are_not_checked(void **state)
{
	uint32_t path[] = {f.outer, f.other}, frames[8];

	(void)state;
	location_set_provenance(f.locations, f.other, PROVENANCE_CFI);
	assert_int_equal(take(0, path, 2, frames), 2);
	path[0] = f.leaf;
	path[1] = f.leaf_2;
	assert_int_equal(take(0, path, 2, frames), 2);
	assert_counts(0, 0);
	assert_false(f.path.is_weak);
}

static uint32_t ruled(const char *label)
{
	return location_of(label, true, PROVENANCE_CFI);
}

/* Unwind information says where a function that never returns has its return address, and nothing
 * that a call has put it there: its caller must call it. One that returns goes on there. */
static void function_that_never_returns(void **state)
{
	const uint32_t callers[] = {ruled(in_to_ends), ruled(in_to_endless), ruled(in_to_stub),
				    ruled(in_goes_on)};
	const uint32_t ends = ruled(in_ends), endless = ruled(in_endless);
	uint32_t frames[8];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const uint32_t path[] = {f.outer, callers[i], ends, f.leaf_2};
		const uint32_t other[] = {f.outer, callers[i], endless, f.leaf_2};

		assert_int_equal(take(0, path, 4, frames), 4);
		for (int turn = 0; turn < 2; turn++) {
			assert_int_equal(take(0, other, 4, frames), i ? 4 : 2);
			if (f.path.cut)
				assert_int_equal(f.path.cut_reason, STACKD_END_WRONG_CALLER);
		}
		/* the thread's next walk keeps the frames */
		assert_int_equal(take(3, &f.leaf_2, 1, frames), i ? 4 : 2);
	}
	assert_int_equal(caller_check_counts(f.steps).wrong, 1);
	/* to_stub's, and two of leaf; there is nothing to check where to_endless calls endless */
	assert_int_equal(caller_check_counts(f.steps).confirmed, 3);
	assert_int_equal(caller_check_counts(f.steps).probable, 1);
	caller_check_begin_anew(f.steps);
	assert_int_equal(take(0, (uint32_t[]){callers[0], endless, f.leaf_2}, 3, frames), 2);
}

/* A pair that there is no time for is taken as it is, and judged when it is met again. */
static void budget_is_kept(void **state)
{
	const uint32_t path[] = {f.outer, f.other, f.leaf_2};
	uint32_t frames[8];

	(void)state;
	f.check_ns = CALLER_CHECK_SAVED_NS + CALLER_CHECK_EARNED_NS * 3 / 2;
	assert_int_equal(take(0, path, 3, frames), 2);
	assert_counts(0, 1); /* leaf's caller is not checked yet */
	assert_int_equal(caller_check_counts(f.steps).postponed, 1);
	assert_int_equal(take(0, path, 3, frames), 2);
	assert_int_equal(caller_check_counts(f.steps).postponed, 2);
	assert_int_equal(take(0, path, 3, frames), 2);
	assert_counts(1, 1);
	assert_int_equal(caller_check_counts(f.steps).postponed, 2);
}

/* But a guess that there is no time for is not taken until it is confirmed. */
static void guess_is_postponed(void **state)
{
	const uint32_t path[] = {f.outer, f.middle, f.leaf};
	uint32_t frames[8];

	(void)state;
	f.check_ns = CALLER_CHECK_SAVED_NS + CALLER_CHECK_EARNED_NS * 3 / 2;
	for (uint64_t turn = 1; turn <= 2; turn++) {
		assert_int_equal(take(0, path, 3, frames), 1);
		assert_int_equal(f.path.cut_reason, STACKD_END_NO_RECIPE);
		assert_int_equal(caller_check_counts(f.steps).postponed, turn);
	}
	assert_int_equal(take(0, path, 3, frames), 3);
	assert_counts(2, 0);
}

/* --- code made at run time ------------------------------------------------------------------- */

/* sub $0x28,%rsp; call *%rax; add $0x28,%rsp; ret */
static const uint8_t calls_any[] = {0x48, 0x83, 0xec, 0x28, 0xff, 0xd0,
				    0x48, 0x83, 0xc4, 0x28, 0xc3};
static const uint8_t jumps_away[] = {0x90, 0xff, 0xe0}; /* nop; jmp *%rax */

static uint32_t made_location(uint64_t offset, bool is_return)
{
	struct location location = {.file_id = 2,
				    .offset = CODE + offset,
				    .object = 1,
				    .is_return = is_return,
				    .provenance = PROVENANCE_ANALYSED};
	uint32_t number;

	assert_int_equal(location_intern(f.locations, &location, &number), 0);
	return number;
}

static void add_code(void)
{
	struct object object = {
		.kind = OBJECT_JIT, .file_id = 2, .path = (char *)"[jit]", .owner = {.pid = PID}};
	const struct object *added;

	assert_int_equal(object_table_add(f.objects, &object, &added), 0);
}

/* The callee keeps no frame pointer, and is called. */
static void write_bare_callee(void)
{
	memory[5] = 7;
	memory[16] = 0x90;
	memory[17] = 0xc3;
}

/* A call that leads elsewhere until its target is written: its step is wrong, is not looked at
 * again in the same tick, and is right afterwards. */
static void code_written_later(void **state)
{
	const uint32_t path[] = {made_location(8, true), made_location(16, false)};
	uint32_t frames[8];

	(void)state;
	add_code();
	memory[5] = 15; /* a function that returns at once */
	memory[16] = 0x90;
	memory[17] = memory[24] = 0xc3;
	assert_int_equal(take(0, path, 2, frames), 1);
	assert_counts(0, 1);
	memory[5] = 7;
	walks_tick(f.walks);
	assert_int_equal(take(0, path, 2, frames), 1);
	assert_counts(0, 1);
	caller_check_tick(f.steps);
	assert_int_equal(take(0, path, 2, frames), 2);
	assert_counts(1, 0);
}

/* The kernel half follows frame pointers whatever rule the daemon has for the code, and what it
 * comes to looks like a caller: the step is right by the one, and wrong by the other. */
static void frame_pointer_out_of_bare_code(void **state)
{
	const uint32_t path[] = {made_location(8, true), made_location(16, false)};
	uint32_t frames[8];

	(void)state;
	add_code();
	write_bare_callee();
	assert_int_equal(take(0, path, 2, frames), 2);
	assert_counts(1, 0);
	f.is_kernels = true;
	assert_int_equal(take(0, path, 2, frames), 1);
	assert_int_equal(f.path.cut_reason, STACKD_END_WRONG_CALLER);
	assert_counts(1, 1);
	f.is_kernels = false;
	assert_int_equal(take(0, path, 2, frames), 2);
}

/* Code that cannot be read is taken to be as the rest of its process's: with frame pointers, until
 * some is seen that keeps none. */
static void frame_pointer_out_of_unread_code(void **state)
{
	const uint32_t path[] = {made_location(8, true), made_location(4096, false)};
	const uint32_t read[] = {made_location(8, true), made_location(16, false)};
	uint32_t frames[8];

	(void)state;
	add_code();
	write_bare_callee();
	f.is_kernels = true;
	assert_int_equal(take(0, path, 2, frames), 2);
	assert_int_equal(caller_check_counts(f.steps).unchecked, 1);
	assert_int_equal(take(0, read, 2, frames), 1);
	caller_check_tick(f.steps);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(take(0, path, 2, frames), 1);
		assert_int_equal(f.path.cut_reason, STACKD_END_RUNTIME_CODE);
		assert_int_equal(caller_check_counts(f.steps).unchecked, 1);
		caller_check_tick(f.steps);
	}
}

/* So is code whose instructions do not tell, unless its caller is seen to call it; but for the
 * daemon's walk, which has looked at the frame itself. */
static void frame_pointer_out_of_untold_code(void **state)
{
	const uint32_t path[] = {made_location(38, true), made_location(49, false)};
	const uint32_t read[] = {made_location(8, true), made_location(16, false)};
	const uint32_t called[] = {made_location(8, true), made_location(49, false)};
	uint32_t frames[8];

	(void)state;
	add_code();
	write_bare_callee();
	memcpy(memory + 32, calls_any, sizeof(calls_any));
	memcpy(memory + 48, jumps_away, sizeof(jumps_away));
	f.is_kernels = true;
	assert_int_equal(take(0, path, 2, frames), 2);
	assert_int_equal(take(0, read, 2, frames), 1);
	caller_check_tick(f.steps);
	assert_int_equal(take(0, path, 2, frames), 1);
	assert_int_equal(f.path.cut_reason, STACKD_END_RUNTIME_CODE);
	f.is_kernels = false;
	location_set_provenance(f.locations, path[1], PROVENANCE_FRAME_POINTER);
	assert_int_equal(take(0, path, 2, frames), 2);
	f.is_kernels = true;
	memory[5] = 48 - 9;
	walks_tick(f.walks);
	caller_check_tick(f.steps);
	assert_int_equal(take(0, called, 2, frames), 2);
	assert_int_equal(take(0, path, 2, frames), 1);
}

/* A guess is not taken if its caller's code cannot be read, which is tried again. */
static void guess_from_unread_code(void **state)
{
	const uint32_t path[] = {made_location(8, true), made_location(37, true), f.leaf};
	struct caller_check_counts before;
	uint32_t frames[8];

	(void)state;
	add_code();
	memcpy(memory + 32, calls_any, sizeof(calls_any));
	f.is_unreadable = true;
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(take(0, path, 3, frames), 1);
		assert_int_equal(f.path.cut, 2);
		assert_int_equal(f.path.cut_reason, STACKD_END_NO_RECIPE);
	}
	before = caller_check_counts(f.steps);
	f.is_unreadable = false;
	walks_tick(f.walks);
	caller_check_tick(f.steps);
	assert_int_equal(take(0, path, 3, frames), 1);
	assert_int_equal(caller_check_counts(f.steps).unchecked, before.unchecked - 1);
	assert_int_equal(caller_check_counts(f.steps).probable, before.probable + 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(right_steps),
		T(path_ends_before_wrong_step),
		T(guess_that_is_not_confirmed),
		T(walk_that_has_left_its_stack),
		T(kept_frames_stay_cut),
		T(return_address_that_was_put),
		T(return_address_in_doubt),
		T(call_by_address_in_doubt),
		T(doubt_within_a_function),
		T(steps_that_are_not_checked),
		T(function_that_never_returns),
		T(budget_is_kept),
		T(guess_is_postponed),
		T(code_written_later),
		T(frame_pointer_out_of_bare_code),
		T(frame_pointer_out_of_unread_code),
		T(frame_pointer_out_of_untold_code),
		T(guess_from_unread_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
