/* SPDX-License-Identifier: MIT */
/*
 * The dictionary of a request with profiles of OpenTelemetry: tables in which nothing stands twice,
 * and of which the first row is empty. A part of export_otlp.c.
 *
 * Functions that return a place return 0, that of the empty row, for lack of memory; the dictionary
 * is then not to be had.
 */
#ifndef EXPORT_OTLP_TABLES_H
#define EXPORT_OTLP_TABLES_H

#include "model/profile.h"
#include "otlp.pb-c.h"

struct otlp_tables;

/* Makes empty ones. 0 or -ENOMEM. */
int otlp_tables_new(struct profile *profile, struct otlp_tables **ret_tables);
void otlp_tables_free(struct otlp_tables *tables); /* NULL is fine */

/* Returns the place of a string, as it is shown: escaped. */
int32_t otlp_tables_string(struct otlp_tables *tables, const char *s);

/* Returns the place of an entry's path. The profile's shape of paths must be the store's:
 * stack_table_is_shaped(). */
int32_t otlp_tables_stack(struct otlp_tables *tables, const struct profile_entry *entry);

/* Returns the place of an attribute; without `text` of the number. */
int32_t otlp_tables_attribute(struct otlp_tables *tables, const char *key, const char *text,
			      int64_t number);

/* Moves all of it into a message, which the caller frees with what it is part of. 0 or -ENOMEM. */
int otlp_tables_finish(struct otlp_tables *tables, Otlp__Dictionary **ret_dictionary);

/* Appends a message's pointer to a list that the message's owner frees. 0 or -ENOMEM. */
int otlp_append(void ***list, size_t *n, void *message);

/* Returns a text or a number as a value, NULL for lack of memory. */
Otlp__AnyValue *otlp_value(const char *text, int64_t number);

#endif
