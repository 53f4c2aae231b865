/* SPDX-License-Identifier: MIT */
/* Decodes translations by tables of operations, one a form; see v8_translation.h. */
#include "runtime/v8/v8_translation.h"

#include "runtime/v8/v8_bytes.h"

#define MOST_OPERATIONS 65536

/* What an operation is. */
enum kind {
	VALUE,	  /* none of those below */
	BEGIN,	  /* begins a translation */
	BYTECODE, /* a frame of bytecode: offset, function, ... */
	JS,	  /* a frame of a builtin that goes on in JavaScript's name */
	FRAME,	  /* any other frame */
	SAME	  /* as many operations as its operand says are those of the earlier translation */
};

struct operation {
	uint8_t operands, kind;
};

/* Tables of numbers of operands. A letter before a number gives the kind. */
#define V(n)                                                                                       \
	{                                                                                          \
		(n), VALUE                                                                         \
	}
#define B(n)                                                                                       \
	{                                                                                          \
		(n), BEGIN                                                                         \
	}
#define J(n)                                                                                       \
	{                                                                                          \
		(n), BYTECODE                                                                      \
	}
#define K(n)                                                                                       \
	{                                                                                          \
		(n), JS                                                                            \
	}
#define F(n)                                                                                       \
	{                                                                                          \
		(n), FRAME                                                                         \
	}
#define S(n)                                                                                       \
	{                                                                                          \
		(n), SAME                                                                          \
	}

static const struct operation form_10[] = {
	F(2), V(1), V(0), B(3), V(1), V(1), F(3), V(1), F(3), V(1), V(1), V(1), V(1), V(1),
	V(1), V(1), V(1), V(1), J(5), K(3), K(3), F(4), V(1), V(1), V(1), V(1), V(1), V(2),
};

static const struct operation form_11[] = {
	V(1), V(0), B(3), B(3), V(1), V(1), F(3), V(1), F(3), V(1), V(1), V(1),
	V(1), V(1), F(2), V(1), V(1), V(1), V(1), V(1), V(1), V(1), V(1), J(5),
	J(3), K(3), K(3), F(4), V(0), V(1), V(1), V(1), V(1), V(1), V(2), S(1),
};

static const struct operation form_12[] = {
	J(5), J(3), K(3), K(3), F(2), F(1), F(3), F(4), F(3), F(2), V(1), V(0), B(3), B(3),
	V(1), V(1), V(1), V(1), V(1), V(1), V(1), V(1), V(1), V(1), V(1), V(1), V(1), V(1),
	V(1), V(1), V(1), V(1), V(0), V(1), V(1), V(1), V(1), V(1), V(2), S(1),
};

static const struct operation form_13[] = {
	J(6), J(4), K(3), K(3), F(2), F(1), F(3), F(4), F(3), F(3), F(3), V(1), V(0), V(0), B(3),
	B(3), V(1), V(1), V(1), V(0), V(1), V(1), V(1), V(1), V(1), V(1), V(1), V(1), V(1), V(1),
	V(1), V(1), V(1), V(1), V(1), V(1), V(1), V(0), V(1), V(1), V(1), V(1), V(1), V(2), S(1),
};

static const struct form {
	const struct operation *operations;
	size_t count;
	bool is_first; /* without references to earlier translations; operations are numbers with a
			* sign */
} forms[V8_TRANSLATION_FORMS] = {
	{form_10, sizeof(form_10) / sizeof(*form_10), true},
	{form_11, sizeof(form_11) / sizeof(*form_11), false},
	{form_12, sizeof(form_12) / sizeof(*form_12), false},
	{form_13, sizeof(form_13) / sizeof(*form_13), false},
};

#define MOST_OPERANDS 6

/* A translation that is being read. */
struct reader {
	const struct form *form;
	const uint8_t *bytes;
	size_t len, at;
	size_t earlier; /* where the earlier translation goes on */
	size_t behind;	/* operations by which `earlier` is behind */
	uint64_t same;	/* operations that are still to be taken from there */
	uint64_t operands[MOST_OPERANDS];
};

/* Reads the operation at an index with its operands. Returns NULL if it is none. */
static const struct operation *read_operation(struct reader *r, size_t *at)
{
	const struct operation *operation;
	uint64_t number;

	if (r->form->is_first) {
		if (!v8_number(r->bytes, r->len, at, &number))
			return NULL;
		number >>= 1;
	} else {
		if (*at >= r->len)
			return NULL;
		number = r->bytes[(*at)++];
	}
	if (number >= r->form->count)
		return NULL;
	operation = &r->form->operations[number];
	for (unsigned i = 0; i < operation->operands; i++) {
		if (!v8_number(r->bytes, r->len, at, &r->operands[i]))
			return NULL;
	}
	return operation;
}

/* Reads the next operation of the earlier translation. */
static const struct operation *read_earlier(struct reader *r)
{
	const struct operation *operation = NULL;

	r->same--;
	for (; r->behind; r->behind--) {
		if (!read_operation(r, &r->earlier))
			return NULL;
	}
	operation = read_operation(r, &r->earlier);
	return operation && operation->kind != SAME && operation->kind != BEGIN ? operation : NULL;
}

/* Reads the next operation, wherever it is said. Returns NULL if the translation is not right. */
static const struct operation *next_operation(struct reader *r)
{
	const struct operation *operation;

	if (r->same)
		return read_earlier(r);
	/* A byte that is no operation says how many are the same, too. */
	if (!r->form->is_first && r->at < r->len && r->bytes[r->at] >= r->form->count) {
		r->same = r->bytes[r->at++] - r->form->count;
	} else {
		operation = read_operation(r, &r->at);
		if (!operation || operation->kind == BEGIN)
			return NULL;
		if (operation->kind != SAME) {
			r->behind++;
			return operation;
		}
		r->same = r->operands[0];
	}
	return r->same && r->earlier ? read_earlier(r) : NULL;
}

/* Begins a translation. Gives the number of its frames, and of those that are BYTECODE or JS.
 * Returns false if it is not right. */
static bool begin(struct reader *r, int64_t *ret_frames, int64_t *ret_js)
{
	size_t start = r->at;
	const struct operation *operation = read_operation(r, &r->at);
	const unsigned first = !r->form->is_first;
	uint64_t before;

	if (!operation || operation->kind != BEGIN)
		return false;
	*ret_frames = v8_operand(r->operands[first]);
	*ret_js = v8_operand(r->operands[first + 1]);
	before = first ? r->operands[0] : 0;
	if (before > start)
		return false;
	if (before) {
		r->earlier = start - before;
		operation = read_operation(r, &r->earlier);
		if (!operation || operation->kind != BEGIN || r->operands[0])
			return false;
	}
	return *ret_frames > 0 && *ret_js > 0;
}

size_t v8_translation_frames(unsigned form, const uint8_t *bytes, size_t len, size_t index,
			     struct v8_translation_frame *ret_frames, size_t max)
{
	struct reader r = {.bytes = bytes, .len = len, .at = index};
	int64_t frames, js;
	size_t n = 0;

	if (form >= V8_TRANSLATION_FORMS)
		return 0;
	r.form = &forms[form];
	if (!begin(&r, &frames, &js))
		return 0;
	for (unsigned i = 0; i < MOST_OPERATIONS && frames; i++) {
		const struct operation *operation = next_operation(&r);
		int64_t offset, literal;

		if (!operation)
			return 0;
		frames -= operation->kind >= BYTECODE && operation->kind <= FRAME;
		js -= operation->kind == BYTECODE || operation->kind == JS;
		if (operation->kind != BYTECODE)
			continue;
		offset = v8_operand(r.operands[0]);
		literal = v8_operand(r.operands[1]);
		if (n >= max || offset < -1 || offset > INT32_MAX || literal < 0 ||
		    literal > INT32_MAX)
			return 0;
		ret_frames[n++] = (struct v8_translation_frame){(int32_t)offset, (uint32_t)literal};
	}
	return frames || js ? 0 : n; /* else an operation was not read as it is */
}
