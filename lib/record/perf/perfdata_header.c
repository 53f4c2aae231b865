/* SPDX-License-Identifier: MIT */
/*
 * The header of a file: the position of its records, its events, and the features after the
 * records. A pipe's header has only a magic number and a size; the rest arrives as records.
 *
 * A killed perf leaves a file without features whose header gives 0 bytes of records. Such a file
 * is refused, as perf does, since the end of the records is not known.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "perf/perfdata_reader.h"

#define ATTRS_SIZE_MAX ((size_t)16 << 20)

static int fail_read(struct perfdata *p, int err, uint64_t offset, const char *what)
{
	if (err == -EBADMSG)
		return perfdata_fail(p, err, offset, "the file ends within %s", what);
	return perfdata_fail(p, err, offset, "cannot read %s: %s", what, strerror(-err));
}

/* Reads a section of the file into a malloc()ed buffer. */
static int read_section(struct perfdata *p, const struct perfdata_section *section, size_t max,
			const char *what, uint8_t **ret_bytes)
{
	uint8_t *bytes;
	int err;

	if (section->size > max)
		return perfdata_fail(p, -EBADMSG, section->offset,
				     "%s has %" PRIu64 " bytes: more than the limit of %zu", what,
				     section->size, max);
	if (section->offset > p->input.limit || section->size > p->input.limit - section->offset)
		return perfdata_fail(p, -EBADMSG, section->offset,
				     "%s is beyond the end of the file: the file is truncated",
				     what);
	bytes = malloc((size_t)section->size + 1);
	if (!bytes)
		return perfdata_fail(p, -ENOMEM, section->offset, "out of memory");
	err = perfdata_input_read_at(&p->input, section->offset, bytes, (size_t)section->size);
	if (err) {
		free(bytes);
		return fail_read(p, err, section->offset, what);
	}
	*ret_bytes = bytes;
	return 0;
}

/* --- attributes ------------------------------------------------------------------------------ */

static int read_ids(struct perfdata *p, const uint8_t *where, uint32_t event)
{
	struct perfdata_section section;
	uint8_t *bytes;
	int err;

	memcpy(&section, where, sizeof(section));
	err = read_section(p, &section, ATTRS_SIZE_MAX, "the list of an event's ids", &bytes);
	if (err)
		return err;
	err = perfdata_event_add_ids(p, event, bytes, (size_t)section.size / 8);
	free(bytes);
	return err;
}

static int read_attrs(struct perfdata *p, const struct perfdata_file_header *h)
{
	size_t tail = sizeof(struct perfdata_section), size = (size_t)h->attr_size;
	uint8_t *bytes;
	int err;

	if (h->attr_size < PERF_ATTR_SIZE_VER0 + tail || h->attr_size > 65536)
		return perfdata_fail(p, -EBADMSG, 16, "an attribute's size is %" PRIu64,
				     h->attr_size);
	err = read_section(p, &h->attrs, ATTRS_SIZE_MAX, "the list of events", &bytes);
	if (err)
		return err;
	for (uint64_t at = 0; !err && at + size <= h->attrs.size; at += size) {
		uint32_t event;

		err = perfdata_event_add(p, bytes + at, size - tail, h->attrs.offset + at, &event);
		if (!err)
			err = read_ids(p, bytes + at + size - tail, event);
	}
	free(bytes);
	if (!err && !p->events.count)
		err = perfdata_fail(p, -EBADMSG, h->attrs.offset, "the file describes no event");
	return err;
}

/* --- features -------------------------------------------------------------------------------- */

static int read_feature(struct perfdata *p, unsigned feature,
			const struct perfdata_section *section)
{
	uint8_t *bytes;
	int err = read_section(p, section, PERFDATA_FEATURE_MAX, "a header feature", &bytes);

	if (err)
		return err;
	err = perfdata_feature_read(p, feature, bytes, (size_t)section->size, section->offset);
	free(bytes);
	return err;
}

/* Returns whether the reader uses a feature. Others (topologies, caches, BPF debug data) are not
 * read. */
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
	int err = 0;

	for (unsigned i = 0; i < PERFDATA_FEATURE_COUNT && !err; i++) {
		struct perfdata_section section;

		if (!(h->features[i / 64] >> i % 64 & 1))
			continue;
		err = perfdata_input_read_at(&p->input, at, &section, sizeof(section));
		if (err)
			return fail_read(p, err, at, "the table of header features");
		if (is_wanted(i))
			err = read_feature(p, i, &section);
		at += sizeof(section);
	}
	return err;
}

/* --- the header ------------------------------------------------------------------------------ */

static int check_magic(struct perfdata *p, uint64_t magic)
{
	if (magic == PERFDATA_MAGIC)
		return 0;
	if (magic == PERFDATA_MAGIC_SWAPPED)
		return perfdata_fail(p, -ENOTSUP, 0,
				     "recorded on a big-endian machine, which is not supported");
	if (magic == PERFDATA_MAGIC_OLD)
		return perfdata_fail(
			p, -ENOTSUP, 0,
			"written by a perf older than Linux 3.0: record with a newer one");
	return perfdata_fail(p, -EBADMSG, 0,
			     "not a perf.data file: it does not begin with PERFILE2");
}

static int check_data(struct perfdata *p, const struct perfdata_file_header *h, uint64_t file_size)
{
	if (h->data.offset < sizeof(*h) || h->data.offset > file_size)
		return perfdata_fail(p, -EBADMSG, 40, "invalid offset of the records: %" PRIu64,
				     h->data.offset);
	if (!h->data.size)
		return perfdata_fail(p, -EBADMSG, 48,
				     "the header has no size of the records: perf record was "
				     "killed before it completed the file");
	if (h->data.size > file_size - h->data.offset)
		return perfdata_fail(p, -EBADMSG, file_size,
				     "the file ends here, but its records extend to %" PRIu64
				     ": it is truncated",
				     h->data.offset + h->data.size);
	return 0;
}

static int read_file_header(struct perfdata *p, uint64_t file_size)
{
	struct perfdata_file_header h;
	int err = perfdata_input_read_at(&p->input, 0, &h, sizeof(h));

	if (err)
		return fail_read(p, err, 0, "the header");
	if (h.size != sizeof(h))
		return perfdata_fail(p, -EBADMSG, 8, "the header's size is %" PRIu64 ", not %zu",
				     h.size, sizeof(h));
	p->input.limit = file_size;
	err = check_data(p, &h, file_size);
	if (!err)
		err = read_attrs(p, &h);
	if (!err)
		err = read_features(p, &h);
	p->input.at = h.data.offset;
	p->input.limit = h.data.offset + h.data.size;
	return err;
}

/* Checks the header of a pipe, which has been read into `h`. */
static int check_pipe_header(struct perfdata *p, const struct perfdata_pipe_header *h)
{
	int err = check_magic(p, h->magic);

	if (!err && h->size == sizeof(struct perfdata_file_header))
		return perfdata_fail(p, -ENOTSUP, 8,
				     "a perf.data file cannot be read from a pipe, since its "
				     "header refers to its end: give the file's name");
	if (!err && h->size != sizeof(*h))
		return perfdata_fail(p, -EBADMSG, 8, "the header's size is %" PRIu64, h->size);
	p->info.is_pipe = true;
	return err;
}

int perfdata_header_read(struct perfdata *p)
{
	struct perfdata_pipe_header h;
	struct stat st;
	int err;

	p->input.limit = UINT64_MAX;
	if (fstat(p->input.fd, &st))
		return perfdata_fail(p, -errno, 0, "%s", strerror(errno));
	if (S_ISDIR(st.st_mode))
		return perfdata_fail(p, -ENOTSUP, 0,
				     "a directory, as perf record --threads writes it: record "
				     "without --threads");
	if (!S_ISREG(st.st_mode)) {
		p->input.is_pipe = true;
		err = perfdata_input_read(&p->input, &h, sizeof(h));
		return err ? fail_read(p, err, 0, "the header") : check_pipe_header(p, &h);
	}
	err = perfdata_input_read_at(&p->input, 0, &h, sizeof(h));
	if (err)
		return fail_read(p, err, 0, "the header");
	err = check_magic(p, h.magic);
	if (!err && h.size != sizeof(h))
		return read_file_header(p, (uint64_t)st.st_size);
	p->input.at = sizeof(h);
	p->input.limit = (uint64_t)st.st_size;
	return err ? err : check_pipe_header(p, &h);
}
