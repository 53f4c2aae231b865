/* SPDX-License-Identifier: MIT */
/*
 * Starts threads; see thread.h. A new thread inherits the signal mask of the thread that creates
 * it, so the caller blocks all signals for the time of the creation. Blocking them inside the new
 * thread would leave a moment in which it could still receive one.
 */
#include "base/thread.h"

#include <signal.h>

int thread_start(void *(*run)(void *arg), void *arg, pthread_t *ret_thread)
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	sigfillset(&all);
	err = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (err)
		return -err;
	err = pthread_create(&thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		*ret_thread = thread;
	return -err;
}
