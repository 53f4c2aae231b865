/* SPDX-License-Identifier: MIT */
/*
 * Numbers of classes, and what shows that no class was unloaded meanwhile; see vm.h.
 *
 * Once a class is unloaded, another one can get the same memory, with all that is in it. But each
 * class gets a number when it is loaded, higher than all before, for HotSpot's own recorder. The
 * tables for debuggers do not say where a Klass has it: behind the pointer to its loader there is
 * one word that differs between all classes and is no pointer. Below 16 bits of flags it has the
 * number.
 *
 * Every garbage collection that unloads classes counts itself as it begins, and spares those that
 * are then in use: so a class that was in use at a moment is still there as long as the count is
 * the same.
 */
#include "runtime/hotspot/vm.h"

#define FLAG_BITS    16
#define MOST_NUMBER  (UINT64_C(1) << 32)
#define MOST_LOADERS 32
#define MOST_KLASSES 16 /* of one loader */
#define LEAST	     12
#define WORDS	     12 /* that are searched, behind the pointer to the loader */

/* Collects classes, the newest ones of each loader. */
static size_t some_classes(const struct vm *vm, uint64_t *klasses, size_t max)
{
	uint64_t loader, klass;
	size_t n = 0;

	if (!vm_u64(vm, 0, VM_LOADERS, &loader))
		return 0;
	for (unsigned i = 0; i < MOST_LOADERS && loader; i++) {
		if (!vm_u64(vm, loader, VM_LOADER_KLASSES, &klass))
			return 0;
		for (unsigned k = 0; k < MOST_KLASSES && klass && n < max; k++) {
			klasses[n++] = klass;
			if (!vm_u64(vm, klass, VM_KLASS_NEXT, &klass))
				return 0;
		}
		if (!vm_u64(vm, loader, VM_LOADER_NEXT, &loader))
			return 0;
	}
	return n;
}

/* Returns whether a word of all these classes can be their numbers. */
static bool are_numbers(const struct vm *vm, const uint64_t *klasses, size_t n, uint64_t offset)
{
	uint64_t values[MOST_LOADERS * MOST_KLASSES];

	for (size_t i = 0; i < n; i++) {
		if (!vm_read(vm, klasses[i] + offset, &values[i], sizeof(*values)))
			return false;
		values[i] >>= FLAG_BITS;
		if (!values[i] || values[i] >= MOST_NUMBER)
			return false;
		for (size_t k = 0; k < i; k++) {
			if (values[k] == values[i])
				return false;
		}
	}
	return true;
}

static void find_numbers(struct vm *vm)
{
	uint64_t klasses[MOST_LOADERS * MOST_KLASSES], found = 0;
	size_t n = some_classes(vm, klasses, MOST_LOADERS * MOST_KLASSES);

	if (n < LEAST || vm->is.at[VM_KLASS_LOADER] == VM_ABSENT)
		return;
	for (unsigned i = 1; i <= WORDS; i++) {
		uint64_t offset = vm->is.at[VM_KLASS_LOADER] + i * 8;

		if (!are_numbers(vm, klasses, n, offset))
			continue;
		if (found)
			return; /* it could be either */
		found = offset;
	}
	vm->class_number_at = found;
}

uint64_t vm_class_number(struct vm *vm, uint64_t klass)
{
	uint64_t value;

	/* It takes many reads, so it is tried more and more rarely. */
	if (!vm->class_number_at) {
		vm->class_tries++;
		if (!(vm->class_tries & (vm->class_tries - 1)))
			find_numbers(vm);
	}
	if (!vm->class_number_at ||
	    !vm_read(vm, klass + vm->class_number_at, &value, sizeof(value)))
		return 0;
	value >>= FLAG_BITS;
	return value < MOST_NUMBER ? value : 0;
}

bool vm_unloads(void *machine, uint64_t *ret_unloads)
{
	const struct vm *vm = machine;
	uint32_t collections;
	uint64_t objects;

	if (!vm_u64(vm, 0, VM_OBJECTS, &objects) || !objects ||
	    !vm_u32(vm, objects, VM_COLLECTIONS, &collections))
		return false;
	*ret_unloads = collections;
	return true;
}
