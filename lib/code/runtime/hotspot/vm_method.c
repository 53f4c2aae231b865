/* SPDX-License-Identifier: MIT */
/*
 * Names and lines of Java methods; see vm.h.
 *
 *   Method ─► ConstMethod ─► ConstantPool ─► holder (InstanceKlass) ─► name
 *                 │               └─► symbols: name, signature, source file
 *                 └─► bytecode, then the compressed table of lines
 *
 * A Method is believed only if the class that it names as its holder has it in its list of methods:
 * the memory of a class that was unloaded, or a word that only looks like a Method, has not.
 *
 * Names are as HotSpot prints them, less what differs from run to run: the address of a hidden
 * class (Main$$Lambda$14+0x0000000800c03000), and the numbers of lambdas and of generated
 * accessors.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/java_entry.h"
#include "base/hash.h"
#include "runtime/hotspot/java_frame.h"
#include "runtime/hotspot/vm.h"

#define METHODS_AT	8 /* in an array: the first element, behind its length */
#define MOST_METHODS	65536
#define AT_ONCE		256 /* methods */
#define SYMBOL_ROOM	1024
#define HAS_LINES	1 /* in a ConstMethod's flags */
#define MOST_LINES	4096
#define MOST_LINE_BYTES (MOST_LINES * 4)
#define METHOD_BELOW	24 /* words of an interpreter's frame, below its frame pointer */
#define SENDER_SP_BELOW 8
#define LAST_SP_BELOW	16
#define CACHE_BELOW	48
#define BCP_BELOW	64
#define ABOVE		16 /* bytes: the saved frame pointer and the return address */

/* With this native method a carrier runs a virtual thread. */
#define ENTERS_THREAD "jdk.internal.vm.Continuation.enterSpecial("

/* What a method's name and lines come from. */
struct method {
	uint64_t constant, pool, holder, klass_name;
	uint32_t words; /* size of the ConstMethod in words */
	uint32_t pool_length;
	uint16_t flags, code_size, name, signature;
};

static bool read_method(const struct vm *vm, uint64_t address, struct method *m)
{
	return !(address & 7) && vm_u64(vm, address, VM_CONST_METHOD, &m->constant) &&
	       vm_u64(vm, m->constant, VM_CONSTANTS, &m->pool) &&
	       vm_u32(vm, m->constant, VM_CONST_SIZE, &m->words) &&
	       (vm_u16(vm, m->constant, VM_CONST_FLAGS, &m->flags) ||
		vm_u16(vm, m->constant, VM_CONST_FLAGS_OF, &m->flags)) &&
	       vm_u16(vm, m->constant, VM_CODE_SIZE, &m->code_size) &&
	       vm_u16(vm, m->constant, VM_NAME_INDEX, &m->name) &&
	       vm_u16(vm, m->constant, VM_SIGNATURE_INDEX, &m->signature) &&
	       vm_u64(vm, m->pool, VM_HOLDER, &m->holder) &&
	       vm_u32(vm, m->pool, VM_POOL_LENGTH, &m->pool_length) &&
	       vm_u64(vm, m->holder, VM_KLASS_NAME, &m->klass_name) && m->name < m->pool_length &&
	       m->signature < m->pool_length;
}

static uint64_t identity_of(struct vm *vm, const struct method *m)
{
	uint64_t hash = hash_mix64(m->constant);

	hash = hash_mix64(hash ^ vm_class_number(vm, m->holder));

	hash = hash_mix64(hash ^ m->pool);
	hash = hash_mix64(hash ^ m->holder);
	hash = hash_mix64(hash ^ m->klass_name);
	hash = hash_mix64(hash ^
			  ((uint64_t)m->name << 32 | (uint64_t)m->signature << 16 | m->code_size));
	return hash ? hash : 1;
}

uint64_t vm_identity(void *machine, uint64_t address)
{
	struct method m;

	return read_method(machine, address, &m) ? identity_of(machine, &m) : 0;
}

/* Returns whether the holder has the method. */
static bool is_held(const struct vm *vm, uint64_t holder, uint64_t method)
{
	uint64_t array, some[AT_ONCE];
	uint32_t length;

	if (!vm_u64(vm, holder, VM_METHODS, &array) ||
	    !vm_read(vm, array, &length, sizeof(length)) || length > MOST_METHODS)
		return false;
	for (uint32_t i = 0; i < length; i += AT_ONCE) {
		uint32_t n = length - i < AT_ONCE ? length - i : AT_ONCE;

		if (!vm_read(vm, array + METHODS_AT + (uint64_t)i * 8, some, (size_t)n * 8))
			return false;
		for (uint32_t k = 0; k < n; k++) {
			if (some[k] == method)
				return true;
		}
	}
	return false;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Reads a symbol, cut to the room. */
static bool read_symbol(const struct vm *vm, uint64_t symbol, char text[SYMBOL_ROOM])
{
	uint16_t length;

	if (!vm_u16(vm, symbol, VM_SYMBOL_LENGTH, &length))
		return false;
	if (length >= SYMBOL_ROOM)
		length = SYMBOL_ROOM - 1;
	if (!vm_read(vm, symbol + vm->is.at[VM_SYMBOL_BODY], text, length))
		return false;
	text[length] = '\0';
	return strlen(text) == length;
}

static bool read_constant(const struct vm *vm, const struct method *m, uint16_t index,
			  char text[SYMBOL_ROOM])
{
	uint64_t symbol;

	return index < m->pool_length &&
	       vm_read(vm, m->pool + vm->is.constant_pool + (uint64_t)index * 8, &symbol,
		       sizeof(symbol)) &&
	       read_symbol(vm, symbol & ~UINT64_C(1), text);
}

/* Removes the digits that end a text. */
static void cut_digits(char *text)
{
	size_t n = strlen(text);

	while (n && isdigit((unsigned char)text[n - 1]))
		text[--n] = '\0';
}

/* Removes what differs from run to run from a class's name. */
static void settle_name(char *class)
{
	static const char lambda[] = "$$Lambda", accessor[] = "jdk/internal/reflect/Generated";
	char *at = strstr(class, "+0x");

	if (at)
		*at = '\0';
	at = strstr(class, lambda);
	if (at && at[sizeof(lambda) - 1] == '$') {
		cut_digits(class);
		if (strcmp(at + sizeof(lambda) - 1, "$") == 0)
			at[sizeof(lambda) - 1] = '\0';
	}
	if (strncmp(class, accessor, sizeof(accessor) - 1) == 0)
		cut_digits(class);
}

/* A text of limited length, which is cut behind its last whole character. */
struct put {
	char *text;
	size_t n;
	bool is_cut;
};

static void put_char(struct put *p, char c)
{
	if (p->n + sizeof("...") < RUNTIME_NAME_ROOM)
		p->text[p->n++] = c;
	else
		p->is_cut = true;
}

static void put_text(struct put *p, const char *s, char slash)
{
	for (; *s; s++)
		put_char(p, *s == '/' ? slash : *s);
}

static void put_end(struct put *p)
{
	if (p->is_cut) {
		while (p->n && (p->text[p->n - 1] & 0xc0) == 0x80)
			p->n--;
		if (p->n && p->text[p->n - 1] & 0x80)
			p->n--;
		memcpy(p->text + p->n, "...", 3);
		p->n += 3;
	}
	p->text[p->n] = '\0';
}

static const char *primitive(char c)
{
	static const char letters[] = "BCDFIJSZV";
	static const char *const names[] = {"byte", "char",  "double",	"float", "int",
					    "long", "short", "boolean", "void"};
	const char *at = strchr(letters, c);

	return at && c ? names[at - letters] : "?";
}

/* Puts one type of a signature; returns what follows it. */
static const char *put_type(struct put *p, const char *s)
{
	unsigned dimensions = 0;

	for (; *s == '['; s++)
		dimensions++;
	if (*s == 'L') {
		for (s++; *s && *s != ';'; s++)
			put_char(p, *s == '/' ? '.' : *s);
	} else {
		put_text(p, primitive(*s), '/');
	}
	while (dimensions--)
		put_text(p, "[]", '/');
	return *s ? s + 1 : s;
}

static void put_parameters(struct put *p, const char *signature)
{
	put_char(p, '(');
	for (const char *s = signature + 1; *signature && *s && *s != ')';) {
		if (s != signature + 1)
			put_text(p, ", ", '/');
		s = put_type(p, s);
	}
	put_char(p, ')');
}

/* Makes the path of the source file: the package's folders, and the file that the compiler has
 * noted; without that, the class. */
static void put_file(struct put *p, const char *class, const char *file)
{
	const char *end = strrchr(class, '/');

	for (const char *s = class; end && *file && s <= end; s++)
		put_char(p, *s);
	put_text(p, *file ? file : class, '/');
	put_end(p);
}

static bool name_method(const struct vm *vm, const struct method *m, struct runtime_function *f)
{
	char class[SYMBOL_ROOM], name[SYMBOL_ROOM], other[SYMBOL_ROOM];
	struct put put = {f->name, 0, false}, file = {f->file, 0, false};
	uint16_t index;

	if (!read_symbol(vm, m->klass_name, class) || !*class ||
	    !read_constant(vm, m, m->name, name) || !*name ||
	    !read_constant(vm, m, m->signature, other) || *other != '(')
		return false;
	settle_name(class);
	put_text(&put, class, '.');
	put_char(&put, '.');
	put_text(&put, name, '.');
	put_parameters(&put, other);
	put_end(&put);
	if (!vm_u16(vm, m->pool, VM_SOURCE_INDEX, &index) || !index ||
	    !read_constant(vm, m, index, other))
		*other = '\0';
	put_file(&file, class, other);
	return true;
}

/* --- lines ------------------------------------------------------------------------------------ */

static int32_t signed_of(uint32_t value)
{
	return (int32_t)(value >> 1) ^ -(int32_t)(value & 1);
}

/* A line, and its place in the table. */
struct numbered_line {
	struct runtime_line line;
	uint16_t place;
};

static int compare_lines(const void *a, const void *b)
{
	const struct numbered_line *x = a, *y = b;

	return x->line.instruction != y->line.instruction
		       ? (int)x->line.instruction - (int)y->line.instruction
		       : x->place - y->place;
}

/* Decodes the table: pairs of differences, small ones in a byte. Returns how many lines there are;
 * 0 also if they are more than MOST_LINES, or the table has no end: of instructions behind those
 * that were decoded, the lines would be wrong. */
static size_t decode_lines(const struct vm *vm, const uint8_t *bytes, size_t len,
			   struct numbered_line lines[MOST_LINES])
{
	uint32_t bci = 0, line = 0, by_bci, by_line;
	size_t at = 0, n = 0;

	while (at < len && bytes[at] && n < MOST_LINES) {
		uint8_t byte = bytes[at++];

		if (byte != 0xff) {
			bci += byte >> 3;
			line += byte & 7;
		} else if (vm_unsigned5(vm, bytes, len, &at, &by_bci) &&
			   vm_unsigned5(vm, bytes, len, &at, &by_line)) {
			bci += (uint32_t)signed_of(by_bci);
			line += (uint32_t)signed_of(by_line);
		} else {
			return 0;
		}
		lines[n] = (struct numbered_line){{(uint16_t)bci, (uint16_t)line}, (uint16_t)n};
		n++;
	}
	return at < len && !bytes[at] ? n : 0;
}

/* Keeps decoded lines, by rising instruction; those of one instruction in the table's order. 0 or
 * -ENOMEM. */
static int keep_lines(struct numbered_line *lines, size_t n, struct runtime_function *f)
{
	f->lines = n ? malloc(n * sizeof(*f->lines)) : NULL;
	if (n && !f->lines)
		return -ENOMEM;
	qsort(lines, n, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < n; i++) {
		f->lines[i] = lines[i].line;
		if (!f->first_line || f->lines[i].line < f->first_line)
			f->first_line = f->lines[i].line;
	}
	f->n_lines = n;
	return 0;
}

static bool read_all(const struct vm *vm, uint64_t address, uint8_t *bytes, size_t len)
{
	for (size_t at = 0, n; at < len; at += n) {
		n = len - at < 4096 ? len - at : 4096;
		if (!vm_read(vm, address + at, bytes + at, n))
			return false;
	}
	return true;
}

/* Reads the table of lines, which is between the bytecode and the end of the ConstMethod. Without a
 * table there are no lines. 0; -ENOENT: it cannot be read; -ENOMEM. */
static int read_lines(const struct vm *vm, const struct method *m, struct runtime_function *f)
{
	uint64_t before = vm->is.const_method + m->code_size, size = (uint64_t)m->words * 8;
	size_t len = size > before ? (size_t)(size - before) : 0;
	struct {
		struct numbered_line lines[MOST_LINES];
		uint8_t bytes[MOST_LINE_BYTES];
	} * room;
	int err = -ENOENT;

	if (!(m->flags & HAS_LINES) || !len)
		return 0;
	if (len > MOST_LINE_BYTES)
		len = MOST_LINE_BYTES;
	room = malloc(sizeof(*room));
	if (!room)
		return -ENOMEM;
	if (read_all(vm, m->constant + before, room->bytes, len))
		err = keep_lines(room->lines, decode_lines(vm, room->bytes, len, room->lines), f);
	free(room);
	return err;
}

int vm_function(void *machine, uint64_t address, struct runtime_function *ret_function)
{
	struct vm *vm = machine;
	struct runtime_function *f = ret_function;
	struct method m;

	if (!read_method(vm, address, &m) || !is_held(vm, m.holder, address))
		return -ENOENT;
	*f = (struct runtime_function){.identity = identity_of(vm, &m),
				       .class_number = vm_class_number(vm, m.holder),
				       .code = m.constant + vm->is.const_method,
				       .code_size = m.code_size};
	vm_u64(vm, m.pool, VM_POOL_CACHE, &f->constants);
	if (!name_method(vm, &m, f))
		return -ENOENT;
	f->begins_thread = strncmp(f->name, ENTERS_THREAD, sizeof(ENTERS_THREAD) - 1) == 0;
	return read_lines(vm, &m, f);
}

/* --- the interpreter's frames -------------------------------------------------------------------
 */

bool vm_sender(const struct walk_memory *memory, uint64_t fp, uint64_t *ret_sp)
{
	if (!java_frame_is(memory, fp) || !walk_memory_read8(memory, fp - SENDER_SP_BELOW, ret_sp))
		return false;
	if (*ret_sp < fp + ABOVE)
		*ret_sp = fp + ABOVE;
	return true;
}

bool vm_interpreted(const struct walk_memory *memory, uint64_t fp,
		    struct runtime_activation *ret_activation)
{
	struct runtime_activation *a = ret_activation;
	uint64_t last_sp = 0;

	if (fp < memory->start + BCP_BELOW || !java_frame_is(memory, fp) ||
	    !walk_memory_read8(memory, fp - METHOD_BELOW, &a->function) || !a->function ||
	    a->function & 7 || !walk_memory_read8(memory, fp - CACHE_BELOW, &a->constants) ||
	    !walk_memory_read8(memory, fp - BCP_BELOW, &a->instruction) ||
	    !walk_memory_read8(memory, fp - LAST_SP_BELOW, &last_sp))
		return false;
	a->waits = last_sp;
	return true;
}

/* When a virtual thread goes on, only its innermost frames are copied to the stack. The outermost
 * one of these returns to a stub that copies more. */
bool vm_parts(const uint8_t *code)
{
	return java_entry_thaws(code);
}

uint8_t vm_sender_register(const uint8_t *code, size_t len, size_t at)
{
	struct java_entry_left left;

	switch (java_entry_at(code, len, at, &left)) {
	case JAVA_ENTRY_ON_TOP:
	case JAVA_ENTRY_IN_REGISTER:
	case JAVA_ENTRY_PUSHED:
	case JAVA_ENTRY_MADE:
		return JAVA_ENTRY_SENDER_REG;
	case JAVA_ENTRY_HAS_SENDER:
		return RUNTIME_SENDER_PUSHED;
	case JAVA_ENTRY_LEFT_ON_TOP:
	case JAVA_ENTRY_LEFT:
		return left.sender_reg;
	default:
		return RUNTIME_SENDER_NONE;
	}
}

enum runtime_interrupted vm_interrupted(const uint8_t *code, size_t len, size_t at)
{
	struct java_entry_left left;

	switch (java_entry_at(code, len, at, &left)) {
	case JAVA_ENTRY_NONE:
		return RUNTIME_RUNS;
	case JAVA_ENTRY_RETURNED:
		return RUNTIME_RETURNED;
	case JAVA_ENTRY_LEFT_ON_TOP:
	case JAVA_ENTRY_LEFT:
	case JAVA_ENTRY_CALLS:
		return RUNTIME_LEFT;
	default:
		return RUNTIME_ENTERS;
	}
}
