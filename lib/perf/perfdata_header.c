/* SPDX-License-Identifier: MIT */
/*
 * The header of a file: where its records are, what its events are, and the features behind the
 * records. Of a pipe there is hardly a header; everything comes as records.
 *
 * A file whose perf was killed has no features, and says that its records take no bytes: it is
 * refused, as perf does, since nothing tells where they end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "perf/perfdata_reader.h"

#define ATTRS_SIZE_MAX ((size_t)16 << 20)

static int fail_read(struct perfdata *p, int r, uint64_t offset, const char *what)
{
	if (r == -EBADMSG)
		return perfdata_fail(p, r, offset, "the file ends within %s", what);
	return perfdata_fail(p, r, offset, "cannot read %s: %s", what, strerror(-r));
}

/* A part of the file, malloc()ed. */
static int read_section(struct perfdata *p, const struct perfdata_section *section, size_t max,
			const char *what, uint8_t **ret_bytes)
{
	uint8_t *bytes;
	int r;

	if (section->size > max)
		return perfdata_fail(p, -EBADMSG, section->offset,
				     "%s takes %" PRIu64 " bytes: more than makes sense", what,
				     section->size);
	if (section->offset > p->input.limit || section->size > p->input.limit - section->offset)
		return perfdata_fail(p, -EBADMSG, section->offset,
				     "%s lies beyond the end of the file: it is cut off", what);
	bytes = malloc((size_t)section->size + 1);
	if (!bytes)
		return perfdata_fail(p, -ENOMEM, section->offset, "out of memory");
	r = perfdata_input_read_at(&p->input, section->offset, bytes, (size_t)section->size);
	if (r) {
		free(bytes);
		return fail_read(p, r, section->offset, what);
	}
	*ret_bytes = bytes;
	return 0;
}

/* --- attributes ------------------------------------------------------------------------------ */

static int read_ids(struct perfdata *p, const uint8_t *where, uint32_t event)
{
	struct perfdata_section section;
	uint8_t *bytes;
	int r;

	memcpy(&section, where, sizeof(section));
	r = read_section(p, &section, ATTRS_SIZE_MAX, "the list of an event's ids", &bytes);
	if (r)
		return r;
	r = perfdata_event_add_ids(p, event, bytes, (size_t)section.size / 8);
	free(bytes);
	return r;
}

static int read_attrs(struct perfdata *p, const struct perfdata_file_header *h)
{
	size_t tail = sizeof(struct perfdata_section), size = (size_t)h->attr_size;
	uint8_t *bytes;
	int r;

	if (h->attr_size < PERF_ATTR_SIZE_VER0 + tail || h->attr_size > 65536)
		return perfdata_fail(p, -EBADMSG, 16, "an attribute's size is %" PRIu64,
				     h->attr_size);
	r = read_section(p, &h->attrs, ATTRS_SIZE_MAX, "the list of events", &bytes);
	if (r)
		return r;
	for (uint64_t at = 0; !r && at + size <= h->attrs.size; at += size) {
		uint32_t event;

		r = perfdata_event_add(p, bytes + at, size - tail, h->attrs.offset + at, &event);
		if (!r)
			r = read_ids(p, bytes + at + size - tail, event);
	}
	free(bytes);
	if (!r && !p->events.count)
		r = perfdata_fail(p, -EBADMSG, h->attrs.offset, "the file describes no event");
	return r;
}

/* --- features -------------------------------------------------------------------------------- */

static int read_feature(struct perfdata *p, unsigned feature,
			const struct perfdata_section *section)
{
	uint8_t *bytes;
	int r = read_section(p, section, PERFDATA_FEATURE_MAX, "a header feature", &bytes);

	if (r)
		return r;
	r = perfdata_feature_read(p, feature, bytes, (size_t)section->size, section->offset);
	free(bytes);
	return r;
}

/* Is it of use here? The others (topologies, caches, debug data of BPF) are not even read. */
static bool is_wanted(unsigned feature)
{
	return feature != PERFDATA_FEATURE_TRACING_DATA && feature != PERFDATA_FEATURE_AUXTRACE &&
	       (feature <= PERFDATA_FEATURE_EVENT_DESC || feature == PERFDATA_FEATURE_SAMPLE_TIME ||
		feature == PERFDATA_FEATURE_CLOCKID || feature == PERFDATA_FEATURE_DIR_FORMAT ||
		feature == PERFDATA_FEATURE_COMPRESSED ||
		feature == PERFDATA_FEATURE_CPU_PMU_CAPS ||
		feature == PERFDATA_FEATURE_CLOCK_DATA || feature == PERFDATA_FEATURE_PMU_CAPS);
}

static int read_features(struct perfdata *p, const struct perfdata_file_header *h)
{
	uint64_t at = h->data.offset + h->data.size;
	int r = 0;

	for (unsigned i = 0; i < PERFDATA_FEATURE_COUNT && !r; i++) {
		struct perfdata_section section;

		if (!(h->features[i / 64] >> i % 64 & 1))
			continue;
		r = perfdata_input_read_at(&p->input, at, &section, sizeof(section));
		if (r)
			return fail_read(p, r, at, "the table of header features");
		if (is_wanted(i))
			r = read_feature(p, i, &section);
		at += sizeof(section);
	}
	return r;
}

/* --- the header ------------------------------------------------------------------------------ */

static int check_magic(struct perfdata *p, uint64_t magic)
{
	if (magic == PERFDATA_MAGIC)
		return 0;
	if (magic == PERFDATA_MAGIC_SWAPPED)
		return perfdata_fail(p, -ENOTSUP, 0,
				     "recorded on a machine of the other byte order (big-endian): "
				     "such files are not read");
	if (magic == PERFDATA_MAGIC_OLD)
		return perfdata_fail(
			p, -ENOTSUP, 0,
			"written by a perf of before Linux 3.0: record with a newer one");
	return perfdata_fail(p, -EBADMSG, 0,
			     "not a perf.data file: it does not begin with PERFILE2");
}

static int check_data(struct perfdata *p, const struct perfdata_file_header *h, uint64_t file_size)
{
	if (h->data.offset < sizeof(*h) || h->data.offset > file_size)
		return perfdata_fail(p, -EBADMSG, 40, "the records are said to begin at %" PRIu64,
				     h->data.offset);
	if (!h->data.size)
		return perfdata_fail(p, -EBADMSG, 48,
				     "the header says that there are no records: perf record was "
				     "killed before it could complete the file");
	if (h->data.size > file_size - h->data.offset)
		return perfdata_fail(p, -EBADMSG, file_size,
				     "the file ends here, and its records go on to %" PRIu64
				     ": it is cut off",
				     h->data.offset + h->data.size);
	return 0;
}

static int read_file_header(struct perfdata *p, uint64_t file_size)
{
	struct perfdata_file_header h;
	int r = perfdata_input_read_at(&p->input, 0, &h, sizeof(h));

	if (r)
		return fail_read(p, r, 0, "the header");
	if (h.size != sizeof(h))
		return perfdata_fail(p, -EBADMSG, 8, "the header's size is %" PRIu64 ", not %zu",
				     h.size, sizeof(h));
	p->input.limit = file_size;
	r = check_data(p, &h, file_size);
	if (!r)
		r = read_attrs(p, &h);
	if (!r)
		r = read_features(p, &h);
	p->input.at = h.data.offset;
	p->input.limit = h.data.offset + h.data.size;
	return r;
}

/* Of a pipe; `h` has been read. */
static int check_pipe_header(struct perfdata *p, const struct perfdata_pipe_header *h)
{
	int r = check_magic(p, h->magic);

	if (!r && h->size == sizeof(struct perfdata_file_header))
		return perfdata_fail(p, -ENOTSUP, 8,
				     "this is a file, and comes through a pipe: its header's end "
				     "cannot be reached; give the file's name");
	if (!r && h->size != sizeof(*h))
		return perfdata_fail(p, -EBADMSG, 8, "the header's size is %" PRIu64, h->size);
	p->info.is_pipe = true;
	return r;
}

int perfdata_header_read(struct perfdata *p)
{
	struct perfdata_pipe_header h;
	struct stat st;
	int r;

	p->input.limit = UINT64_MAX;
	if (fstat(p->input.fd, &st))
		return perfdata_fail(p, -errno, 0, "%s", strerror(errno));
	if (S_ISDIR(st.st_mode))
		return perfdata_fail(
			p, -ENOTSUP, 0,
			"this is a folder, as perf record --threads makes them: record "
			"without --threads");
	if (!S_ISREG(st.st_mode)) {
		p->input.is_pipe = true;
		r = perfdata_input_read(&p->input, &h, sizeof(h));
		return r ? fail_read(p, r, 0, "the header") : check_pipe_header(p, &h);
	}
	r = perfdata_input_read_at(&p->input, 0, &h, sizeof(h));
	if (r)
		return fail_read(p, r, 0, "the header");
	r = check_magic(p, h.magic);
	if (!r && h.size != sizeof(h))
		return read_file_header(p, (uint64_t)st.st_size);
	p->input.at = sizeof(h);
	p->input.limit = (uint64_t)st.st_size;
	return r ? r : check_pipe_header(p, &h);
}
