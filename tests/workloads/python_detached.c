/* SPDX-License-Identifier: MIT */
/* Calls a function of Python as a greenlet begins: the thread's chain of frames ends at it, and
 * nothing leads to the functions below. For CPython 3.13, with the offset of the last frame in
 * PyThreadState. */
extern void *PyThreadState_Get(void);
extern void *PyObject_CallNoArgs(void *callable);

void detached(void *callable, long offset);

void detached(void *callable, long offset)
{
	void **last = (void **)((char *)PyThreadState_Get() + offset), *saved = *last;

	*last = (void *)0;
	PyObject_CallNoArgs(callable);
	*last = saved;
}
