/* SPDX-License-Identifier: MIT */
/* A moment; see hold.h. */
#include "daemon/model/hold.h"

bool hold_goes_on(struct hold *h, bool awaits, uint64_t now_ns, uint64_t waiting_bytes)
{
	if (!awaits) {
		h->since_ns = 0;
		return false;
	}
	if (!h->since_ns)
		h->since_ns = now_ns;
	return now_ns - h->since_ns < HOLD_NS && waiting_bytes < HOLD_BYTES;
}
