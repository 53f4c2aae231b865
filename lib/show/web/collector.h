/* SPDX-License-Identifier: MIT */
/* Which samples were taken while a runtime collected garbage: known by the names of its functions
 * on the path, or, in Java, of its threads. What has other names is not found. */
#ifndef WEB_COLLECTOR_H
#define WEB_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store_reader.h"

struct collector;

/* Makes what looks at samples of a recording, whose tables must outlive it. Returns 0 or -ENOMEM.
 */
int collector_new(const struct store_tables *tables, struct collector **ret_collector);
void collector_free(struct collector *collector); /* NULL is allowed */

/* Returns whether a sample of this thread and path is of collecting garbage. */
bool collector_is(struct collector *collector, uint32_t thread, uint32_t node);

#endif
