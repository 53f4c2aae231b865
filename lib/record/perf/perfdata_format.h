/* SPDX-License-Identifier: MIT */
/*
 * The layout of perf.data, as far as include/uapi/linux/perf_event.h lacks it or the oldest
 * supported version of that header does. Shared by the reader and the tests that write such files.
 *
 *   FILE := struct perfdata_file_header, attributes, records, a struct perfdata_section for each
 *           bit that is set in `features`, in order, the features
 *   PIPE := struct perfdata_pipe_header, records (among them the attributes and features)
 */
#ifndef PERF_PERFDATA_FORMAT_H
#define PERF_PERFDATA_FORMAT_H

#include <linux/perf_event.h>
#include <stdint.h>

#define PERFDATA_MAGIC	       UINT64_C(0x32454c4946524550) /* "PERFILE2" */
#define PERFDATA_MAGIC_SWAPPED UINT64_C(0x50455246494c4532)
#define PERFDATA_MAGIC_OLD     UINT64_C(0x454c494646524550) /* "PERFFILE", before Linux 3.0 */

struct perfdata_section {
	uint64_t offset, size; /* in the file */
};

struct perfdata_pipe_header {
	uint64_t magic;
	uint64_t size; /* of this header: 16 */
};

struct perfdata_file_header {
	uint64_t magic;
	uint64_t size;	    /* of this header: 104 */
	uint64_t attr_size; /* size of an entry of `attrs`: an attribute, and a struct
			     * perfdata_section for its ids */
	struct perfdata_section attrs, data, event_types;
	uint64_t features[4]; /* bits of enum perfdata_feature */
};

_Static_assert(sizeof(struct perfdata_file_header) == 104, "the header of a perf.data file");

/* Types of records that perf itself writes. Types of the kernel's records are in enum
 * perf_event_type. */
enum perfdata_record_type {
	PERFDATA_RECORD_USER = 64, /* the lowest type */
	PERFDATA_RECORD_ATTR = 64,
	PERFDATA_RECORD_EVENT_TYPE = 65,
	PERFDATA_RECORD_TRACING_DATA = 66, /* u32 size; the data follows the record */
	PERFDATA_RECORD_BUILD_ID = 67,
	PERFDATA_RECORD_FINISHED_ROUND = 68,
	PERFDATA_RECORD_ID_INDEX = 69,
	PERFDATA_RECORD_AUXTRACE_INFO = 70,
	PERFDATA_RECORD_AUXTRACE = 71, /* u64 size; the data follows the record */
	PERFDATA_RECORD_AUXTRACE_ERROR = 72,
	PERFDATA_RECORD_THREAD_MAP = 73,
	PERFDATA_RECORD_CPU_MAP = 74,
	PERFDATA_RECORD_STAT_CONFIG = 75,
	PERFDATA_RECORD_STAT = 76,
	PERFDATA_RECORD_STAT_ROUND = 77,
	PERFDATA_RECORD_EVENT_UPDATE = 78,
	PERFDATA_RECORD_TIME_CONV = 79,
	PERFDATA_RECORD_FEATURE = 80, /* u64 feature, its bytes */
	PERFDATA_RECORD_COMPRESSED = 81,
	PERFDATA_RECORD_FINISHED_INIT = 82,
	PERFDATA_RECORD_COMPRESSED2 = 83, /* u64 size, that many bytes, padding to 8 */
	PERFDATA_RECORD_BPF_METADATA = 84,
	PERFDATA_RECORD_USER_COUNT,
};

enum perfdata_feature {
	PERFDATA_FEATURE_TRACING_DATA = 1,
	PERFDATA_FEATURE_BUILD_ID = 2,
	PERFDATA_FEATURE_HOSTNAME = 3,
	PERFDATA_FEATURE_OSRELEASE = 4,
	PERFDATA_FEATURE_VERSION = 5,
	PERFDATA_FEATURE_ARCH = 6,
	PERFDATA_FEATURE_NRCPUS = 7,
	PERFDATA_FEATURE_CPUDESC = 8,
	PERFDATA_FEATURE_CPUID = 9,
	PERFDATA_FEATURE_TOTAL_MEM = 10,
	PERFDATA_FEATURE_CMDLINE = 11,
	PERFDATA_FEATURE_EVENT_DESC = 12,
	PERFDATA_FEATURE_BRANCH_STACK = 15,
	PERFDATA_FEATURE_AUXTRACE = 18,
	PERFDATA_FEATURE_SAMPLE_TIME = 21,
	PERFDATA_FEATURE_CLOCKID = 23,
	PERFDATA_FEATURE_DIR_FORMAT = 24,
	PERFDATA_FEATURE_COMPRESSED = 27,
	PERFDATA_FEATURE_CPU_PMU_CAPS = 28,
	PERFDATA_FEATURE_CLOCK_DATA = 29,
	PERFDATA_FEATURE_PMU_CAPS = 31,
	PERFDATA_FEATURE_COUNT = 256,
};

/* An entry of the build-id table, and a record of type BUILD_ID; the path follows, with its NUL.
 * `size` is valid only if header.misc has PERFDATA_MISC_BUILD_ID_SIZE; else the size is 20. */
struct perfdata_build_id_record {
	struct perf_event_header header;
	int32_t pid; /* -1: the host's */
	uint8_t build_id[20];
	uint8_t size;
	uint8_t reserved[3];
};

_Static_assert(sizeof(struct perfdata_build_id_record) == 36, "an entry of the build-id table");

#define PERFDATA_MISC_BUILD_ID_SIZE (1 << 15)

/* Bits of branch_sample_type; with the second, branch records have a word of counters for each
 * entry (Linux 6.8). */
#define PERFDATA_BRANCH_TYPE_HW_INDEX ((uint64_t)1 << 17)
#define PERFDATA_BRANCH_TYPE_COUNTERS ((uint64_t)1 << 19)

#endif
