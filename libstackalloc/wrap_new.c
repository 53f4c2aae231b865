/* SPDX-License-Identifier: MIT */
/*
 * Operator new and delete in all their forms, by their symbols. The C++ library's own call malloc()
 * and free(), where they are counted. Allocators that bring their own (jemalloc, tcmalloc,
 * mimalloc) do not, so these are counted here: next_is_allocators() tells.
 */
#include <stdatomic.h>
#include <stdbool.h>

#include "next.h"
#include "wrap.h"

#define EXPORT __attribute__((visibility("default")))

/* The function behind one of ours. */
struct operator
{
	void *_Atomic function; /* NULL: not looked up yet */
	bool is_counted;	/* here */
};

__attribute__((noinline, cold)) static void *operator_find(struct operator* o, const char *symbol)
{
	void *function = next_cxx(symbol);

	o->is_counted = next_is_allocators(function);
	atomic_store_explicit(&o->function, function, memory_order_release);
	return function;
}

static inline void *operator_next(struct operator* o, const char *symbol)
{
	void *function = atomic_load_explicit(&o->function, memory_order_acquire);

	return __builtin_expect(function != NULL, 1) ? function : operator_find(o, symbol);
}

/* SYMBOL(size, ...): a form of new. */
#define NEW(symbol, parameters, arguments)                                                         \
	void *symbol parameters;                                                                   \
	EXPORT void *symbol parameters                                                             \
	{                                                                                          \
		static struct operator behind;                                                     \
		void *(*next_new)parameters = operator_next(&behind, #symbol);                     \
                                                                                                   \
		if (!wrap_is_heard() || !behind.is_counted)                                        \
			return next_new arguments;                                                 \
		return wrap_allocated(next_new arguments, size);                                   \
	}

/* SYMBOL(pointer, ...): a form of delete. */
#define DELETE(symbol, parameters, arguments)                                                      \
	void symbol parameters;                                                                    \
	EXPORT void symbol parameters                                                              \
	{                                                                                          \
		static struct operator behind;                                                     \
		void(*next_delete) parameters = operator_next(&behind, #symbol);                   \
                                                                                                   \
		if (behind.is_counted)                                                             \
			wrap_before_free(pointer);                                                 \
		next_delete arguments;                                                             \
	}

/* Of the last parameter of nothrow forms, a reference. */
typedef const void *nothrow_t;

NEW(_Znwm, (size_t size), (size))
NEW(_Znam, (size_t size), (size))
NEW(_ZnwmRKSt9nothrow_t, (size_t size, nothrow_t t), (size, t))
NEW(_ZnamRKSt9nothrow_t, (size_t size, nothrow_t t), (size, t))
NEW(_ZnwmSt11align_val_t, (size_t size, size_t alignment), (size, alignment))
NEW(_ZnamSt11align_val_t, (size_t size, size_t alignment), (size, alignment))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, nothrow_t t),
    (size, alignment, t))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, nothrow_t t),
    (size, alignment, t))

DELETE(_ZdlPv, (void *pointer), (pointer))
DELETE(_ZdaPv, (void *pointer), (pointer))
DELETE(_ZdlPvm, (void *pointer, size_t size), (pointer, size))
DELETE(_ZdaPvm, (void *pointer, size_t size), (pointer, size))
DELETE(_ZdlPvRKSt9nothrow_t, (void *pointer, nothrow_t t), (pointer, t))
DELETE(_ZdaPvRKSt9nothrow_t, (void *pointer, nothrow_t t), (pointer, t))
DELETE(_ZdlPvSt11align_val_t, (void *pointer, size_t alignment), (pointer, alignment))
DELETE(_ZdaPvSt11align_val_t, (void *pointer, size_t alignment), (pointer, alignment))
DELETE(_ZdlPvmSt11align_val_t, (void *pointer, size_t size, size_t alignment),
       (pointer, size, alignment))
DELETE(_ZdaPvmSt11align_val_t, (void *pointer, size_t size, size_t alignment),
       (pointer, size, alignment))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *pointer, size_t alignment, nothrow_t t),
       (pointer, alignment, t))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *pointer, size_t alignment, nothrow_t t),
       (pointer, alignment, t))
