/* SPDX-License-Identifier: MIT */
/* Notes since when the oldest record waits for its table; see table_wait.h. */
#include "daemon/recorder/table_wait.h"

bool table_wait_goes_on(struct table_wait *h, bool awaits, uint64_t now_ns, uint64_t waiting_bytes)
{
	if (!awaits) {
		h->since_ns = 0;
		return false;
	}
	if (!h->since_ns)
		h->since_ns = now_ns;
	return now_ns - h->since_ns < TABLE_WAIT_NS && waiting_bytes < TABLE_WAIT_BYTES;
}
