/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: code that a process has made, and changes.
 *
 *   input := u16 from, u16 bytes          little-endian; what changes, in parts of 65536 of the
 *                                         code
 *            u8 by                        each of its bytes is combined with this one
 *            code
 *
 * Beyond memory errors and time, it checks that the rows of a piece stay in order, with rules that
 * the kernel half knows, that its bytes are those that it was given last, and that the rules of
 * ways to returns are such, too.
 */
#include <endian.h>

#include "analysis/exit_frame.h"
#include "fuzz_table.h"
#include "unwind/code_piece.h"

#define HEADER_BYTES 5
#define ADDRESS	     UINT64_C(0x7f0000010000)
#define STARTS	     8 /* of ways */

static void check_piece(const struct code_piece *piece, const uint8_t *code, size_t size)
{
	fuzz_check(code_piece_has(piece, code, size, ADDRESS));
	for (size_t i = 0; i < piece->rows.count; i++) {
		const struct code_row *row = &piece->rows.items[i];

		fuzz_check(row->address >= ADDRESS && row->address <= ADDRESS + size);
		fuzz_check(!i || row->address >= row[-1].address);
		fuzz_check_rule(&row->rule);
	}
}

static size_t read_piece(void *arg, uint64_t vaddr, uint8_t *bytes, size_t size)
{
	int64_t got = elf_file_read(((const struct code_piece *)arg)->elf, vaddr, bytes, size);

	return got > 0 ? (size_t)got : 0;
}

static void check_exits(struct code_piece *piece, size_t size)
{
	struct stackd_rule rule;

	for (unsigned i = 0; i < STARTS; i++) {
		if (exit_frame_find(read_piece, piece, ADDRESS + i * size / STARTS, &rule))
			fuzz_check_rule(&rule);
	}
}

static void change(uint8_t *code, size_t size, const uint8_t *header)
{
	uint16_t from, bytes;

	memcpy(&from, header, sizeof(from));
	memcpy(&bytes, header + sizeof(from), sizeof(bytes));
	for (size_t i = le16toh(from) * size >> 16, n = le16toh(bytes) * size >> 16; n && i < size;
	     i++, n--)
		code[i] ^= header[4];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct code_piece piece = {0};
	uint8_t *code;

	if (size < HEADER_BYTES + 16)
		return -1;
	size -= HEADER_BYTES;
	code = malloc(size);
	if (!code)
		return 0;
	memcpy(code, data + HEADER_BYTES, size);
	if (!code_piece_make(&piece, code, size, ADDRESS, data[4] & 1)) {
		check_piece(&piece, code, size);
		check_exits(&piece, size);
		change(code, size, data);
		fuzz_check(!code_piece_renew(&piece, code, size, ADDRESS));
		check_piece(&piece, code, size);
		/* As if the memory ended elsewhere. */
		fuzz_check(!code_piece_renew(&piece, code + size / 4, size - size / 4,
					     ADDRESS + size / 4));
		fuzz_check(code_piece_has(&piece, code + size / 4, size - size / 4,
					  ADDRESS + size / 4));
	}
	code_piece_fini(&piece);
	free(code);
	return 0;
}
