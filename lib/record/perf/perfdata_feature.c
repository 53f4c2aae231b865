/* SPDX-License-Identifier: MIT */
/*
 * The header's features: the machine, the command, names of events, build-ids.
 *
 * A truncated feature ends the reading, like a truncated record.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/vec.h"
#include "perf/perfdata_reader.h"

#define STRING_MAX 65536 /* bytes of a string that is kept, at most */

/* What is left to read of a feature. Reads past the end return 0 and set `failed`. */
struct cursor {
	const uint8_t *at;
	size_t left;
	bool failed;
};

static void get(struct cursor *c, void *to, size_t size)
{
	memset(to, 0, size);
	if (c->left < size) {
		c->failed = true;
		c->left = 0;
		return;
	}
	memcpy(to, c->at, size);
	c->at += size;
	c->left -= size;
}

static uint32_t get_u32(struct cursor *c)
{
	uint32_t value;

	get(c, &value, sizeof(value));
	return value;
}

static uint64_t get_u64(struct cursor *c)
{
	uint64_t value;

	get(c, &value, sizeof(value));
	return value;
}

/* Reads a string, which follows its length, and has no NUL. Returns NULL if the feature is too
 * short. */
static const char *get_string(struct cursor *c, size_t *ret_size)
{
	uint32_t size = get_u32(c);
	const char *string = (const char *)c->at;

	if (c->failed || size > c->left) {
		c->failed = true;
		*ret_size = 0;
		return NULL;
	}
	c->at += size;
	c->left -= size;
	*ret_size = strnlen(string, size < STRING_MAX ? size : STRING_MAX);
	return string;
}

static int keep_string(struct perfdata *p, struct cursor *c, const char **ret_string)
{
	size_t size;
	const char *string = get_string(c, &size), *kept;

	if (!string)
		return 0;
	kept = perfdata_keep(p, string, size);
	if (!kept)
		return -ENOMEM;
	*ret_string = kept;
	return 0;
}

static int keep_buf(struct perfdata *p, struct buf *b, const char **ret_string)
{
	const char *kept = b->failed ? NULL : perfdata_keep(p, b->data, b->len);

	if (!kept)
		return -ENOMEM;
	*ret_string = kept;
	return 0;
}

/* --- features of strings --------------------------------------------------------------------- */

static int read_command(struct perfdata *p, struct cursor *c)
{
	uint32_t count = get_u32(c);
	struct buf words = {0};
	int err = 0;

	for (uint32_t i = 0; i < count && !c->failed && words.len < STRING_MAX; i++) {
		size_t size;
		const char *word = get_string(c, &size);

		if (i)
			buf_put_u8(&words, ' ');
		buf_put(&words, word ? word : "", size);
	}
	if (words.len)
		err = keep_buf(p, &words, &p->info.command);
	buf_free(&words);
	return err;
}

/* Gives the capabilities of one PMU as "name=value", separated by commas. Returns 0 or an error,
 * reported. */
static int read_caps(struct perfdata *p, struct cursor *c, const char **ret_caps)
{
	uint32_t count = get_u32(c);
	struct buf caps = {0};
	int err = 0;

	for (uint32_t i = 0; i < count && !c->failed && caps.len < STRING_MAX; i++) {
		size_t name_size, size;
		const char *name = get_string(c, &name_size), *value = get_string(c, &size);

		if (!value)
			break;
		if (i)
			buf_put_u8(&caps, ',');
		buf_put(&caps, name, name_size);
		buf_put_u8(&caps, '=');
		buf_put(&caps, value, size);
	}
	if (caps.len)
		err = keep_buf(p, &caps, ret_caps);
	buf_free(&caps);
	return err;
}

/* Reads the capabilities of all PMUs. Keeps those of the PMU "cpu", or on hybrid machines those of
 * the first core PMU. */
static int read_pmu_caps(struct perfdata *p, struct cursor *c)
{
	uint32_t count = get_u32(c);
	int err = 0;

	for (uint32_t i = 0; i < count && !c->failed && !err; i++) {
		const char *caps = "", *pmu = "";

		err = read_caps(p, c, &caps);
		if (!err)
			err = keep_string(p, c, &pmu);
		if (!err && !strncmp(pmu, "cpu", 3) && !*p->info.cpu_caps)
			p->info.cpu_caps = caps;
	}
	return err;
}

/* --- names of events ------------------------------------------------------------------------- */

static int read_event_names(struct perfdata *p, struct cursor *c)
{
	uint32_t count = get_u32(c), attr_size = get_u32(c);
	int err = 0;

	for (uint32_t i = 0; i < count && !c->failed && !err; i++) {
		const char *name = "";
		uint32_t event = i, n_ids;

		if (c->left < attr_size) {
			c->failed = true;
			break;
		}
		c->at += attr_size;
		c->left -= attr_size;
		n_ids = get_u32(c);
		err = keep_string(p, c, &name);
		for (uint32_t j = 0; j < n_ids && !c->failed; j++) {
			uint64_t id = get_u64(c);

			if (!j && perfdata_event_by_id(&p->events, id) != PERFDATA_NO_EVENT)
				event = perfdata_event_by_id(&p->events, id);
		}
		if (!err && !c->failed && *name && event < p->events.count)
			perfdata_event_name(p, event, name);
	}
	return err;
}

/* --- build-ids ------------------------------------------------------------------------------- */

int perfdata_feature_build_id(struct perfdata *p, const struct perf_event_header *header,
			      uint64_t offset)
{
	struct perfdata_build_id_record record;
	struct perfdata_build_id *entry;
	uint8_t len = 20;

	if (header->size < sizeof(record) + 1)
		return perfdata_fail(p, -EBADMSG, offset,
				     "an entry of the build-id table has %u bytes", header->size);
	memcpy(&record, header, sizeof(record));
	if (record.header.misc & PERFDATA_MISC_BUILD_ID_SIZE)
		len = record.size;
	if (len > sizeof(record.build_id))
		return perfdata_fail(p, -EBADMSG, offset, "a build-id of %u bytes", len);
	if (vec_reserve((void **)&p->build_ids, &p->build_ids_cap, p->n_build_ids + 1,
			sizeof(*p->build_ids)))
		return perfdata_fail(p, -ENOMEM, offset, "out of memory");
	entry = &p->build_ids[p->n_build_ids];
	*entry = (struct perfdata_build_id){.len = len};
	memcpy(entry->bytes, record.build_id, len);
	entry->path = perfdata_keep(p, (const char *)header + sizeof(record),
				    header->size - sizeof(record));
	if (!entry->path)
		return perfdata_fail(p, -ENOMEM, offset, "out of memory");
	p->n_build_ids++;
	p->build_ids_sorted = false;
	return 0;
}

static int read_build_ids(struct perfdata *p, const uint8_t *bytes, size_t size, uint64_t offset)
{
	uint64_t copy[65536 / 8];
	size_t at = 0;

	while (size - at >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;
		int err;

		memcpy(&header, bytes + at, sizeof(header));
		if (header.size < sizeof(header) || header.size > size - at)
			return perfdata_fail(p, -EBADMSG, offset + at,
					     "an entry of the build-id table has %u bytes of %zu",
					     header.size, size - at);
		memcpy(copy, bytes + at, header.size);
		err = perfdata_feature_build_id(p, (const void *)copy, offset + at);
		if (err)
			return err;
		at += header.size;
	}
	return 0;
}

static int compare_paths(const void *a, const void *b)
{
	const struct perfdata_build_id *x = a, *y = b;

	return strcmp(x->path, y->path);
}

const uint8_t *perfdata_build_id(struct perfdata *p, const char *path, size_t *ret_len)
{
	struct perfdata_build_id key = {.path = path}, *found;

	if (!p->build_ids_sorted && p->n_build_ids)
		qsort(p->build_ids, p->n_build_ids, sizeof(*p->build_ids), compare_paths);
	p->build_ids_sorted = true;
	found = p->n_build_ids
			? bsearch(&key, p->build_ids, p->n_build_ids, sizeof(key), compare_paths)
			: NULL;
	*ret_len = found ? found->len : 0;
	return found && found->len ? found->bytes : NULL;
}

/* --- dispatch -------------------------------------------------------------------------------- */

static int read_clock(struct perfdata *p, struct cursor *c)
{
	get_u32(c); /* version */
	p->info.clock_id = (int32_t)get_u32(c);
	p->info.unix_ns = get_u64(c);
	p->info.clock_ns = get_u64(c);
	return 0;
}

static int read_compression(struct perfdata *p, struct cursor *c, uint64_t offset)
{
	uint32_t kind;

	get_u32(c); /* version */
	kind = get_u32(c);
	if (kind > 1)
		return perfdata_fail(p, -ENOTSUP, offset,
				     "records are compressed by method %u: only zstd is supported",
				     kind);
	return 0;
}

static int read_one(struct perfdata *p, uint64_t feature, struct cursor *c, uint64_t offset)
{
	switch (feature) {
	case PERFDATA_FEATURE_HOSTNAME:
		return keep_string(p, c, &p->info.host);
	case PERFDATA_FEATURE_OSRELEASE:
		return keep_string(p, c, &p->info.kernel);
	case PERFDATA_FEATURE_VERSION:
		return keep_string(p, c, &p->info.perf_version);
	case PERFDATA_FEATURE_ARCH:
		return keep_string(p, c, &p->info.arch);
	case PERFDATA_FEATURE_NRCPUS:
		get_u32(c); /* available */
		p->info.cpus = get_u32(c);
		return 0;
	case PERFDATA_FEATURE_CPUDESC:
		return keep_string(p, c, &p->info.cpu);
	case PERFDATA_FEATURE_CPUID:
		return keep_string(p, c, &p->info.cpu_id);
	case PERFDATA_FEATURE_CMDLINE:
		return read_command(p, c);
	case PERFDATA_FEATURE_EVENT_DESC:
		return read_event_names(p, c);
	case PERFDATA_FEATURE_SAMPLE_TIME:
		p->info.first_ns = get_u64(c);
		p->info.last_ns = get_u64(c);
		return 0;
	case PERFDATA_FEATURE_CPU_PMU_CAPS:
		return read_caps(p, c, &p->info.cpu_caps);
	case PERFDATA_FEATURE_PMU_CAPS:
		return read_pmu_caps(p, c);
	case PERFDATA_FEATURE_CLOCK_DATA:
		return read_clock(p, c);
	case PERFDATA_FEATURE_COMPRESSED:
		return read_compression(p, c, offset);
	case PERFDATA_FEATURE_DIR_FORMAT:
		return perfdata_fail(p, -ENOTSUP, offset,
				     "one file of a directory that perf record --threads wrote: "
				     "record without --threads");
	default:
		return 0;
	}
}

int perfdata_feature_read(struct perfdata *p, uint64_t feature, const uint8_t *bytes, size_t size,
			  uint64_t offset)
{
	struct cursor c = {.at = bytes, .left = size};
	int err;

	if (feature == PERFDATA_FEATURE_BUILD_ID)
		return read_build_ids(p, bytes, size, offset);
	err = read_one(p, feature, &c, offset);
	if (err)
		return perfdata_fail(p, err, offset, "%s", strerror(-err));
	if (c.failed)
		return perfdata_fail(p, -EBADMSG, offset,
				     "header feature %" PRIu64 " is truncated after %zu bytes",
				     feature, size);
	return 0;
}
