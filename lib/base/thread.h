/* SPDX-License-Identifier: MIT */
/* Threads of the library and the daemon, which handle no signals. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/*
 * Starts a thread with all signals blocked, so that the kernel delivers the process's signals to
 * the threads that the program chose for them. The mask of the calling thread is afterwards as it
 * was before. `ret_thread` receives the thread, which the caller joins; it is untouched on failure.
 * Returns 0 or the -errno of pthread_create(), mostly -EAGAIN.
 */
int thread_start(void *(*run)(void *arg), void *arg, pthread_t *ret_thread);

#endif
