/* SPDX-License-Identifier: MIT */
/*
 * Opens the units of split DWARF; see split_dwarf.h.
 *
 * libdw finds .dwo files by itself, but by any path that the program names, in this process, which
 * may have no right to open files; and it does not support .dwp files. So this module finds and
 * reads the files, and libdw gets for each unit an ELF file in memory (dwarf_image.h) whose
 * sections are
 *
 *   .debug_info, _abbrev, _str, _str_offsets, _rnglists, _line    the unit's (dwo_file.h)
 *   .debug_addr                                                  the program's, from the unit's on
 *
 * Offsets within a unit's parts are relative to their beginning, which libdw assumes if a unit has
 * no bases. Only ranges need more: the base of a list's addresses, and with DWARF 4 the list
 * itself, are in the skeleton. So this module reads them.
 *
 * A unit is searched in PROGRAM.dwp, under the name that the compiler has given its file, in the
 * compiler's working folder, and beside the program, where it may have been moved with it. Both
 * halves must have the same id, which is a hash of their content.
 */
#include "sym/split_dwarf.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "elf/elf_sections.h"
#include "sym/dwarf_image.h"
#include "sym/dwo_file.h"

struct split_dwarf {
	Elf *elf;			   /* borrowed */
	const struct debug_source *source; /* borrowed */
	char *path;			   /* owned; NULL: not known */
	struct dwo_file *package;	   /* the .dwp file; NULL: there is none */
	bool package_tried;
	char *missing;	 /* owned: name of the first missing file */
	bool has_others; /* more files are missing */
	bool is_other;	 /* there is a file of that name, but of another build */
};

/* The program's own section is numbered after those of the unit. */
enum { PART_ADDR = DWO_SECTIONS, PARTS };

static const char *const part_names[PARTS] = {
	[DWO_INFO] = ".debug_info",
	[DWO_TYPES] = ".debug_types",
	[DWO_ABBREV] = ".debug_abbrev",
	[DWO_STR] = ".debug_str",
	[DWO_STR_OFFSETS] = ".debug_str_offsets",
	[DWO_RNGLISTS] = ".debug_rnglists",
	[DWO_LINE] = ".debug_line",
	[PART_ADDR] = ".debug_addr",
};

struct split_unit {
	struct dwo_file *file; /* owned; NULL: the unit is in the package */
	uint8_t *owned;	       /* the unit's part of the package */
	struct dwo_bytes parts[PARTS];
	struct dwo_bytes ranges; /* the program's lists of DWARF 4, from the unit's first one on */
	uint64_t base;		 /* address that ranges are relative to */
	int version;
	struct dwarf_image *image;
	Dwarf_Die die;
};

/* --- the program's part ---------------------------------------------------------------------- */

static bool number_of(Dwarf_Die *die, unsigned name, uint64_t *ret_number)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value))
		return false;
	*ret_number = value;
	return true;
}

static const char *string_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, name, &attr) ? dwarf_formstring(&attr) : NULL;
}

/* Returns a section of the program from the offset that one of two attributes gives. */
static struct dwo_bytes bytes_from(Elf *elf, const char *section, Dwarf_Die *skeleton,
				   unsigned name, unsigned gnu_name)
{
	Elf_Data *data = elf_sections_data(elf, section);
	uint64_t from = 0;

	if (!number_of(skeleton, name, &from))
		number_of(skeleton, gnu_name, &from);
	if (!data || from >= data->d_size)
		return (struct dwo_bytes){0};
	return (struct dwo_bytes){(const uint8_t *)data->d_buf + from, data->d_size - from};
}

static void take_program_part(struct split_unit *u, Elf *elf, Dwarf_Die *skeleton)
{
	Dwarf_Addr base;

	u->parts[PART_ADDR] =
		bytes_from(elf, ".debug_addr", skeleton, DW_AT_addr_base, DW_AT_GNU_addr_base);
	if (u->version < 5)
		u->ranges = bytes_from(elf, ".debug_ranges", skeleton, DW_AT_GNU_ranges_base,
				       DW_AT_GNU_ranges_base);
	u->base = dwarf_lowpc(skeleton, &base) ? 0 : base;
}

/* --- a unit for libdw ------------------------------------------------------------------------ */

static int make_image(struct split_unit *u)
{
	struct dwarf_part parts[PARTS];

	for (int i = 0; i < PARTS; i++)
		parts[i] = (struct dwarf_part){part_names[i], u->parts[i].at, u->parts[i].len};
	return dwarf_image_new(parts, PARTS, &u->image);
}

static int find_unit(struct split_unit *u, uint64_t id)
{
	Dwarf *dwarf = dwarf_image_dwarf(u->image);
	Dwarf_CU *cu = NULL;
	uint8_t type;

	while (!dwarf_get_units(dwarf, cu, &cu, NULL, &type, &u->die, NULL)) {
		uint64_t own;

		if (type == DW_UT_split_compile &&
		    !dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &own, NULL, NULL) && own == id)
			return 0;
	}
	return -ENOENT;
}

void split_unit_free(struct split_unit *u)
{
	if (!u)
		return;
	dwarf_image_free(u->image);
	free(u->owned);
	dwo_file_free(u->file);
	free(u);
}

/* --- files ----------------------------------------------------------------------------------- */

static int open_file(const struct split_dwarf *s, const char *path, struct dwo_file **ret_file)
{
	int fd = debug_source_open(s->source, path);

	return fd < 0 ? -ENOENT : dwo_file_open(fd, ret_file);
}

/* Removes "." and ".." from an absolute path, without regard to links. */
static void straighten(char *path)
{
	char *to = path, *part, *rest = path;

	while ((part = strtok_r(rest, "/", &rest))) {
		size_t len = strlen(part);

		if (!strcmp(part, "."))
			continue;
		if (!strcmp(part, "..")) {
			while (to > path && *--to != '/')
				;
			continue;
		}
		*to++ = '/';
		memmove(to, part, len);
		to += len;
	}
	*to = '\0';
}

/* Returns FOLDER/NAME; FOLDER may be the path of a file in the folder, of which only the part up to
 * its last '/' counts. NULL: the path is not absolute, or out of memory. */
static char *path_in(const char *folder, size_t folder_len, const char *name)
{
	char *path;

	if (*name == '/')
		folder_len = 0;
	else if (!folder || *folder != '/')
		return NULL;
	if (asprintf(&path, "%.*s/%s", (int)folder_len, folder ? folder : "", name) < 0)
		return NULL;
	straighten(path);
	if (strlen(path) < PATH_MAX)
		return path;
	free(path);
	return NULL;
}

/* Makes a unit from a file, and becomes the file's owner. */
static int take_file(struct dwo_file *file, struct split_unit *u, uint64_t id)
{
	int err = dwo_file_read(file, u->parts);

	u->file = file;
	if (!err)
		err = make_image(u);
	return err ? err : find_unit(u, id);
}

static int take_from_package(struct dwo_file *package, struct split_unit *u, uint64_t id)
{
	int err = dwo_file_read_unit(package, id, u->parts, &u->owned);

	if (!err)
		err = make_image(u);
	return err ? err : find_unit(u, id);
}

static int open_package(struct split_dwarf *s)
{
	char *path;
	int err;

	if (s->package_tried || !s->path)
		return 0;
	if (asprintf(&path, "%s.dwp", s->path) < 0)
		return -ENOMEM;
	s->package_tried = true;
	err = open_file(s, path, &s->package);
	free(path);
	return err == -ENOMEM ? err : 0;
}

/* What the skeleton says about where its unit is. */
struct place {
	const char *name, *folder;
	Dwarf_Die *skeleton;
	uint64_t id;
	int version;
};

static struct split_unit *new_unit(const struct split_dwarf *s, const struct place *p)
{
	struct split_unit *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->version = p->version;
	take_program_part(u, s->elf, p->skeleton);
	return u;
}

static int try_package(struct split_dwarf *s, const struct place *p, struct split_unit **ret_unit)
{
	struct split_unit *u;
	int err = open_package(s);

	if (err || !s->package)
		return err ? err : -ENOENT;
	u = new_unit(s, p);
	err = u ? take_from_package(s->package, u, p->id) : -ENOMEM;
	if (err)
		split_unit_free(u);
	else
		*ret_unit = u;
	return err;
}

/* Tries a path, which it frees, or NULL. */
static int try_file(struct split_dwarf *s, char *path, const struct place *p, bool *ret_is_there,
		    struct split_unit **ret_unit)
{
	struct dwo_file *file = NULL;
	struct split_unit *u;
	int err = path ? open_file(s, path, &file) : -ENOENT;

	free(path);
	if (err)
		return err;
	*ret_is_there = true;
	u = new_unit(s, p);
	if (!u) {
		dwo_file_free(file);
		return -ENOMEM;
	}
	err = take_file(file, u, p->id);
	if (err)
		split_unit_free(u);
	else
		*ret_unit = u;
	return err;
}

static int try_files(struct split_dwarf *s, const struct place *p, bool *ret_is_there,
		     struct split_unit **ret_unit)
{
	const char *slash = s->path ? strrchr(s->path, '/') : NULL, *base = strrchr(p->name, '/');
	size_t len = slash ? (size_t)(slash - s->path) : 0;
	int err = try_file(s, path_in(p->folder, p->folder ? strlen(p->folder) : 0, p->name), p,
			   ret_is_there, ret_unit);

	if (err == -ENOENT && slash && *p->name != '/')
		err = try_file(s, path_in(s->path, len, p->name), p, ret_is_there, ret_unit);
	if (err == -ENOENT && slash && base)
		err = try_file(s, path_in(s->path, len, base + 1), p, ret_is_there, ret_unit);
	return err;
}

/* --- opening --------------------------------------------------------------------------------- */

static int note_missing(struct split_dwarf *s, const char *name, bool is_other)
{
	if (!s->missing) {
		s->missing = strdup(name);
		s->is_other = is_other;
	} else if (strcmp(s->missing, name) != 0) {
		s->has_others = true;
	}
	return s->missing ? -ENOENT : -ENOMEM;
}

int split_dwarf_open(struct split_dwarf *s, Dwarf_Die *skeleton, struct split_unit **ret_unit)
{
	struct place p = {.skeleton = skeleton, .name = string_of(skeleton, DW_AT_dwo_name)};
	bool is_there = false;
	Dwarf_Half version;
	int err;

	if (!p.name)
		p.name = string_of(skeleton, DW_AT_GNU_dwo_name);
	if (!p.name || !*p.name ||
	    dwarf_cu_info(skeleton->cu, &version, NULL, NULL, NULL, &p.id, NULL, NULL))
		return -ENOENT;
	p.folder = string_of(skeleton, DW_AT_comp_dir);
	p.version = version;
	err = try_package(s, &p, ret_unit);
	if (err == -ENOENT)
		err = try_files(s, &p, &is_there, ret_unit);
	return err == -ENOENT ? note_missing(s, p.name, is_there) : err;
}

bool split_dwarf_missing(const struct split_dwarf *s, struct buf *text)
{
	if (!s->missing)
		return false;
	buf_put(text, s->missing, strlen(s->missing));
	text_put_raw(text, s->is_other ? " (which is there, but of another build)" : "");
	text_put_raw(text, s->has_others ? " and others" : "");
	return true;
}

int split_dwarf_new(Elf *elf, const struct debug_source *source, const char *path,
		    struct split_dwarf **ret_split)
{
	struct split_dwarf *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->elf = elf;
	s->source = source;
	s->path = path ? strdup(path) : NULL;
	if (path && !s->path) {
		free(s);
		return -ENOMEM;
	}
	*ret_split = s;
	return 0;
}

void split_dwarf_free(struct split_dwarf *s)
{
	if (!s)
		return;
	dwo_file_free(s->package);
	free(s->path);
	free(s->missing);
	free(s);
}

Dwarf_Die *split_unit_die(struct split_unit *u)
{
	return &u->die;
}

bool split_unit_has_files(const struct split_unit *u)
{
	return u->parts[DWO_LINE].len;
}

size_t split_unit_bytes(const struct split_unit *u)
{
	size_t bytes = sizeof(*u);

	for (int i = 0; i < DWO_SECTIONS; i++)
		if (i != DWO_STR || u->file)
			bytes += u->parts[i].len;
	return bytes;
}

/* --- ranges ---------------------------------------------------------------------------------- */

/* The rest of a list that is being read. */
struct list {
	const uint8_t *at, *end;
	bool failed;
};

static uint64_t get_number(struct list *l, size_t bytes)
{
	uint64_t v = 0;

	if ((size_t)(l->end - l->at) < bytes) {
		l->failed = true;
		return 0;
	}
	memcpy(&v, l->at, bytes);
	l->at += bytes;
	return v;
}

static uint64_t get_leb(struct list *l)
{
	uint64_t v = 0;

	for (unsigned shift = 0; !l->failed && shift < 64; shift += 7) {
		uint64_t byte = get_number(l, 1);

		v |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	l->failed = true;
	return 0;
}

static uint64_t get_indexed(const struct split_unit *u, struct list *l)
{
	const struct dwo_bytes *addresses = &u->parts[PART_ADDR];
	uint64_t index = get_leb(l), address = 0;

	if (l->failed || index >= addresses->len / 8) {
		l->failed = true;
		return 0;
	}
	memcpy(&address, addresses->at + 8 * index, 8);
	return address;
}

/* Reads one entry of DWARF 5's lists. Returns 1 for a range, 0 for another entry, -1 at the end. */
static int next_range(const struct split_unit *u, struct list *l, uint64_t *base, uint64_t *start,
		      uint64_t *end)
{
	switch (get_number(l, 1)) {
	case DW_RLE_base_addressx:
		*base = get_indexed(u, l);
		return 0;
	case DW_RLE_base_address:
		*base = get_number(l, 8);
		return 0;
	case DW_RLE_startx_endx:
		*start = get_indexed(u, l);
		*end = get_indexed(u, l);
		return 1;
	case DW_RLE_startx_length:
		*start = get_indexed(u, l);
		*end = *start + get_leb(l);
		return 1;
	case DW_RLE_offset_pair:
		*start = *base + get_leb(l);
		*end = *base + get_leb(l);
		return 1;
	case DW_RLE_start_end:
		*start = get_number(l, 8);
		*end = get_number(l, 8);
		return 1;
	case DW_RLE_start_length:
		*start = get_number(l, 8);
		*end = *start + get_leb(l);
		return 1;
	}
	return -1; /* DW_RLE_end_of_list, or an unknown entry */
}

/* Reads one entry of DWARF 4's lists; see next_range(). */
static int next_gnu_range(struct list *l, uint64_t *base, uint64_t *start, uint64_t *end)
{
	uint64_t first = get_number(l, 8), second = get_number(l, 8);

	if (!first && !second)
		return -1;
	if (first == UINT64_MAX) {
		*base = second;
		return 0;
	}
	*start = *base + first;
	*end = *base + second;
	return 1;
}

static int each_range(const struct split_unit *u, struct list *l,
		      int (*each)(void *arg, uint64_t start, uint64_t end), void *arg)
{
	uint64_t base = u->base, start = 0, end = 0;
	int err = 0, is_range;

	while (!err) {
		is_range = u->version < 5 ? next_gnu_range(l, &base, &start, &end)
					  : next_range(u, l, &base, &start, &end);
		if (l->failed || is_range < 0)
			break;
		if (is_range && start < end)
			err = each(arg, start, end);
	}
	return err;
}

/* Returns the offset of the list with that number among the unit's lists, behind the header of all
 * lists; or 0. */
static uint64_t list_of_number(const struct dwo_bytes *lists, uint64_t number)
{
	uint32_t count, offset;

	if (lists->len < 12)
		return 0;
	memcpy(&count, lists->at + 8, sizeof(count));
	if (number >= count || number >= (lists->len - 12) / 4)
		return 0;
	memcpy(&offset, lists->at + 12 + 4 * number, sizeof(offset));
	return 12 + (uint64_t)offset;
}

/* Finds the list that an attribute refers to. libdw would look for it in sections that it does not
 * have, so the value is read here. */
static bool find_list(const struct split_unit *u, const Dwarf_Attribute *attr, struct list *ret)
{
	const struct dwo_bytes *info = &u->parts[DWO_INFO];
	const struct dwo_bytes *lists = u->version < 5 ? &u->ranges : &u->parts[DWO_RNGLISTS];
	struct list value = {attr->valp, info->at + info->len, false};
	uint64_t offset;

	if (!lists->at || value.at < info->at || value.at > value.end)
		return false;
	if (attr->form == DW_FORM_rnglistx)
		offset = list_of_number(lists, get_leb(&value));
	else if (attr->form == DW_FORM_sec_offset || attr->form == DW_FORM_data4)
		offset = get_number(&value, 4);
	else
		return false;
	if (value.failed || offset >= lists->len || (!offset && u->version >= 5))
		return false;
	*ret = (struct list){lists->at + offset, lists->at + lists->len, false};
	return true;
}

int split_unit_ranges(struct split_unit *u, Dwarf_Die *die,
		      int (*each)(void *arg, uint64_t start, uint64_t end), void *arg)
{
	Dwarf_Attribute attr;
	Dwarf_Addr start, end;
	struct list list;

	if (!dwarf_lowpc(die, &start) && !dwarf_highpc(die, &end))
		return start < end ? each(arg, start, end) : 0;
	if (!dwarf_attr(die, DW_AT_ranges, &attr) || !find_list(u, &attr, &list))
		return 0;
	return each_range(u, &list, each, arg);
}
