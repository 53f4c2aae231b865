/* SPDX-License-Identifier: MIT */
/* Decodes resolvers; see ifunc_resolvers.h. */
#include "daemon/regions/ifunc_resolvers.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/insn.h"
#include "sym/unwind_bounds.h"

#define MOST_BYTES (64u << 10) /* most bytes of a resolver */

static int take_address(const struct unwind_bounds *bounds, const struct code_part *resolver,
			uint64_t vaddr, int (*each)(void *arg, const struct code_part *function),
			void *arg)
{
	const struct code_part function = {.vaddr = vaddr,
					   .size = unwind_bounds_end(bounds, vaddr) - vaddr};

	if (!vaddr || vaddr == resolver->vaddr || unwind_bounds_start(bounds, vaddr) != vaddr)
		return 0;
	return each(arg, &function);
}

static int decode(const struct unwind_bounds *bounds, const struct code_part *resolver,
		  const uint8_t *code, int (*each)(void *arg, const struct code_part *function),
		  void *arg)
{
	struct insn_decoder decoder;
	int err = 0;

	insn_decoder_init(&decoder);
	for (uint64_t at = 0; at < resolver->size && !err;) {
		struct insn i;

		if (!insn_decode(&decoder, code + at, resolver->size - at, resolver->vaddr + at,
				 &i))
			break;
		if (i.idiom == INSN_ADDRESS)
			err = take_address(bounds, resolver, i.target, each, arg);
		at += i.length;
	}
	return err;
}

int ifunc_resolvers_each(const struct elf_file *file, const struct code_part *resolver,
			 int (*each)(void *arg, const struct code_part *function), void *arg)
{
	struct unwind_bounds *bounds = NULL;
	uint64_t offset;
	uint8_t *code;
	int err;

	if (!resolver->size || resolver->size > MOST_BYTES ||
	    !elf_file_vaddr_to_offset(file, resolver->vaddr, &offset))
		return 0;
	code = malloc(resolver->size);
	err = code ? unwind_bounds_new(file, &bounds) : -ENOMEM;
	if (!err && elf_file_read_whole(file, offset, code, resolver->size))
		err = decode(bounds, resolver, code, each, arg);
	unwind_bounds_free(bounds);
	free(code);
	return err;
}
