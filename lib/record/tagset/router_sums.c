/* SPDX-License-Identifier: MIT */
/*
 * Sums over all processes; see router.h. In round i, a process exchanges the sum of its group with
 * the process whose number differs from its own in bit i, and whose group has the same size. Then
 * it knows the sum of both groups, and the sum over the processes before it in them. A process
 * beyond the largest power of two first gives its numbers to one of the other processes, which adds
 * such numbers up separately, because they come after all numbers of the first processes.
 */
#include "tagset/router.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct router_comm router_alone = {.size = 1};

struct summing {
	const struct router_comm *comm;
	size_t n; /* numbers */
	bool is_largest;
	/* n numbers of the first `owners` processes, then n numbers of the processes after them */
	uint64_t *all, *before;
};

static void add(const struct summing *s, uint64_t *into, const uint64_t *from)
{
	for (size_t i = 0; i < 2 * s->n; i++) {
		if (!s->is_largest)
			into[i] += from[i];
		else if (from[i] > into[i])
			into[i] = from[i];
	}
}

/* Exchanges arrays of `n_out` and `n_in` numbers with another process. */
static int exchange(const struct summing *s, uint32_t other, const uint64_t *numbers, size_t n_out,
		    uint64_t *ret_numbers, size_t n_in)
{
	struct buf out = {0}, in = {0};
	int err;

	buf_put(&out, numbers, n_out * sizeof(*numbers));
	err = out.failed ? -ENOMEM : s->comm->exchange(s->comm->arg, other, &out, &in);
	if (err == 0 && in.len != n_in * sizeof(*numbers))
		err = -EBADMSG;
	if (err == 0 && n_in)
		memcpy(ret_numbers, in.data, in.len);
	buf_free(&out);
	buf_free(&in);
	return err;
}

/* Sums up over the first `owners` processes, a power of two, and separately what the processes
 * after them have given them. */
static int sum_up(struct summing *s, uint32_t owners, uint64_t *others)
{
	uint32_t rank = s->comm->rank, extra = rank + owners;
	bool has_extra = extra < s->comm->size;
	int err = has_extra ? exchange(s, extra, NULL, 0, s->all + s->n, s->n) : 0;

	for (uint32_t bit = 1; err == 0 && bit < owners; bit *= 2) {
		err = exchange(s, rank ^ bit, s->all, 2 * s->n, others, 2 * s->n);
		if (err == 0 && rank & bit)
			add(s, s->before, others);
		if (err == 0)
			add(s, s->all, others);
	}
	/* For a process after the first ones, the sum before it is that of all the first ones and
	 * of some of the others. */
	for (size_t i = 0; i < s->n; i++) {
		uint64_t first = s->all[i], beyond = s->all[s->n + i];

		if (s->is_largest)
			s->all[i] = beyond > first ? beyond : first;
		else
			s->all[i] = first + beyond;
		s->all[s->n + i] = first + s->before[s->n + i];
	}
	return err == 0 && has_extra ? exchange(s, extra, s->all, 2 * s->n, NULL, 0) : err;
}

static int run(const struct router_comm *comm, uint64_t *numbers, size_t n, uint64_t *ret_before,
	       bool is_largest)
{
	struct summing s = {.comm = comm, .n = n, .is_largest = is_largest};
	uint32_t owners = router_owners(comm);
	uint64_t *others = calloc(2 * n + 1, sizeof(*others));
	int err;

	s.all = calloc(2 * n + 1, sizeof(*s.all));
	s.before = calloc(2 * n + 1, sizeof(*s.before));
	err = s.all && s.before && others ? 0 : -ENOMEM;
	if (err == 0)
		memcpy(s.all, numbers, n * sizeof(*numbers));
	if (err == 0 && comm->rank < owners)
		err = sum_up(&s, owners, others);
	else if (err == 0)
		err = exchange(&s, comm->rank - owners, numbers, n, NULL, 0);
	if (err == 0 && comm->rank >= owners) {
		err = exchange(&s, comm->rank - owners, NULL, 0, s.all, 2 * n);
		if (err == 0)
			memcpy(s.before, s.all + n, n * sizeof(*numbers));
	}
	if (err == 0)
		memcpy(numbers, s.all, n * sizeof(*numbers));
	if (err == 0 && ret_before)
		memcpy(ret_before, s.before, n * sizeof(*numbers));
	free(s.all);
	free(s.before);
	free(others);
	return err;
}

int router_sum(const struct router_comm *comm, uint64_t *numbers, size_t n, uint64_t *ret_before)
{
	if (comm->size > 1 && n)
		return run(comm, numbers, n, ret_before, false);
	if (ret_before && n)
		memset(ret_before, 0, n * sizeof(*ret_before));
	return 0;
}

int router_largest(const struct router_comm *comm, uint64_t *numbers, size_t n)
{
	return comm->size > 1 && n ? run(comm, numbers, n, NULL, true) : 0;
}
