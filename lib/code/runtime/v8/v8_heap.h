/* SPDX-License-Identifier: MIT */
/*
 * Reads objects of a running V8's heap.
 *
 * A word of an object is tagged: an even one is a small number (Smi) in its upper half, one that
 * ends in the bits 01 is an object's address plus 1. Each object begins with its map, which has its
 * type. All of it lies in memory that the process can write, so each object's type is checked, each
 * loop has a limit, and each text a length.
 *
 *   frame ─► BytecodeArray ─► SharedFunctionInfo (SFI) ─► ScopeInfo: name, position
 *   v8_function.c                               └──────► Script: file, lines (v8_script.c)
 *   return address ─► Code ─► what was deoptimised ─► SFIs and offsets of bytecode   v8_code.c
 */
#ifndef V8_V8_HEAP_H
#define V8_V8_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/int_map.h"
#include "base/vec.h"
#include "runtime/runtime.h"
#include "runtime/v8/v8_layout.h"

#define V8_SCRIPT_ID 64 /* a Script's field, in all versions */

#define V8_IN_VAIN 4096 /* look-ups in vain that are remembered */

/* Where lines of a script end. */
struct v8_script {
	uint32_t id;   /* a number of its isolate's; others have the same ones */
	uint64_t text; /* hash of the text's length, place and ends: of which script it is */
	uint32_t first_line, first_column; /* where its text begins in a file, from 0 on */
	VEC(uint32_t) ends;		   /* none: the lines are not known */
	uint32_t searched;		   /* characters so far */
	bool has_return; /* the last one of them was one, which is no end if a newline follows */
	bool is_done;	 /* the ends are those of all the text */
};

/* Which function some bytecode is of. */
struct v8_bytecode {
	uint64_t address; /* of the BytecodeArray, less its tag */
	uint64_t sfi;	  /* of the SharedFunctionInfo, less its tag */
};

struct v8 {
	struct v8_layout is;
	struct runtime_memory memory;
	uint64_t stream_map; /* address of the map of objects with code; 0: not met yet */
	VEC(struct v8_script) scripts;
	uint64_t line_bytes;
	uint64_t scripts_kept; /* calls since all were forgotten */
	VEC(struct v8_bytecode) bytecodes;
	struct int_map by_script, by_bytecode; /* indexes by address */
	uint64_t in_vain[V8_IN_VAIN];	       /* hashes of what was looked for and not found */
	uint32_t asked;			       /* look-ups since they were forgotten */
	uint64_t failures, *failed;	       /* reads; and the address of that number */
};

/* Forgets from time to time what was not found, since it may be there now. */
void v8_forget(struct v8 *v8);

/* Copy memory of the process: `len` bytes; a word. Return false if it cannot be read. */
bool v8_read(const struct v8 *v8, uint64_t address, void *buf, size_t len);
bool v8_word(const struct v8 *v8, uint64_t address, uint64_t *ret_word);

/* Returns whether the byte at an address can be read. It is no failed read if it is not there. */
bool v8_has(const struct v8 *v8, uint64_t address);

/* Returns whether a word is an object's tagged address. */
static inline bool v8_is_object(uint64_t word)
{
	return (word & 3) == 1 && word > UINT16_MAX && !(word >> 47);
}

/* Returns whether a word is a small number. */
static inline bool v8_is_smi(uint64_t word)
{
	return !(uint32_t)word;
}

/* Read a word of the object at `base`, which has no tag: any word; an object's address, less its
 * tag; a small number that is not negative. */
bool v8_object(const struct v8 *v8, uint64_t base, uint32_t offset, uint64_t *ret_object);
bool v8_smi(const struct v8 *v8, uint64_t base, uint32_t offset, uint32_t *ret_value);

/* Returns the type of the object at `base`; -1: it cannot be read. */
int32_t v8_type(const struct v8 *v8, uint64_t base);
bool v8_has_type(const struct v8 *v8, uint64_t base, enum v8_constant type);

/* A string's characters: of one text, or of a part of it. */
struct v8_chars {
	uint64_t address;
	uint32_t length;
	bool is_wide; /* each has two bytes, not one */
};

/* Finds the characters of a string that is one text. Returns false if it is not. */
bool v8_chars(const struct v8 *v8, uint64_t string, struct v8_chars *ret_chars);

/* Puts a string's first characters, as UTF-8, to `text`, which has RUNTIME_NAME_ROOM bytes and ends
 * in "..." if it was cut. Returns false if it is no string, or cannot be read. */
bool v8_text(const struct v8 *v8, uint64_t string, char *text);

/* Frees the lines of all scripts. */
void v8_script_free_all(struct v8 *v8);

/* Gives the lines of a script, which are valid until the next call; NULL: they are not known. 0;
 * -EAGAIN: they will be after more calls; -ENOMEM. */
int v8_script_find(struct v8 *v8, uint64_t script, const struct v8_script **ret_script);

/* Gives the line and column of a position in a script, both from 1 on; 0: they are not known. */
void v8_script_place(const struct v8_script *script, uint32_t position, uint32_t *ret_line,
		     uint32_t *ret_column);

/* Returns the BytecodeArray of a SharedFunctionInfo, less its tag; 0: it has none. */
uint64_t v8_bytecode_of(const struct v8 *v8, uint64_t sfi);

/* The same, of an object that is or has one. */
uint64_t v8_bytecode_in(const struct v8 *v8, uint64_t object);

/* Returns the SharedFunctionInfo that was learnt for some bytecode, and that has it still; 0:
 * none. */
uint64_t v8_sfi_of(const struct v8 *v8, uint64_t bytecode);

/* Members of struct runtime_machine; see runtime.h. */
bool v8_is_file(const struct elf_file *file);
int v8_open(const struct elf_file *file, uint64_t bias, const struct runtime_memory *memory,
	    void **ret_v8);
void v8_close(void *v8);
void v8_range(const void *v8, uint64_t *ret_low, uint64_t *ret_high);
bool v8_is_handler(const void *v8, uint64_t vaddr);
bool v8_piece(void *v8, uint64_t address, struct runtime_code_piece *ret_piece);
bool v8_is_still(void *v8, const struct runtime_code_piece *piece);
size_t v8_frames(void *v8, const struct runtime_code_piece *piece, uint64_t address, bool is_return,
		 struct runtime_managed_frame *ret_frames, size_t max);
void v8_learn(void *v8, const struct walk_memory *memory, uint64_t fp);
bool v8_is_pointed(const struct walk_memory *memory, uint64_t fp);
bool v8_interpreted(const struct walk_memory *memory, uint64_t fp,
		    struct runtime_activation *ret_activation);
bool v8_sender(const struct walk_memory *memory, uint64_t fp, uint64_t *ret_sp);
int v8_function(void *v8, uint64_t address, struct runtime_function *ret_function);
uint64_t v8_identity(void *v8, uint64_t address);
uint64_t v8_bytes(const void *v8);

#endif
