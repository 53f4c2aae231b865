/* SPDX-License-Identifier: MIT */
/*
 * Attaches the kernel half's programs to the entries and exits of functions: to all functions of a
 * file by two links (of entries, of exits), if the kernel has uprobe_multi links (uprobe_multi.h);
 * else to each instruction by itself (probe.h).
 */
#ifndef REGIONS_REGION_PROBES_H
#define REGIONS_REGION_PROBES_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/capture/sampler.h"
#include "daemon/regions/region_find.h"

struct region_probes;

/* `kernel` is borrowed. NULL without memory. */
struct region_probes *region_probes_new(const struct sampler_regions *kernel);

/* Attaches to all `functions` of the file at `path`, or to none; `numbers` are the regions'
 * numbers. The path must stay valid, since links are made again by it. 0, or the -errno of
 * probe_attach(). */
int region_probes_attach(struct region_probes *probes, const struct found_region *const *functions,
			 const uint32_t *numbers, size_t count, const char *path);

/* Detaches from a region's function. If other functions have the same links, these are made again
 * without it. Instances (passes) that are open in the function are not recorded. */
void region_probes_detach(struct region_probes *probes, uint32_t number);

/* Detaches from all functions; NULL is fine. Instances that are open are not recorded. */
void region_probes_free(struct region_probes *probes);

#endif
