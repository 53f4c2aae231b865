/* SPDX-License-Identifier: MIT */
/* Keeps what is saved, less than 0 while there is a debt; see cpu_share.h. */
#include "daemon/base/cpu_share.h"

struct cpu_share cpu_share_begin(double share, uint64_t most_ns, uint64_t now_ns)
{
	return (struct cpu_share){.share = share,
				  .most_ns = (double)most_ns,
				  .saved_ns = (double)most_ns,
				  .as_of_ns = now_ns};
}

static void save(struct cpu_share *s, uint64_t now_ns)
{
	if (now_ns <= s->as_of_ns)
		return;
	s->saved_ns += (double)(now_ns - s->as_of_ns) * s->share;
	if (s->saved_ns > s->most_ns)
		s->saved_ns = s->most_ns;
	s->as_of_ns = now_ns;
}

void cpu_share_change(struct cpu_share *s, double part_of_core, bool keeps_saved)
{
	s->share = part_of_core;
	if (!keeps_saved && s->saved_ns > 0)
		s->saved_ns = 0;
}

void cpu_share_spend(struct cpu_share *s, uint64_t spent_ns, uint64_t now_ns)
{
	save(s, now_ns);
	s->saved_ns -= (double)spent_ns;
}

uint64_t cpu_share_wait_ns(struct cpu_share *s, uint64_t now_ns)
{
	if (!(s->share > 0))
		return 0;
	save(s, now_ns);
	return s->saved_ns >= 0 ? 0 : (uint64_t)(-s->saved_ns / s->share) + 1;
}
