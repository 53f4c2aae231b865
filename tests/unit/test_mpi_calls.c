/* SPDX-License-Identifier: MIT */
/* Functions of MPI by their names: which are, what kind each is, and which arguments tell its
 * bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mpi/mpi_calls.h"
#include "daemon/regions/mpi_names.h"
#include "sym/mpi_name.h"

static struct stackd_mpi_call find(const char *name)
{
	return mpi_calls_find(name, 0x1000, 1, STACKD_MPI_OPEN);
}

static void test_names(void **state)
{
	static const char *const functions[] = {"MPI_Send", "MPI_File_open", "mpi_send_",
						"mpi_send__", "mpi_type_create_f90_real_"};
	static const char *const others[] = {
		"PMPI_Send",
		"MPI_COMM_NULL_COPY_FN",
		"MPI_T_init_thread",
		"MPIR_Send",
		"MPI_",
		"mpi_",
		"mpi_send",
		"mpi_Send_",
		"ompi_mpi_int",
		"main",
		"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		assert_true(mpi_name_is_function(functions[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(mpi_name_is_function(others[i]));
}

static void test_shown_names(void **state)
{
	static const char library[] = "/usr/lib/libmpi_mpifh.so.40", program[] = "/home/a/solver";

	(void)state;
	assert_true(mpi_name_is_call("MPI_ALLREDUCE", library));
	assert_true(mpi_name_is_call("mpi_allreduce", library));
	assert_true(mpi_name_is_call("PMPI_Send_f08ts", library));
	assert_true(mpi_name_is_call("pmpi_send_", library));
	assert_true(mpi_name_is_call("MPI_Send", program));
	assert_true(mpi_name_is_call("mpi_send_", program));
	assert_false(mpi_name_is_call("mpi_exchange", program));
	assert_false(mpi_name_is_call("mpi_exchange", "/home/mpi/libsolver.so"));
	assert_false(mpi_name_is_call("ompi_request_wait", library));
	assert_false(mpi_name_is_call("step", library));
	assert_false(mpi_name_is_call("", ""));
}

static void test_objects(void **state)
{
	(void)state;
	assert_true(mpi_names_is_object("/usr/lib/libmpi.so.40"));
	assert_true(mpi_names_is_object("/opt/mpich/lib/libmpichfort.so.12"));
	assert_true(mpi_names_is_object("/home/a/program"));
	assert_false(mpi_names_is_object("/lib/libc.so.6"));
	assert_false(mpi_names_is_object("/opt/mpi/lib/libfabric.so.1"));
}

/* A call's name in each of its ways is that call. */
static void test_kinds(void **state)
{
	static const struct {
		const char *name;
		unsigned kind;
	} all[] = {
		{"MPI_Send", STACKD_MPI_BYTES},
		{"MPI_Isend", STACKD_MPI_BYTES},
		{"MPI_Send_c", STACKD_MPI_BYTES},
		{"MPI_Send_init", STACKD_MPI_INIT},
		{"MPI_Send_init_c", STACKD_MPI_INIT},
		{"mpi_send_", STACKD_MPI_WITHIN},
		{"mpi_isend__", STACKD_MPI_WITHIN},
		{"mpi_allreduce_init_", STACKD_MPI_WITHIN},
		{"MPI_Send_f08", STACKD_MPI_WITHIN},
		{"MPI_Start", STACKD_MPI_START},
		{"MPI_Startall", STACKD_MPI_STARTALL},
		{"MPI_Comm_size", STACKD_MPI_COMM_SIZE},
		{"MPI_Comm_rank", STACKD_MPI_COMM_RANK},
		{"MPI_Barrier", STACKD_MPI_OTHER},
		{"MPI_Wait", STACKD_MPI_WAIT},
		{"mpi_waitall_f08_", STACKD_MPI_WITHIN},
		{"MPI_Sendx", STACKD_MPI_OTHER},
		{"MPI_Iput", STACKD_MPI_OTHER},
		{"MPI_Comm_size_init", STACKD_MPI_OTHER},
		{"MPI_File_write", STACKD_MPI_BYTES},
		{"MPI_File_iread_at_all", STACKD_MPI_BYTES},
		{"MPI_File_write_ordered_begin", STACKD_MPI_BYTES},
		{"mpi_file_read_at_f08ts_", STACKD_MPI_WITHIN},
		{"MPI_File_write_ordered_end", STACKD_MPI_OTHER},
		{"MPI_File_seek", STACKD_MPI_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		print_message("%s\n", all[i].name);
		assert_int_equal(find(all[i].name).kind, all[i].kind);
	}
}

/* Where a request's handle is put: the seventh argument of messages, and of collectives behind
 * the communicator and an info object. */
static void test_requests(void **state)
{
	(void)state;
	assert_int_equal(find("MPI_Send_init").result, 7);
	assert_int_equal(find("MPI_Recv_init").result, 7);
	assert_int_equal(find("MPI_Bcast_init").result, 7);
	assert_int_equal(find("MPI_Gatherv_init").result, 11);
	assert_int_equal(find("MPI_Send").result, 0);
	assert_int_equal(find("MPI_Comm_size").result, 2);
	assert_int_equal(find("MPI_Comm_rank").result, 2);
}

/* The bytes of a function of Fortran's interface are those of the one for C of the same number:
 * each call has one, and a persistent request of it another. */
static void test_fortran(void **state)
{
	static const char *const sends[] = {
		"mpi_send_",	   "mpi_send__",      "MPI_Send_f",	  "MPI_Send_f08",
		"mpi_send_f08_",   "mpi_send_f08ts_", "mpi_isend_f08ts_", "mpi_send_f08ts_large_",
		"mpi_send_c_f08_", "mpi_send_f08_c_"};
	static const char *const not_sends[] = {"mpi_ssend_f08ts_", "mpi_sendrecv_f08ts_",
						"mpi_send_init_f08_"};
	static const char *const others[] = {"mpi_send_f09_", "mpi_reduce_local_",
					     "mpi_barrier_f08_", "mpi_type_create_f90_real_"};

	(void)state;
	for (size_t i = 0; i < sizeof(sends) / sizeof(*sends); i++) {
		print_message("%s\n", sends[i]);
		assert_int_equal(find(sends[i]).kind, STACKD_MPI_WITHIN);
		assert_int_equal(find(sends[i]).number, find("MPI_Isend").number);
	}
	for (size_t i = 0; i < sizeof(not_sends) / sizeof(*not_sends); i++) {
		assert_int_equal(find(not_sends[i]).kind, STACKD_MPI_WITHIN);
		assert_int_not_equal(find(not_sends[i]).number, find("MPI_Send").number);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_int_equal(find(others[i]).kind, STACKD_MPI_OTHER);
	assert_int_equal(find("mpi_send_init_f08_").number, find("MPI_Send_init_c").number);
	assert_int_equal(find("mpi_startall_f08_").number, find("MPI_Startall").number);
	assert_int_equal(find("mpi_startall_").sent.how, STACKD_MPI_UNKNOWN);
	assert_int_equal(find("mpi_send_init_").sent.how, STACKD_MPI_NONE);
}

/* What is read from a file, or written, is marked; offsets come before buffers. */
static void test_files(void **state)
{
	struct stackd_mpi_call read = find("MPI_File_read_at_all"), write = find("MPI_File_iwrite");

	(void)state;
	assert_true(read.is_file && read.is_at_most);
	assert_int_equal(read.received.count, 4);
	assert_int_equal(read.received.type, 5);
	assert_int_equal(read.sent.how, STACKD_MPI_NONE);
	assert_int_equal(read.status, 6);
	assert_true(write.is_file && !write.is_at_most);
	assert_int_equal(write.sent.count, 3);
	assert_int_equal(write.received.how, STACKD_MPI_NONE);
	assert_int_equal(write.status, 0);
	assert_int_equal(write.result, 0);
	assert_int_equal(find("MPI_File_iread_at").result, 6);
	assert_true(find("MPI_File_read_all_c").is_wide);
	assert_false(find("MPI_Send").is_file);
}

/* Which argument is the status, if the function has ended what it does, and which buffers can be
 * larger than what comes. */
static void test_statuses(void **state)
{
	static const struct {
		const char *name;
		unsigned status, is_at_most;
	} all[] = {
		{"MPI_Recv", 7, 1},
		{"MPI_Recv_c", 7, 1},
		{"MPI_Irecv", 0, 1},
		{"MPI_Recv_init", 0, 1},
		{"MPI_Mrecv", 5, 1},
		{"MPI_Imrecv", 0, 1},
		{"MPI_Sendrecv", 12, 1},
		{"MPI_Isendrecv", 0, 1},
		{"MPI_Sendrecv_replace", 9, 1},
		{"MPI_File_read_shared", 5, 1},
		{"MPI_File_read_all_begin", 0, 1},
		{"MPI_Bcast", 0, 0},
		{"MPI_Get", 0, 0},
		{"MPI_Gather", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		print_message("%s\n", all[i].name);
		assert_int_equal(find(all[i].name).status, all[i].status);
		assert_int_equal(find(all[i].name).is_at_most, all[i].is_at_most);
	}
	/* Where the request is put that tells later. */
	assert_int_equal(find("MPI_Irecv").result, 7);
	assert_int_equal(find("MPI_Isendrecv").result, 12);
	assert_int_equal(find("MPI_Isend").result, 0);
}

/* Functions that complete requests: which arguments are the requests, what tells which of them are
 * complete, and the statuses. */
static void test_waits(void **state)
{
	static const struct {
		const char *name;
		unsigned kind, root, result, status;
	} all[] = {
		{"MPI_Wait", STACKD_MPI_WAIT, 1, 0, 2},
		{"MPI_Test", STACKD_MPI_WAIT, 1, 2, 3},
		{"MPI_Waitall", STACKD_MPI_WAIT, 2, 0, 3},
		{"MPI_Testall", STACKD_MPI_WAIT, 2, 3, 4},
		{"MPI_Waitany", STACKD_MPI_WAIT_ANY, 2, 3, 4},
		{"MPI_Testany", STACKD_MPI_WAIT_ANY, 2, 3, 5},
		{"MPI_Waitsome", STACKD_MPI_WAIT_SOME, 2, 3, 5},
		{"MPI_Testsome", STACKD_MPI_WAIT_SOME, 2, 3, 5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct stackd_mpi_call call = find(all[i].name);

		print_message("%s\n", all[i].name);
		assert_int_equal(call.kind, all[i].kind);
		assert_int_equal(call.root, all[i].root);
		assert_int_equal(call.result, all[i].result);
		assert_int_equal(call.status, all[i].status);
	}
}

/* A file that is no library of MPI does not know the sizes of datatypes: it is a tool's. */
static void test_tools(void **state)
{
	struct stackd_mpi_call send = mpi_calls_find("MPI_Send", 0, 1, STACKD_MPI_NO_LIBRARY);
	struct stackd_mpi_call size = mpi_calls_find("MPI_Comm_size", 0, 1, STACKD_MPI_NO_LIBRARY);

	(void)state;
	assert_int_equal(send.kind, STACKD_MPI_WITHIN);
	assert_int_equal(send.number, find("MPI_Send").number);
	assert_int_equal(size.kind, STACKD_MPI_WITHIN);
	assert_int_equal(size.result, 0);
	assert_int_equal(mpi_calls_find("MPI_Barrier", 0, 1, STACKD_MPI_NO_LIBRARY).kind,
			 STACKD_MPI_OTHER);
}

static void test_arguments(void **state)
{
	struct stackd_mpi_call call = find("MPI_Isendrecv");

	(void)state;
	assert_int_equal(call.sent.count, 2);
	assert_int_equal(call.sent.type, 3);
	assert_int_equal(call.sent.peer, 4);
	assert_int_equal(call.received.count, 7);
	assert_int_equal(call.received.type, 8);
	assert_int_equal(call.received.peer, 9);
	assert_false(call.is_wide);
	assert_true(find("MPI_Isendrecv_c").is_wide);

	call = find("MPI_Igatherv");
	assert_int_equal(call.comm, 9);
	assert_int_equal(call.root, 8);
	assert_int_equal(call.sent.how, STACKD_MPI_ONCE);
	assert_int_equal(call.sent.buffer, 1);
	assert_int_equal(call.sent.place_how, STACKD_MPI_OWN);
	assert_int_equal(call.received.how, STACKD_MPI_ROOT_SUM);

	/* "Scan" is no beginning of "Scatter", nor "Reduce" the same as "Reduce_scatter". */
	assert_int_equal(find("MPI_Scatter").root, 7);
	assert_int_equal(find("MPI_Reduce").root, 6);
	assert_int_equal(find("MPI_Reduce_scatter").received.how, STACKD_MPI_OWN);
	assert_int_equal(find("MPI_Reduce_scatter_block").sent.how, STACKD_MPI_ALL);
	assert_int_equal(find("MPI_Ineighbor_alltoallw").sent.how, STACKD_MPI_UNKNOWN);
}

/* A partitioned request has its count of 8 bytes for each partition, of which there are as many as
 * the second argument says; what it passes on counts where it is started. */
static void test_partitioned(void **state)
{
	struct stackd_mpi_call call = find("MPI_Psend_init");

	(void)state;
	assert_int_equal(call.kind, STACKD_MPI_INIT);
	assert_int_equal(call.sent.how, STACKD_MPI_PARTITIONED);
	assert_int_equal(call.sent.count, 3);
	assert_int_equal(call.sent.type, 4);
	assert_int_equal(call.sent.peer, 5);
	assert_int_equal(call.received.how, STACKD_MPI_NONE);
	assert_int_equal(call.result, 9);
	assert_true(call.is_wide);
	assert_int_equal(find("MPI_Precv_init").received.how, STACKD_MPI_PARTITIONED);
	assert_int_equal(find("MPI_Pready").kind, STACKD_MPI_OTHER);
}

/* Constants of the libraries: MPI_PROC_NULL and MPI_IN_PLACE. */
static void test_vendors(void **state)
{
	struct stackd_mpi_call open = mpi_calls_find("MPI_Send", 0x1234, 3, STACKD_MPI_OPEN);
	struct stackd_mpi_call mpich = mpi_calls_find("MPI_Send", 0x1234, 3, STACKD_MPI_MPICH);

	(void)state;
	assert_int_equal(open.no_partner, -2);
	assert_int_equal(open.in_place, 1);
	assert_int_equal(mpich.no_partner, -1);
	assert_int_equal(mpich.in_place, -1);
	assert_int_equal(open.library, 3);
	assert_int_equal(mpich.vaddr, 0x1234);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	 cmocka_unit_test(test_shown_names),
		cmocka_unit_test(test_objects),	 cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_requests), cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_vendors),	 cmocka_unit_test(test_partitioned),
		cmocka_unit_test(test_fortran),	 cmocka_unit_test(test_tools),
		cmocka_unit_test(test_files),	 cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
