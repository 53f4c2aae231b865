/* SPDX-License-Identifier: MIT */
/*
 * Gives objects the numbers by which the kernel half names their files, and takes them back.
 *
 *   free ──give──► of an object ──end──► ended: records on their way may still have it ──► free
 *
 * There are 16,384 numbers, and a service that runs for months meets more files than that. An
 * object can get and lose a number many times; of its own number (object.h) there is no end. Free
 * numbers are given out in the order in which they became free, so a number rests for as long as
 * possible.
 */
#ifndef TABLES_FILE_NUMBERS_H
#define TABLES_FILE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

struct file_numbers;

/* Numbers are those from 1 to below `n`. 0 or -ENOMEM. */
int file_numbers_new(uint32_t n, struct file_numbers **ret_numbers);
void file_numbers_free(struct file_numbers *numbers); /* NULL is fine */

/* Returns the number that an object has, by the object's number; 0: it has none. */
uint32_t file_numbers_of(const struct file_numbers *numbers, uint32_t object);

/* Returns the number that an object has, or gets now; 0: none is free, or memory is short. */
uint32_t file_numbers_give(struct file_numbers *numbers, uint32_t object);

/* Gives the object that has a number, or had it until it was ended. false: the number is free, or
 * there is no such number. */
bool file_numbers_object(const struct file_numbers *numbers, uint32_t number, uint32_t *ret_object);

/* Takes a number from its object. file_numbers_object() still knows whose it was. */
void file_numbers_end(struct file_numbers *numbers, uint32_t number);

/* Makes a number that was ended free. */
void file_numbers_give_back(struct file_numbers *numbers, uint32_t number);

/* Returns how many numbers are not free. */
uint32_t file_numbers_taken(const struct file_numbers *numbers);

/* Returns whether no number is free. */
bool file_numbers_are_all_taken(const struct file_numbers *numbers);

#endif
