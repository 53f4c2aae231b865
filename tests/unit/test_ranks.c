/* SPDX-License-Identifier: MIT */
/* Ranks of MPI processes: from the environment of a process, and once for each of its numbers. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/recorder/ranks.h"
#include "model/profile_ranks.h"
#include "proc/mpi_rank.h"
#include "store_fixture.h"

#define PID 77

static char root[64];

/* The process is root's, with this one's mounts, so that its environment is read at once. */
static int make_root(void **state)
{
	char path[128], name[16];
	FILE *file;

	(void)state;
	snprintf(root, sizeof(root), "/tmp/stackd-ranks-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(path, sizeof(path), "%s/%d", root, PID);
	if (mkdir(path, 0700))
		return -1;
	snprintf(path, sizeof(path), "%s/%d/ns", root, PID);
	if (mkdir(path, 0700))
		return -1;
	snprintf(path, sizeof(path), "%s/%d/ns/mnt", root, PID);
	if (mknod(path, S_IFREG | 0600, 0))
		return -1;
	snprintf(name, sizeof(name), "%d", PID);
	snprintf(path, sizeof(path), "%s/%d", root, (int)getpid());
	if (symlink(name, path))
		return -1;
	snprintf(path, sizeof(path), "%s/%d/status", root, PID);
	file = fopen(path, "w");
	if (!file)
		return -1;
	fprintf(file, "Name:\tx\nUid:\t0\t0\t0\t0\nNStgid:\t%d\n", PID);
	return fclose(file);
}

static int remove_root(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/%d/environ", root, PID);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%d/stat", root, PID);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%d/status", root, PID);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%d/ns/mnt", root, PID);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%d/ns", root, PID);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/%d", root, (int)getpid());
	unlink(path);
	snprintf(path, sizeof(path), "%s/%d", root, PID);
	rmdir(path);
	return rmdir(root);
}

#define PF_NONE	   0
#define PF_EXITING 0x4
#define PF_KTHREAD 0x200000

/* Writes the process's /proc/PID/stat. environment_end: the address of its end; 0: not set yet. */
static void write_stat(unsigned flags, unsigned environment_end)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d/stat", root, PID);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%d (x) R 1 0 0 0 0 %u", PID, flags);
	for (int field = 10; field <= 50; field++)
		fprintf(file, " %d", field);
	fprintf(file, " %u 0\n", environment_end);
	assert_int_equal(fclose(file), 0);
}

/* Reads the rank from an environment, whose variables end with a zero each. */
static int read_of(const char *environment, size_t size, struct mpi_rank *ret_rank)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%d/environ", root, PID);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, environment, size), (ssize_t)size);
	close(fd);
	return mpi_rank_read(root, PID, ret_rank);
}

#define READ(environment, rank) read_of(environment, sizeof(environment) - 1, rank)

static void check(int err, const struct mpi_rank *rank, uint32_t number, uint32_t size)
{
	assert_int_equal(err, 0);
	assert_int_equal(rank->rank, number);
	assert_int_equal(rank->size, size);
}

static void test_launchers(void **state)
{
	struct mpi_rank rank;

	(void)state;
	check(READ("A=1\0OMPI_COMM_WORLD_RANK=3\0OMPI_COMM_WORLD_SIZE=8\0", &rank), &rank, 3, 8);
	check(READ("PMI_SIZE=4\0PMI_RANK=0\0", &rank), &rank, 0, 4);
	check(READ("MV2_COMM_WORLD_RANK=1\0MV2_COMM_WORLD_SIZE=2\0", &rank), &rank, 1, 2);
	check(READ("PMIX_RANK=5\0", &rank), &rank, 5, 0);
	check(READ("SLURM_PROCID=2\0SLURM_STEP_ID=0\0SLURM_NTASKS=3\0", &rank), &rank, 2, 3);
	/* A step has fewer tasks than its job. */
	check(READ("SLURM_NTASKS=8\0SLURM_STEP_NUM_TASKS=4\0SLURM_STEP_ID=1\0SLURM_PROCID=3\0",
		   &rank),
	      &rank, 3, 4);
	check(READ("PMIX_RANK=1\0SLURM_STEP_NUM_TASKS=2\0", &rank), &rank, 1, 2);
	/* The launcher of the job itself says more than the one that has started that. */
	check(READ("SLURM_PROCID=0\0SLURM_NTASKS=1\0OMPI_COMM_WORLD_RANK=1\0"
		   "OMPI_COMM_WORLD_SIZE=2\0",
		   &rank),
	      &rank, 1, 2);
}

static void test_no_rank(void **state)
{
	static const char *const none[] = {
		"PATH=/bin",
		"OMPI_COMM_WORLD_RANK",
		"OMPI_COMM_WORLD_RANK=",
		"OMPI_COMM_WORLD_RANK=-1",
		"OMPI_COMM_WORLD_RANK= 1",
		"OMPI_COMM_WORLD_RANK=1x",
		"OMPI_COMM_WORLD_RANK=99999999999999999999999",
		"OMPI_COMM_WORLD_RANK=2000000000",
		"XOMPI_COMM_WORLD_RANK=1",
		"OMPI_COMM_WORLD_RANKS=1",
		"SLURM_PROCID=0", /* of a job's script, or what that runs */
	};
	struct mpi_rank rank = {7, 7};

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_int_equal(read_of(none[i], strlen(none[i]), &rank), -ENOENT);
	assert_int_equal(READ("SLURM_PROCID=0\0SLURM_NTASKS=8\0", &rank), -ENOENT);
	assert_int_equal(READ("SLURM_PROCID=0\0SLURM_STEP_ID=4294967291\0", &rank), -ENOENT);
	assert_int_equal(mpi_rank_read(root, PID + 1, &rank), -ESRCH);
	write_stat(PF_NONE, 0);
	assert_int_equal(READ("", &rank), -EAGAIN); /* during an exec */
	write_stat(PF_EXITING, 0);
	assert_int_equal(READ("", &rank), -ENOENT);
	write_stat(PF_KTHREAD, 0);
	assert_int_equal(READ("", &rank), -ENOENT);
	write_stat(PF_NONE, 4096); /* as of `env -i` */
	assert_int_equal(READ("", &rank), -ENOENT);
	assert_int_equal(rank.rank, 7);
	/* A size that cannot be is none. */
	check(READ("PMI_RANK=3\0PMI_SIZE=3\0", &rank), &rank, 3, 0);
	check(READ("PMI_RANK=3\0PMI_SIZE=many\0", &rank), &rank, 3, 0);
}

/* A process with a rank, until its input ends. */
static pid_t start(const char *rank, const char *size)
{
	char *const arguments[] = {"sleep", "600", NULL};
	char first[64], second[64];
	char *environment[] = {first, second, NULL};
	pid_t pid = fork();

	if (pid == 0) {
		snprintf(first, sizeof(first), "PMI_RANK=%s", rank);
		snprintf(second, sizeof(second), "PMI_SIZE=%s", size);
		execve("/bin/sleep", arguments, environment);
		_exit(127);
	}
	return pid;
}

/* Waits until the process has its program, and with it its environment. */
static void await(pid_t pid)
{
	struct mpi_rank rank;

	while (mpi_rank_read("/proc", pid, &rank))
		usleep(1000);
}

static void test_ranks(void **state)
{
	const pid_t pid = start("2", "5");
	uint64_t value = 0;
	struct ranks *ranks;

	(void)state;
	await(pid);
	assert_int_equal(ranks_new("/proc", &ranks), 0);
	/* One of which nothing was looked up, or without a rank, has none. */
	assert_int_equal(ranks_take(ranks, 1, pid, &value), 0);
	assert_int_equal(ranks_prefetch(ranks, 1, NULL), 0);
	assert_int_equal(ranks_take(ranks, 9, 1, &value), 0);
	assert_int_equal(ranks_prefetch(ranks, pid, NULL), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* It is given once, though the process has ended, and anew when numbers begin anew. */
	assert_int_equal(ranks_take(ranks, 1, pid, &value), 1);
	assert_true(value == ((uint64_t)5 << 32 | 3));
	assert_int_equal(ranks_take(ranks, 1, pid, &value), 0);
	ranks_begin_anew(ranks);
	assert_int_equal(ranks_take(ranks, 4, pid, &value), 1);
	/* Another process with its id is looked up anew. */
	ranks_forget(ranks, pid);
	assert_int_equal(ranks_take(ranks, 5, pid, &value), 0);
	assert_int_equal(ranks_prefetch(ranks, pid, NULL), 0);
	assert_int_equal(ranks_take(ranks, 5, pid, &value), 0);
	ranks_free(ranks);
}

/* Tells what a process was launched with: in a record whose slots have left-overs. */
static void launch(struct ranks *ranks, pid_t pid, const char *first, const char *second)
{
	struct stackd_launched launched = {.pid = (uint32_t)pid, .n = 3};

	memset(launched.strings, 'x', sizeof(launched.strings));
	memcpy(launched.strings[0] + 20, "PMI_RANK=7", sizeof("PMI_RANK=7"));
	snprintf(launched.strings[0], STACKD_LAUNCHED_BYTES, "%s", "PMI_SIZES=1");
	snprintf(launched.strings[1], STACKD_LAUNCHED_BYTES, "%s", first);
	snprintf(launched.strings[2], STACKD_LAUNCHED_BYTES, "%s", second);
	snprintf(launched.strings[3], STACKD_LAUNCHED_BYTES, "PMI_RANK=9");
	assert_int_equal(ranks_launched(ranks, &launched), 0);
}

/* What a program is launched with holds for its process from then on, whatever /proc says. */
static void test_launched(void **state)
{
	const pid_t pid = getpid();
	uint64_t value = 0;
	struct ranks *ranks;

	(void)state;
	assert_int_equal(ranks_new("/proc", &ranks), 0);
	launch(ranks, pid, "PMI_RANK=2", "PMI_SIZE=5");
	assert_int_equal(ranks_prefetch(ranks, pid, NULL), 0);
	assert_int_equal(ranks_take(ranks, 1, pid, &value), 1);
	assert_true(value == ((uint64_t)5 << 32 | 3));
	/* Of a process that had none before it was executed, and of one that has none now. */
	assert_int_equal(ranks_prefetch(ranks, 1, NULL), 0);
	assert_int_equal(ranks_take(ranks, 2, 1, &value), 0);
	launch(ranks, 1, "OMPI_COMM_WORLD_SIZE=1073741823", "OMPI_COMM_WORLD_RANK=1073741822");
	assert_int_equal(ranks_take(ranks, 2, 1, &value), 1);
	assert_true(value == ((uint64_t)1073741823 << 32 | 1073741823));
	launch(ranks, 1, "", "A=B");
	assert_int_equal(ranks_take(ranks, 3, 1, &value), 0);
	ranks_free(ranks);
}

/* A process has the rank of its exec when that has had its turn, of several each at its own. */
static void test_exec_has_its_turn(void **state)
{
	const pid_t pid = start("2", "5");
	uint64_t value = 0;
	struct ranks *ranks;

	(void)state;
	await(pid);
	assert_int_equal(ranks_new("/proc", &ranks), 0);
	launch(ranks, pid, "PMI_RANK=1", "PMI_SIZE=5");
	assert_int_equal(ranks_prefetch_exec(ranks, pid, 20), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(ranks_prefetch_exec(ranks, pid, 30), 0); /* it has ended */
	assert_int_equal(ranks_take(ranks, 1, pid, &value), 1);
	assert_true(value == ((uint64_t)5 << 32 | 2));
	assert_int_equal(ranks_executed(ranks, pid, 10), 0);
	assert_int_equal(ranks_executed(ranks, pid + 1, 20), 0);
	assert_int_equal(ranks_take(ranks, 2, pid, &value), 1);
	assert_true(value == ((uint64_t)5 << 32 | 2));
	assert_int_equal(ranks_executed(ranks, pid, 20), 0);
	assert_int_equal(ranks_executed(ranks, pid, 30), 0);
	assert_int_equal(ranks_take(ranks, 3, pid, &value), 1);
	assert_true(value == ((uint64_t)5 << 32 | 3));
	assert_int_equal(ranks_executed(ranks, pid, 20), 0);
	ranks_free(ranks);
}

/* The event of an exec comes before the kernel sets the environment: a later record's look finds
 * the rank, which still waits for its turn, and holds if there was none before. */
static void test_exec_before_environment(void **state)
{
	uint64_t value = 0;
	struct ranks *ranks;
	struct mpi_rank rank;

	(void)state;
	for (int has_rank = 0; has_rank <= 1; has_rank++) {
		assert_int_equal(ranks_new(root, &ranks), 0);
		launch(ranks, PID, "PMI_RANK=1", "PMI_SIZE=5");
		write_stat(PF_NONE, 0);
		assert_int_equal(READ("", &rank), -EAGAIN);
		assert_int_equal(ranks_prefetch_exec(ranks, PID, 20), 0);
		assert_int_equal(ranks_prefetch_exec(ranks, PID + 1, 20), 0); /* it has ended */
		assert_int_equal(ranks_prefetch(ranks, PID, NULL), 0);
		write_stat(PF_NONE, 4096);
		READ("X=1", &rank);
		if (has_rank)
			READ("PMI_RANK=2\0PMI_SIZE=5\0", &rank);
		assert_int_equal(ranks_prefetch(ranks, PID, NULL), 0);
		assert_int_equal(ranks_take(ranks, 1, PID, &value), 1);
		assert_true(value == ((uint64_t)5 << 32 | 2));
		assert_int_equal(ranks_executed(ranks, PID, 20), 0);
		assert_int_equal(ranks_take(ranks, 2, PID, &value), has_rank);
		assert_true(value == ((uint64_t)5 << 32 | (2 + has_rank)));
		ranks_free(ranks);
	}
}

/* No look succeeds before the exec has its turn, or the process is not known: the next one does. */
static void test_environment_after_its_turn(void **state)
{
	uint64_t value = 0;
	struct ranks *ranks;
	struct mpi_rank rank;

	(void)state;
	for (int is_known = 0; is_known <= 1; is_known++) {
		assert_int_equal(ranks_new(root, &ranks), 0);
		if (is_known)
			launch(ranks, PID, "PMI_RANK=1", "PMI_SIZE=5");
		write_stat(PF_NONE, 0);
		assert_int_equal(READ("", &rank), -EAGAIN);
		assert_int_equal(ranks_prefetch(ranks, PID, NULL), 0);
		assert_int_equal(ranks_prefetch_exec(ranks, PID, 20), 0);
		assert_int_equal(ranks_prefetch(ranks, PID, NULL), 0);
		assert_int_equal(ranks_executed(ranks, PID, 20), 0);
		assert_int_equal(ranks_prefetch(ranks, PID, NULL), 0);
		assert_int_equal(ranks_take(ranks, 1, PID, &value), 0);
		write_stat(PF_NONE, 4096);
		READ("PMI_RANK=2\0PMI_SIZE=5\0", &rank);
		assert_int_equal(ranks_prefetch(ranks, PID, NULL), 0);
		assert_int_equal(ranks_take(ranks, 1, PID, &value), 1);
		assert_true(value == ((uint64_t)5 << 32 | 3));
		ranks_free(ranks);
	}
}

static int hear_exec(void *arg)
{
	return process_table_await_exec(arg, PID);
}

/* The event of an exec arrives after the environment was read: the environment may be the next
 * program's, so the rank is not taken from it. */
static void test_environment_of_the_next(void **state)
{
	uint64_t value = 0;
	struct object_table *objects;
	struct process_table *processes;
	struct ranks *ranks;
	struct mpi_rank rank;

	(void)state;
	assert_int_equal(object_table_new(root, &objects), 0);
	assert_int_equal(process_table_new(objects, root, &processes), 0);
	assert_int_equal(ranks_new(root, &ranks), 0);
	READ("PMI_RANK=2\0PMI_SIZE=5\0", &rank);
	process_table_drain_by(processes, hear_exec, processes);
	assert_int_equal(ranks_prefetch(ranks, PID, processes), 0);
	assert_int_equal(ranks_take(ranks, 1, PID, &value), 0);
	assert_int_equal(ranks_prefetch(ranks, PID, processes), 0);
	assert_int_equal(ranks_take(ranks, 1, PID, &value), 0);
	process_table_drain_by(processes, NULL, NULL);
	process_table_meet_exec(processes, PID);
	assert_int_equal(ranks_prefetch(ranks, PID, processes), 0);
	assert_int_equal(ranks_take(ranks, 1, PID, &value), 1);
	ranks_free(ranks);
	process_table_free(processes);
	object_table_free(objects);
}

#ifdef __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void); /* GCC installs no header of it */
#endif

/* Bytes of the heap in use. ASan has a heap of its own, which mallinfo2() does not know. */
static size_t heap_bytes(void)
{
#ifdef __SANITIZE_ADDRESS__
	return __sanitizer_get_current_allocated_bytes();
#else
	return mallinfo2().uordblks;
#endif
}

/* Processes that have ended take no memory, whether their end was seen or not. */
static void test_memory_is_of_living_processes(void **state)
{
	const pid_t ended = 0x40000000; /* more than any process's id */
	uint64_t value;
	struct ranks *ranks;
	size_t before;

	(void)state;
	assert_int_equal(ranks_new("/proc", &ranks), 0);
	launch(ranks, 1, "PMI_RANK=2", "PMI_SIZE=5");
	before = heap_bytes();
	for (pid_t i = 0; i < 100000; i++) {
		assert_int_equal(ranks_prefetch(ranks, ended + i, NULL), 0);
		launch(ranks, ended + i, "PMI_RANK=3", "PMI_SIZE=5");
		ranks_forget(ranks, ended + i);
	}
	assert_true(heap_bytes() < before + 4096);
	for (pid_t i = 0; i < 100000; i++)
		assert_int_equal(ranks_prefetch(ranks, ended + i, NULL), 0);
	assert_true(heap_bytes() < before + (4u << 20));
	assert_int_equal(ranks_take(ranks, 1, 1, &value), 1);
	ranks_free(ranks);
}

static void check_put(uint64_t value, const char *text)
{
	struct buf b = {0};

	profile_ranks_put(value, &b);
	buf_put_u8(&b, '\0');
	assert_false(b.failed);
	assert_string_equal((const char *)b.data, text);
	buf_free(&b);
}

static void test_put(void **state)
{
	(void)state;
	check_put(0, "none");
	check_put(1, "0");
	check_put((uint64_t)8 << 32 | 4, "3 of 8");
}

/* Writes a recording of 5 processes: threads of the second and the fourth of them, which are not
 * their first ones, tell a rank. */
static void write_ranks(const char *path)
{
	struct recording f = fixture_make(50, 20, 3);
	struct store_writer *w = fixture_writer(path);
	struct store_recording info = fixture_info();
	const struct store_sample records[] = {
		{.time_ns = 2000, .thread = 6, .period = (uint64_t)8 << 32 | 4},
		{.time_ns = 3000, .thread = 13, .period = 1},
	};

	fixture_put(&f, w, 100);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(store_writer_record(w, SERIES_MPI_RANK, &records[i]), 0);
	info.finished = true;
	assert_int_equal(store_writer_commit(w, &info), 0);
	store_writer_free(w);
	free_recording(&f);
}

static void test_read(void **state)
{
	static const uint64_t expected[] = {0, (uint64_t)8 << 32 | 4, 0, 1, 0};
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct store_reader *r;
	struct profile *profile;
	uint64_t ranks[5] = {0};

	(void)state;
	write_ranks(path);
	r = fixture_open(path, 0);
	assert_int_equal(profile_new(r, NULL, &profile), 0);
	assert_int_equal(profile_ranks_read(profile, ranks), 0);
	assert_memory_equal(ranks, expected, sizeof(expected));
	profile_free(profile);
	store_reader_close(r);
	free(path);
	fixture_remove(folder);
}

/* Labels are read with the rank; a forked process has its parent's until its own were read. */
static void test_labels(void **state)
{
	struct ranks *ranks;
	struct mpi_rank rank;
	uint64_t value = 0;

	(void)state;
	assert_int_equal(ranks_new(root, &ranks), 0);
	check(READ("PMI_RANK=0\0OTEL_SERVICE_NAME=shop\0", &rank), &rank, 0, 0);
	assert_null(ranks_labels(ranks, PID));
	assert_int_equal(ranks_prefetch(ranks, PID, NULL), 0);
	assert_string_equal(ranks_labels(ranks, PID), "service.name=shop");
	assert_int_equal(ranks_forked(ranks, PID, PID), 0); /* a thread */
	assert_int_equal(ranks_forked(ranks, PID + 2, PID + 1), 0);
	assert_null(ranks_labels(ranks, PID + 2));
	assert_int_equal(ranks_prefetch(ranks, PID + 1, NULL), 0); /* it has ended */
	assert_null(ranks_labels(ranks, PID + 1));
	assert_int_equal(ranks_forked(ranks, PID + 1, PID), 0);
	assert_string_equal(ranks_labels(ranks, PID + 1), "service.name=shop");
	assert_int_equal(ranks_take(ranks, 1, PID + 1, &value), 1);
	assert_int_equal(READ("OTEL_SERVICE_NAME=other\0", &rank), -ENOENT);
	assert_int_equal(ranks_prefetch_exec(ranks, PID, 20), 0);
	assert_string_equal(ranks_labels(ranks, PID), "service.name=shop");
	assert_int_equal(ranks_executed(ranks, PID, 20), 0);
	assert_string_equal(ranks_labels(ranks, PID), "service.name=other");
	assert_int_equal(ranks_forked(ranks, PID, PID + 1), 0); /* what was read of it holds */
	assert_string_equal(ranks_labels(ranks, PID), "service.name=other");
	assert_int_equal(ranks_executed(ranks, PID, 30), 0); /* nothing was read of this program */
	assert_null(ranks_labels(ranks, PID));
	ranks_free(ranks);
}

/* The record of an executed program comes after its exec, and maybe after the look of its first
 * sample: the labels that the exec has set hold, also in a process that it forks. */
static void test_labels_of_launched(void **state)
{
	struct ranks *ranks;
	struct mpi_rank rank;
	uint64_t value = 0;

	(void)state;
	assert_int_equal(ranks_new(root, &ranks), 0);
	assert_int_equal(READ("OTEL_SERVICE_NAME=mpirun\0", &rank), -ENOENT);
	assert_int_equal(ranks_prefetch(ranks, PID, NULL), 0);
	READ("OTEL_SERVICE_NAME=solver\0", &rank);
	assert_int_equal(ranks_prefetch_exec(ranks, PID, 20), 0);
	assert_int_equal(ranks_prefetch(ranks, PID, NULL), 0); /* of the first sample */
	assert_string_equal(ranks_labels(ranks, PID), "service.name=mpirun");
	assert_int_equal(ranks_executed(ranks, PID, 20), 0);
	launch(ranks, PID, "PMI_RANK=2", "PMI_SIZE=5");
	assert_string_equal(ranks_labels(ranks, PID), "service.name=solver");
	assert_int_equal(ranks_take(ranks, 1, PID, &value), 1);
	assert_true(value == ((uint64_t)5 << 32 | 3));
	assert_int_equal(ranks_forked(ranks, PID + 1, PID), 0);
	assert_string_equal(ranks_labels(ranks, PID + 1), "service.name=solver");
	/* It ends before it is looked at again. */
	assert_int_equal(ranks_prefetch(ranks, PID + 1, NULL), 0);
	assert_string_equal(ranks_labels(ranks, PID + 1), "service.name=solver");
	/* Without an exec's labels the next look finds them, of the rank that was sent. */
	ranks_forget(ranks, PID);
	launch(ranks, PID, "PMI_RANK=2", "PMI_SIZE=5");
	assert_null(ranks_labels(ranks, PID));
	ranks_forget(ranks, PID + 1);
	assert_int_equal(ranks_forked(ranks, PID + 1, PID), 0);
	assert_int_equal(ranks_prefetch(ranks, PID, NULL), 0);
	assert_string_equal(ranks_labels(ranks, PID), "service.name=solver");
	ranks_free(ranks);
}

/* A process that is forked before its parent's labels were read has its own read. */
static void test_forked_before_it_is_read(void **state)
{
	struct ranks *ranks;
	struct mpi_rank rank;

	(void)state;
	assert_int_equal(ranks_new(root, &ranks), 0);
	launch(ranks, PID + 1, "PMI_RANK=2", "PMI_SIZE=5");
	assert_int_equal(ranks_forked(ranks, PID, PID + 1), 0);
	READ("PMI_RANK=2\0PMI_SIZE=5\0OTEL_SERVICE_NAME=solver\0", &rank);
	assert_int_equal(ranks_prefetch(ranks, PID, NULL), 0);
	assert_string_equal(ranks_labels(ranks, PID), "service.name=solver");
	ranks_free(ranks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_launchers, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_no_rank, make_root, remove_root),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_launched),
		cmocka_unit_test(test_exec_has_its_turn),
		cmocka_unit_test_setup_teardown(test_exec_before_environment, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(test_environment_after_its_turn, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(test_environment_of_the_next, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(test_labels, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_labels_of_launched, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_forked_before_it_is_read, make_root,
						remove_root),
		cmocka_unit_test(test_memory_is_of_living_processes),
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
