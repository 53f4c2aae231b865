/* SPDX-License-Identifier: MIT */
/*
 * Tasks that live for a short time, and others that live longer, and how much CPU time each kind
 * had, as the kernel counts it for each task:
 *
 *   short_tasks KIND SHORT_US LONG_US SECONDS
 *
 * KIND is what a task is: threads, processes, vfork (processes that share their parent's memory
 * until they end), exec (processes that become another program three times, and are a task each
 * time), or mixed. Tasks' lengths are drawn around the mean, so that they keep no time with a
 * clock; for each long one there are so many short ones that both have the same CPU time. It ends
 * when the tasks have had so many seconds in all.
 *
 * Prints "short NS long NS tasks N all NS": the CPU time within short_task() and long_task(), of
 * how many tasks, and that of the program with all it has started.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHARED_FD 100
#define STAGES	  3	/* programs that a task of exec becomes */
#define PER_US	  1000u /* iterations that are timed for the speed */

struct shared {
	_Atomic uint64_t ns[2]; /* by class: short, long */
	_Atomic uint64_t tasks;
};

static struct shared *shared;
static volatile uint64_t sink;
static uint64_t clock_cost_ns; /* of one reading of the clock, within two */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((noinline, noclone)) void short_task(uint64_t turns)
{
	for (uint64_t i = 0; i < turns; i++)
		sink += i;
}

__attribute__((noinline, noclone)) void long_task(uint64_t turns)
{
	for (uint64_t i = 1; i <= turns; i++)
		sink += i;
}

__attribute__((noinline)) static void calibrate(uint64_t turns)
{
	for (uint64_t i = 0; i < turns; i++)
		sink += i;
}

static void measure(unsigned class, uint64_t turns)
{
	uint64_t start = now_ns(), ns;

	if (class)
		long_task(turns);
	else
		short_task(turns);
	ns = now_ns() - start;
	atomic_fetch_add(&shared->ns[class], ns > clock_cost_ns ? ns - clock_cost_ns : 0);
	atomic_fetch_add(&shared->tasks, 1);
}

/* --- kinds ----------------------------------------------------------------------------------- */

struct task {
	unsigned class;
	uint64_t turns;
};

static void *in_thread(void *of)
{
	const struct task *task = of;

	measure(task->class, task->turns);
	return NULL;
}

static int by_thread(struct task *task)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, in_thread, task) || pthread_join(thread, NULL);
}

static int wait_for(pid_t pid)
{
	int status;

	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

static int by_process(struct task *task)
{
	pid_t pid = fork();

	if (pid == 0) {
		measure(task->class, task->turns);
		_exit(0);
	}
	return wait_for(pid);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wclobbered"
static int by_vfork(struct task *task)
{
	pid_t pid = vfork();

	if (pid == 0) {
		measure(task->class, task->turns);
		_exit(0);
	}
	return wait_for(pid);
}

/* Becomes the next program of a task of exec. */
static void become(unsigned class, uint64_t turns, int left)
{
	char arguments[4][32];
	char *argv[] = {"short_tasks", "stage",	     arguments[0], arguments[1],
			arguments[2],  arguments[3], NULL};

	snprintf(arguments[0], sizeof(arguments[0]), "%u", class);
	snprintf(arguments[1], sizeof(arguments[1]), "%llu", (unsigned long long)turns);
	snprintf(arguments[2], sizeof(arguments[2]), "%d", left);
	snprintf(arguments[3], sizeof(arguments[3]), "%llu", (unsigned long long)clock_cost_ns);
	execv("/proc/self/exe", argv);
	_exit(1);
}

static int by_exec(struct task *task)
{
	pid_t pid = fork();

	if (pid == 0)
		become(task->class, task->turns, STAGES);
	return wait_for(pid);
}

static int stage(char **argv)
{
	const unsigned class = (unsigned)atoi(argv[2]);
	const uint64_t turns = strtoull(argv[3], NULL, 10);
	const int left = atoi(argv[4]) - 1;

	clock_cost_ns = strtoull(argv[5], NULL, 10);
	measure(class, turns);
	if (left)
		become(class, turns, left);
	return 0;
}

static int run(const char *kind, struct task *task)
{
	static int (*const kinds[])(struct task *) = {by_thread, by_process, by_vfork, by_exec};
	static const char *const names[] = {"threads", "processes", "vfork", "exec"};

	for (unsigned i = 0; i < 4; i++)
		if (!strcmp(kind, names[i]))
			return kinds[i](task);
	return kinds[random() % 4](task);
}

/* --- all ------------------------------------------------------------------------------------- */

static double turns_per_us(void)
{
	uint64_t start;
	double best = 0;

	for (int i = 0; i < 20; i++) {
		double rate;

		start = now_ns();
		calibrate(PER_US * 200);
		rate = PER_US * 200 / ((double)(now_ns() - start) / 1000);
		best = rate > best ? rate : best;
	}
	start = now_ns();
	for (int i = 0; i < 1000; i++)
		now_ns();
	clock_cost_ns = (now_ns() - start) / 1001;
	return best;
}

/* Between half and one and a half of the mean. */
static uint64_t draw(double mean)
{
	return (uint64_t)(mean * (0.5 + (double)(random() % 10000) / 10000)) + 1;
}

static uint64_t used_ns(int whose)
{
	struct rusage r;

	getrusage(whose, &r);
	return (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000u;
}

static int make_shared(bool is_new)
{
	int fd = is_new ? memfd_create("short_tasks", 0) : SHARED_FD;

	if (fd < 0 || (is_new && (ftruncate(fd, sizeof(*shared)) || dup2(fd, SHARED_FD) < 0)))
		return -1;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return shared == MAP_FAILED ? -1 : 0;
}

int main(int argc, char **argv)
{
	uint64_t least_ns;
	double means[2], rate;

	if (argc > 5 && !strcmp(argv[1], "stage"))
		return make_shared(false) ? 1 : stage(argv);
	if (argc != 5 || make_shared(true))
		return 2;
	srandom((unsigned)getpid());
	rate = turns_per_us();
	means[0] = atof(argv[2]) * rate;
	means[1] = atof(argv[3]) * rate;
	least_ns = (uint64_t)(atof(argv[4]) * 1e9);
	while (shared->ns[0] + shared->ns[1] < least_ns) {
		const unsigned class = shared->ns[0] > shared->ns[1];
		struct task task = {class, draw(means[class])};

		if (run(argv[1], &task))
			return 1;
	}
	printf("short %llu long %llu tasks %llu all %llu\n", (unsigned long long)shared->ns[0],
	       (unsigned long long)shared->ns[1], (unsigned long long)shared->tasks,
	       (unsigned long long)(used_ns(RUSAGE_SELF) + used_ns(RUSAGE_CHILDREN)));
	return 0;
}
