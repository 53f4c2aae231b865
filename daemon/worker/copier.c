/* SPDX-License-Identifier: MIT */
/* The copier's process, its children, and stackd's requests; see copier.h. */
#include "daemon/worker/copier.h"

#include <elf.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/named_file.h"
#include "daemon/worker/fd_pass.h"
#include "daemon/worker/sandbox.h"

#define CHILD_S	     60	       /* a child ends itself after this time, if its system call ends */
#define PART_BYTES   (1 << 20) /* between two marks */
#define READ_BYTES   (64 << 10)
#define MOST_HEADERS 4096 /* sections and segments that are looked at */

enum { FILE_FD, MEMORY_FD, MARKS_FD, N_FDS };
static_assert(N_FDS <= FD_PASS_MOST, "a request has so many descriptors");

struct copier {
	int socket;
	pid_t pid;
	uint64_t *spent_ns; /* CPU time of all these processes, in memory that they share */
};

/* --- CPU time -------------------------------------------------------------------------------- */

/* Of this process: what it adds to, and what it has added. */
static uint64_t *spent_ns, added_ns;

/* Adds what this process has spent since it last did. The kernel does not keep the times of
 * children for which nobody waits. */
static void add_spent(void)
{
	const uint64_t now_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	__atomic_add_fetch(spent_ns, now_ns - added_ns, __ATOMIC_RELAXED);
	added_ns = now_ns;
}

/* --- a child: copying ------------------------------------------------------------------------ */

struct copy {
	int from, to, marks;
	uint64_t size;	   /* of the file */
	uint64_t most;	   /* bytes that may be copied */
	bool is_large;	   /* more would have had to be copied */
	uint64_t copied;   /* bytes so far */
	uint64_t unmarked; /* of these, bytes since the last mark */
};

/* Ends the child if nobody waits for it any more. */
static void mark(const struct copy *c, char what)
{
	add_spent();
	if (write(c->marks, &what, 1) != 1)
		_exit(1);
}

/* Copies bytes of the file; those beyond its end are left out. false: it cannot be read, or too
 * much was copied. */
static bool copy_range(struct copy *c, uint64_t offset, uint64_t len)
{
	static char bytes[READ_BYTES];
	ssize_t n = 1;

	len = offset > c->size ? 0 : len > c->size - offset ? c->size - offset : len;
	if (len > c->most - c->copied) {
		c->is_large = true;
		return false;
	}
	while (len && n > 0) {
		n = pread(c->from, bytes, len < READ_BYTES ? len : READ_BYTES, (off_t)offset);
		if (n > 0 && pwrite(c->to, bytes, (size_t)n, (off_t)offset) != n)
			return false;
		if (n <= 0)
			break;
		offset += (uint64_t)n;
		len -= (uint64_t)n;
		c->copied += (uint64_t)n;
		c->unmarked += (uint64_t)n;
		if (c->unmarked >= PART_BYTES) {
			mark(c, COPIER_MARK);
			c->unmarked = 0;
		}
	}
	return n >= 0;
}

/* Copies a table of headers, of which the copy is then read. */
static bool copy_table(struct copy *c, uint64_t offset, uint64_t n, uint64_t size)
{
	return n <= MOST_HEADERS && size <= 256 && copy_range(c, offset, n * size);
}

static bool copy_segments(struct copy *c, const Elf64_Ehdr *header)
{
	Elf64_Phdr segment;

	if (!copy_table(c, header->e_phoff, header->e_phnum, header->e_phentsize))
		return false;
	for (unsigned i = 0; i < header->e_phnum; i++) {
		off_t at = (off_t)(header->e_phoff + i * (uint64_t)header->e_phentsize);

		if (pread(c->to, &segment, sizeof(segment), at) != sizeof(segment))
			return false;
		if ((segment.p_type == PT_LOAD || segment.p_type == PT_NOTE) &&
		    !copy_range(c, segment.p_offset, segment.p_filesz))
			return false;
	}
	return true;
}

/* Returns whether a section is wanted that no segment loads: symbols, strings, notes, and what
 * leads to debug files or is call frame information. Sections of lines and types are many times
 * larger. `names`: where the copy has the sections' names. */
static bool is_wanted(const struct copy *c, const Elf64_Shdr *section, uint64_t names)
{
	static const char *const wanted[] = {".gnu_debuglink", ".gnu_debugaltlink",
					     ".gnu_debugdata", ".debug_frame"};
	char name[24] = "";

	if (section->sh_flags & SHF_ALLOC)
		return false;
	if (section->sh_type != SHT_PROGBITS)
		return section->sh_type == SHT_SYMTAB || section->sh_type == SHT_STRTAB ||
		       section->sh_type == SHT_NOTE;
	if (pread(c->to, name, sizeof(name) - 1, (off_t)(names + section->sh_name)) <= 0)
		return false;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (!strcmp(name, wanted[i]))
			return true;
	return false;
}

static bool read_section(const struct copy *c, const Elf64_Ehdr *header, unsigned i,
			 Elf64_Shdr *ret_section)
{
	off_t at = (off_t)(header->e_shoff + i * (uint64_t)header->e_shentsize);

	return pread(c->to, ret_section, sizeof(*ret_section), at) == sizeof(*ret_section);
}

/* Copies the wanted sections that are not too much; symbols last, and only with all strings. */
static void copy_sections(struct copy *c, const Elf64_Ehdr *header)
{
	Elf64_Shdr section, names = {0};
	bool has_strings = true;

	if (!copy_table(c, header->e_shoff, header->e_shnum, header->e_shentsize))
		return;
	if (header->e_shstrndx < header->e_shnum &&
	    (!read_section(c, header, header->e_shstrndx, &names) ||
	     !copy_range(c, names.sh_offset, names.sh_size)))
		return;
	for (unsigned i = 0; i < 2 * header->e_shnum; i++) {
		const bool are_symbols = i >= header->e_shnum;

		if (!read_section(c, header, i % header->e_shnum, &section))
			return;
		if (are_symbols == (section.sh_type == SHT_SYMTAB) &&
		    (!are_symbols || has_strings) && is_wanted(c, &section, names.sh_offset))
			has_strings &= copy_range(c, section.sh_offset, section.sh_size) ||
				       section.sh_type != SHT_STRTAB;
	}
}

static bool copy_parts(struct copy *c)
{
	Elf64_Ehdr header;

	if (!copy_range(c, 0, sizeof(header)) ||
	    pread(c->to, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	if (!copy_segments(c, &header))
		return false;
	copy_sections(c, &header);
	return true;
}

static void be_child(const int *fds, uint64_t most)
{
	struct copy c = {.to = fds[MEMORY_FD], .marks = fds[MARKS_FD], .most = most};
	bool is_copied;
	struct stat st;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	alarm(CHILD_S);
	c.from = named_file_reopen(fds[FILE_FD]);
	if (c.from < 0 || fstat(c.from, &st) || pread(c.from, &byte, 1, 0) < 0) {
		mark(&c, COPIER_FAILED);
		return;
	}
	mark(&c, COPIER_MARK);
	c.size = (uint64_t)st.st_size;
	is_copied = !ftruncate(c.to, st.st_size) &&
		    (c.size <= COPIER_WHOLE_BYTES ? copy_range(&c, 0, c.size) : copy_parts(&c));
	mark(&c, is_copied ? COPIER_DONE : c.is_large ? COPIER_LARGE : COPIER_FAILED);
}

/* --- the copier's process -------------------------------------------------------------------- */

/* Returns whether a request has come, with all its descriptors; false: stackd has ended. */
static bool receive(int socket, int ret_fds[FD_PASS_MOST], uint64_t *ret_most)
{
	uint8_t mib = 0;

	if (fd_pass_receive(socket, &mib, 1, ret_fds) <= 0)
		return false;
	for (int i = 0; i < N_FDS; i++)
		if (ret_fds[i] < 0)
			return false;
	*ret_most = (uint64_t)mib << 20;
	return true;
}

/* Makes the socket descriptor 3, and /dev/null the descriptors 0 to 2: who waits for the end of
 * stackd's output must not wait for a child that hangs. */
static void take_first_descriptors(int socket)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int away = fcntl(null, F_DUPFD_CLOEXEC, 4);

	dup2(fcntl(socket, F_DUPFD_CLOEXEC, 4), 3);
	for (int i = 0; i < 3; i++)
		dup2(away, i);
	close_range(4, ~0u, 0);
}

static void be_copier(int socket)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	uint64_t most;
	int fds[FD_PASS_MOST];

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_IGN); /* children are reaped by the kernel */
	setpgid(0, 0);
	prctl(PR_SET_NAME, "stackd-copier", 0, 0, 0);
	take_first_descriptors(socket);
	sandbox_copier();
	while (receive(3, fds, &most)) {
		if (!fork()) {
			added_ns = 0;
			close(3);
			be_child(fds, most);
			_exit(0);
		}
		for (int i = 0; i < N_FDS; i++)
			close(fds[i]);
		add_spent();
	}
	_exit(0);
}

/* --- in stackd ------------------------------------------------------------------------------- */

int copier_new(struct copier **ret_copier)
{
	struct copier *copier = calloc(1, sizeof(*copier));
	int pair[2];

	if (!copier)
		return -ENOMEM;
	spent_ns = mmap(NULL, sizeof(*spent_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (spent_ns == MAP_FAILED) {
		free(copier);
		return -ENOMEM;
	}
	copier->spent_ns = spent_ns;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		munmap(copier->spent_ns, sizeof(*copier->spent_ns));
		free(copier);
		return -errno;
	}
	copier->pid = fork();
	if (!copier->pid) {
		close(pair[0]);
		be_copier(pair[1]);
	}
	close(pair[1]);
	copier->socket = pair[0];
	if (copier->pid < 0) {
		copier_free(copier);
		return -EAGAIN;
	}
	*ret_copier = copier;
	return 0;
}

void copier_free(struct copier *copier)
{
	if (!copier)
		return;
	close(copier->socket);
	if (copier->pid > 0)
		waitpid(copier->pid, NULL, WNOHANG);
	munmap(copier->spent_ns, sizeof(*copier->spent_ns));
	free(copier);
}

uint64_t copier_cpu_ns(const struct copier *copier)
{
	return copier ? __atomic_load_n(copier->spent_ns, __ATOMIC_RELAXED) : 0;
}

pid_t copier_pid(const struct copier *copier)
{
	return copier->pid;
}

int copier_begin(struct copier *copier, int path_fd, int memory, uint64_t most, int *ret_marks)
{
	uint8_t mib =
		(uint8_t)(((most < COPIER_MOST_BYTES ? most : COPIER_MOST_BYTES) + (1 << 20) - 1) >>
			  20);
	int marks[2], err;

	if (pipe2(marks, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	err = fd_pass_send(
		copier->socket, &mib, 1,
		(const int[N_FDS]){
			[FILE_FD] = path_fd, [MEMORY_FD] = memory, [MARKS_FD] = marks[1]},
		N_FDS, MSG_DONTWAIT);
	close(marks[1]);
	if (err)
		close(marks[0]);
	else
		*ret_marks = marks[0];
	return err;
}
