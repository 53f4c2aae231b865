/* SPDX-License-Identifier: MIT */
/*
 * Users, capabilities, limits and seccomp; see sandbox.h.
 *
 * The user is one that no account has, of the range that systemd gives to services for as long as
 * they run (DynamicUser=). Where a user namespace has no such user, "nobody" is taken.
 */
#include "daemon/worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_USER 61184 /* of systemd's dynamic users */
#define LAST_USER  65519
#define NOBODY	   65534
#define MEMORY_BYTES                                                                               \
	(UINT64_C(640) << 20) /* of address space; a process has some 60 MiB at first */
#define FILES	    8192
#define CPU_SECONDS 600 /* of a worker in all; stackd replaces it long before */

/* Compilers that instrument memory need address space and system calls of their own. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_INSTRUMENTED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_INSTRUMENTED true
#endif
#endif
#ifndef IS_INSTRUMENTED
#define IS_INSTRUMENTED false
#endif

/* --- users and roots ------------------------------------------------------------------------- */

static uid_t free_user(void)
{
	const unsigned n = LAST_USER - FIRST_USER + 1, first = (unsigned)getpid() % n;

	for (unsigned i = 0; i < n; i++) {
		uid_t user = FIRST_USER + (first + i) % n;

		if (!getpwuid(user) && !getgrgid(user))
			return user;
	}
	return NOBODY;
}

static bool become(uid_t user)
{
	return !setresgid(user, user, user) && !setresuid(user, user, user);
}

static bool change_user(uid_t user)
{
	if (setgroups(0, NULL))
		return false;
	return become(user) || (user != NOBODY && become(NOBODY));
}

/* An empty folder, which has no name any more when it becomes the root. */
static bool change_root(void)
{
	char path[] = "/tmp/stackd-worker-XXXXXX";
	bool is_in;

	if (!mkdtemp(path))
		return false;
	is_in = !chdir(path);
	rmdir(path);
	return is_in && !chroot(".");
}

/* --- capabilities ---------------------------------------------------------------------------- */

static bool set_capabilities(uint64_t wanted)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = (uint32_t)(wanted >> 32 * i);
	return !syscall(SYS_capset, &header, data);
}

static uint64_t own_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data))
		return 0;
	return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

static void drop_bounds(uint64_t kept)
{
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (int i = 0; i <= CAP_LAST_CAP; i++)
		if (!(kept >> i & 1))
			prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
}

/* --- system calls ---------------------------------------------------------------------------- */

/* What reading files, asking for memory and using a socket take. */
static const int worker_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(readv),
	SCMP_SYS(write),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(futex),
	SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(tgkill), /* abort(): the kernel lets it signal no other user's process */
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sysinfo), /* qsort() */
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* What the process that makes workers needs besides, and a worker before it is limited. */
static const int fork_calls[] = {
	SCMP_SYS(clone),       SCMP_SYS(fork),
	SCMP_SYS(wait4),       SCMP_SYS(kill),
	SCMP_SYS(prctl),       SCMP_SYS(seccomp),
	SCMP_SYS(prlimit64),   SCMP_SYS(setrlimit),
	SCMP_SYS(setpriority), SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),	       SCMP_SYS(mmap),
	SCMP_SYS(mprotect),    SCMP_SYS(getppid),
	SCMP_SYS(getuid),      SCMP_SYS(dup),
	SCMP_SYS(dup2),	       SCMP_SYS(fcntl),
	SCMP_SYS(capget),      SCMP_SYS(set_tid_address),
	SCMP_SYS(sendto),
};

static int allow(scmp_filter_ctx filter, const int *calls, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	return err;
}

/* fstat() of a C library may be newfstatat() of an empty name; memory must not become code;
 * descriptors are copied, and nothing else of fcntl(). */
static int allow_in_part(scmp_filter_ctx f, bool is_worker)
{
	int err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
				   SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH, 0));

	/* libdw asks for the name of each file; without it does as well. */
	if (!err)
		err = seccomp_rule_add(f, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(readlink), 0);
	if (!err && is_worker)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				       SCMP_A1(SCMP_CMP_EQ, F_DUPFD_CLOEXEC, 0));
	if (!err && is_worker)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				       SCMP_A1(SCMP_CMP_EQ, F_GETFL, 0));
	if (!err && is_worker)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				       SCMP_A1(SCMP_CMP_EQ, F_GETFD, 0));
	if (!err && is_worker)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, 4 /* PROT_EXEC */, 0));
	if (!err && is_worker)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, 4 /* PROT_EXEC */, 0));
	return err;
}

static int load_filter(bool is_worker)
{
	uint32_t action = IS_INSTRUMENTED ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS;
	scmp_filter_ctx filter = seccomp_init(action);
	int err;

	if (!filter)
		return -ENOMEM;
	err = allow(filter, worker_calls, sizeof(worker_calls) / sizeof(*worker_calls));
	if (!err && !is_worker)
		err = allow(filter, fork_calls, sizeof(fork_calls) / sizeof(*fork_calls));
	if (!err)
		err = allow_in_part(filter, is_worker);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

/* --- processes ------------------------------------------------------------------------------- */

unsigned sandbox_fork_server(void)
{
	uid_t user = free_user(); /* the list of users is in the root that is left */
	unsigned gaps = 0;

	if (!change_root())
		gaps |= SANDBOX_SAME_ROOT;
	drop_bounds(0);
	if (!change_user(user))
		gaps |= SANDBOX_SAME_USER;
	if (!set_capabilities(0) && own_capabilities())
		gaps |= SANDBOX_CAPABILITIES;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (load_filter(false))
		gaps |= SANDBOX_NO_FILTER;
	return gaps;
}

static void limit(int resource, rlim_t most)
{
	struct rlimit l;

	if (getrlimit(resource, &l))
		return;
	l.rlim_max = l.rlim_max < most ? l.rlim_max : most;
	l.rlim_cur = l.rlim_max;
	setrlimit(resource, &l);
}

int sandbox_worker(void)
{
	if (!IS_INSTRUMENTED)
		limit(RLIMIT_AS, MEMORY_BYTES);
	limit(RLIMIT_CPU, CPU_SECONDS);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NOFILE, FILES);
	return load_filter(true);
}

/* --- stackd itself --------------------------------------------------------------------------- */

#define CAP(name) (UINT64_C(1) << CAP_##name)

/* The program and its events; files of other users' processes; names of the kernel; and, for a
 * store that belongs to the user who has called sudo, that user's folders. */
#define DAEMON_CAPABILITIES                                                                        \
	(CAP(BPF) | CAP(PERFMON) | CAP(SYS_PTRACE) | CAP(SYS_ADMIN) | CAP(DAC_READ_SEARCH) |       \
	 CAP(SYSLOG) | CAP(DAC_OVERRIDE) | CAP(CHOWN) | CAP(FOWNER))

void sandbox_daemon_capabilities(void)
{
	drop_bounds(DAEMON_CAPABILITIES);
	set_capabilities(own_capabilities() & DAEMON_CAPABILITIES);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static const int never_called[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(setuid),
	SCMP_SYS(setgid),
	SCMP_SYS(setreuid),
	SCMP_SYS(setregid),
	SCMP_SYS(setresuid),
	SCMP_SYS(setresgid),
	SCMP_SYS(setgroups),
	SCMP_SYS(setfsuid),
	SCMP_SYS(setfsgid),
	SCMP_SYS(chroot),
	SCMP_SYS(pivot_root),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(move_mount),
	SCMP_SYS(open_tree),
	SCMP_SYS(fsopen),
	SCMP_SYS(fsmount),
	SCMP_SYS(fspick),
	SCMP_SYS(mount_setattr),
	SCMP_SYS(setns),
	SCMP_SYS(unshare),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(reboot),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(acct),
	SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime),
	SCMP_SYS(clock_adjtime),
	SCMP_SYS(adjtimex),
	SCMP_SYS(sethostname),
	SCMP_SYS(setdomainname),
	SCMP_SYS(iopl),
	SCMP_SYS(ioperm),
	SCMP_SYS(modify_ldt),
	SCMP_SYS(personality),
	SCMP_SYS(keyctl),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(fanotify_init),
	SCMP_SYS(quotactl),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(syslog),
	SCMP_SYS(vhangup),
};

int sandbox_daemon_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int err = filter ? seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) : -ENOMEM;

	for (size_t i = 0; i < sizeof(never_called) / sizeof(*never_called) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), never_called[i], 0);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}
