/* SPDX-License-Identifier: MIT */
/* Notes since when the oldest record waits for its table; see table_wait.h. */
#include "daemon/recorder/table_wait.h"

bool table_wait_goes_on(struct table_wait *h, bool awaits, uint64_t now_ns, uint64_t waiting_bytes)
{
	if (!awaits && h->since_ns) {
		const uint64_t ns = now_ns - h->since_ns;

		h->done_ns += ns < TABLE_WAIT_NS ? ns : TABLE_WAIT_NS;
		h->since_ns = 0;
	}
	if (!awaits)
		return false;
	if (!h->since_ns)
		h->since_ns = now_ns;
	return now_ns - h->since_ns < TABLE_WAIT_NS &&
	       now_ns - h->since_ns + h->done_ns < TABLE_WAIT_ALL_NS &&
	       waiting_bytes < TABLE_WAIT_BYTES;
}

void table_wait_forget(struct table_wait *h)
{
	*h = (struct table_wait){0};
}
