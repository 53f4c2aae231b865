/* SPDX-License-Identifier: MIT */
/* Finds per-CPU variables; see percpu_distance.h.
 *
 * The types are read one after the other, and only names of variables and sections are compared.
 * libbpf would first make an index of all types, which takes five times as long: more than a
 * twentieth of the time that stackd takes to start. */
#include "daemon/capture/percpu_distance.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char section[] = ".data..percpu";

struct search {
	const char *strings; /* end with a 0 */
	uint32_t n_strings;  /* bytes */
	const char *names[2];
	uint32_t ids[2];    /* of the variables; 0: not found yet */
	int64_t offsets[2]; /* in the section; -1: not found yet */
};

/* Reads a file of the kernel's, whose size is that of its contents. Returns the number of bytes, or
 * -1; *ret_data is to be freed. */
static ssize_t read_all(const char *path, char **ret_data)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = {0};
	ssize_t n = -1, size = 0;
	char *data = NULL;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0)
		data = malloc((size_t)st.st_size);
	while (data && size < st.st_size) {
		n = read(fd, data + size, (size_t)(st.st_size - size));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		size += n;
	}
	if (fd >= 0)
		close(fd);
	*ret_data = data;
	return n > 0 ? size : -1;
}

/* Returns how many bytes follow a type's first twelve; -1: the kind is not known. */
static int64_t bytes_behind(const struct btf_type *type)
{
	const int64_t n = btf_vlen(type);

	switch (btf_kind(type)) {
	case BTF_KIND_INT:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * (int64_t)sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * (int64_t)sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return n * (int64_t)sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return n * (int64_t)sizeof(struct btf_param);
	case BTF_KIND_VAR:
		return sizeof(struct btf_var);
	case BTF_KIND_DATASEC:
		return n * (int64_t)sizeof(struct btf_var_secinfo);
	case BTF_KIND_DECL_TAG:
		return sizeof(struct btf_decl_tag);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:
		return -1;
	}
}

static bool has_name(const struct search *s, const struct btf_type *type, const char *name)
{
	return type->name_off < s->n_strings && !strcmp(s->strings + type->name_off, name);
}

static void look_at(struct search *s, const struct btf_type *type, uint32_t id)
{
	const struct btf_var_secinfo *var = btf_var_secinfos(type);

	for (int i = 0; i < 2 && btf_is_var(type); i++) {
		if (has_name(s, type, s->names[i]))
			s->ids[i] = id;
	}
	if (!btf_is_datasec(type) || !has_name(s, type, section))
		return;
	for (uint32_t k = 0; k < btf_vlen(type); k++, var++) {
		for (int i = 0; i < 2; i++) {
			if (s->ids[i] && var->type == s->ids[i])
				s->offsets[i] = var->offset;
		}
	}
}

/* Looks at each type of `n` bytes. A section comes behind its variables. */
static void look_at_all(struct search *s, const char *types, int64_t n)
{
	int64_t behind, at = 0, own = sizeof(struct btf_type);

	for (uint32_t id = 1; at + own <= n; id++) {
		const struct btf_type *type = (const void *)(types + at);

		behind = bytes_behind(type);
		if (behind < 0 || behind > n - at - own)
			return;
		look_at(s, type, id);
		at += own + behind;
	}
}

/* Finds the two parts behind the header. Returns false if the data is not that of BTF. */
static bool find_parts(const char *data, size_t size, struct search *s, const char **ret_types,
		       int64_t *ret_n)
{
	const struct btf_header *header = (const void *)data;
	size_t rest;

	if (size < sizeof(*header) || header->magic != BTF_MAGIC || header->hdr_len > size ||
	    header->type_off % 4 || header->hdr_len % 4)
		return false;
	rest = size - header->hdr_len;
	if (header->type_off > rest || header->type_len > rest - header->type_off ||
	    header->str_off > rest || header->str_len > rest - header->str_off || !header->str_len)
		return false;
	*ret_types = data + header->hdr_len + header->type_off;
	*ret_n = header->type_len;
	s->strings = data + header->hdr_len + header->str_off;
	s->n_strings = header->str_len;
	return !s->strings[s->n_strings - 1];
}

int64_t percpu_distance(const char *btf_path, const char *from, const char *to)
{
	struct search s = {.names = {from, to}, .offsets = {-1, -1}};
	const char *types;
	char *data;
	ssize_t size = read_all(btf_path, &data);
	int64_t n;

	if (size > 0 && find_parts(data, (size_t)size, &s, &types, &n))
		look_at_all(&s, types, n);
	free(data);
	return s.offsets[0] < 0 || s.offsets[1] < 0 ? 0 : s.offsets[1] - s.offsets[0];
}
