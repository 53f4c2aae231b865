/* SPDX-License-Identifier: MIT */
/*
 * Writes messages of protocol buffers as they are on the wire, and has the numbers of those fields
 * of Perfetto's messages that export_perfetto.c writes. The numbers are from the .proto files under
 * https://github.com/google/perfetto/tree/main/protos/perfetto/trace
 *
 * A message within another is written into a buffer of its own first, because its length comes
 * before it.
 */
#ifndef EXPORT_PERFETTO_WIRE_H
#define EXPORT_PERFETTO_WIRE_H

#include "base/buf.h"

enum perfetto_field {
	/* the file: a message of the type Trace */
	TRACE_PACKET = 1,

	PACKET_TIMESTAMP = 8,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
	PACKET_PERF_SAMPLE = 66,
	PACKET_IS_FIRST = 87,

	DEFAULTS_CLOCK = 58,

	SNAPSHOT_CLOCK = 1,
	SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIME = 2,

	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_COMMAND = 2,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 3,

	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_VALUE = 30,
	EVENT_FLOW = 47,
	EVENT_FLOW_ENDS = 48,
	EVENT_STACK = 56,
	ANNOTATION_UINT = 3,
	ANNOTATION_NAME = 10,

	SAMPLE_CPU = 1,
	SAMPLE_PID = 2,
	SAMPLE_TID = 3,
	SAMPLE_STACK = 4,

	INTERNED_FUNCTION = 5,
	INTERNED_FRAME = 6,
	INTERNED_STACK = 7,
	INTERNED_BUILD_ID = 16,
	INTERNED_PATH = 17,
	INTERNED_SOURCE = 18,
	INTERNED_MAPPING = 19,
	STRING_ID = 1,
	STRING_TEXT = 2,
	MAPPING_ID = 1,
	MAPPING_BUILD_ID = 2,
	MAPPING_PATH = 7,
	FRAME_ID = 1,
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	FRAME_PC = 4,
	FRAME_SOURCE = 5,
	FRAME_LINE = 6,
	FRAME_KIND_OF = 7,
	STACK_ID = 1,
	STACK_FRAMES = 2,
};

/* Values of fields: clocks, flags of a packet, types of events, units of counters. */
enum {
	CLOCK_IS_REALTIME = 1,
	CLOCK_IS_MONOTONIC = 3,
	FLAG_BEGINS_TABLES = 1,
	FLAG_NEEDS_TABLES = 2,
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_VALUE = 4,
	UNIT_NS = 1,
	UNIT_COUNT = 2,
	UNIT_BYTES = 3,
	KIND_NATIVE = 1,
	KIND_KERNEL = 2,
	KIND_INTERPRETED = 3,
	KIND_JIT = 4,
};

/* Appends a field that is a number (uint64, int64, bool or an enum). */
void perfetto_number(struct buf *b, enum perfetto_field field, uint64_t value);

/* Appends a field of the type fixed64. */
void perfetto_fixed64(struct buf *b, enum perfetto_field field, uint64_t value);

/* Appends a field of bytes. */
void perfetto_bytes(struct buf *b, enum perfetto_field field, const void *bytes, size_t len);

/* Appends a field of text: `text` (NULL: "") with what is unsafe to print, and bytes that are not
 * UTF-8, escaped as in other exports. */
void perfetto_text(struct buf *b, enum perfetto_field field, const char *text);

/* Appends a field that is a message, and empties the message. */
void perfetto_message(struct buf *b, enum perfetto_field field, struct buf *message);

#endif
