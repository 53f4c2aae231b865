/* SPDX-License-Identifier: MIT */
/*
 * The system calls that are left to stackd: each child process is limited, and tries one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/worker/sandbox.h"

#define NO_SUCH_CALL 999

static int (*limits)(void) = sandbox_daemon_calls;

#define OTHER_USER 4321

static char folder[] = "/tmp/test-sandbox-XXXXXX", outside[] = "/tmp/test-outside-XXXXXX";

static int limit_fetcher(void)
{
	sandbox_fetcher(folder);
	return 0;
}

/* Runs a function in a child that has the limits; gives what it returns: 0 or an errno. */
static int limited(int (*try)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		_exit(limits() ? 255 : try());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 255)
		skip(); /* the kernel has no seccomp */
	return WEXITSTATUS(status);
}

static int result(long value)
{
	return value == -1 ? errno : 0;
}

static int execute(void)
{
	char *const words[] = {(char *)"/bin/true", NULL};

	return result(execve(words[0], words, words + 1));
}

static int fork_process(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return result(pid);
}

static int fork_by_clone3(void)
{
	char zero[64] = {0};

	return result(syscall(SYS_clone3, zero, sizeof(zero)));
}

static int trace(void)
{
	return result(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int become_user(void)
{
	return result(setuid(getuid()));
}

static int open_network(void)
{
	return result(socket(AF_INET, SOCK_STREAM, 0));
}

static int open_netlink(void)
{
	return result(socket(AF_NETLINK, SOCK_RAW, 0));
}

static int make_namespace(void)
{
	return result(unshare(CLONE_NEWUSER));
}

static int make_code(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? errno : 0;
}

static int write_elsewhere(void)
{
	return result(syscall(SYS_process_vm_writev, getpid(), NULL, 0, NULL, 0, 0));
}

/* One that no list of forbidden calls would have. */
static int call_unknown(void)
{
	return result(syscall(NO_SUCH_CALL));
}

static void *nothing(void *arg)
{
	return arg;
}

static int do_as_ever(void)
{
	pthread_t thread;
	int pair[2], file, err;
	char *memory =
		mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return errno;
	memset(memory, 1, 1 << 20);
	if (munmap(memory, 1 << 20))
		return errno;
	err = pthread_create(&thread, NULL, nothing, NULL);
	if (err)
		return err;
	pthread_join(thread, NULL);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || socket(AF_UNIX, SOCK_DGRAM, 0) < 0)
		return errno;
	file = open("/proc/self/maps", O_RDONLY);
	if (file < 0 || read(file, pair, sizeof(pair)) < 0 || close(file))
		return errno;
	return kill(getpid(), 0) ? errno : 0;
}

static int fetch_as_ever(void)
{
	char path[64];
	pthread_t thread;
	int pair[2], file, err = pthread_create(&thread, NULL, nothing, NULL);

	if (err)
		return err;
	pthread_join(thread, NULL);
	snprintf(path, sizeof(path), "%s/%d", folder, getpid());
	file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (file < 0 || write(file, path, 4) != 4 || close(file) || unlink(path))
		return errno;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return errno;
	return result(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
}

static int open_unix(void)
{
	return result(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int read_elsewhere(void)
{
	return result(syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0));
}

static int signal_parent(void)
{
	return result(kill(getppid(), 0));
}

static int limit_parent(void)
{
	return result(prlimit(getppid(), RLIMIT_CORE, NULL, NULL));
}

static int use_bpf(void)
{
	return result(syscall(SYS_bpf, 0, NULL, 0));
}

static int open_event(void)
{
	return result(syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0));
}

static int give_away(void)
{
	return result(chown(folder, getuid(), getgid()));
}

static int open_to_all(void)
{
	return result(chmod(folder, 0777));
}

static int write_outside(void)
{
	return result(open(outside, O_WRONLY));
}

static int owner_of_folder(void)
{
	return geteuid() == OTHER_USER ? 0 : 1;
}

static void stackd_makes_no_other_calls(void **state)
{
	static int (*const tries[])(void) = {
		execute,      fork_process,   trace,	 become_user,	  open_network,
		open_netlink, make_namespace, make_code, write_elsewhere, call_unknown,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++)
		assert_int_equal(limited(tries[i]), EPERM);
	assert_int_equal(limited(fork_by_clone3), ENOSYS);
}

static void stackd_goes_on(void **state)
{
	(void)state;
	assert_int_equal(limited(do_as_ever), 0);
}

/* Debug files are fetched by the fetcher, which can do little else. */
static void network_is_for_the_fetcher(void **state)
{
	static int (*const tries[])(void) = {
		execute,      fork_process,    trace,	       become_user, make_namespace,
		make_code,    write_elsewhere, read_elsewhere, open_unix,   signal_parent,
		limit_parent, use_bpf,	       open_event,     give_away,   open_to_all,
	};

	(void)state;
	assert_int_equal(limited(open_network), EPERM);
	limits = limit_fetcher;
	assert_int_equal(limited(open_network), 0);
	assert_int_equal(limited(fetch_as_ever), 0);
	for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++)
		assert_int_equal(limited(tries[i]), EPERM);
	limits = sandbox_daemon_calls;
}

/* The fetcher writes into its folder, whoever owns it, and nowhere else. */
static void fetcher_writes_into_a_folder(void **state)
{
	const bool has_landlock =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;

	(void)state;
	limits = limit_fetcher;
	assert_int_equal(limited(write_outside), has_landlock ? EACCES : 0);
	assert_int_equal(chmod(outside, 0400), 0);
	assert_true(geteuid() || !chown(outside, OTHER_USER, OTHER_USER));
	assert_int_equal(limited(write_outside), EACCES);
	if (!geteuid()) {
		assert_int_equal(chown(folder, OTHER_USER, OTHER_USER), 0);
		assert_int_equal(limited(fetch_as_ever), 0);
		assert_int_equal(limited(owner_of_folder), 0);
	}
	limits = sandbox_daemon_calls;
}

static int begin(void **state)
{
	(void)state;
	return mkdtemp(folder) && mkstemp(outside) >= 0 ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	return rmdir(folder) | unlink(outside);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stackd_makes_no_other_calls),
		cmocka_unit_test(stackd_goes_on),
		cmocka_unit_test(network_is_for_the_fetcher),
		cmocka_unit_test(fetcher_writes_into_a_folder),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
