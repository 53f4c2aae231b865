/* SPDX-License-Identifier: MIT */
/* Tables of system calls and file types; see wait_reason.h. */
#include "daemon/recorder/wait_reason.h"

#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "arch/kernel_entry.h"
#include "stack/wait_name.h"

#define INTERRUPTIBLE 0x01 /* bits of a thread's state */
#define STOPPED	      0x0c /* the thread was stopped by a signal or a debugger */

/* What a call waits for. */
enum waits_for {
	OTHER,
	FUTEX,	    /* its first argument is the address */
	IDLE_FILE,  /* a descriptor: of a socket that accepts connections, of an epoll, or the one
		     * that is polled */
	DESCRIPTOR, /* a descriptor of any file, whose type is part of the reason */
};

struct call {
	int number;
	const char *name; /* the call's name, as the reason shows it */
	enum waits_for what;
};

#ifdef SYS_poll
#define POLL SYS_poll
#else
#define POLL SYS_ppoll
#endif

#define IDLE(call)                                                                                 \
	{                                                                                          \
		SYS_##call, "idle: " #call, OTHER                                                  \
	}
#define FILE_(call)                                                                                \
	{                                                                                          \
		SYS_##call, #call, DESCRIPTOR                                                      \
	}

/* There are #ifdefs because newer processors lack the older of two calls with the same purpose, and
 * old headers lack new calls. */
static const struct call calls[] = {
	{SYS_futex, "futex", FUTEX},
#ifdef SYS_futex_waitv
	{SYS_futex_waitv, "futex", OTHER},
#endif
	{SYS_nanosleep, "sleep", OTHER},
	{SYS_clock_nanosleep, "sleep", OTHER},
	{SYS_wait4, "child", OTHER},
	{SYS_waitid, "child", OTHER},
	{SYS_io_uring_enter, "io_uring", OTHER},
	{SYS_sched_yield, "yield", OTHER},
#ifdef SYS_vfork
	{SYS_vfork, "child", OTHER},
#endif
	{SYS_clone, "child", OTHER}, /* posix_spawn() waits for the exec */
	{SYS_clone3, "child", OTHER},
	{SYS_accept, "idle: accept", IDLE_FILE},
	{SYS_accept4, "idle: accept", IDLE_FILE},
#ifdef SYS_poll
	{SYS_poll, "idle: poll", IDLE_FILE},
#endif
	{SYS_ppoll, "idle: ppoll", IDLE_FILE},
#ifdef SYS_epoll_wait
	IDLE(epoll_wait),
#endif
	IDLE(epoll_pwait),
#ifdef SYS_epoll_pwait2
	IDLE(epoll_pwait2),
#endif
#ifdef SYS_select
	IDLE(select),
#endif
	IDLE(pselect6),
#ifdef SYS_pause
	IDLE(pause),
#endif
	IDLE(rt_sigsuspend),
	IDLE(rt_sigtimedwait),
	FILE_(read),
	FILE_(readv),
	FILE_(pread64),
	FILE_(preadv),
	FILE_(write),
	FILE_(writev),
	FILE_(pwrite64),
	FILE_(pwritev),
	FILE_(recvfrom),
	FILE_(recvmsg),
	FILE_(recvmmsg),
	FILE_(sendto),
	FILE_(sendmsg),
	FILE_(sendmmsg),
	FILE_(connect),
	FILE_(fsync),
	FILE_(fdatasync),
	FILE_(sync_file_range),
	FILE_(flock),
	FILE_(fcntl),
	FILE_(fallocate),
	FILE_(ftruncate),
	FILE_(getdents64),
	FILE_(ioctl),
};

static const char *file_name(unsigned type)
{
	switch (type << 12) {
	case S_IFIFO:
		return "pipe";
	case S_IFSOCK:
		return "socket";
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFCHR:
		return "device";
	case S_IFBLK:
		return "block device";
	default:
		return "anonymous file"; /* an eventfd, timerfd, ... */
	}
}

static const struct call *find_call(int number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].number == number)
			return &calls[i];
	}
	return NULL;
}

/* Names a call that is not in `calls`, by libseccomp's table; by its number if libseccomp is older
 * than the call. */
static void name_other(int number, char ret_name[static WAIT_REASON_MAX])
{
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

	if (name)
		snprintf(ret_name, WAIT_REASON_MAX, "[system call: %s]", name);
	else
		snprintf(ret_name, WAIT_REASON_MAX, "[system call: %d]", number);
	free(name);
}

/* Returns whether the thread waited for a disk within the kernel. The kernel also accounts each
 * wait for completions of an io_uring as I/O, but such a wait can be interrupted, and a wait for a
 * disk cannot. */
static bool is_for_block_io(const struct stackd_wait *wait)
{
	return wait->is_io && !(wait->call == SYS_io_uring_enter && wait->state & INTERRUPTIBLE);
}

const char *wait_reason_blocked(const struct stackd_wait *wait, bool is_in_fault,
				char ret_name[static WAIT_REASON_MAX])
{
	const struct call *call = find_call(wait->call);

	if (wait->state & STOPPED)
		snprintf(ret_name, WAIT_REASON_MAX, "[stopped]");
	else if (is_for_block_io(wait))
		snprintf(ret_name, WAIT_REASON_MAX, "[block I/O]");
	else if (is_in_fault || wait->call < 0)
		snprintf(ret_name, WAIT_REASON_MAX, "[page fault]");
	else if (call && call->what == DESCRIPTOR)
		snprintf(ret_name, WAIT_REASON_MAX, "[%s: %s]", file_name(wait->file_type),
			 call->name);
	else if (call)
		snprintf(ret_name, WAIT_REASON_MAX, "[%s]", call->name);
	else
		name_other(wait->call, ret_name);
	return ret_name;
}

int wait_reason_restarted(const char *function)
{
	static const struct {
		const char *start;
		int call;
	} restarts[] = {
		{"hrtimer_nanosleep_restart", SYS_clock_nanosleep},
		{"do_nanosleep", SYS_clock_nanosleep},
		{"alarm_timer_nsleep_restart", SYS_clock_nanosleep},
		{"posix_cpu_nsleep_restart", SYS_clock_nanosleep},
		{"do_cpu_nanosleep", SYS_clock_nanosleep},
		{"futex_wait_restart", SYS_futex},
		{"futex_wait", SYS_futex}, /* also with what follows it: futex_wait_queue */
		{"__futex_wait", SYS_futex},
		{"do_restart_poll", POLL},
		{"do_sys_poll", POLL},
	};

	for (size_t i = 0; i < sizeof(restarts) / sizeof(restarts[0]); i++) {
		if (!strncmp(function, restarts[i].start, strlen(restarts[i].start)))
			return restarts[i].call;
	}
	/* If no function of the table is on the stack, the call was a sleep, because that is the
	 * only call whose functions are all in the scheduler's text, which kernel stacks leave
	 * out. */
	return kernel_entry_is_restart(function) ? SYS_clock_nanosleep : -1;
}

bool wait_reason_has_object(const struct stackd_wait *wait, bool is_in_fault)
{
	const struct call *call = find_call(wait->call);
	bool is_futex = wait->object == STACKD_OBJECT_FUTEX;

	if (!call || is_in_fault || wait->state & STOPPED)
		return false;
	return call->what == FUTEX ? is_futex && !wait->is_io : call->what != OTHER && !is_futex;
}

const char *wait_reason_runnable(uint8_t state)
{
	if (state == STACKD_STATE_THROTTLED)
		return WAIT_THROTTLED;
	return state ? WAIT_WOKEN : WAIT_PREEMPTED;
}
