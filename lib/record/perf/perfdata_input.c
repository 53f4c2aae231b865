/* SPDX-License-Identifier: MIT */
/*
 * Splits the input into raw records.
 *
 *   file or pipe ──► buf ──┬──────────────────────────────► a record
 *                          └─ COMPRESSED ──► zstd ──► plain ─┘
 *
 * perf compresses its records as one zstd stream, which it splits into COMPRESSED records, so a
 * record can begin in one and end in the next. They are decompressed in steps into a buffer of
 * fixed size, which bounds memory; PLAIN_RATIO_MAX bounds time.
 *
 * A record is returned in place, or as a copy if it is not aligned: some of perf's own records have
 * sizes that are no multiple of 8. The file is read, not mapped, since truncating a mapped file
 * would raise SIGBUS.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf/perfdata_reader.h"

#define BUF_SIZE	((size_t)1 << 20)
#define PLAIN_SIZE	((size_t)1 << 18)
#define PLAIN_RATIO_MAX 1000 /* perf's records compress about tenfold */

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

/* Reads more bytes into `buf`. Returns their number, 0 at the end, or a negative errno. */
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

/* Makes at least `need` bytes available at buf[start]. Returns 1; 0: the input ends before; or a
 * negative errno. */
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
	int result = need(in, size);

	if (result <= 0)
		return result ? result : -EBADMSG;
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
				     "%" PRIu64 " bytes of trace data extend beyond the records",
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
			return perfdata_fail(p, -EBADMSG, offset, "the trace data is truncated");
	}
	return 0;
}

/* --- records --------------------------------------------------------------------------------- */

static int check_size(struct perfdata *p, const struct perf_event_header *header, uint64_t offset)
{
	if (header->size >= sizeof(*header))
		return 0;
	return perfdata_fail(p, -EBADMSG, offset, "a record's size is %u, less than its header",
			     header->size);
}

static int truncated(struct perfdata *p, size_t have, size_t wanted)
{
	return perfdata_fail(p, -EBADMSG, p->input.at,
			     "the data is truncated: %zu of a record's %zu bytes", have, wanted);
}

/* Gives a complete record in place, or an aligned copy of it. */
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

/* Reads the next record of the file. Returns 1; 0 at the end; or an error, reported. */
static int next_in_file(struct perfdata *p, struct perfdata_raw *ret_raw)
{
	struct perfdata_input *in = &p->input;
	struct perf_event_header header;
	int result;

	drop(in, in->record);
	in->record = 0;
	result = need(in, sizeof(header));
	if (result < 0)
		return perfdata_fail(p, result, in->at, "%s", strerror(-result));
	if (result == 0) {
		if (in->end == in->start && (in->is_pipe || in->at == in->limit))
			return 0;
		return truncated(p, in->end - in->start, sizeof(header));
	}
	memcpy(&header, in->buf + in->start, sizeof(header));
	if (check_size(p, &header, in->at))
		return p->error;
	result = need(in, header.size);
	if (result < 0)
		return perfdata_fail(p, result, in->at, "%s", strerror(-result));
	if (result == 0)
		return truncated(p, in->end - in->start, header.size);
	in->record = header.size;
	p->counts.data_bytes += header.size;
	lend(in, in->buf + in->start, header.size, ret_raw);
	return 1;
}

/* --- compressed records ---------------------------------------------------------------------- */

static int begin_packed(struct perfdata *p, const struct perfdata_raw *raw)
{
	struct perfdata_input *in = &p->input;
	/* raw->header can be a copy in a buffer that the next record overwrites, so read the
	 * original. */
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
					     "compressed data is longer than its record");
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

/* Decompresses more data. Returns 1; 0: all of the compressed record has been read; or an error,
 * reported. */
static int unpack(struct perfdata *p)
{
	struct perfdata_input *in = &p->input;
	ZSTD_outBuffer out = {.dst = in->plain, .size = PLAIN_SIZE};
	size_t before, result;

	memmove(in->plain, in->plain + in->plain_start, in->plain_end - in->plain_start);
	in->plain_end -= in->plain_start;
	in->plain_start = 0;
	before = out.pos = in->plain_end;
	result = ZSTD_decompressStream(in->zstd, &out, &in->packed);
	if (ZSTD_isError(result))
		return perfdata_fail(p, -EBADMSG, in->at, "compressed data is damaged: %s",
				     ZSTD_getErrorName(result));
	in->plain_end = out.pos;
	in->plain_bytes += out.pos - before;
	if (in->plain_bytes / PLAIN_RATIO_MAX > in->packed_bytes + 4096)
		return perfdata_fail(p, -EBADMSG, in->at,
				     "compressed data expands to more than %d times its size",
				     PLAIN_RATIO_MAX);
	return out.pos > before || in->packed.pos < in->packed.size;
}

/* Reads the next record of the decompressed data. Returns 1; 0: no complete record is left there;
 * or an error, reported. */
static int next_in_packed(struct perfdata *p, struct perfdata_raw *ret_raw)
{
	struct perfdata_input *in = &p->input;
	struct perf_event_header header;
	int result;

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
		result = unpack(p);
		if (result <= 0) {
			in->is_in_packed = false;
			return result;
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
	int result = 0;

	while (result == 0) {
		if (in->is_in_packed) {
			result = next_in_packed(p, ret_raw);
			continue;
		}
		result = next_in_file(p, ret_raw);
		if (result == 0 && in->plain_end > in->plain_start)
			return perfdata_fail(p, -EBADMSG, in->at,
					     "the data is truncated within a compressed record");
		if (result <= 0)
			return result;
		if (ret_raw->header->type == PERFDATA_RECORD_COMPRESSED ||
		    ret_raw->header->type == PERFDATA_RECORD_COMPRESSED2)
			result = begin_packed(p, ret_raw);
	}
	return result;
}
