/* SPDX-License-Identifier: MIT */
/* Searches files for regions, marks, allocators and counters: the worker's side of
 * ask_regions.h. */
#ifndef REGIONS_REGION_SERVICE_H
#define REGIONS_REGION_SERVICE_H

#include "daemon/worker/service_file.h"

enum region_question {
	REGION_FIND,
	REGION_FIND_MARK,
	REGION_FIND_ALLOC,
	REGION_FIND_VARIABLES,
	REGION_FIND_INLINED,
};

/* Answers a question (enum region_question) about a file: a service_file_fn. */
int region_service(const struct service_file *file, struct buf_reader *request, struct buf *reply);

#endif
