/* SPDX-License-Identifier: MIT */
/*
 * Wraps operator new and delete in all their forms, by their symbols. Those of the C++ library call
 * malloc() and free(), where allocations are counted; so do some of jemalloc's. Most of the forms
 * in allocators (jemalloc, tcmalloc, mimalloc) do not, so they are counted here. The first measured
 * call of each form finds out which kind it is: whether the call beneath it has counted.
 */
#include <stdatomic.h>
#include <stdbool.h>

#include "next.h"
#include "wrap.h"

#define EXPORT __attribute__((visibility("default")))

enum counted { NOT_KNOWN, COUNTED_HERE, COUNTED_BENEATH };

/* The next function of a wrapper. */
struct operator
{
	void *_Atomic function; /* NULL: not looked up yet */
	_Atomic enum counted counted;
};

__attribute__((noinline, cold)) static void *operator_find(struct operator* o, const char *symbol)
{
	void *function = next_cxx(symbol);

	atomic_store_explicit(&o->function, function, memory_order_release);
	return function;
}

static inline void *operator_next(struct operator* o, const char *symbol)
{
	void *function = atomic_load_explicit(&o->function, memory_order_acquire);

	return __builtin_expect(function != NULL, 1) ? function : operator_find(o, symbol);
}

static inline bool operator_is(struct operator* o, enum counted counted)
{
	return atomic_load_explicit(&o->counted, memory_order_relaxed) == counted;
}

/* Notes whether the first measured call, of `size` bytes, was counted beneath, and counts it if
 * not. Returns the block. `left` and `taken` are the thread's values from before the call. */
__attribute__((noinline, cold)) static void *
operator_learn(struct operator* o, void *block, size_t size, int64_t left, uint64_t taken)
{
	bool is_counted = sample_left != left || sample_taken != taken;

	if (!block || !wrap_is_heard())
		return block;
	atomic_store(&o->counted, is_counted ? COUNTED_BENEATH : COUNTED_HERE);
	return operator_is(o, COUNTED_HERE) && sample_is_due(size) ? wrap_sampled(block, size)
								   : block;
}

/* Wraps a form of new: SYMBOL(size, ...). */
#define NEW(symbol, parameters, arguments)                                                         \
	void *symbol parameters;                                                                   \
	EXPORT void *symbol parameters                                                             \
	{                                                                                          \
		static struct operator behind;                                                     \
		void *(*next_new)parameters = operator_next(&behind, #symbol);                     \
		int64_t left = sample_left;                                                        \
		uint64_t taken = sample_taken;                                                     \
                                                                                                   \
		if (!wrap_is_heard() || operator_is(&behind, COUNTED_BENEATH))                     \
			return next_new arguments;                                                 \
		if (operator_is(&behind, NOT_KNOWN))                                               \
			return operator_learn(&behind, next_new arguments, size, left, taken);     \
		return sample_is_due(size) ? wrap_sampled(next_new arguments, size)                \
					   : next_new arguments;                                   \
	}

/* Wraps a form of delete: SYMBOL(pointer, ...). If it calls free(), the block is no longer in the
 * set by then. */
#define DELETE(symbol, parameters, arguments)                                                      \
	void symbol parameters;                                                                    \
	EXPORT void symbol parameters                                                              \
	{                                                                                          \
		static struct operator behind;                                                     \
		void(*next_delete) parameters = operator_next(&behind, #symbol);                   \
                                                                                                   \
		if (live_has_any() && live_may_have(pointer))                                      \
			wrap_freed(pointer);                                                       \
		next_delete arguments;                                                             \
	}

/* The last parameter of nothrow forms, which is a reference. */
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
