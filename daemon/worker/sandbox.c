/* SPDX-License-Identifier: MIT */
/*
 * Changes users, capabilities and limits, and installs seccomp filters and Landlock rules; see
 * sandbox.h.
 *
 * The user is one that no account has, of the range that systemd gives to services for as long as
 * they run (DynamicUser=). Where a user namespace has no such user, "nobody" is taken.
 */
#include "daemon/worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <pwd.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/base/slowness.h"
#include "daemon/worker/fault_injection.h"

#define FIRST_USER 61184 /* range of systemd's dynamic users */
#define LAST_USER  65519
#define NOBODY	   65534
#define MEMORY_BYTES                                                                               \
	(UINT64_C(640) << 20) /* limit of address space; a process has some 60 MiB at first */
#define FILES	    8192
#define CPU_SECONDS 600 /* limit of a worker's CPU time; stackd replaces it long before that */

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

/* Makes a new, empty folder the root. The process enters the folder and removes its name before
 * chroot(), so nobody else can reach it or put a file into it. */
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

/* System calls for reading files, allocating memory and using a socket. */
static const int reading_calls[] = {
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
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sysinfo), /* qsort() */
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* Further system calls of the keeper and the fork server, and of a worker before
 * sandbox_worker(). */
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

#define ALLOW(filter, calls) allow(filter, calls, sizeof(calls) / sizeof(*(calls)))

/* Allows what workers may do, but for what allow_in_part() adds. */
static int allow_worker(scmp_filter_ctx filter)
{
	int err = ALLOW(filter, reading_calls);

	if (!err) /* for abort(); the kernel lets it signal no other user's process */
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 0);
	return err;
}

/* Allows some system calls with certain arguments only: newfstatat() and statx() of an empty name,
 * of which a C library may call the first for fstat(), and mount_stat() calls the second; for
 * workers, mmap() and mprotect() without PROT_EXEC, and fcntl() to copy a descriptor or read its
 * flags. */
static int allow_in_part(scmp_filter_ctx f, bool is_worker)
{
	int err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
				   SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH, 0));

	if (!err)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(statx), 1,
				       SCMP_A2(SCMP_CMP_EQ, AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0));
	/* libdw calls readlink() for the name of each file, and works without. */
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
	err = allow_worker(filter);
	if (!err && !is_worker)
		err = ALLOW(filter, fork_calls);
	if (!err)
		err = allow_in_part(filter, is_worker);
	if (!err && IS_INSTRUMENTED) /* AddressSanitizer calls it before functions that do not
				      * return */
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sigaltstack), 0);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

/* --- processes ------------------------------------------------------------------------------- */

unsigned sandbox_fork_server(void)
{
	uid_t user = free_user(); /* before change_root(): the list of users is in the old root */
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
	limit(RLIMIT_CPU, CPU_SECONDS * slowness());
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NOFILE, FILES);
	return load_filter(true);
}

/* --- the copier ------------------------------------------------------------------------------ */

#define CAP(name) (UINT64_C(1) << CAP_##name)

static const int copier_calls[] = {
	SCMP_SYS(pwrite64),  SCMP_SYS(ftruncate), SCMP_SYS(fstatfs),	   SCMP_SYS(newfstatat),
	SCMP_SYS(setitimer), SCMP_SYS(alarm),	  SCMP_SYS(rt_sigsuspend),
};

static int load_copier_filter(void)
{
	const int flags = O_ACCMODE | O_CREAT | O_TRUNC;
	scmp_filter_ctx filter =
		seccomp_init(IS_INSTRUMENTED ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS);
	int err = filter ? allow_worker(filter) : -ENOMEM;

	if (!err)
		err = ALLOW(filter, fork_calls);
	if (!err)
		err = ALLOW(filter, copier_calls);
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, (scmp_datum_t)flags, O_RDONLY));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
				       SCMP_A1(SCMP_CMP_MASKED_EQ, (scmp_datum_t)flags, O_RDONLY));
	if (!err && IS_INSTRUMENTED)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sigaltstack), 0);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

void sandbox_copier(void)
{
	const uint64_t kept = own_capabilities() & (CAP(DAC_OVERRIDE) | CAP(DAC_READ_SEARCH));

	drop_bounds(kept);
	set_capabilities(kept & CAP(DAC_READ_SEARCH) ? CAP(DAC_READ_SEARCH) : kept);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	limit(RLIMIT_CORE, 0);
	load_copier_filter(); /* without seccomp in the kernel, it works without */
}

/* --- stackd itself --------------------------------------------------------------------------- */

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* For the BPF program and its events; for files of other users' processes, also deleted ones; for
 * the folders of the user who has called sudo, if the store belongs to that user. (CAP_SYSLOG, by
 * which the kernel's symbols are shown, is needed only to open them: proc/kernel_files.h.) */
#define DAEMON_CAPABILITIES                                                                        \
	(CAP(BPF) | CAP(PERFMON) | CAP(SYS_PTRACE) | CAP(CHECKPOINT_RESTORE) |                     \
	 CAP(DAC_READ_SEARCH) | CAP(DAC_OVERRIDE) | CAP(CHOWN) | CAP(FOWNER))

/* Returns whether perf events need CAP_SYS_ADMIN, even with CAP_PERFMON: Debian's and Ubuntu's
 * kernels have such a level of perf_event_paranoid, which is Debian's default. */
static bool leaves_events_to_admin(void)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 0;

	if (!file)
		return false;
	if (fscanf(file, "%d", &level) != 1)
		level = 0;
	fclose(file);
	return level > 2;
}

void sandbox_daemon_capabilities(bool puts_probes)
{
	uint64_t kept = own_capabilities() & DAEMON_CAPABILITIES;

	if (kept & CAP(DAC_OVERRIDE))
		kept &= ~CAP(DAC_READ_SEARCH); /* CAP_DAC_OVERRIDE includes it */
	/* The kernel requires CAP_SYS_ADMIN for uprobes other than uprobe_multi links, and for
	 * deleted files if CAP_CHECKPOINT_RESTORE is missing. */
	if (puts_probes || leaves_events_to_admin() || !(kept & CAP(CHECKPOINT_RESTORE)))
		kept |= own_capabilities() & CAP(SYS_ADMIN);
	kept &= ~(UINT64_C(1) << fault_few("without", 63));
	drop_bounds(kept);
	set_capabilities(kept);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* System calls of stackd once it records, and of the fetcher. */
static const int common_calls[] = {
	/* files by their names */
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(chdir), /* nftw(), fts_read() */
	SCMP_SYS(fchdir),
	SCMP_SYS(pwrite64),
	SCMP_SYS(writev),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(statfs),
	SCMP_SYS(fstatfs),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(getcwd),
	SCMP_SYS(fcntl),
	SCMP_SYS(flock),
	SCMP_SYS(dup),
	SCMP_SYS(pipe2),
	SCMP_SYS(fadvise64),
	SCMP_SYS(ftruncate),
	SCMP_SYS(fsync),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(rmdir),
	SCMP_SYS(utimensat),
	SCMP_SYS(umask),
	/* memory */
	SCMP_SYS(mincore),
	SCMP_SYS(msync),
	/* waiting */
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(select),
	SCMP_SYS(pselect6),
	SCMP_SYS(eventfd2),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_getres),
	/* sockets; which kinds socket() makes is limited below */
	SCMP_SYS(socketpair),
	SCMP_SYS(sendto),
	SCMP_SYS(recvfrom),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockopt),
	SCMP_SYS(shutdown),
	/* itself */
	SCMP_SYS(getppid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(getgroups),
	SCMP_SYS(capget),
	SCMP_SYS(prctl),
	SCMP_SYS(getrlimit),
	SCMP_SYS(getrusage),
	SCMP_SYS(uname),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(rseq),
	SCMP_SYS(membarrier),
};

/* Further system calls of stackd: those of its own loop, libbpf, SQLite, libelf and glibc's
 * threads. It starts no process, so clone() is allowed for threads alone. */
static const int daemon_calls[] = {
	/* files, also those of other processes, and the store */
	SCMP_SYS(openat2),
	SCMP_SYS(preadv),
	SCMP_SYS(preadv2),
	SCMP_SYS(pwritev),
	SCMP_SYS(dup3),
	SCMP_SYS(ioctl),
	SCMP_SYS(fallocate),
	SCMP_SYS(fdatasync),
	SCMP_SYS(chmod),
	SCMP_SYS(fchmod),
	SCMP_SYS(fchmodat),
	SCMP_SYS(chown),
	SCMP_SYS(fchown),
	SCMP_SYS(lchown),
	SCMP_SYS(fchownat),
	SCMP_SYS(name_to_handle_at), /* a cgroup's id */
	/* memory */
	SCMP_SYS(memfd_create),
	/* BPF, perf events, and watching processes */
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(kcmp),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(inotify_add_watch),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	SCMP_SYS(kill),
	/* waiting */
	SCMP_SYS(signalfd4),
	SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_settime),
	/* sockets: to workers, to the service manager */
	SCMP_SYS(accept4),
	/* itself */
	SCMP_SYS(getpriority),
	SCMP_SYS(setpriority),
	SCMP_SYS(prlimit64),
	SCMP_SYS(sched_getparam),
	SCMP_SYS(sched_getscheduler),
	SCMP_SYS(rt_sigpending),
	SCMP_SYS(rt_sigtimedwait),
};

/* Allows threads but no processes. Makes clone3() fail with ENOSYS, since a filter cannot see its
 * flags, so that glibc calls clone(). Allows memory that is writable or executable, not both. */
static int allow_threads_and_memory(scmp_filter_ctx f)
{
	const uint64_t both = 2 /* PROT_WRITE */ | 4 /* PROT_EXEC */;
	const int calls[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect)};
	int err = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	if (!err)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				       SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls) && !err; i++)
		for (uint64_t protection = 0; protection < both && !err; protection += 2)
			err = seccomp_rule_add(f, SCMP_ACT_ALLOW, calls[i], 1,
					       SCMP_A2(SCMP_CMP_MASKED_EQ, both, protection));
	return err;
}

int sandbox_daemon_calls(void)
{
	bool kills = fault_few("calls", 1) == 0;
	scmp_filter_ctx filter =
		seccomp_init(kills ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ERRNO(EPERM));
	int err = filter ? seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) : -ENOMEM;

	if (!err)
		err = allow_worker(filter);
	if (!err)
		err = ALLOW(filter, common_calls);
	if (!err)
		err = ALLOW(filter, daemon_calls);
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
				       SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
	if (!err)
		err = allow_threads_and_memory(filter);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

/* --- the fetcher ----------------------------------------------------------------------------- */

/* Further system calls of libdebuginfod, curl, TLS libraries and glibc's resolver and threads. None
 * of these, and of common_calls, acts on another process, or changes whose a file is or who may
 * read it. */
static const int fetcher_calls[] = {
	/* files */
	SCMP_SYS(pipe),
	SCMP_SYS(utime),
	SCMP_SYS(utimes),
	/* sockets */
	SCMP_SYS(connect),
	SCMP_SYS(bind),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(sendmmsg),
	/* waiting */
	SCMP_SYS(epoll_create),
	SCMP_SYS(alarm), /* a curl without threads ends resolving by it */
	SCMP_SYS(setitimer),
	/* itself */
	SCMP_SYS(getresuid),
	SCMP_SYS(getresgid),
};

/* Allows sockets of IP, and of the kernel's list of addresses, which getaddrinfo() reads. (By those
 * of AF_UNIX, a process of root could ask root's services for anything.) Allows limits and signals
 * of this process alone, and questions about descriptors. */
static int allow_fetcher_in_part(scmp_filter_ctx f)
{
	static const int families[] = {AF_INET, AF_INET6};
	static const unsigned long controls[] = {FIONBIO, FIONREAD, TCGETS};
	int err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
				   SCMP_A0(SCMP_CMP_EQ, AF_NETLINK, 0),
				   SCMP_A2(SCMP_CMP_EQ, NETLINK_ROUTE, 0));

	for (size_t i = 0; i < sizeof(families) / sizeof(*families) && !err; i++)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
				       SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i], 0));
	for (size_t i = 0; i < sizeof(controls) / sizeof(*controls) && !err; i++)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
				       SCMP_A1(SCMP_CMP_EQ, controls[i], 0));
	if (!err)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
				       SCMP_A0(SCMP_CMP_EQ, 0, 0));
	if (!err)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				       SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
	return err;
}

static int load_fetcher_filter(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err = filter ? ALLOW(filter, reading_calls) : -ENOMEM;

	if (!err)
		err = ALLOW(filter, common_calls);
	if (!err)
		err = ALLOW(filter, fetcher_calls);
	if (!err)
		err = allow_fetcher_in_part(filter);
	if (!err)
		err = allow_threads_and_memory(filter);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

/* Gives the owner of a folder, or of the lowest one above it that exists. */
static bool find_owner(const char *folder, struct stat *ret_owner)
{
	char path[PATH_MAX];
	char *end;

	if (snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path))
		return false;
	while (stat(path, ret_owner)) {
		end = strrchr(path, '/');
		if (!end || errno != ENOENT)
			return false;
		end[end == path] = '\0';
	}
	return true;
}

/* Becomes the owner of the folder, if this process may become anybody and is another user: then it
 * needs no right to write into it, and its files are that user's. Returns whether it is the
 * owner. */
static bool become_owner(const char *folder)
{
	struct stat owner;

	if (!find_owner(folder, &owner))
		return false;
	if (owner.st_uid == geteuid())
		return true;
	return !setgroups(0, NULL) && !setresgid(owner.st_gid, owner.st_gid, owner.st_gid) &&
	       !setresuid(owner.st_uid, owner.st_uid, owner.st_uid);
}

/* Makes a folder and those above it. */
static void make_folder(const char *folder)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path))
		return;
	for (char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
		*end = '\0';
		mkdir(path, 0700);
		*end = '/';
	}
	mkdir(path, 0700);
}

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (UINT64_C(1) << 14)
#endif

/* Lets this process execute no file, and change files and folders below one folder alone, where the
 * kernel has Landlock. NULL: below none. */
static void change_files_below(const char *folder)
{
	const uint64_t kept = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
			      LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
			      LANDLOCK_ACCESS_FS_MAKE_REG;
	struct landlock_ruleset_attr all = {
		.handled_access_fs = kept | LANDLOCK_ACCESS_FS_EXECUTE |
				     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
				     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
				     LANDLOCK_ACCESS_FS_MAKE_SYM};
	struct landlock_path_beneath_attr below = {.allowed_access = kept};
	const long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	int rules;

	if (version >= 3) {
		all.handled_access_fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
		below.allowed_access |= LANDLOCK_ACCESS_FS_TRUNCATE;
	}
	rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all.handled_access_fs), 0);
	if (rules < 0)
		return;
	below.parent_fd = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (below.parent_fd >= 0) {
		syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
		close(below.parent_fd);
	}
	syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
}

void sandbox_fetcher(const char *folder)
{
	const bool is_owner = folder && become_owner(folder);
	const uint64_t kept = own_capabilities() & (is_owner ? 0 : CAP(DAC_OVERRIDE));

	drop_bounds(kept);
	set_capabilities(kept);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	limit(RLIMIT_CORE, 0);
	if (folder)
		make_folder(folder);
	change_files_below(folder);
	load_fetcher_filter(); /* without seccomp in the kernel, it works without */
}
