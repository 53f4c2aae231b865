/* SPDX-License-Identifier: MIT */
/* Keeps the state of an outage of the store; see outage.h. */
#include "daemon/archive/outage.h"

#include <errno.h>

bool outage_committed(struct outage *o, int err, bool is_lost, uint64_t now_ns)
{
	uint64_t patience_ns = err == -EBUSY ? OUTAGE_BUSY_NS : OUTAGE_PATIENCE_NS;

	if (o->is_out) /* the main loop has begun an outage meanwhile, since the queue was full */
		return false;
	o->err = err;
	if (!err) {
		o->failing_ns = 0;
		if (!is_lost)
			o->waiting = 0;
		return is_lost;
	}
	if (!o->failing_ns)
		o->failing_ns = now_ns;
	return is_lost || now_ns - o->failing_ns >= patience_ns ||
	       o->waiting >= OUTAGE_MOST_SAMPLES;
}

void outage_begin(struct outage *o, int err, uint64_t now_ns)
{
	o->is_out = true;
	o->err = err;
	o->retry_ns = now_ns;
	o->failing_ns = 0;
	o->unwritten += o->waiting;
	o->waiting = 0;
}

bool outage_wants_window(const struct outage *o, uint64_t now_ns)
{
	return o->is_out && now_ns >= o->retry_ns;
}

bool outage_goes_on(struct outage *o, int err, uint64_t now_ns)
{
	bool drops = err == -ENOSPC && (!o->dropped_ns || now_ns - o->dropped_ns >= o->window_ns);

	o->err = err;
	o->retry_ns = now_ns + OUTAGE_RETRY_NS;
	if (drops)
		o->dropped_ns = now_ns;
	return drops;
}

void outage_end(struct outage *o)
{
	o->is_out = false;
	o->err = 0;
}
