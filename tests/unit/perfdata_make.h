/* SPDX-License-Identifier: MIT */
/*
 * Writes perf.data for tests, in file and in pipe form: records and features are collected as
 * bytes, and put together at the end. Nothing is checked, since tests also write invalid files.
 */
#ifndef PERFDATA_MAKE_H
#define PERFDATA_MAKE_H

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "perf/perfdata_format.h"

#define MAKE_MAX 8

struct make {
	struct perf_event_attr attrs[MAKE_MAX];
	uint64_t ids[MAKE_MAX];
	size_t n_attrs;
	struct buf records;
	struct buf features[PERFDATA_FEATURE_COUNT];
	bool has_feature[PERFDATA_FEATURE_COUNT];
};

static inline void make_free(struct make *m)
{
	buf_free(&m->records);
	for (size_t i = 0; i < PERFDATA_FEATURE_COUNT; i++)
		buf_free(&m->features[i]);
	*m = (struct make){0};
}

static inline void make_u16(struct buf *b, uint16_t v)
{
	buf_put(b, &v, sizeof(v));
}

static inline void make_u32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, sizeof(v));
}

static inline void make_u64(struct buf *b, uint64_t v)
{
	buf_put(b, &v, sizeof(v));
}

/* `n` words. */
static inline void make_words(struct buf *b, size_t n, ...)
{
	va_list args;

	va_start(args, n);
	for (size_t i = 0; i < n; i++)
		make_u64(b, va_arg(args, uint64_t));
	va_end(args);
}

/* Up to a multiple of 8. */
static inline void make_pad(struct buf *b)
{
	while (b->len % 8)
		buf_put_u8(b, 0);
}

/* An event, with one id. */
static inline struct perf_event_attr *make_event(struct make *m, uint64_t sample_type, uint64_t id)
{
	struct perf_event_attr *attr = &m->attrs[m->n_attrs];

	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(*attr),
		.config = m->n_attrs, /* cycles, instructions, ... */
		.sample_period = 1000,
		.sample_type = sample_type,
		.sample_id_all = 1,
		.build_id = 1,
	};
	m->ids[m->n_attrs++] = id;
	return attr;
}

static inline void make_record(struct make *m, uint32_t type, uint16_t misc, const struct buf *body)
{
	make_u32(&m->records, type);
	make_u16(&m->records, misc);
	make_u16(&m->records, (uint16_t)(8 + body->len));
	buf_put(&m->records, body->data, body->len);
}

/* Adds a record, and frees the body. */
static inline void make_take(struct make *m, uint32_t type, uint16_t misc, struct buf *body)
{
	make_record(m, type, misc, body);
	buf_free(body);
}

static inline void make_feature(struct make *m, unsigned feature, struct buf *body)
{
	m->features[feature] = *body;
	m->has_feature[feature] = true;
	*body = (struct buf){0};
}

/* A string as perf writes it: its length, then the string padded to a multiple of 64. */
static inline void make_string(struct buf *b, const char *s)
{
	size_t len = strlen(s) + 1, room = (len + 63) & ~(size_t)63;

	make_u32(b, (uint32_t)room);
	buf_put(b, s, len);
	for (; len < room; len++)
		buf_put_u8(b, 0);
}

static inline void make_string_feature(struct make *m, unsigned feature, const char *s)
{
	struct buf b = {0};

	make_string(&b, s);
	make_feature(m, feature, &b);
}

static inline void make_build_id(struct buf *b, const char *path, const void *id, uint8_t len)
{
	struct perfdata_build_id_record r = {.pid = -1, .size = len};
	size_t size = (sizeof(r) + strlen(path) + 1 + 7) & ~(size_t)7;

	r.header.size = (uint16_t)size;
	r.header.misc = PERF_RECORD_MISC_USER | PERFDATA_MISC_BUILD_ID_SIZE;
	memcpy(r.build_id, id, len);
	buf_put(b, &r, sizeof(r));
	buf_put(b, path, strlen(path) + 1);
	make_pad(b);
}

/* --- records of the layout IP | TID | TIME, with sample_id_all -------------------------------- */

#define MAKE_PLAIN (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

static inline void make_trailer(struct buf *b, uint32_t pid, uint32_t tid, uint64_t time)
{
	make_u32(b, pid);
	make_u32(b, tid);
	make_u64(b, time);
}

static inline void make_comm(struct make *m, uint32_t pid, uint32_t tid, const char *comm,
			     bool is_exec, uint64_t time)
{
	struct buf b = {0};

	make_u32(&b, pid);
	make_u32(&b, tid);
	buf_put(&b, comm, strlen(comm) + 1);
	make_pad(&b);
	make_trailer(&b, pid, tid, time);
	make_take(m, PERF_RECORD_COMM, is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0, &b);
}

static inline void make_mmap2(struct make *m, uint32_t pid, uint64_t start, uint64_t len,
			      uint64_t offset, const char *path, const void *build_id,
			      uint8_t build_id_len, uint64_t time)
{
	uint8_t identity[24] = {build_id_len};
	struct buf b = {0};

	if (build_id)
		memcpy(identity + 4, build_id, build_id_len);
	make_u32(&b, pid);
	make_u32(&b, pid);
	make_words(&b, 3, start, len, offset);
	buf_put(&b, identity, sizeof(identity));
	make_u32(&b, PROT_READ | PROT_EXEC);
	make_u32(&b, MAP_PRIVATE);
	buf_put(&b, path, strlen(path) + 1);
	make_pad(&b);
	make_trailer(&b, pid, pid, time);
	make_take(
		m, PERF_RECORD_MMAP2,
		(uint16_t)(PERF_RECORD_MISC_USER | (build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0)),
		&b);
}

/* A mapping of the kernel or of a module, in pid -1. */
static inline void make_kernel_mmap(struct make *m, uint64_t start, uint64_t len, uint64_t offset,
				    const char *path)
{
	struct buf b = {0};

	make_u32(&b, UINT32_MAX);
	make_u32(&b, 0);
	make_words(&b, 3, start, len, offset);
	buf_put(&b, path, strlen(path) + 1);
	make_pad(&b);
	make_trailer(&b, 0, 0, 0);
	make_take(m, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, &b);
}

static inline void make_task(struct make *m, uint32_t type, uint32_t pid, uint32_t tid,
			     uint32_t parent, uint64_t time)
{
	struct buf b = {0};

	make_u32(&b, pid);
	make_u32(&b, parent);
	make_u32(&b, tid);
	make_u32(&b, parent);
	make_u64(&b, time);
	make_trailer(&b, pid, tid, time);
	make_take(m, type, 0, &b);
}

/* A sample; `more` holds what stands behind its time, and is freed. */
static inline void make_sample(struct make *m, uint16_t mode, uint64_t ip, uint32_t pid,
			       uint64_t time, struct buf *more)
{
	struct buf b = {0};

	make_u64(&b, ip);
	make_trailer(&b, pid, pid, time);
	if (more)
		buf_put(&b, more->data, more->len);
	make_take(m, PERF_RECORD_SAMPLE, mode, &b);
	if (more)
		buf_free(more);
}

static inline void make_round(struct make *m)
{
	struct buf b = {0};

	make_take(m, PERFDATA_RECORD_FINISHED_ROUND, 0, &b);
}

/* --- the file ------------------------------------------------------------------------------- */

static inline void make_file_header(const struct make *m, struct buf *out)
{
	struct perfdata_file_header h = {
		.magic = PERFDATA_MAGIC,
		.size = sizeof(h),
		.attr_size = sizeof(struct perf_event_attr) + sizeof(struct perfdata_section),
		.attrs = {sizeof(h) + 8 * MAKE_MAX, 0},
	};

	h.attrs.size = m->n_attrs * h.attr_size;
	h.data.offset = h.attrs.offset + h.attrs.size;
	h.data.size = m->records.len;
	for (unsigned i = 0; i < PERFDATA_FEATURE_COUNT; i++)
		h.features[i / 64] |= (uint64_t)m->has_feature[i] << i % 64;
	buf_put(out, &h, sizeof(h));
	for (size_t i = 0; i < MAKE_MAX; i++)
		make_u64(out, m->ids[i]);
	for (size_t i = 0; i < m->n_attrs; i++) {
		buf_put(out, &m->attrs[i], sizeof(m->attrs[i]));
		make_words(out, 2, (uint64_t)sizeof(h) + 8 * i, (uint64_t)8);
	}
}

/* The bytes of a file. */
static inline void make_file(const struct make *m, struct buf *out)
{
	uint64_t at;
	size_t n = 0;

	make_file_header(m, out);
	buf_put(out, m->records.data, m->records.len);
	for (unsigned i = 0; i < PERFDATA_FEATURE_COUNT; i++)
		n += m->has_feature[i];
	at = out->len + n * sizeof(struct perfdata_section);
	for (unsigned i = 0; i < PERFDATA_FEATURE_COUNT; i++) {
		if (!m->has_feature[i])
			continue;
		make_words(out, 2, at, (uint64_t)m->features[i].len);
		at += m->features[i].len;
	}
	for (unsigned i = 0; i < PERFDATA_FEATURE_COUNT; i++)
		buf_put(out, m->features[i].data, m->features[i].len);
	assert(!out->failed);
}

static inline void make_put_record(struct buf *out, uint32_t type, const struct buf *body)
{
	make_u32(out, type);
	make_u16(out, 0);
	make_u16(out, (uint16_t)(8 + body->len));
	buf_put(out, body->data, body->len);
}

/* The file in the form that perf writes into a pipe. */
static inline void make_pipe(const struct make *m, struct buf *out)
{
	make_words(out, 2, PERFDATA_MAGIC, (uint64_t)16);
	for (size_t i = 0; i < m->n_attrs; i++) {
		struct buf b = {0};

		buf_put(&b, &m->attrs[i], sizeof(m->attrs[i]));
		make_u64(&b, m->ids[i]);
		make_put_record(out, PERFDATA_RECORD_ATTR, &b);
		buf_free(&b);
	}
	for (unsigned i = 0; i < PERFDATA_FEATURE_COUNT; i++) {
		struct buf b = {0};

		if (!m->has_feature[i])
			continue;
		make_u64(&b, i);
		buf_put(&b, m->features[i].data, m->features[i].len);
		make_put_record(out, PERFDATA_RECORD_FEATURE, &b);
		buf_free(&b);
	}
	buf_put(out, m->records.data, m->records.len);
	assert(!out->failed);
}

/* A file descriptor with these bytes. */
static inline int make_fd(const void *bytes, size_t len)
{
	int fd = memfd_create("perf.data", MFD_CLOEXEC);

	assert(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	return fd;
}

#endif
