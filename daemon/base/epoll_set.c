/* SPDX-License-Identifier: MIT */
/* Opens timers, signals and epoll; see epoll_set.h. */
#include "daemon/base/epoll_set.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MAX_WOKEN 8

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

static int new_timer(uint64_t first_ns, uint64_t every_ns, int flags)
{
	const struct itimerspec spec = {
		.it_value = timespec_of(first_ns),
		.it_interval = timespec_of(every_ns),
	};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0)
		timerfd_settime(fd, flags, &spec, NULL);
	return fd;
}

int epoll_set_open(struct epoll_set *w, uint64_t tick_ns)
{
	sigset_t ends;
	int err;

	*w = EPOLL_SET_NONE;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	w->tick = new_timer(tick_ns, tick_ns, 0);
	w->ends = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll < 0 || w->signals < 0 || w->tick < 0 || w->ends < 0)
		return -errno;
	err = epoll_set_watch_end(w, w->signals);
	return err ? err : epoll_set_watch(w, w->tick);
}

void epoll_set_tick(const struct epoll_set *w, uint64_t tick_ns)
{
	const struct itimerspec spec = {
		.it_value = timespec_of(tick_ns),
		.it_interval = timespec_of(tick_ns),
	};

	timerfd_settime(w->tick, 0, &spec, NULL);
}

int epoll_set_watch(struct epoll_set *w, int fd)
{
	struct epoll_event want = {.events = EPOLLIN, .data.fd = fd};

	if (fd < 0)
		return 0;
	return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &want) ? -errno : 0;
}

int epoll_set_watch_end(struct epoll_set *w, int fd)
{
	struct epoll_event want = {.events = EPOLLIN, .data.fd = fd};
	int err = epoll_set_watch(w, fd);

	if (err || fd < 0)
		return err;
	return epoll_ctl(w->ends, EPOLL_CTL_ADD, fd, &want) ? -errno : 0;
}

int epoll_set_deadline(struct epoll_set *w, uint64_t at_ns)
{
	w->deadline = new_timer(at_ns, 0, TFD_TIMER_ABSTIME);
	return w->deadline < 0 ? -errno : epoll_set_watch_end(w, w->deadline);
}

int epoll_set_wait(const struct epoll_set *w, int most_ms, int *ret_fds, int max)
{
	struct epoll_event woken[MAX_WOKEN];
	int n = epoll_wait(w->epoll, woken, max < MAX_WOKEN ? max : MAX_WOKEN, most_ms);

	for (int i = 0; i < n; i++)
		ret_fds[i] = woken[i].data.fd;
	return n < 0 ? 0 : n;
}

bool epoll_set_has_signal(const struct epoll_set *w)
{
	struct pollfd signals = {.fd = w->signals, .events = POLLIN};

	return poll(&signals, 1, 0) > 0;
}

bool epoll_set_take_signals(struct epoll_set *w)
{
	struct signalfd_siginfo info;
	bool any = false;

	while (read(w->signals, &info, sizeof(info)) == sizeof(info))
		any = true;
	return any;
}

void epoll_set_take_tick(struct epoll_set *w)
{
	uint64_t ticks;

	while (read(w->tick, &ticks, sizeof(ticks)) > 0)
		;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

void epoll_set_close(struct epoll_set *w)
{
	close_if_open(w->epoll);
	close_if_open(w->signals);
	close_if_open(w->tick);
	close_if_open(w->deadline);
	close_if_open(w->ends);
	*w = EPOLL_SET_NONE;
}
