/* SPDX-License-Identifier: MIT */
/*
 * A call of MPI that is suspended: MPI_Reduce_local() calls a function of the program, which
 * switches to another coroutine; that one calls MPI_Type_size() argv[1] times, on a stack that lies
 * above the suspended one or below it. Then the suspended call goes on, and returns. All of that
 * twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <mpi.h>

enum { STACK = 1 << 18, GUARD = 4096, KINDS = 2 };

static ucontext_t scheduler, callers[KINDS], others[KINDS];
static int rounds, kind;

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
	(void)type;
	swapcontext(&callers[kind], &scheduler);
	for (int i = 0; i < *count; i++)
		((int *)inout)[i] += ((int *)in)[i];
}

static void call(void)
{
	int one = 1, sum = 2;
	MPI_Op op;

	MPI_Op_create(add, 1, &op);
	MPI_Reduce_local(&one, &sum, 1, MPI_INT, op);
	if (sum != 3)
		abort();
	MPI_Op_free(&op);
}

static void ask(void)
{
	int size;

	for (int i = 0; i < rounds; i++)
		MPI_Type_size(MPI_INT, &size);
}

static void prepare(ucontext_t *context, char *stack, void (*function)(void))
{
	mprotect(stack + GUARD, STACK - GUARD, PROT_READ | PROT_WRITE);
	getcontext(context);
	context->uc_stack.ss_sp = stack + GUARD;
	context->uc_stack.ss_size = STACK - GUARD;
	context->uc_link = &scheduler;
	makecontext(context, function, 0);
}

int main(int argc, char **argv)
{
	char *stacks = mmap(NULL, 2 * KINDS * STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	rounds = argc > 1 ? atoi(argv[1]) : 1;
	if (stacks == MAP_FAILED)
		return 1;
	prepare(&callers[0], stacks, call);
	prepare(&others[0], stacks + STACK, ask);
	prepare(&others[1], stacks + 2 * STACK, ask);
	prepare(&callers[1], stacks + 3 * STACK, call);
	MPI_Init(&argc, &argv);
	for (kind = 0; kind < KINDS; kind++) {
		swapcontext(&scheduler, &callers[kind]);
		swapcontext(&scheduler, &others[kind]);
		swapcontext(&scheduler, &callers[kind]);
	}
	MPI_Finalize();
	return 0;
}
