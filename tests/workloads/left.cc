/* SPDX-License-Identifier: MIT */
/*
 * Functions that are left without a return, and functions that run on several stacks, to be
 * measured as regions. In argv[1] rounds of each kind:
 *
 *   three, two, one    an exception that passes through three functions
 *   jumps              longjmp()
 *   handled            siglongjmp() out of a handler on an alternate stack, within interrupted()
 *   ends               pthread_exit()
 *   quits, replaced    _exit() and execl() in a child
 *   resumed, step      coroutines, which are suspended within both; abandoned() is never resumed
 *   beside, deep, leaf recursion of depth 200 beside two others
 *
 * Every second pass of the first four is left; after each of these `next` is passed through, where
 * the thread is seen again. At the end the program says for each function
 *
 *   NAME VISITS LEFT WITHIN_NS AROUND_NS
 *
 * how long the passes that were left took, from their first statement to their last one, and from
 * before the call until after `next`; 0: that is not known.
 */
#include <cstdio>
#include <cstring>
#include <csetjmp>
#include <ctime>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "workload.h"

#define REGION extern "C" CALLEE

enum { STACK = 65536, COROUTINES = 4, DEPTH = 200 };

struct counted {
	const char *name;
	unsigned long visits, left, within_ns, around_ns;
};

static counted three_is = {"three", 0, 0, 0, 0}, two_is = {"two", 0, 0, 0, 0},
	       one_is = {"one", 0, 0, 0, 0}, jumps_is = {"jumps", 0, 0, 0, 0},
	       handled_is = {"handled", 0, 0, 0, 0}, interrupted_is = {"interrupted", 0, 0, 0, 0},
	       ends_is = {"ends", 0, 0, 0, 0}, next_is = {"next", 0, 0, 0, 0},
	       resumed_is = {"resumed", 0, 0, 0, 0}, step_is = {"step", 0, 0, 0, 0},
	       abandoned_is = {"abandoned", 0, 0, 0, 0}, beside_is = {"beside", 0, 0, 0, 0},
	       leaf_is = {"leaf", 0, 0, 0, 0};
static unsigned rounds;

static unsigned long now()
{
	timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (unsigned long)time.tv_sec * 1000000000ul + (unsigned long)time.tv_nsec;
}

/* A pass begins; returns when. */
static unsigned long enter(counted &c)
{
	c.visits++;
	return now();
}

/* It is being left, after so long. */
static void leave(counted &c, unsigned long since)
{
	c.left++;
	c.within_ns += now() - since;
}

REGION void next()
{
	next_is.visits++;
	SPIN(100);
	KEEP;
}

/* --- exceptions and jumps --------------------------------------------------------------------- */

REGION void one(unsigned round)
{
	unsigned long since = enter(one_is);

	SPIN(1000);
	if (round % 2) {
		leave(one_is, since);
		throw 1;
	}
	KEEP;
}

REGION void two(unsigned round)
{
	unsigned long since = enter(two_is);

	if (round % 2)
		leave(two_is, since);
	one(round);
	KEEP;
}

REGION void three(unsigned round)
{
	unsigned long since = enter(three_is);

	if (round % 2)
		leave(three_is, since);
	two(round);
	KEEP;
}

static jmp_buf back;

REGION void jumps(unsigned round)
{
	unsigned long since = enter(jumps_is);

	SPIN(1000);
	if (round % 2) {
		leave(jumps_is, since);
		longjmp(back, 1);
	}
	KEEP;
}

static void add_around(unsigned round, unsigned long since, counted *c)
{
	if (round % 2) {
		next();
		c->around_ns += now() - since;
	}
}

static void exceptions()
{
	for (unsigned i = 0; i < rounds; i++) {
		unsigned long since = now();

		try {
			three(i);
		} catch (int) {
		}
		add_around(i, since, &one_is);
		two_is.around_ns = three_is.around_ns = one_is.around_ns;
	}
	for (volatile unsigned i = 0; i < rounds; i++) {
		volatile unsigned long since = now();

		if (!setjmp(back))
			jumps(i);
		add_around(i, since, &jumps_is);
	}
}

/* --- handlers --------------------------------------------------------------------------------- */

static sigjmp_buf out;
static volatile unsigned handled_round;

REGION void handled(unsigned round)
{
	unsigned long since = enter(handled_is);

	SPIN(1000);
	if (round % 2) {
		leave(handled_is, since);
		siglongjmp(out, 1);
	}
	KEEP;
}

static void handler(int)
{
	handled(handled_round);
	KEEP;
}

REGION void interrupted(unsigned round)
{
	unsigned long since = enter(interrupted_is);

	if (round % 2)
		leave(interrupted_is, since);
	raise(SIGUSR1);
	SPIN(1000);
	KEEP;
}

/* With an alternate stack, which is below the thread's own or above it. */
static void handlers(void *alternate)
{
	struct sigaction action = {};
	stack_t stack = {};

	stack.ss_sp = alternate;
	stack.ss_size = STACK;
	sigaltstack(&stack, NULL);
	action.sa_handler = handler;
	action.sa_flags = SA_ONSTACK | SA_NODEFER;
	sigaction(SIGUSR1, &action, NULL);
	for (volatile unsigned i = 0; i < rounds; i++) {
		volatile unsigned long since = now();

		handled_round = i;
		if (!sigsetjmp(out, 1))
			interrupted(i);
		add_around(i, since, &handled_is);
		interrupted_is.around_ns = handled_is.around_ns;
	}
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
}

/* Calls it deeper in the stack than its own variable is. */
static CALLEE void handlers_above()
{
	char above[STACK];

	KEEP;
	handlers(above);
	KEEP;
}

/* --- ends ------------------------------------------------------------------------------------- */

REGION void ends(unsigned round)
{
	unsigned long since = enter(ends_is);

	SPIN(1000);
	if (round % 2) {
		leave(ends_is, since);
		pthread_exit(NULL);
	}
	KEEP;
}

static void *run(void *arg)
{
	ends((unsigned)(unsigned long)arg);
	return NULL;
}

REGION void quits()
{
	_exit(0);
}

REGION void replaced(const char *program)
{
	execl(program, program, "0", (char *)NULL);
	_exit(1);
}

static void endings(const char *program)
{
	for (unsigned long i = 0; i < rounds; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, (void *)i) == 0)
			pthread_join(thread, NULL);
	}
	for (unsigned i = 0; i < 2; i++) {
		if (fork() == 0) {
			if (i)
				replaced(program);
			quits();
		}
		wait(NULL);
	}
}

/* --- coroutines ------------------------------------------------------------------------------- */

static ucontext_t scheduler, coroutines[COROUTINES];

REGION void resumed(int self)
{
	resumed_is.visits++;
	swapcontext(&coroutines[self], &scheduler);
	KEEP;
}

REGION void step(int self)
{
	step_is.visits++;
	resumed(self);
	KEEP;
}

REGION void abandoned(int self)
{
	abandoned_is.visits++;
	abandoned_is.left++;
	swapcontext(&coroutines[self], &scheduler);
	KEEP;
}

static void body(int self)
{
	for (unsigned i = 0; i < rounds; i++)
		step(self);
	abandoned(self);
}

/* Their stacks are in one mapping. */
static void take_turns(char *stacks)
{
	for (int i = 0; i < COROUTINES; i++) {
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = stacks + (size_t)i * STACK;
		coroutines[i].uc_stack.ss_size = STACK;
		makecontext(&coroutines[i], (void (*)())body, 1, i);
	}
	for (unsigned i = 0; i <= rounds; i++) {
		for (int k = 0; k < COROUTINES; k++)
			swapcontext(&scheduler, &coroutines[k]);
	}
}

/* --- recursion -------------------------------------------------------------------------------- */

REGION void leaf()
{
	leaf_is.visits++;
	SPIN(100);
	KEEP;
}

REGION void deep(unsigned depth)
{
	if (depth)
		deep(depth - 1);
	else
		leaf();
	KEEP;
}

REGION void beside()
{
	beside_is.visits++;
	deep(DEPTH);
	KEEP;
}

int main(int argc, char **argv)
{
	static char in_data[COROUTINES * STACK], alternate[STACK];
	counted *const all[] = {&three_is,  &two_is,	     &one_is,  &jumps_is,   &handled_is,
				&ends_is,   &interrupted_is, &next_is, &resumed_is, &step_is,
				&beside_is, &abandoned_is,   &leaf_is};
	void *mapped = mmap(NULL, COROUTINES * STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
	if (!rounds || mapped == MAP_FAILED)
		return 0;
	exceptions();
	handlers(alternate);
	handlers_above();
	endings(argv[0]);
	take_turns(in_data);
	take_turns((char *)mapped);
	for (unsigned i = 0; i < 4; i++)
		beside();
	for (const counted *c : all)
		printf("%s %lu %lu %lu %lu\n", c->name, c->visits, c->left, c->within_ns,
		       c->around_ns);
	return 0;
}
