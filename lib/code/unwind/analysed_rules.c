/* SPDX-License-Identifier: MIT */
/* Makes a file's recipes when the first rule is missing; see analysed_rules.h. */
#include "unwind/analysed_rules.h"

#include <errno.h>

static uint64_t code_bytes(const struct elf_file *elf)
{
	size_t count;
	const Elf64_Phdr *p = elf_file_program_headers(elf, &count);
	uint64_t bytes = 0;

	for (size_t i = 0; i < count && bytes <= ANALYSED_RULES_MAX_CODE; i++) {
		if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_X)
			bytes += p[i].p_filesz;
	}
	return bytes;
}

/* Uses a separate handle, since other threads may use libelf's. */
static int make(const struct elf_file *elf, struct recipe_table **ret_table)
{
	struct elf_file *own;
	int err = elf_file_clone(elf, &own);

	if (err)
		return err;
	err = recipe_compile(own, ret_table);
	elf_file_free(own);
	return err;
}

int analysed_rules_find(struct analysed_rules *rules, const struct analysed_source *source,
			const struct object *object, uint64_t offset, struct stackd_rule *ret_rule)
{
	int err = 0;

	*ret_rule = (struct stackd_rule){.cfa = STACKD_CFA_NONE};
	if (source->find)
		return source->find(source->arg, object, offset, ret_rule);
	if (!rules->is_known && code_bytes(object->elf) <= ANALYSED_RULES_MAX_CODE)
		err = make(object->elf, &rules->table);
	if (err == -ENOMEM)
		return err;
	rules->is_known = true;
	if (rules->table)
		*ret_rule = *recipe_lookup(rules->table, offset);
	return 0;
}

void analysed_rules_drop(struct analysed_rules *rules)
{
	recipe_table_free(rules->table);
	*rules = (struct analysed_rules){0};
}
