/* SPDX-License-Identifier: MIT */
/* Keeps both directions as arrays, and the free numbers as a queue; see file_numbers.h. */
#include "daemon/tables/file_numbers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

struct file_numbers {
	uint32_t n;
	uint32_t *objects;    /* by number: its object's number + 1; 0: it is free */
	uint16_t *numbers;    /* by object: its number; 0: it has none */
	size_t n_objects;     /* of `numbers` */
	uint16_t *queue;      /* free numbers: a ring of n - 1 */
	uint32_t first, free; /* index of the one that is given next, and how many there are */
};

int file_numbers_new(uint32_t n, struct file_numbers **ret_numbers)
{
	struct file_numbers *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->n = n;
	f->objects = calloc(n, sizeof(*f->objects));
	f->queue = calloc(n, sizeof(*f->queue));
	if (!f->objects || !f->queue) {
		file_numbers_free(f);
		return -ENOMEM;
	}
	for (; f->free + 1 < n; f->free++)
		f->queue[f->free] = (uint16_t)(f->free + 1);
	*ret_numbers = f;
	return 0;
}

void file_numbers_free(struct file_numbers *f)
{
	if (!f)
		return;
	free(f->objects);
	free(f->numbers);
	free(f->queue);
	free(f);
}

uint32_t file_numbers_of(const struct file_numbers *f, uint32_t object)
{
	return object < f->n_objects ? f->numbers[object] : 0;
}

uint32_t file_numbers_give(struct file_numbers *f, uint32_t object)
{
	uint32_t number = file_numbers_of(f, object);

	if (number || !f->free || VEC_GROW_ZEROED(f->numbers, f->n_objects, (size_t)object + 1))
		return number;
	number = f->queue[f->first];
	f->first = (f->first + 1) % (f->n - 1);
	f->free--;
	f->objects[number] = object + 1;
	f->numbers[object] = (uint16_t)number;
	return number;
}

bool file_numbers_object(const struct file_numbers *f, uint32_t number, uint32_t *ret_object)
{
	if (number >= f->n || !f->objects[number])
		return false;
	*ret_object = f->objects[number] - 1;
	return true;
}

void file_numbers_end(struct file_numbers *f, uint32_t number)
{
	uint32_t object;

	if (file_numbers_object(f, number, &object) && f->numbers[object] == number)
		f->numbers[object] = 0;
}

void file_numbers_give_back(struct file_numbers *f, uint32_t number)
{
	file_numbers_end(f, number);
	f->objects[number] = 0;
	f->queue[(f->first + f->free++) % (f->n - 1)] = (uint16_t)number;
}

uint32_t file_numbers_taken(const struct file_numbers *f)
{
	return f->n - 1 - f->free;
}

bool file_numbers_are_all_taken(const struct file_numbers *f)
{
	return !f->free;
}
