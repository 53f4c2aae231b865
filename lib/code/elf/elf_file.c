/* SPDX-License-Identifier: MIT */
/*
 * ELF files that a profiled process controls; see elf_file.h.
 *
 * Identity (elf_identity.c) and address arithmetic need only the file header, the program headers
 * and the notes. They are read once, at the start, by pread() with bounds into this module's
 * memory:
 *
 *   file header ──► program headers ──► PT_LOAD headers       offset <-> vaddr
 *                                   └─► PT_NOTE: build-id     (else the SHT_NOTE sections)
 *
 * Everything else (symbols, CFI, DWARF) goes through libelf, which also reads from the duplicate of
 * the descriptor with pread(): ELF_C_READ, never ELF_C_READ_MMAP. libelf keeps what it has read, so
 * if a file is truncated later, only a read fails.
 *
 * PT_LOADs are not checked against the size of the file: separate debug files have the program
 * headers of the file that they belong to, and a truncated file still has an identity.
 */
#include "base/mount_kind.h"
#include "elf/elf_file.h"
#include "elf/elf_file_state.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/target.h"

/* Real files have about 15 program headers. */
#define MAX_PROGRAM_HEADERS 1024

struct load_header {
	uint64_t offset, vaddr, size; /* the part of it that is in the file */
	uint64_t end;		      /* vaddr of its end in memory */
	bool is_executable;
};

/* --- reading ------------------------------------------------------------------------------- */

static int64_t read_fd(int fd, uint64_t offset, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (uint8_t *)buf + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (int64_t)done;
}

int64_t elf_file_read(const struct elf_file *file, uint64_t offset, void *buf, size_t len)
{
	offset -= file->first;
	if (offset >= file->size)
		return 0;
	if (len > file->size - offset)
		len = file->size - offset;
	if (!file->image)
		return read_fd(file->fd, offset, buf, len);
	memcpy(buf, file->image + offset, len);
	return (int64_t)len;
}

bool elf_file_read_whole(const struct elf_file *file, uint64_t offset, void *buf, size_t len)
{
	return elf_file_read(file, offset, buf, len) == (int64_t)len;
}

/* Reads exactly `len` bytes. Returns 0, -ENOEXEC if the file is too short, or -errno. */
static int read_exactly(const struct elf_file *file, uint64_t offset, void *buf, size_t len)
{
	int64_t n = elf_file_read(file, offset, buf, len);

	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -ENOEXEC;
}

/* --- headers ------------------------------------------------------------------------------- */

bool elf_file_is_32bit(const struct elf_file *file)
{
	return file->header.e_ident[EI_CLASS] == ELFCLASS32;
}

static int check_header(const Elf64_Ehdr *h)
{
	bool is_32bit = h->e_ident[EI_CLASS] == ELFCLASS32;

	if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
	    (!is_32bit && h->e_ident[EI_CLASS] != ELFCLASS64) ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_ident[EI_VERSION] != EV_CURRENT)
		return -ENOEXEC;
	if (h->e_machine != (is_32bit ? target_elf_machine_32 : target_elf_machine) ||
	    (h->e_type != ET_EXEC && h->e_type != ET_DYN))
		return -ENOEXEC;
	if (h->e_phentsize != sizeof(Elf64_Phdr) || !h->e_phnum || h->e_phnum > MAX_PROGRAM_HEADERS)
		return -ENOEXEC;
	return 0;
}

/* Converts the header of a 32-bit file to that of a 64-bit file. */
static void widen_header(Elf64_Ehdr *header)
{
	Elf32_Ehdr h;

	memcpy(&h, header, sizeof(h));
	header->e_type = h.e_type;
	header->e_machine = h.e_machine;
	header->e_version = h.e_version;
	header->e_entry = h.e_entry;
	header->e_phoff = h.e_phoff;
	header->e_shoff = h.e_shoff;
	header->e_flags = h.e_flags;
	header->e_ehsize = h.e_ehsize;
	header->e_phentsize = h.e_phentsize == sizeof(Elf32_Phdr) ? sizeof(Elf64_Phdr) : 0;
	header->e_phnum = h.e_phnum;
	header->e_shentsize = h.e_shentsize;
	header->e_shnum = h.e_shnum;
	header->e_shstrndx = h.e_shstrndx;
}

static int load_header(struct elf_file *file)
{
	int err = read_exactly(file, 0, &file->header, sizeof(file->header));

	if (err)
		return err;
	if (elf_file_is_32bit(file)) {
		if (!file->takes_32bit)
			return -ENOEXEC;
		widen_header(&file->header);
	}
	return check_header(&file->header);
}

static bool load_is_sane(const Elf64_Phdr *p)
{
	uint64_t end;

	return p->p_filesz <= p->p_memsz &&
	       !__builtin_add_overflow(p->p_offset, p->p_filesz, &end) &&
	       !__builtin_add_overflow(p->p_vaddr, p->p_memsz, &end);
}

static int take_program_headers(struct elf_file *file)
{
	for (size_t i = 0; i < file->header.e_phnum; i++) {
		const Elf64_Phdr *p = &file->program_headers[i];

		if (p->p_type != PT_LOAD)
			continue;
		if (!load_is_sane(p))
			return -ENOEXEC;
		file->loads[file->n_loads++] = (struct load_header){
			.offset = p->p_offset,
			.vaddr = p->p_vaddr,
			.size = p->p_filesz,
			.end = p->p_vaddr + p->p_memsz,
			.is_executable = p->p_flags & PF_X,
		};
	}
	return 0;
}

static int make_room_for_headers(struct elf_file *file)
{
	size_t n = file->header.e_phnum;

	file->program_headers = calloc(n, sizeof(*file->program_headers));
	file->loads = calloc(n, sizeof(*file->loads));
	return file->program_headers && file->loads ? 0 : -ENOMEM;
}

/* Reads the program headers of a 32-bit file, converted to 64 bits. */
static int read_program_headers_32bit(struct elf_file *file)
{
	for (size_t i = 0; i < file->header.e_phnum; i++) {
		Elf32_Phdr p;
		int err = read_exactly(file, file->header.e_phoff + i * sizeof(p), &p, sizeof(p));

		if (err)
			return err;
		file->program_headers[i] = (Elf64_Phdr){
			.p_type = p.p_type,
			.p_flags = p.p_flags,
			.p_offset = p.p_offset,
			.p_vaddr = p.p_vaddr,
			.p_paddr = p.p_paddr,
			.p_filesz = p.p_filesz,
			.p_memsz = p.p_memsz,
			.p_align = p.p_align,
		};
	}
	return 0;
}

static int read_program_headers(struct elf_file *file)
{
	int err = make_room_for_headers(file);

	if (!err && elf_file_is_32bit(file))
		err = read_program_headers_32bit(file);
	else if (!err)
		err = read_exactly(file, file->header.e_phoff, file->program_headers,
				   file->header.e_phnum * sizeof(*file->program_headers));
	return err ? err : take_program_headers(file);
}

/* --- mappings ------------------------------------------------------------------------------ */

/* Returns whether these bytes are the whole image, as loaders reserve it: they map the first
 * segment with the size of all segments, and then the others over it. If the first segment is
 * executable (the linker has not separated code), this is a mapping of code. */
static bool is_reserved_image(const struct elf_file *file, uint64_t offset, uint64_t size)
{
	const struct load_header *first = file->loads;
	const uint64_t page = 4096;
	uint64_t start, end;

	if (!file->n_loads || !first->is_executable || offset != (first->offset & ~(page - 1)))
		return false;
	start = first->vaddr & ~(page - 1);
	end = (file->loads[file->n_loads - 1].end + page - 1) & ~(page - 1);
	return end > start && size == end - start;
}

bool elf_file_may_map(const struct elf_file *file, uint64_t offset, uint64_t size)
{
	const uint64_t page = 4096;
	bool has_moved = true, has_code = false;
	uint64_t at = offset;

	/* One mapping can have several consecutive segments. */
	while (has_moved && at - offset < size) {
		has_moved = false;
		for (size_t i = 0; i < file->n_loads; i++) {
			const struct load_header *s = &file->loads[i];
			uint64_t end = (s->offset + s->size + page - 1) & ~(page - 1);

			has_code |= s->is_executable;
			if (!s->is_executable || at < (s->offset & ~(page - 1)) || at >= end)
				continue;
			at = end;
			has_moved = true;
		}
	}
	return at - offset >= size || !has_code || is_reserved_image(file, offset, size);
}

/* --- opening ------------------------------------------------------------------------------- */

/* Loads a file whose bytes are known (fd or image, and size). Returns 0, or an error of
 * elf_file_open(). */
static int load(struct elf_file *file)
{
	int err = load_header(file);

	if (!err)
		err = read_program_headers(file);
	if (err)
		return err;
	elf_version(EV_CURRENT);
	file->libelf = file->image ? elf_memory((char *)file->image, file->size)
				   : elf_begin(file->fd, ELF_C_READ, NULL);
	if (!file->libelf || elf_kind(file->libelf) != ELF_K_ELF)
		return -ENOEXEC;
	return elf_identity_load(file);
}

static int finish(struct elf_file *file, int err, struct elf_file **ret_file)
{
	if (!err)
		err = load(file);
	if (err) {
		elf_file_free(file);
		return err;
	}
	*ret_file = file;
	return 0;
}

/* Takes a duplicate of `fd`, and the file's state by `look`. */
static int take_fd_by(struct elf_file *file, int fd, int (*look)(int fd, struct stat *ret_stat))
{
	struct stat st;
	int err;

	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (file->fd < 0)
		return -errno;
	err = look(file->fd, &st);
	if (err)
		return err;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	file->size = (uint64_t)st.st_size;
	file->stamp = elf_stamp_of(&st);
	file->owner = st.st_uid;
	return 0;
}

static int look(int fd, struct stat *ret_stat)
{
	return fstat(fd, ret_stat) ? -errno : 0;
}

static int take_fd(struct elf_file *file, int fd)
{
	return take_fd_by(file, fd, look);
}

uint64_t elf_file_inode(const struct elf_file *file)
{
	return file->stamp.inode;
}

int elf_file_open(int fd, struct elf_file **ret_file)
{
	struct elf_file *file = calloc(1, sizeof(*file));

	if (!file)
		return -ENOMEM;
	return finish(file, take_fd(file, fd), ret_file);
}

int elf_file_open_any(int fd, struct elf_file **ret_file)
{
	struct elf_file *file = calloc(1, sizeof(*file));

	if (!file)
		return -ENOMEM;
	file->takes_32bit = true;
	return finish(file, take_fd(file, fd), ret_file);
}

int elf_file_descriptor(const struct elf_file *file)
{
	return file->fd;
}

int elf_file_open_memory(const void *image, size_t size, struct elf_file **ret_file)
{
	struct elf_file *file = calloc(1, sizeof(*file));

	if (!file)
		return -ENOMEM;
	file->fd = -1;
	file->image = malloc(size ? size : 1);
	if (file->image && size)
		memcpy(file->image, image, size);
	file->size = size;
	return finish(file, file->image ? 0 : -ENOMEM, ret_file);
}

int elf_file_of_code(const void *code, size_t size, uint64_t address, struct elf_file **ret_file)
{
	struct elf_file *file = calloc(1, sizeof(*file));

	if (!file)
		return -ENOMEM;
	file->fd = -1;
	file->first = address;
	file->size = size;
	file->image = malloc(size ? size : 1);
	file->loads = calloc(1, sizeof(*file->loads));
	if (!file->image || !file->loads) {
		elf_file_free(file);
		return -ENOMEM;
	}
	memcpy(file->image, code, size);
	file->loads[file->n_loads++] = (struct load_header){
		.offset = address,
		.vaddr = address,
		.size = size,
		.end = address + size,
		.is_executable = true,
	};
	*ret_file = file;
	return 0;
}

/* --- identity ------------------------------------------------------------------------------ */

void elf_file_put_identity(const struct elf_file *file, struct buf *identity)
{
	uint8_t len = (uint8_t)file->build_id_len;

	BUF_PUT(identity, file->stamp);
	BUF_PUT(identity, file->header);
	BUF_PUT(identity, file->id);
	BUF_PUT(identity, len);
	buf_put(identity, file->build_id, len);
	buf_put(identity, file->program_headers,
		file->header.e_phnum * sizeof(*file->program_headers));
}

static int take_identity(struct elf_file *file, struct buf_reader *r)
{
	struct elf_stamp stamp;
	uint8_t len;
	int err;

	BUF_GET(r, stamp);
	BUF_GET(r, file->header);
	BUF_GET(r, file->id);
	BUF_GET(r, len);
	if (r->failed || len > ELF_BUILD_ID_MAX || check_header(&file->header))
		return -EBADMSG;
	/* The other process read everything after it had noted its stamp, and before now. */
	if (stamp.dev != file->stamp.dev || stamp.inode != file->stamp.inode)
		return -EBADMSG;
	file->stamp = stamp;
	file->build_id_len = len;
	buf_get(r, file->build_id, len);
	err = make_room_for_headers(file);
	if (err)
		return err;
	buf_get(r, file->program_headers, file->header.e_phnum * sizeof(*file->program_headers));
	if (r->failed || take_program_headers(file))
		return -EBADMSG;
	if (len)
		file->id = elf_file_id_from_build_id(file->build_id, len);
	return file->id ? 0 : -EBADMSG;
}

int elf_file_of_identity(int fd, struct buf_reader *identity, struct elf_file **ret_file)
{
	struct elf_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	err = take_fd_by(file, fd, mount_stat);
	if (!err)
		err = take_identity(file, identity);
	if (err) {
		elf_file_free(file);
		return err;
	}
	*ret_file = file;
	return 0;
}

static int clone_identity(const struct elf_file *file, struct elf_file **ret_file)
{
	struct buf identity = {0};
	struct buf_reader reader;
	int err;

	elf_file_put_identity(file, &identity);
	reader = buf_reader(identity.data, identity.len);
	err = identity.failed ? -ENOMEM : elf_file_of_identity(file->fd, &reader, ret_file);
	buf_free(&identity);
	return err;
}

int elf_file_clone(const struct elf_file *file, struct elf_file **ret_file)
{
	if (!file->libelf && !file->image)
		return clone_identity(file, ret_file);
	if (file->first)
		return elf_file_of_code(file->image, file->size, file->first, ret_file);
	if (file->image)
		return elf_file_open_memory(file->image, file->size, ret_file);
	return elf_file_open_any(file->fd, ret_file);
}

void elf_file_free(struct elf_file *file)
{
	if (!file)
		return;
	elf_end(file->libelf);
	elf_sections_free(&file->expanded);
	if (file->fd >= 0)
		close(file->fd);
	free(file->image);
	free(file->program_headers);
	free(file->loads);
	free(file);
}

/* --- queries ------------------------------------------------------------------------------- */

/* If PT_LOADs overlap in the file, the executable one is used, since locations are in code. */
bool elf_file_offset_to_vaddr(const struct elf_file *file, uint64_t offset, uint64_t *ret_vaddr)
{
	const struct load_header *best = NULL;

	for (size_t i = 0; i < file->n_loads; i++) {
		const struct load_header *s = &file->loads[i];

		if (offset < s->offset || offset - s->offset >= s->size)
			continue;
		if (!best || (s->is_executable && !best->is_executable))
			best = s;
	}
	if (!best)
		return false;
	*ret_vaddr = best->vaddr + (offset - best->offset);
	return true;
}

bool elf_file_vaddr_to_offset(const struct elf_file *file, uint64_t vaddr, uint64_t *ret_offset)
{
	for (size_t i = 0; i < file->n_loads; i++) {
		const struct load_header *s = &file->loads[i];

		if (vaddr < s->vaddr || vaddr - s->vaddr >= s->size)
			continue;
		*ret_offset = s->offset + (vaddr - s->vaddr);
		return true;
	}
	return false;
}

bool elf_file_header_vaddr(const struct elf_file *file, uint32_t type, uint64_t *ret_vaddr)
{
	for (size_t i = 0; i < file->header.e_phnum; i++) {
		if (file->program_headers[i].p_type != type)
			continue;
		*ret_vaddr = file->program_headers[i].p_vaddr;
		return true;
	}
	return false;
}

const Elf64_Phdr *elf_file_program_headers(const struct elf_file *file, size_t *ret_count)
{
	*ret_count = file->header.e_phnum;
	return file->program_headers;
}

bool elf_file_is_data(const struct elf_file *file, uint64_t offset)
{
	bool is_data = false;

	for (size_t i = 0; file->program_headers && i < file->header.e_phnum; i++) {
		const Elf64_Phdr *p = &file->program_headers[i];

		if (p->p_type != PT_LOAD || offset < p->p_offset ||
		    offset - p->p_offset >= p->p_filesz)
			continue;
		if (!(p->p_flags & PF_W))
			return false;
		is_data = true;
	}
	return is_data;
}

uint64_t elf_file_entry_vaddr(const struct elf_file *file)
{
	return file->header.e_entry;
}

bool elf_file_is_position_independent(const struct elf_file *file)
{
	return file->header.e_type == ET_DYN;
}

Elf *elf_file_libelf(const struct elf_file *file)
{
	return file->libelf;
}
