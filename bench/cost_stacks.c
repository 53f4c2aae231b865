/* SPDX-License-Identifier: MIT */
#include "cost_stacks.h"
#include "cost_vm_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ABOVE 64 /* bytes between the entry's stack pointer and the stack's end: arguments */

/* --- reading -------------------------------------------------------------------------------- */

/* One more entry, zeroed, of an array. */
#define MORE(array, count)                                                                         \
	({                                                                                         \
		(array) = reallocarray((array), (count) + 1, sizeof(*(array)));                    \
		if (!(array))                                                                      \
			vm_die("no memory");                                                       \
		memset(&(array)[count], 0, sizeof(*(array)));                                      \
		&(array)[(count)++];                                                               \
	})

static bool read_rule(struct stacks *s, const char *line)
{
	struct stacks_rule *r = MORE(s->rules, s->n_rules);
	struct stackd_rule *rule = &r->rule;
	int16_t *saved = rule->saved;

	return sscanf(line,
		      "%" SCNu32 " %hhu %hhu %hd %" SCNd32 " %hd %hd %hd %hd %hd %hd %hd %hhu %hhu",
		      &r->number, &rule->cfa, &rule->reg, &rule->cfa_add, &rule->cfa_offset,
		      &rule->ra_offset, &saved[0], &saved[1], &saved[2], &saved[3], &saved[4],
		      &saved[5], &rule->saved_reg, &rule->saved_via_reg) == 14;
}

static bool read_location(struct stacks *s, const char *line)
{
	struct stacks_location *at = MORE(s->locations, s->n_locations);

	return sscanf(line,
		      "%" SCNu32 " %" SCNx64 " %" SCNu32 " %" SCNu32 " %" SCNx64 " %" SCNx64
		      " %" SCNu32,
		      &at->file, &at->offset, &at->is_exact, &at->size, &at->from, &at->to,
		      &at->rule) == 7 &&
	       at->file - 1 < s->n_files;
}

static bool read_sample(struct stacks *s, char *line)
{
	struct stacks_sample *sample = MORE(s->samples, s->n_samples);
	const struct stacks_sample *before = s->n_samples > 1 ? sample - 1 : NULL;
	uint32_t kept;
	char *end;

	sample->frames = calloc(STACKS_FRAMES, sizeof(*sample->frames));
	if (!sample->frames)
		vm_die("no memory");
	sample->changes = (uint32_t)strtoul(line, &line, 10);
	kept = (uint32_t)strtoul(line, &line, 10);
	if (kept > (before ? before->depth : 0))
		return false;
	if (kept)
		memcpy(sample->frames, before->frames, kept * sizeof(*sample->frames));
	sample->depth = kept;
	for (;; line = end) {
		uint32_t location = (uint32_t)strtoul(line, &end, 10);

		if (end == line)
			return sample->depth && (*end == '\n' || !*end);
		if (location >= s->n_locations || sample->depth == STACKS_FRAMES)
			return false;
		sample->frames[sample->depth++] = location;
	}
}

static bool read_line(struct stacks *s, char *line)
{
	struct stacks_file *file;
	struct stacks_chunk *chunk;

	if (*line == '#' || *line == '\n')
		return true;
	if (!strcmp(line, "count\n")) {
		s->first_counted = s->n_samples;
		return true;
	}
	if (!strncmp(line, "mappings ", 9))
		return sscanf(line + 9, "%" SCNu32, &s->n_mappings) == 1;
	if (!strncmp(line, "file ", 5)) {
		file = MORE(s->files, s->n_files);
		return sscanf(line + 5, "%" SCNx64 " %" SCNx64 " %" SCNx64, &file->start,
			      &file->size, &file->offset) == 3;
	}
	if (!strncmp(line, "chunk ", 6)) {
		chunk = MORE(s->chunks, s->n_chunks);
		return sscanf(line + 6, "%" SCNu32 " %" SCNu32 " %" SCNu32, &chunk->file,
			      &chunk->number, &chunk->rows) == 3 &&
		       chunk->file - 1 < s->n_files;
	}
	if (!strncmp(line, "rule ", 5))
		return read_rule(s, line + 5);
	if (!strncmp(line, "at ", 3))
		return read_location(s, line + 3);
	return !strncmp(line, "sample ", 7) && read_sample(s, line + 7);
}

struct stacks *stacks_read(const char *path)
{
	struct stacks *s = calloc(1, sizeof(*s));
	FILE *in = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;

	if (!s || !in)
		vm_die("%s: cannot be opened", path);
	for (unsigned number = 1; getline(&line, &room, in) > 0; number++) {
		if (!read_line(s, line))
			vm_die("%s:%u: this is no line of recorded stacks", path, number);
	}
	if (s->first_counted == s->n_samples)
		vm_die("%s: there are no samples to be counted in it", path);
	for (uint32_t i = 0; i < s->n_locations; i++)
		stacks_rule_of(s, i);
	free(line);
	fclose(in);
	return s;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_samples; i++)
		free(s->samples[i].frames);
	free(s->files);
	free(s->chunks);
	free(s->rules);
	free(s->locations);
	free(s->samples);
	free(s);
}

const struct stackd_rule *stacks_rule_of(const struct stacks *s, uint32_t location)
{
	for (size_t i = 0; i < s->n_rules; i++) {
		if (s->rules[i].number == s->locations[location].rule)
			return &s->rules[i].rule;
	}
	vm_die("location %" PRIu32 " has a rule of which there is no line", location);
}

uint64_t stacks_pc(const struct stacks *s, uint32_t location)
{
	const struct stacks_location *at = &s->locations[location];
	const struct stacks_file *file = &s->files[at->file - 1];

	return file->start + (at->offset - file->offset) + !at->is_exact;
}

/* --- the contents of a stack ---------------------------------------------------------------- */

struct writer {
	uint8_t *bytes;
	uint64_t top;
	uint64_t r[STACKD_REG_PC + 1]; /* of the frame that is being written */
};

static void put(struct writer *w, uint64_t address, uint64_t word)
{
	uint64_t below = w->top - address;

	if (below < 8 || below > STACKS_BYTES)
		vm_die("a word of the stack is %" PRIi64 " bytes below its end", (int64_t)below);
	memcpy(w->bytes + STACKS_BYTES - below, &word, sizeof(word));
}

/* Sets the register that the frame's CFA comes from, or the word. */
static void put_cfa(struct writer *w, const struct stackd_rule *rule, uint64_t cfa)
{
	uint64_t rsp = w->r[STACKD_REG_SP];

	if (rule->cfa == STACKD_CFA_REG && rule->reg != STACKD_REG_SP)
		w->r[rule->reg] = cfa - (uint64_t)(int64_t)rule->cfa_offset;
	if (rule->cfa != STACKD_CFA_DEREF)
		return;
	if (rule->reg != STACKD_REG_SP) /* somewhere in the frame */
		w->r[rule->reg] = (rsp + (cfa - rsp) / 2) & ~UINT64_C(15);
	put(w, w->r[rule->reg] + (uint64_t)(int64_t)rule->cfa_offset,
	    cfa - (uint64_t)(int64_t)rule->cfa_add);
}

/* Writes what a frame has of its caller, and gives it registers of its own. */
static void put_frame(struct writer *w, const struct stackd_rule *rule, uint64_t size,
		      uint64_t return_address)
{
	static const uint8_t saved[STACKD_SAVED_COUNT] = {
#define X(name, number) number,
		STACKD_SAVED_REGS(X)
#undef X
	};
	uint64_t cfa = w->r[STACKD_REG_SP], caller[STACKD_REG_PC + 1];

	memcpy(caller, w->r, sizeof(caller));
	w->r[STACKD_REG_SP] = cfa - size;
	if (rule->cfa == STACKD_CFA_END)
		return;
	for (int i = 0; i < STACKD_SAVED_COUNT; i++) {
		if (rule->saved[i] || rule->saved_via_reg >> i & 1)
			w->r[saved[i]] = 0; /* it keeps something else in there */
	}
	put_cfa(w, rule, cfa);
	for (int i = 0; i < STACKD_SAVED_COUNT; i++) {
		uint64_t base = rule->saved_via_reg >> i & 1 ? w->r[STACKD_SAVED_REG(rule)] : cfa;

		if (rule->saved[i] || rule->saved_via_reg >> i & 1)
			put(w, base + (uint64_t)(int64_t)rule->saved[i], caller[saved[i]]);
	}
	put(w, cfa + (uint64_t)(int64_t)rule->ra_offset, return_address);
}

uint64_t stacks_write(const struct stacks *s, const struct stacks_sample *sample, uint8_t *bytes,
		      uint64_t top, struct stackd_regs *ret_regs)
{
	struct writer w = {.bytes = bytes, .top = top, .r = {[STACKD_REG_SP] = top - ABOVE}};
	uint64_t return_address = 0;

	for (uint32_t i = 0; i < sample->depth; i++) {
		uint32_t location = sample->frames[i];

		put_frame(&w, stacks_rule_of(s, location), s->locations[location].size,
			  return_address);
		return_address = stacks_pc(s, location);
	}
	w.r[STACKD_REG_PC] = return_address;
	memcpy(ret_regs->r, w.r, sizeof(ret_regs->r));
	return top - ABOVE;
}
