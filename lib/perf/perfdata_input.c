/* SPDX-License-Identifier: MIT */
/*
 * From bytes to raw records.
 *
 *   file or pipe ──► buf ──┬──────────────────────────────► a record
 *                          └─ COMPRESSED ──► zstd ──► plain ─┘
 *
 * perf compresses all its records as one zstd stream that it cuts into COMPRESSED records, so a
 * record can begin in one and end in the next. A compressed record is decompressed step by step
 * into a buffer of fixed size: memory stays bounded whatever it claims to hold, and so does time
 * (PLAIN_RATIO_MAX).
 *
 * A record is lent where it stands, or copied if it is not aligned: perf writes some of its own
 * records with sizes that are no multiple of 8. Files are read, not mapped: one that is cut short
 * meanwhile would end us by SIGBUS.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf/perfdata_reader.h"

#define BUF_SIZE	((size_t)1 << 20)
#define PLAIN_SIZE	((size_t)1 << 18)
#define PLAIN_RATIO_MAX 1000 /* perf's own data pack to a tenth or so */

int perfdata_input_init(struct perfdata_input *in, int fd)
{
	in->fd = fd;
	in->buf = malloc(BUF_SIZE);
	return in->buf ? 0 : -ENOMEM;
}

void perfdata_input_fini(struct perfdata_input *in)
{
	ZSTD_freeDCtx(in->zstd);
	free(in->plain);
	free(in->buf);
}

int perfdata_input_read_at(const struct perfdata_input *in, uint64_t offset, void *buf, size_t size)
{
	uint8_t *to = buf;

	while (size) {
		ssize_t n = offset > INT64_MAX ? 0 : pread(in->fd, to, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EBADMSG;
		to += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

/* Adds to buf what is there; the number of bytes, 0 at the end, or -errno. */
static ssize_t fill(struct perfdata_input *in)
{
	uint64_t from = in->at + (in->end - in->start);
	size_t room = BUF_SIZE - in->end;
	ssize_t n;

	if (room > in->limit - from)
		room = (size_t)(in->limit - from);
	do
		n = in->is_pipe ? read(in->fd, in->buf + in->end, room)
				: pread(in->fd, in->buf + in->end, room, (off_t)from);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		in->end += (size_t)n;
	return n < 0 ? -errno : n;
}

/* Makes at least `need` bytes stand at buf[start]. 1; 0: there are fewer; or -errno. */
static int need(struct perfdata_input *in, size_t need)
{
	if (in->end - in->start >= need)
		return 1;
	memmove(in->buf, in->buf + in->start, in->end - in->start);
	in->end -= in->start;
	in->start = 0;
	while (in->end < need) {
		ssize_t n = fill(in);

		if (n <= 0)
			return (int)n;
	}
	return 1;
}

static void drop(struct perfdata_input *in, size_t bytes)
{
	in->start += bytes;
	in->at += bytes;
}

int perfdata_input_read(struct perfdata_input *in, void *buf, size_t size)
{
	int r = need(in, size);

	if (r <= 0)
		return r ? r : -EBADMSG;
	memcpy(buf, in->buf + in->start, size);
	drop(in, size);
	return 0;
}

int perfdata_input_skip(struct perfdata *p, uint64_t bytes)
{
	struct perfdata_input *in = &p->input;
	uint64_t offset = in->at;

	if (in->is_in_packed)
		return perfdata_fail(p, -EBADMSG, offset, "trace data within compressed records");
	drop(in, in->record);
	in->record = 0;
	if (!in->is_pipe && bytes > in->limit - in->at)
		return perfdata_fail(p, -EBADMSG, offset,
				     "%" PRIu64 " bytes of trace data, and the records end before",
				     bytes);
	while (bytes) {
		size_t have = in->end - in->start;

		if (have > bytes)
			have = (size_t)bytes;
		drop(in, have);
		bytes -= have;
		if (bytes && !in->is_pipe) {
			in->start = in->end = 0;
			in->at += bytes;
			return 0;
		}
		if (bytes && need(in, 1) <= 0)
			return perfdata_fail(p, -EBADMSG, offset, "the trace data are cut off");
	}
	return 0;
}

/* --- records --------------------------------------------------------------------------------- */

static int check_size(struct perfdata *p, const struct perf_event_header *header, uint64_t offset)
{
	if (header->size >= sizeof(*header))
		return 0;
	return perfdata_fail(p, -EBADMSG, offset, "a record's size is %u, less than its header's",
			     header->size);
}

static int cut_off(struct perfdata *p, size_t have, size_t wanted)
{
	return perfdata_fail(p, -EBADMSG, p->input.at,
			     "the data are cut off: %zu bytes of a record's %zu", have, wanted);
}

/* Lends `bytes`, a whole record. */
static void lend(struct perfdata_input *in, const uint8_t *bytes, size_t size,
		 struct perfdata_raw *ret_raw)
{
	const void *at = bytes;

	if ((uintptr_t)bytes % 8) {
		memcpy(in->scratch, bytes, size);
		at = in->scratch;
	}
	*ret_raw = (struct perfdata_raw){.header = at, .offset = in->at};
}

/* A record of the file itself. 1; 0: the end; or an error. */
static int next_in_file(struct perfdata *p, struct perfdata_raw *ret_raw)
{
	struct perfdata_input *in = &p->input;
	struct perf_event_header header;
	int r;

	drop(in, in->record);
	in->record = 0;
	r = need(in, sizeof(header));
	if (r < 0)
		return perfdata_fail(p, r, in->at, "%s", strerror(-r));
	if (r == 0) {
		if (in->end == in->start && (in->is_pipe || in->at == in->limit))
			return 0;
		return cut_off(p, in->end - in->start, sizeof(header));
	}
	memcpy(&header, in->buf + in->start, sizeof(header));
	if (check_size(p, &header, in->at))
		return p->error;
	r = need(in, header.size);
	if (r < 0)
		return perfdata_fail(p, r, in->at, "%s", strerror(-r));
	if (r == 0)
		return cut_off(p, in->end - in->start, header.size);
	in->record = header.size;
	p->counts.data_bytes += header.size;
	lend(in, in->buf + in->start, header.size, ret_raw);
	return 1;
}

/* --- compressed records ---------------------------------------------------------------------- */

static int begin_packed(struct perfdata *p, const struct perfdata_raw *raw)
{
	struct perfdata_input *in = &p->input;
	/* Not by raw: that can be a copy, which the next record overwrites. */
	const uint8_t *bytes = in->buf + in->start + sizeof(*raw->header);
	size_t size = raw->header->size - sizeof(*raw->header);
	uint64_t stated;

	if (raw->header->type == PERFDATA_RECORD_COMPRESSED2) {
		if (size < sizeof(stated))
			return perfdata_fail(p, -EBADMSG, raw->offset,
					     "a compressed record without a size");
		memcpy(&stated, bytes, sizeof(stated));
		if (stated > size - sizeof(stated))
			return perfdata_fail(p, -EBADMSG, raw->offset,
					     "compressed data are longer than their record");
		bytes += sizeof(stated);
		size = (size_t)stated;
	}
	if (!in->zstd)
		in->zstd = ZSTD_createDCtx();
	if (!in->plain)
		in->plain = malloc(PLAIN_SIZE);
	if (!in->zstd || !in->plain)
		return perfdata_fail(p, -ENOMEM, raw->offset, "out of memory");
	in->packed = (ZSTD_inBuffer){.src = bytes, .size = size};
	in->packed_bytes += size;
	in->is_in_packed = true;
	p->info.is_compressed = true;
	return 0;
}

/* Decompresses more. 1: there is more; 0: the record is used up; or an error. */
static int unpack(struct perfdata *p)
{
	struct perfdata_input *in = &p->input;
	ZSTD_outBuffer out = {.dst = in->plain, .size = PLAIN_SIZE};
	size_t before, r;

	memmove(in->plain, in->plain + in->plain_start, in->plain_end - in->plain_start);
	in->plain_end -= in->plain_start;
	in->plain_start = 0;
	before = out.pos = in->plain_end;
	r = ZSTD_decompressStream(in->zstd, &out, &in->packed);
	if (ZSTD_isError(r))
		return perfdata_fail(p, -EBADMSG, in->at, "compressed data are damaged: %s",
				     ZSTD_getErrorName(r));
	in->plain_end = out.pos;
	in->plain_bytes += out.pos - before;
	if (in->plain_bytes / PLAIN_RATIO_MAX > in->packed_bytes + 4096)
		return perfdata_fail(p, -EBADMSG, in->at,
				     "data that unpack to more than %d times their size",
				     PLAIN_RATIO_MAX);
	return out.pos > before || in->packed.pos < in->packed.size;
}

/* A record from what was decompressed. 1; 0: there is no whole one any more; or an error. */
static int next_in_packed(struct perfdata *p, struct perfdata_raw *ret_raw)
{
	struct perfdata_input *in = &p->input;
	struct perf_event_header header;
	int r;

	in->plain_start += in->plain_record;
	in->plain_record = 0;
	for (;;) {
		size_t have = in->plain_end - in->plain_start;

		header.size = 0;
		if (have >= sizeof(header)) {
			memcpy(&header, in->plain + in->plain_start, sizeof(header));
			if (check_size(p, &header, in->at))
				return p->error;
		}
		if (have >= sizeof(header) && have >= header.size)
			break;
		r = unpack(p);
		if (r <= 0) {
			in->is_in_packed = false;
			return r;
		}
	}
	if (header.type == PERFDATA_RECORD_COMPRESSED || header.type == PERFDATA_RECORD_COMPRESSED2)
		return perfdata_fail(p, -EBADMSG, in->at, "a compressed record within another");
	in->plain_record = header.size;
	lend(in, in->plain + in->plain_start, header.size, ret_raw);
	return 1;
}

int perfdata_input_next(struct perfdata *p, struct perfdata_raw *ret_raw)
{
	struct perfdata_input *in = &p->input;
	int r = 0;

	while (r == 0) {
		if (in->is_in_packed) {
			r = next_in_packed(p, ret_raw);
			continue;
		}
		r = next_in_file(p, ret_raw);
		if (r == 0 && in->plain_end > in->plain_start)
			return perfdata_fail(p, -EBADMSG, in->at,
					     "the data are cut off within a compressed record");
		if (r <= 0)
			return r;
		if (ret_raw->header->type == PERFDATA_RECORD_COMPRESSED ||
		    ret_raw->header->type == PERFDATA_RECORD_COMPRESSED2)
			r = begin_packed(p, ret_raw);
	}
	return r;
}
