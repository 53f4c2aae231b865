/* SPDX-License-Identifier: MIT */
/*
 * The dictionary of a request with profiles of OpenTelemetry: tables without duplicates, whose
 * first row is empty. A part of export_otlp.c.
 *
 * If memory is short, functions that return an index return 0, the empty row, and
 * otlp_tables_finish() then fails.
 */
#ifndef EXPORT_OTLP_TABLES_H
#define EXPORT_OTLP_TABLES_H

#include "model/profile.h"
#include "otlp.pb-c.h"

struct otlp_tables;

/* Makes empty tables. Returns 0 or -ENOMEM. */
int otlp_tables_new(struct profile *profile, struct otlp_tables **ret_tables);
void otlp_tables_free(struct otlp_tables *tables); /* NULL is fine */

/* Returns the index of a string, which is escaped for display, and added if it is new. */
int32_t otlp_tables_string(struct otlp_tables *tables, const char *s);

/* Returns the index of the stack of an entry's path. stack_table_is_shaped() must be false: the
 * profile's filter must not change the shape of paths. */
int32_t otlp_tables_stack(struct otlp_tables *tables, const struct profile_entry *entry);

/* Returns the index of an attribute with a text as its value, or a number if `text` is NULL. */
int32_t otlp_tables_attribute(struct otlp_tables *tables, const char *key, const char *text,
			      int64_t number);

/* Moves the tables into a message, which the caller frees with the request. Returns 0 or -ENOMEM.
 */
int otlp_tables_finish(struct otlp_tables *tables, Otlp__Dictionary **ret_dictionary);

/* Appends `message` to a list of a message, which owns it from then on. Returns 0 or -ENOMEM. */
int otlp_append(void ***list, size_t *n, void *message);

/* Makes a value of a text, or of a number if `text` is NULL. NULL: memory is short. */
Otlp__AnyValue *otlp_value(const char *text, int64_t number);

#endif
