/* SPDX-License-Identifier: MIT */
/*
 * The emulator's files: perf.data as perf 5 and 6 write it (tools/perf/Documentation/
 * perf.data-file-format.txt), and the truth as lines of text:
 *
 *   M START END OFFSET PATH a mapping of code; OFFSET is that of START in the file
 *   S TIME TID IP           a sample; its path follows, leaf's caller first
 *   X                       of a sample: the stack pointer has been set to that of an outer frame,
 *                           and the jump there is still to come (the last instructions of
 *                           longjmp, and of throwing): either path is accepted as true
 *   C FROM ADDRESS          a call that has not returned, and its return address
 *   O ADDRESS               what the program has put into that call's slot since, if it has
 *   T ADDRESS               the return address of a signal handler
 *   I ADDRESS               what the signal has interrupted
 *
 * perf's times are the numbers of instructions that have retired.
 */
#include "emulator.h"

#include <linux/elf.h>
#include <linux/perf_event.h>

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_clientstate.h"
#include "pub_tool_vki.h"

#define OUT_BYTES     (1 << 18)
#define MAX_RECORD    65528
#define HEADER_BYTES  104
#define ATTRIBUTE_AT  HEADER_BYTES
#define DATA_AT	      (ATTRIBUTE_AT + sizeof(struct perf_event_attr) + 16)
#define USER_REGS     0xff01ffull /* perf's numbers: ax to ip, r8 to r15 */
#define FEATURE_HOST  3
#define FEATURE_ARCH  6
#define FEATURE_EVENT 12
#define FEATURE_CAPS  28

static const HChar *const suffixes[FILE_COUNT] = {"ring8.data",	 "ring16.data",	 "ring32.data",
						  "stack8.data", "stack16.data", "stack32.data",
						  "any.data",	 "dwarf.data",	 "truth"};

/* --- bytes ----------------------------------------------------------------------------------- */

static void fail(const struct out *out)
{
	VG_(umsg)("emulator: cannot write %s\n", out->path);
	VG_(exit)(1);
}

/* Writes at the end of the file, or over its start. The file is open for that long only: valgrind
 * keeps a dozen descriptors for itself and the tool, and the program's own are not to be touched.
 */
static void write_out(const struct out *out, Bool at_start)
{
	Int mode = at_start ? VKI_O_WRONLY : VKI_O_WRONLY | VKI_O_APPEND;
	SysRes fd = VG_(open)(out->path, mode, 0);

	if (sr_isError(fd))
		fail(out);
	for (UInt at = 0; at < out->n;) {
		Int wrote = VG_(write)((Int)sr_Res(fd), out->bytes + at, (Int)(out->n - at));

		if (wrote <= 0)
			fail(out);
		at += (UInt)wrote;
	}
	VG_(close)((Int)sr_Res(fd));
}

static void flush(struct out *out)
{
	write_out(out, False);
	out->n = 0;
}

static void put(struct out *out, const void *bytes, SizeT n)
{
	if (out->n + n > OUT_BYTES)
		flush(out);
	VG_(memcpy)(out->bytes + out->n, bytes, n);
	out->n += n;
	out->size += n;
}

static void put8(struct out *out, ULong value)
{
	put(out, &value, 8);
}

static void put4(struct out *out, UInt value)
{
	put(out, &value, 4);
}

/* A record in the making. */
struct record {
	UInt n;
	UChar bytes[MAX_RECORD];
};

static struct record record;

static void add(const void *bytes, SizeT n)
{
	tl_assert(record.n + n <= sizeof(record.bytes));
	VG_(memcpy)(record.bytes + record.n, bytes, n);
	record.n += n;
}

static void add8(ULong value)
{
	add(&value, 8);
}

static void add4(UInt value)
{
	add(&value, 4);
}

static void begin(UInt type, UShort misc)
{
	struct perf_event_header header = {.type = type, .misc = misc};

	record.n = 0;
	add(&header, sizeof(header));
}

static void add_text(const HChar *text)
{
	static const UChar zeroes[8];
	SizeT n = VG_(strlen)(text) + 1;

	add(text, n);
	add(zeroes, -n & 7);
}

/* sample_id_all: who and when, at the end of what is no sample. */
static void add_identity(ULong time)
{
	add4((UInt)VG_(getpid)());
	add4((UInt)VG_(gettid)());
	add8(time);
}

static void end(struct out *out)
{
	struct perf_event_header *header = (struct perf_event_header *)record.bytes;

	header->size = (UShort)record.n;
	put(out, record.bytes, record.n);
}

static void end_everywhere(struct emulator *e)
{
	for (UInt i = 0; i < FILE_TRUTH; i++)
		end(&e->files[i]);
}

static ULong now(const struct emulator *e)
{
	return e->instructions + 1;
}

/* --- headers --------------------------------------------------------------------------------- */

static Bool has_stack(UInt file)
{
	return (file >= FILE_STACK && file < FILE_ANY) || file == FILE_DWARF;
}

static Bool has_branches(UInt file)
{
	return file != FILE_DWARF;
}

static Bool has_chain(UInt file)
{
	return file != FILE_ANY;
}

static struct perf_event_attr attribute(const struct emulator *e, UInt file)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(a),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.sample_period = (ULong)e->period,
		.sample_type =
			PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD,
		.exclude_kernel = 1,
		.mmap = 1,
		.comm = 1,
		.task = 1,
		.sample_id_all = 1,
		.exclude_callchain_user = 1,
		.mmap2 = 1,
	};

	if (has_chain(file))
		a.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (has_branches(file)) {
		a.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		a.branch_sample_type = PERF_SAMPLE_BRANCH_USER;
		a.branch_sample_type |= file == FILE_ANY ? PERF_SAMPLE_BRANCH_ANY
							 : PERF_SAMPLE_BRANCH_CALL_STACK |
								   PERF_SAMPLE_BRANCH_NO_FLAGS |
								   PERF_SAMPLE_BRANCH_NO_CYCLES |
								   PERF_SAMPLE_BRANCH_HW_INDEX;
	}
	if (has_stack(file)) {
		a.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		a.sample_regs_user = USER_REGS;
		a.sample_stack_user = (UInt)(e->stack_bytes & ~7);
	}
	return a;
}

static void put_header(struct out *out, const struct perf_event_attr *a, ULong data)
{
	put(out, "PERFILE2", 8);
	put8(out, HEADER_BYTES);
	put8(out, sizeof(*a) + 16);
	put8(out, ATTRIBUTE_AT);
	put8(out, sizeof(*a) + 16);
	put8(out, DATA_AT);
	put8(out, data);
	put8(out, 0);
	put8(out, 0);
	put8(out, 1ull << FEATURE_HOST | 1ull << FEATURE_ARCH | 1ull << FEATURE_EVENT |
			  1ull << FEATURE_CAPS);
	for (int i = 0; i < 3; i++)
		put8(out, 0);
	put(out, a, sizeof(*a));
	put8(out, 0); /* no ids */
	put8(out, 0);
}

static ULong text_bytes(const HChar *text)
{
	return 4 + ((VG_(strlen)(text) + 8) & ~7ull);
}

static void put_text(struct out *out, const HChar *text)
{
	static const UChar zeroes[8];
	SizeT n = VG_(strlen)(text);

	put4(out, (UInt)((n + 8) & ~7ull));
	put(out, text, n);
	put(out, zeroes, ((n + 8) & ~7ull) - n);
}

/* Describes the machine: emulated, with its number of branch records. */
static void put_features(struct out *out, const struct perf_event_attr *a, UInt branches)
{
	static const HChar event[] = "emulated-instructions:u";
	HChar count[8];
	ULong at = out->size + 4 * 16ull, sizes[4];

	VG_(snprintf)(count, sizeof(count), "%u", branches);
	sizes[0] = text_bytes("emulated");
	sizes[1] = text_bytes("x86_64");
	sizes[2] = 8 + sizeof(*a) + 4 + text_bytes(event);
	sizes[3] = 4 + text_bytes("branches") + text_bytes(count);
	for (int i = 0; i < 4; at += sizes[i++]) {
		put8(out, at);
		put8(out, sizes[i]);
	}
	put_text(out, "emulated");
	put_text(out, "x86_64");
	put4(out, 1);
	put4(out, sizeof(*a));
	put(out, a, sizeof(*a));
	put4(out, 0);
	put_text(out, event);
	put4(out, 1);
	put_text(out, "branches");
	put_text(out, count);
}

static UInt branches_of(UInt file)
{
	return file < FILE_ANY ? emulator_ring_size[file % RINGS] : RING_MAX;
}

static void open_file(struct emulator *e, UInt file)
{
	struct perf_event_attr a = attribute(e, file);
	struct out *out = &e->files[file];
	SysRes fd;

	VG_(snprintf)(out->path, sizeof(out->path), "%s.%s", e->prefix, suffixes[file]);
	fd = VG_(open)(out->path, VKI_O_CREAT | VKI_O_WRONLY | VKI_O_TRUNC, 0644);
	if (sr_isError(fd))
		fail(out);
	VG_(close)((Int)sr_Res(fd));
	out->bytes = VG_(malloc)("emulator.out", OUT_BYTES);
	if (file != FILE_TRUTH)
		put_header(out, &a, 0);
}

/* The program's name, as the kernel would have it after exec. */
static void write_comm(struct emulator *e)
{
	const HChar *name = VG_(args_the_exename), *slash = VG_(strrchr)(name, '/');
	HChar comm[16];

	VG_(snprintf)(comm, sizeof(comm), "%s", slash ? slash + 1 : name);
	begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	add4((UInt)VG_(getpid)());
	add4((UInt)VG_(getpid)());
	add_text(comm);
	add_identity(now(e));
	end_everywhere(e);
}

void open_files(struct emulator *e)
{
	const NSegment *own = VG_(am_find_nsegment)((Addr)&open_files);

	for (UInt i = 0; i < FILE_COUNT; i++)
		open_file(e, i);
	write_comm(e);
	/* Signal handlers return into this program. */
	write_mapping(e, own->start, own->end - own->start + 1);
}

void close_files(struct emulator *e)
{
	for (UInt i = 0; i < FILE_COUNT; i++) {
		struct out *out = &e->files[i];
		struct perf_event_attr a = attribute(e, i);
		ULong data = out->size - DATA_AT;

		if (i != FILE_TRUTH) {
			put_features(out, &a, branches_of(i));
			flush(out);
			put_header(out, &a, data);
			write_out(out, True);
		} else {
			flush(out);
		}
	}
}

/* --- records --------------------------------------------------------------------------------- */

/* The build-id among a file's notes, into `id` (20 bytes). Its length; 0: none. */
static UInt find_build_id(const UChar *notes, UInt size, UChar *id)
{
	for (UInt at = 0; at + 12 <= size;) {
		const UInt *note = (const UInt *)(notes + at);
		UInt name = at + 12, text = name + ((note[0] + 3) & ~3u);

		if (note[0] > size || note[1] > size || text + note[1] > size)
			return 0;
		if (note[2] == 3 && note[0] == 4 && !VG_(memcmp)(notes + name, "GNU", 4) &&
		    note[1] <= 20) {
			VG_(memcpy)(id, notes + text, note[1]);
			return note[1];
		}
		at = text + ((note[1] + 3) & ~3u);
	}
	return 0;
}

static Bool read_at(SysRes fd, void *to, SizeT bytes, ULong offset)
{
	return VG_(lseek)((Int)sr_Res(fd), (Off64T)offset, VKI_SEEK_SET) == (Off64T)offset &&
	       VG_(read)((Int)sr_Res(fd), to, (Int)bytes) == (Int)bytes;
}

static UInt read_build_id(const HChar *path, UChar *id)
{
	static union {
		Elf64_Ehdr header;
		UChar bytes[4096];
	} file, notes;
	SysRes fd = VG_(open)(path, VKI_O_RDONLY, 0);
	UInt len = 0;
	Bool is_read;

	if (sr_isError(fd))
		return 0;
	is_read = read_at(fd, &file, sizeof(file), 0);
	for (UInt i = 0; is_read && !len && i < file.header.e_phnum; i++) {
		ULong at = file.header.e_phoff + i * sizeof(Elf64_Phdr);
		const Elf64_Phdr *p = (const Elf64_Phdr *)(file.bytes + at);

		if (at > sizeof(file) - sizeof(*p) || p->p_type != PT_NOTE ||
		    p->p_filesz > sizeof(notes))
			continue;
		if (read_at(fd, &notes, p->p_filesz, p->p_offset))
			len = find_build_id(notes.bytes, (UInt)p->p_filesz, id);
	}
	VG_(close)((Int)sr_Res(fd));
	return len;
}

static void add_file(const NSegment *segment, const HChar *name)
{
	UChar id[24] = {0};
	UInt len = name ? read_build_id(name, id + 4) : 0;

	if (len) {
		struct perf_event_header *header = (struct perf_event_header *)record.bytes;

		header->misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
		id[0] = (UChar)len;
		add(id, sizeof(id));
		return;
	}
	add4(segment->dev >> 8 & 0xfff);
	add4((segment->dev & 0xff) | (segment->dev >> 12 & 0xfff00));
	add8(segment->ino);
	add8(0);
}

void write_mapping(struct emulator *e, Addr start, SizeT size)
{
	const NSegment *segment = VG_(am_find_nsegment)(start);
	const HChar *name = segment ? VG_(am_get_filename)(segment) : NULL;
	ULong offset = name ? (ULong)segment->offset + (start - segment->start) : 0;
	HChar line[64];

	if (!segment)
		return;
	begin(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	add4((UInt)VG_(getpid)());
	add4((UInt)VG_(getpid)());
	add8(start);
	add8(size);
	add8(offset);
	add_file(segment, name);
	add4(VKI_PROT_READ | VKI_PROT_EXEC);
	add4(2); /* MAP_PRIVATE */
	add_text(name ? name : "//anon");
	add_identity(now(e));
	end_everywhere(e);
	put(&e->files[FILE_TRUTH], line,
	    VG_(snprintf)(line, sizeof(line), "M %lx %lx %llx ", start, start + size, offset));
	put(&e->files[FILE_TRUTH], name ? name : "//anon", VG_(strlen)(name ? name : "//anon"));
	put(&e->files[FILE_TRUTH], "\n", 1);
}

static void write_thread(struct emulator *e)
{
	begin(PERF_RECORD_FORK, 0);
	add4((UInt)VG_(getpid)());
	add4((UInt)VG_(getpid)());
	add4((UInt)VG_(gettid)());
	add4((UInt)VG_(getpid)());
	add8(now(e));
	add_identity(now(e));
	end_everywhere(e);
}

static void add_chain(UInt file, Addr ip)
{
	if (!has_chain(file))
		return;
	/* With --call-graph lbr perf has the chain's user part made of nothing but its start. */
	add8(has_stack(file) ? 0 : 2);
	if (!has_stack(file)) {
		add8((ULong)PERF_CONTEXT_USER);
		add8(ip);
	}
}

static void add_branches(UInt file, const struct emulated_thread *t)
{
	const struct ring *ring = file == FILE_ANY ? &t->any : &t->rings[file % RINGS];
	struct ring_entry entries[RING_MAX];
	UInt n = ring_read(ring, entries);

	if (!has_branches(file))
		return;
	add8(n);
	if (file != FILE_ANY)
		add8(ring->top);
	for (UInt i = 0; i < n; i++) {
		add8(entries[i].from);
		add8(entries[i].to);
		add8(0);
	}
}

/* The end of the stack: of its mapping, or of the thread's control block if that is in it. Above
 * the block there may be a guard, of which valgrind does not know: glibc 2.42 makes it by
 * madvise().
 */
static Addr stack_end(const VexGuestAMD64State *s)
{
	const NSegment *segment = VG_(am_find_nsegment)(s->guest_RSP);
	Addr end = segment && segment->hasR ? segment->end + 1 : s->guest_RSP;

	return s->guest_RSP < s->guest_FS_CONST && s->guest_FS_CONST < end ? s->guest_FS_CONST
									   : end;
}

/* The stack from the stack pointer to its end, or as far as it is wanted. */
static void add_stack(const struct emulator *e, UInt file, const VexGuestAMD64State *s)
{
	const ULong regs[] = {s->guest_RAX, s->guest_RBX, s->guest_RCX, s->guest_RDX, s->guest_RSI,
			      s->guest_RDI, s->guest_RBP, s->guest_RSP, s->guest_RIP, s->guest_R8,
			      s->guest_R9,  s->guest_R10, s->guest_R11, s->guest_R12, s->guest_R13,
			      s->guest_R14, s->guest_R15};
	ULong there = stack_end(s) - s->guest_RSP;
	ULong room = (ULong)e->stack_bytes & ~7ull, copied = there < room ? there & ~7ull : room;

	if (!has_stack(file))
		return;
	add8(PERF_SAMPLE_REGS_ABI_64);
	add(regs, sizeof(regs));
	/* At most the size that was asked for. If the stack is smaller, one word more is written,
	 * by which a reader knows that the stack ended. */
	if (copied < room)
		room = copied + 8;
	add8(room);
	add((const void *)s->guest_RSP, copied);
	if (room > copied)
		add8(0);
	add8(copied);
}

static void write_truth(struct emulator *e, const struct emulated_thread *thread, Addr ip)
{
	const struct truth *truth = &thread->truth;
	struct out *out = &e->files[FILE_TRUTH];
	HChar line[128];

	put(out, line,
	    VG_(snprintf)(line, sizeof(line), "S %llu %d %lx\n", now(e), VG_(gettid)(), ip));
	if (thread->in_transition)
		put(out, "X\n", 2);
	for (UInt i = truth->n; i-- > 0;) {
		const struct truth_entry *t = &truth->stack[i];
		UInt n;

		if (t->kind == TRUTH_CALL)
			n = VG_(snprintf)(line, sizeof(line), "C %lx %lx\n", t->from, t->address);
		else if (t->kind == TRUTH_SIGNAL)
			n = VG_(snprintf)(line, sizeof(line), "I %lx\n", t->address);
		else
			n = VG_(snprintf)(line, sizeof(line), "T %lx\n", *(const Addr *)t->slot);
		put(out, line, n);
		if (t->kind == TRUTH_CALL && *(const Addr *)t->slot != t->address)
			put(out, line,
			    VG_(snprintf)(line, sizeof(line), "O %lx\n", *(const Addr *)t->slot));
	}
}

void write_sample(struct emulator *e, struct emulated_thread *t, Addr ip,
		  const VexGuestAMD64State *state)
{
	VexGuestAMD64State regs = *state;

	regs.guest_RIP = ip;
	if (t->is_new)
		write_thread(e);
	t->is_new = False;
	for (UInt i = 0; i < FILE_TRUTH; i++) {
		begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		add8(ip);
		add4((UInt)VG_(getpid)());
		add4((UInt)VG_(gettid)());
		add8(now(e));
		add8((ULong)e->period);
		add_chain(i, ip);
		add_branches(i, t);
		add_stack(e, i, &regs);
		end(&e->files[i]);
	}
	write_truth(e, t, ip);
}
