/* SPDX-License-Identifier: MIT */
/*
 * A user without rights who harms a service (test_shares.py, bench/soak.py):
 * adversary KIND FOLDER [N]
 *
 *   files    makes N tiny ELF files, each with another build-id, and maps all of them as code,
 *            again and again
 *   names    changes its name as fast as it can
 *   maps     maps and unmaps code as fast as it can
 *   programs writes a new program each time and runs it, as fast as it can
 *   forks    starts processes that end, as fast as it can
 *   mounts   has N mounts in a namespace of its own, which change all the time, and maps new files
 *   execs    runs itself again and again, as one process
 *   chain    forks, and the parent ends, again and again; each maps code
 *   lives    keeps N processes that have each mapped some code, and starts one when one ends
 *   threads  starts threads that end, as fast as it can
 *   ranges   maps code at N addresses, one apart from the other, and runs
 *   writes   has N files mapped as code, and writes to them all the time
 *   sections maps files with 65,535 sections and program headers that say everything, and their
 *            debug link leads back to themselves
 *   sparse   maps the ends of a sparse file as large as the file system lets it, and anonymous
 * files
 *
 * Prints READY once it harms. It ends with its parent.
 */
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

static const char *folder;
static unsigned number = 1000;
static pid_t first;

/* A program that ends at once: exit(0). */
static const uint8_t code[] = {0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05};

struct tiny {
	Elf64_Ehdr head;
	Elf64_Phdr segments[2];
	Elf64_Nhdr note;
	char owner[4];
	uint64_t id[2];
	uint8_t code[sizeof(code)];
};

static void ready(void)
{
	puts("READY");
	fflush(stdout);
}

/* Writes a tiny program with a build-id of its own. */
static void write_tiny(const char *path, uint64_t id)
{
	const uint64_t base = 0x400000;
	struct tiny t = {
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_entry = base + offsetof(struct tiny, code),
			 .e_phoff = offsetof(struct tiny, segments),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2},
		.segments = {{.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_vaddr = base,
			      .p_paddr = base,
			      .p_filesz = sizeof(t),
			      .p_memsz = sizeof(t),
			      .p_align = PAGE},
			     {.p_type = PT_NOTE,
			      .p_flags = PF_R,
			      .p_offset = offsetof(struct tiny, note),
			      .p_vaddr = base + offsetof(struct tiny, note),
			      .p_filesz = 32,
			      .p_memsz = 32,
			      .p_align = 4}},
		.note = {.n_namesz = 4, .n_descsz = 16, .n_type = NT_GNU_BUILD_ID},
		.owner = "GNU",
		.id = {id * 0x9e3779b97f4a7c15, (uint64_t)getpid() << 32 | (uint32_t)id},
	};
	int fd;

	memcpy(t.code, code, sizeof(code));
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0755);
	if (fd < 0 || write(fd, &t, sizeof(t)) != sizeof(t))
		exit(1);
	close(fd);
}

static void *map_code(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	close(fd);
	return at;
}

static void map_files(unsigned from)
{
	static void *maps[65536];
	char path[256];
	unsigned n = number < 65536 ? number : 65536;

	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%u", folder, i);
		write_tiny(path, from + i);
		maps[i] = map_code(path);
	}
	for (unsigned i = 0; i < n; i++)
		munmap(maps[i], PAGE);
}

static void do_files(void)
{
	ready();
	for (unsigned from = 1;; from += number)
		map_files(from);
}

static void do_names(void)
{
	ready();
	for (unsigned i = 0;; i++)
		prctl(PR_SET_NAME, i & 1 ? "one" : "other", 0, 0, 0);
}

static void do_maps(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/code", folder);
	write_tiny(path, 1);
	ready();
	for (;;)
		munmap(map_code(path), PAGE);
}

static void do_programs(void)
{
	char path[256];

	ready();
	for (uint64_t i = 0;; i++) {
		pid_t child;

		snprintf(path, sizeof(path), "%s/program", folder);
		unlink(path);
		write_tiny(path, i + 1);
		child = vfork();
		if (!child) {
			execl(path, path, NULL);
			_exit(1);
		}
		waitpid(child, NULL, 0);
	}
}

static void do_forks(void)
{
	ready();
	for (;;) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

static void do_execs(void)
{
	const char *count = getenv("EXECS");
	char number_text[32];

	if (!count)
		ready();
	snprintf(number_text, sizeof(number_text), "%d", count ? atoi(count) + 1 : 1);
	setenv("EXECS", number_text, 1);
	execl("/proc/self/exe", "adversary", "execs", folder, NULL);
	exit(1);
}

static void do_chain(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/code", folder);
	write_tiny(path, 1);
	ready();
	if (fork()) /* the first one stays, and ends with its parent */
		for (;;)
			pause();
	for (;;) {
		map_code(path);
		if (kill(first, 0) || fork() != 0)
			_exit(0);
	}
}

static void live(const char *path)
{
	for (int i = 0; i < 60; i++)
		map_code(path);
	usleep(500000);
	_exit(0);
}

static void do_lives(void)
{
	char path[256];
	unsigned n = 0;

	snprintf(path, sizeof(path), "%s/code", folder);
	write_tiny(path, 1);
	ready();
	for (;;) {
		pid_t child = n < number ? fork() : -1;

		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			live(path);
		}
		n += child > 0;
		if (child < 0 && wait(NULL) > 0)
			n--;
	}
}

static void *end_at_once(void *arg)
{
	return arg;
}

static void do_threads(void)
{
	ready();
	for (;;) {
		pthread_t thread;

		if (!pthread_create(&thread, NULL, end_at_once, NULL))
			pthread_join(thread, NULL);
	}
}

static void do_ranges(void)
{
	const uint64_t base = UINT64_C(1) << 40;
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/code", folder);
	write_tiny(path, 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (unsigned i = 0; i < number; i++)
		if (mmap((void *)(base + (uint64_t)i * 2 * PAGE), PAGE, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
			break;
	ready();
	for (;;)
		;
}

static void do_writes(void)
{
	char path[256];

	for (unsigned i = 0; i < number; i++) {
		snprintf(path, sizeof(path), "%s/%u", folder, i);
		write_tiny(path, i + 1);
		map_code(path);
	}
	ready();
	for (uint64_t turn = 1;; turn++) {
		for (unsigned i = 0; i < number; i++) {
			int fd;

			snprintf(path, sizeof(path), "%s/%u", folder, i);
			fd = open(path, O_WRONLY | O_CLOEXEC);
			if (fd < 0 || pwrite(fd, &turn, sizeof(turn), offsetof(struct tiny, id)) !=
					      sizeof(turn))
				exit(1);
			close(fd);
		}
	}
}

/* Writes a program whose tables have as many entries as can be said, all of them the same bytes. */
static void write_sections(const char *path, uint64_t id)
{
	static Elf64_Shdr sections[65535 - 256];
	struct tiny t;
	int fd;

	write_tiny(path, id);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || read(fd, &t, sizeof(t)) != sizeof(t))
		exit(1);
	t.head.e_shoff = sizeof(t);
	t.head.e_shentsize = sizeof(Elf64_Shdr);
	t.head.e_shnum = sizeof(sections) / sizeof(*sections);
	t.head.e_shstrndx = 1;
	for (size_t i = 1; i < sizeof(sections) / sizeof(*sections); i++)
		sections[i] = (Elf64_Shdr){.sh_name = (uint32_t)i,
					   .sh_type = i % 3 ? SHT_SYMTAB : SHT_STRTAB,
					   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					   .sh_addr = 0x400000,
					   .sh_offset = 0,
					   .sh_size = sizeof(sections),
					   .sh_link = (uint32_t)i,
					   .sh_entsize = 1};
	if (pwrite(fd, &t, sizeof(t), 0) != sizeof(t) ||
	    pwrite(fd, sections, sizeof(sections), sizeof(t)) != sizeof(sections))
		exit(1);
	close(fd);
}

static void do_sections(void)
{
	char path[256];

	ready();
	for (uint64_t i = 1;; i++) {
		pid_t child;

		snprintf(path, sizeof(path), "%s/program", folder);
		unlink(path);
		write_sections(path, i);
		child = vfork();
		if (!child) {
			execl(path, path, NULL);
			_exit(1);
		}
		waitpid(child, NULL, 0);
		map_code(path);
		usleep(20000);
	}
}

static void do_sparse(void)
{
	char path[256];
	off_t size = (off_t)1 << 62;
	int fd;

	snprintf(path, sizeof(path), "%s/code", folder);
	write_tiny(path, 1);
	fd = open(path, O_RDWR | O_CLOEXEC);
	while (ftruncate(fd, size) && size > PAGE)
		size /= 2;
	ready();
	for (uint64_t i = 0;; i++) {
		int memory = memfd_create("code", MFD_CLOEXEC);
		void *at[2];

		at[0] = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, size - PAGE);
		if (memory < 0 ||
		    ftruncate(memory, size < INT64_C(1) << 40 ? size : INT64_C(1) << 40))
			exit(1);
		at[1] = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, memory,
			     (off_t)(i % 1000) * PAGE);
		usleep(1000);
		munmap(at[0], PAGE);
		munmap(at[1], PAGE);
		close(memory);
	}
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		exit(77);
	close(fd);
}

/* Makes this user root in a namespace of users of its own. */
static void become_root(void)
{
	char user[32], group[32];

	snprintf(user, sizeof(user), "0 %u 1", (unsigned)getuid());
	snprintf(group, sizeof(group), "0 %u 1", (unsigned)getgid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		exit(77);
	write_text("/proc/self/uid_map", user);
	write_text("/proc/self/setgroups", "deny");
	write_text("/proc/self/gid_map", group);
}

static void do_mounts(void)
{
	char path[256], file[512];

	become_root();
	if (mount("none", folder, "tmpfs", 0, "mode=0777"))
		exit(77);
	for (unsigned i = 0; i < number; i++) {
		snprintf(path, sizeof(path), "%s/m%u", folder, i);
		mkdir(path, 0755);
		if (mount("none", path, "tmpfs", 0, NULL))
			exit(77);
	}
	ready();
	for (uint64_t i = 0;; i++) {
		void *at;

		snprintf(path, sizeof(path), "%s/m0", folder);
		umount2(path, MNT_DETACH);
		mount("none", path, "tmpfs", 0, NULL);
		snprintf(file, sizeof(file), "%s/file", path);
		write_tiny(file, i + 1);
		at = map_code(file);
		usleep(1000);
		munmap(at, PAGE);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*harm)(void);
	} kinds[] = {{"files", do_files},	{"names", do_names},   {"maps", do_maps},
		     {"programs", do_programs}, {"forks", do_forks},   {"mounts", do_mounts},
		     {"execs", do_execs},	{"chain", do_chain},   {"lives", do_lives},
		     {"threads", do_threads},	{"ranges", do_ranges}, {"writes", do_writes},
		     {"sections", do_sections}, {"sparse", do_sparse}};

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (argc < 3)
		return 2;
	folder = argv[2];
	first = getpid();
	number = argc > 3 ? (unsigned)atoi(argv[3]) : number;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, argv[1]))
			kinds[i].harm();
	return 2;
}
