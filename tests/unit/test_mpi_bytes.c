/* SPDX-License-Identifier: MIT */
/*
 * The bytes of calls of MPI, by the unmodified kernel half (bpf/mpi.bpf.h) and the table of calls
 * (mpi/mpi_calls.h), on registers, a stack and objects of MPI that are made here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf_shim.h"

/* The storage of the one thread that there is. */
static const void *storage_map;
static void *storage;
#undef bpf_task_storage_get
#define bpf_task_storage_get(map, task, value, flags)                                              \
	((void)(task), (const void *)(map) == storage_map ? storage : NULL)

#include "../../bpf/stackd.bpf.c"

#include "../../bpf/mpi.bpf.h"

#include "mpi/mpi_calls.h"

#define VADDR	  0x4000ull
#define BIAS	  0x7f0000000000ull
#define MEMORY	  0x100000ull
#define STACK	  (MEMORY + 0x8000)
#define INT	  (MEMORY + 0x100) /* datatypes of Open MPI */
#define PAIR	  (MEMORY + 0x200)
#define COMM	  (MEMORY + 0x300) /* a communicator of four, in which this process is the third */
#define TWO_SIDED (MEMORY + 0x400) /* the same, of two groups */
#define COUNTS	  (MEMORY + 0x500)
#define TYPES	  (MEMORY + 0x600)
#define REQUESTS  (MEMORY + 0x700)
#define ANSWER	  (MEMORY + 0x800)
#define STATUS	  (MEMORY + 0x840)
#define TABLES	  (MEMORY + 0x900)  /* MPICH's lists of tables of datatypes, */
#define TABLE	  (MEMORY + 0x1000) /* and the first of these */
#define UNKNOWN	  STACKD_MPI_NOT_KNOWN

enum { RANK = 2, SIZE = 4, SIZE_OFFSET = 24, RANK_OFFSET = 8, COUNT_OFFSET = 16, INTER = 32 };

static struct stackd_mpi_call *known_calls;
static struct stackd_mpi_library *library;

static void put_int(uint64_t address, uint32_t value)
{
	shim_write(address, &value, sizeof(value));
}

static void put_comm(uint64_t comm, bool is_inter)
{
	put_int(comm + RANK_OFFSET, RANK);
	put_int(comm + COUNT_OFFSET, SIZE);
	put_int(comm + INTER, is_inter);
}

static struct stackd_completed completed[8];
static size_t n_completed;

static long take_record(const void *record, size_t size)
{
	assert_int_equal(size, sizeof(*completed));
	assert_true(n_completed < 8);
	memcpy(&completed[n_completed++], record, size);
	return 0;
}

static int set_up(void **state)
{
	static const int counts[SIZE] = {3, 0, 5, -1};
	static const uint64_t types[SIZE] = {INT, 0, PAIR, 0};

	(void)state;
	known_calls = shim_make_array(&mpi_calls, 4);
	library = shim_make_array(&mpi_libraries, 2) + 1;
	shim_make_hash(&mpi_comms, 8);
	shim_make_hash(&mpi_requests, 8);
	shim_make_hash(&mpi_posted, 32);
	storage_map = &mpi_waits;
	storage = calloc(1, sizeof(struct mpi_waits));
	shim_ring = take_record;
	n_completed = 0;
	shim_add_region(MEMORY, 0x10000);
	shim_pid_tgid = (uint64_t)7 << 32 | 7;
	*library = (struct stackd_mpi_library){.vendor = STACKD_MPI_OPEN,
					       .size_offset = SIZE_OFFSET,
					       .rank_offset = RANK_OFFSET,
					       .count_offset = COUNT_OFFSET,
					       .inter_offset = INTER};
	shim_write_word(INT + SIZE_OFFSET, 4);
	shim_write_word(PAIR + SIZE_OFFSET, 12);
	put_comm(COMM, false);
	put_comm(TWO_SIDED, true);
	shim_write(COUNTS, counts, sizeof(counts));
	shim_write(TYPES, types, sizeof(types));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(storage);
	shim_free_maps();
	shim_free_regions();
	return 0;
}

/* Enters a function, whose arguments are these, in an open instance. */
static void enter(struct open_instance *open, const char *name, const uint64_t *arguments)
{
	static struct region_thread thread;
	const struct pt_regs ctx = {.rip = BIAS + VADDR,
				    .rsp = STACK,
				    .rdi = arguments[0],
				    .rsi = arguments[1],
				    .rdx = arguments[2],
				    .rcx = arguments[3],
				    .r8 = arguments[4],
				    .r9 = arguments[5]};

	known_calls[1] = mpi_calls_find(name, VADDR, 1, library->vendor);
	shim_write(STACK + 8, arguments + 6, 6 * sizeof(*arguments));
	mpi_enter(&thread, open, &ctx, ctx.rip, 1);
}

static struct open_instance call(const char *name, const uint64_t *arguments)
{
	struct open_instance open = {0};

	enter(&open, name, arguments);
	return open;
}

static void check(const char *name, uint64_t sent, uint64_t received, const uint64_t *arguments)
{
	struct open_instance open = call(name, arguments);

	if (open.sent != sent || open.received != received)
		print_error("%s: %lld and %lld\n", name, (long long)open.sent,
			    (long long)open.received);
	assert_true(open.sent == sent && open.received == received);
}

#define AT_MOST(bytes) (STACKD_MPI_AT_MOST | (bytes))
#define LATER(bytes)   (STACKD_MPI_LATER | AT_MOST(bytes))

#define CHECK(name, sent, received, ...)                                                           \
	check(name, sent, received, (const uint64_t[12]){__VA_ARGS__})

static void test_messages(void **state)
{
	const uint64_t nobody = (uint32_t)-2, none = 0, negative = (uint32_t)-5;

	(void)state;
	CHECK("MPI_Send", 40, 0, 0, 10, INT, 1, 0, COMM);
	CHECK("MPI_Irecv", 0, AT_MOST(120), 0, 10, PAIR, 1, 0, COMM, REQUESTS);
	CHECK("MPI_Send", 0, 0, 0, 10, INT, nobody, 0, COMM);
	CHECK("MPI_Send", 0, 0, 0, none, INT, 1, 0, COMM);
	CHECK("MPI_Send", 0, 0, 0, negative, INT, 1, 0, COMM);
	/* What a register has above a count's 32 bits is nothing, unless counts have 64. */
	CHECK("MPI_Send", 8, 0, 0, 1ull << 33 | 2, INT, 1, 0, COMM);
	CHECK("MPI_Send_c", (1ull << 33 | 2) * 4, 0, 0, 1ull << 33 | 2, INT, 1, 0, COMM);
	/* A datatype that cannot be read. */
	CHECK("MPI_Send", UNKNOWN, 0, 0, 10, 0x10, 1, 0, COMM);
	/* More arguments than registers. */
	CHECK("MPI_Sendrecv", 12, AT_MOST(60), 0, 3, INT, 1, 0, 0, 5, PAIR, 1, 0, COMM);
	CHECK("MPI_Sendrecv", 12, 0, 0, 3, INT, 1, 0, 0, 5, PAIR, nobody, 0, COMM);
}

static void test_collectives(void **state)
{
	(void)state;
	CHECK("MPI_Bcast", 40, 0, 0, 10, INT, RANK, COMM);
	CHECK("MPI_Bcast", 0, 40, 0, 10, INT, 0, COMM);
	CHECK("MPI_Allreduce", 40, 40, 0, 0, 10, INT, 0, COMM);
	CHECK("MPI_Gather", 8, 4 * 12, 0, 2, INT, 0, 1, PAIR, RANK, COMM);
	CHECK("MPI_Gather", 8, 0, 0, 2, INT, 0, 1, PAIR, 0, COMM);
	/* In place, what it passes on is what it gets of the others. */
	CHECK("MPI_Gather", 12, 4 * 12, 1, 2, INT, 0, 1, PAIR, RANK, COMM);
	CHECK("MPI_Alltoall", 4 * 8, 4 * 12, 0, 2, INT, 0, 1, PAIR, COMM);
	CHECK("MPI_Alltoall", 4 * 12, 4 * 12, 1, 2, INT, 0, 1, PAIR, COMM);
	CHECK("MPI_Reduce_scatter", 8 * 4, 5 * 4, 0, 0, COUNTS, INT, 0, COMM);
	CHECK("MPI_Gatherv", 8, 8 * 4, 0, 2, INT, 0, COUNTS, 0, INT, RANK, COMM);
	CHECK("MPI_Alltoallw", 3 * 4 + 5 * 12, 3 * 4 + 5 * 12, 0, COUNTS, 0, TYPES, 0, COUNTS, 0,
	      TYPES, COMM);
}

static void test_not_known(void **state)
{
	const uint64_t root = (uint32_t)-4;

	(void)state;
	CHECK("MPI_Allgather", UNKNOWN, UNKNOWN, 0, 1, INT, 0, 1, INT, TWO_SIDED);
	CHECK("MPI_Bcast", UNKNOWN, UNKNOWN, 0, 10, INT, root, COMM);
	CHECK("MPI_Neighbor_alltoall", UNKNOWN, UNKNOWN, 0, 1, INT, 0, 1, INT, COMM);
	/* A size and a rank that cannot be. */
	put_int(COMM + RANK_OFFSET, SIZE);
	CHECK("MPI_Bcast", UNKNOWN, UNKNOWN, 0, 10, INT, 0, COMM);
	put_int(COMM + RANK_OFFSET, RANK);
}

/* Of a library whose communicators cannot be read, what the program has asked for is known. */
static void test_answers(void **state)
{
	struct open_instance open;

	(void)state;
	library->rank_offset = 0;
	CHECK("MPI_Bcast", UNKNOWN, UNKNOWN, 0, 10, INT, RANK, COMM);
	open = call("MPI_Comm_rank", (const uint64_t[12]){COMM, ANSWER});
	put_int(ANSWER, RANK);
	mpi_leave(&open);
	CHECK("MPI_Bcast", 40, 0, 0, 10, INT, RANK, COMM);
	CHECK("MPI_Allgather", 4, UNKNOWN, 0, 1, INT, 0, 1, INT, COMM);
	open = call("MPI_Comm_size", (const uint64_t[12]){COMM, ANSWER});
	put_int(ANSWER, SIZE);
	mpi_leave(&open);
	CHECK("MPI_Allgather", 4, 16, 0, 1, INT, 0, 1, INT, COMM);
	CHECK("MPI_Bcast", UNKNOWN, UNKNOWN, 0, 10, INT, RANK, TWO_SIDED);
	library->rank_offset = RANK_OFFSET;
}

/* A status in memory: of Open MPI, and of MPICH, whose number is in two parts. */
static void put_status(uint64_t bytes)
{
	put_int(STATUS, 77);
	shim_write_word(STATUS + 16, bytes);
}

static void check_status(const char *name, const uint64_t *arguments, uint64_t sent,
			 uint64_t received)
{
	struct open_instance open = call(name, arguments);

	mpi_leave(&open);
	assert_true(open.sent == sent && open.received == received);
}

/* Where there is a status, it tells what has arrived, if the number can be. */
static void test_statuses(void **state)
{
	uint64_t recv[12] = {0, 10, INT, 1, 0, COMM, STATUS};
	const uint64_t unknown[12] = {0, 10, 0x10, 1, 0, COMM, STATUS};
	const uint64_t both[12] = {0, 3, INT, 1, 0, 0, 5, INT, (uint32_t)-2, 1, COMM, STATUS};

	(void)state;
	put_status(12);
	check_status("MPI_Recv", recv, 0, 12);
	check_status("MPI_Recv", unknown, 0, 12);
	/* Of what was sent it tells nothing. */
	check_status("MPI_Sendrecv", both, 12, 0);
	put_status(0);
	check_status("MPI_Recv", recv, 0, 0);
	put_status(41);
	check_status("MPI_Recv", recv, 0, AT_MOST(40));
	put_status(1ull << 60);
	check_status("MPI_Recv", unknown, 0, UNKNOWN);
	put_status(12);
	recv[6] = 0; /* MPI_STATUS_IGNORE */
	check_status("MPI_Recv", recv, 0, AT_MOST(40));
	recv[6] = 0x10;
	check_status("MPI_Recv", recv, 0, AT_MOST(40));
}

static void test_files(void **state)
{
	const uint64_t file = STACKD_MPI_OF_FILE;
	const uint64_t at[12] = {0, 0, 0, 10, INT, STATUS}, later[12] = {0, 0, 10, INT, STATUS};

	(void)state;
	put_status(12);
	check_status("MPI_File_read_at", at, 0, file | 12);
	check_status("MPI_File_write_at_all", at, file | 12, 0);
	check_status("MPI_File_iread", later, 0, file | LATER(40));
	check_status("MPI_File_read_all_begin", later, 0, file | AT_MOST(40));
	check_status("MPI_File_iwrite_all", later, file | 40, 0);
	check_status("MPI_File_write_all_begin", later, file | 40, 0);
}

/* --- requests that are completed ------------------------------------------------------------- */

enum { HANDLE = 0x5000 };

/* Posts a buffer of 10 numbers in an instance that began at that time. */
static void post(uint64_t handle, uint64_t enter_ns)
{
	const uint64_t arguments[12] = {0, 10, INT, 1, 0, COMM, ANSWER};
	struct open_instance open = {.enter_ns = enter_ns};

	enter(&open, "MPI_Irecv", arguments);
	assert_true(open.received == AT_MOST(40));
	shim_write_word(ANSWER, handle);
	mpi_leave(&open);
	assert_true(open.received == LATER(40) && !open.sent);
}

/* A call that completes requests: `index` is put where it tells which or how many. */
static void complete(const char *name, const uint64_t *arguments, uint32_t index)
{
	static const uint64_t nothing[4];
	struct open_instance open = call(name, arguments);

	shim_write(REQUESTS, nothing, sizeof(nothing)); /* what the library does with handles */
	put_int(ANSWER, index);
	n_completed = 0;
	mpi_leave(&open);
	assert_true(!open.sent && !open.received);
}

static void check_completed(size_t i, uint64_t enter_ns, uint64_t arrived)
{
	assert_true(i < n_completed);
	assert_int_equal(completed[i].header.kind, STACKD_RECORD_COMPLETED);
	assert_int_equal(completed[i].poster, 7);
	assert_int_equal(completed[i].enter_ns, enter_ns);
	assert_true(completed[i].posted == AT_MOST(40) && completed[i].arrived == arrived);
}

/* Posts four requests, the last of them first, and lays their handles down. */
static void post_four(void)
{
	uint64_t handles[4];

	for (uint64_t i = 4; i-- > 0;) {
		handles[i] = HANDLE + i;
		post(handles[i], 100 + i);
	}
	shim_write(REQUESTS, handles, sizeof(handles));
}

/* Statuses of 24 bytes that tell 4, 8, 12 and 16 bytes. */
static void put_statuses(void)
{
	for (uint64_t i = 0; i < 4; i++)
		shim_write_word(STATUS + 24 * i + 16, 4 * (i + 1));
}

static void test_completed(void **state)
{
	const uint64_t one[12] = {REQUESTS + 8, STATUS}, flagged[12] = {REQUESTS, ANSWER, STATUS};
	const uint64_t all[12] = {4, REQUESTS, STATUS}, ignored[12] = {4, REQUESTS, 0};
	const uint64_t any[12] = {4, REQUESTS, ANSWER, STATUS};

	(void)state;
	put_statuses();
	post_four();
	complete("MPI_Wait", one, 0);
	assert_int_equal(n_completed, 1);
	check_completed(0, 101, 4);
	post_four();
	complete("MPI_Test", flagged, 0);
	assert_int_equal(n_completed, 0);
	post_four();
	complete("MPI_Test", flagged, 1);
	check_completed(0, 100, 4);
	post_four();
	complete("MPI_Waitall", all, 0);
	assert_int_equal(n_completed, 4);
	for (size_t i = 0; i < 4; i++)
		check_completed(i, 100 + i, 4 * (i + 1));
	/* They are complete once. */
	complete("MPI_Waitall", all, 0);
	assert_int_equal(n_completed, 0);
	post_four();
	complete("MPI_Waitall", ignored, 0);
	check_completed(3, 103, AT_MOST(40));
	post_four();
	complete("MPI_Waitany", any, 2);
	assert_int_equal(n_completed, 1);
	check_completed(0, 102, 4);
	post_four();
	complete("MPI_Waitany", any, (uint32_t)-32766); /* MPI_UNDEFINED */
	assert_int_equal(n_completed, 0);
}

static void test_completed_some(void **state)
{
	static const uint32_t indices[] = {3, 1};
	const uint64_t some[12] = {4, REQUESTS, ANSWER, COUNTS, STATUS};

	(void)state;
	put_statuses();
	shim_write(COUNTS, indices, sizeof(indices));
	post_four();
	complete("MPI_Testsome", some, 2);
	assert_int_equal(n_completed, 2);
	check_completed(0, 103, 4);
	check_completed(1, 101, 8);
	post_four();
	complete("MPI_Waitsome", some, (uint32_t)-32766);
	assert_int_equal(n_completed, 0);
}

/* Makes a persistent request with a handle; what that passes on counts where it is started. */
static void make_request(const char *name, uint64_t handle, uint64_t n)
{
	struct open_instance open = call(name, (const uint64_t[12]){0, n, INT, 1, 0, COMM, ANSWER});

	shim_write_word(ANSWER, handle);
	mpi_leave(&open);
	assert_true(!open.sent && !open.received);
}

static void test_requests(void **state)
{
	const uint64_t requests[] = {0x5000, 0x6000, 0x7000};

	(void)state;
	make_request("MPI_Send_init", requests[0], 10);
	make_request("MPI_Recv_init", requests[1], 20);
	shim_write(REQUESTS, requests, sizeof(requests));
	CHECK("MPI_Start", 40, 0, REQUESTS);
	CHECK("MPI_Start", 0, LATER(80), REQUESTS + 8);
	CHECK("MPI_Startall", 40, LATER(80), 2, REQUESTS);
	CHECK("MPI_Startall", UNKNOWN, UNKNOWN, 3, REQUESTS);
	CHECK("MPI_Startall", 0, 0, 0, REQUESTS);
	/* The handle is used again. */
	make_request("MPI_Send_init", requests[1], 1);
	CHECK("MPI_Startall", 44, 0, 2, REQUESTS);
	/* Another process has another request of that handle. */
	shim_pid_tgid = (uint64_t)8 << 32 | 8;
	CHECK("MPI_Start", UNKNOWN, UNKNOWN, REQUESTS);
}

/* A function of Fortran's interface, or of a tool, is open: until the library's for C is called for
 * the same purpose, its bytes are unknown; those of others that it calls are not its own. */
static void check_within(struct open_instance *open)
{
	const uint64_t arguments[12] = {0, 10, INT, 1, 0, COMM};

	assert_true(open->sent == UNKNOWN && open->received == 0);
	enter(open, "MPI_Comm_rank", arguments);
	enter(open, "MPI_Recv", arguments);
	enter(open, "MPI_Sendrecv", arguments);
	enter(open, "mpi_send_f08ts_", arguments);
	assert_true(open->sent == UNKNOWN && open->received == 0);
	enter(open, "MPI_Send", arguments);
	assert_true(open->sent == 40 && open->received == 0);
}

static void test_within(void **state)
{
	static const char *const names[] = {"mpi_send_", "mpi_send_f08ts_", "MPI_Send_f08"};
	const uint64_t arguments[12] = {0, 10, INT, 1, 0, COMM};
	struct open_instance open;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		open = call(names[i], arguments);
		check_within(&open);
	}
	library->vendor = STACKD_MPI_NO_LIBRARY;
	open = call("MPI_Send", arguments);
	library->vendor = STACKD_MPI_OPEN;
	check_within(&open);
}

/* A tool's MPI_Comm_size() gives what the library's tells. */
static void test_answers_within(void **state)
{
	struct open_instance open;

	(void)state;
	library->rank_offset = 0;
	library->vendor = STACKD_MPI_NO_LIBRARY;
	open = call("MPI_Comm_size", (const uint64_t[12]){COMM, ANSWER});
	library->vendor = STACKD_MPI_OPEN;
	enter(&open, "MPI_Comm_size", (const uint64_t[12]){COMM, ANSWER});
	put_int(ANSWER, SIZE);
	mpi_leave(&open);
	CHECK("MPI_Reduce_scatter_block", 16, 4, 0, 0, 1, INT, 0, COMM);
	library->rank_offset = RANK_OFFSET;
}

/* An entry of MPICH's table of datatypes. */
static void put_type(uint32_t handle, uint64_t bytes)
{
	const uint64_t at = TABLE + (uint64_t)64 * (handle & 0x3ffffff);

	put_int(at, handle);
	shim_write_word(at + SIZE_OFFSET, bytes);
}

static void test_mpich(void **state)
{
	const uint64_t nobody = (uint32_t)-1, basic = 0x4c000405, derived = 0x8c000005;

	(void)state;
	*library = (struct stackd_mpi_library){.vendor = STACKD_MPI_MPICH,
					       .size_offset = SIZE_OFFSET,
					       .entry_offset = 32,
					       .types = TABLES - BIAS};
	put_int(TABLES + 32, 64);
	shim_write_word(TABLES + 40, TABLE);
	CHECK("MPI_Send", 40, 0, 0, 10, basic, 1, 0, 0);
	CHECK("MPI_Send", 40, 0, 0, 10, 0xffffffff00000000 | basic, 1, 0, 0);
	CHECK("MPI_Send", 0, 0, 0, 10, basic, nobody, 0, 0);
	CHECK("MPI_Send", UNKNOWN, 0, 0, 10, 0x44000000, 1, 0, 0); /* a communicator */
	/* Derived types are taken only where pairs have the sizes that the standard says. */
	put_type(derived, 20);
	CHECK("MPI_Send", UNKNOWN, 0, 0, 10, derived, 1, 0, 0);
	put_type(0x8c000001, 12);
	put_type(0x8c000003, 6);
	CHECK("MPI_Send", 200, 0, 0, 10, derived, 1, 0, 0);
	put_type(0x8c000003, 8);
	CHECK("MPI_Send", UNKNOWN, 0, 0, 10, derived, 1, 0, 0);
	/* An entry that was given back. */
	CHECK("MPI_Send", UNKNOWN, 0, 0, 10, 0x8c000006, 1, 0, 0);
	/* The number in a status has 31 bits beyond the lower 32, above a mark of cancelled ones.
	 */
	shim_write_word(STATUS, 1ull << 33 | 1ull << 32 | 5);
	check_status("MPI_Recv_c", (const uint64_t[12]){0, 1ull << 31, basic, 1, 0, 0, STATUS}, 0,
		     1ull << 32 | 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_messages, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_collectives, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_not_known, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_statuses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_completed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_completed_some, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_requests, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_within, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_answers_within, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_mpich, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
