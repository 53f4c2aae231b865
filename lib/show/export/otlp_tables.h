/* SPDX-License-Identifier: MIT */
/*
 * The dictionary of a request with profiles of OpenTelemetry: tables without duplicates, whose
 * first row is empty. A part of export_otlp.c.
 *
 * Functions that return an index return 0, the empty row, for lack of memory; otlp_tables_finish()
 * then fails.
 */
#ifndef EXPORT_OTLP_TABLES_H
#define EXPORT_OTLP_TABLES_H

#include "model/profile.h"
#include "otlp.pb-c.h"

struct otlp_tables;

/* Makes empty tables. Returns 0 or -ENOMEM. */
int otlp_tables_new(struct profile *profile, struct otlp_tables **ret_tables);
void otlp_tables_free(struct otlp_tables *tables); /* NULL is fine */

/* Returns the index of a string, which is escaped for display. */
int32_t otlp_tables_string(struct otlp_tables *tables, const char *s);

/* Returns the index of an entry's path. The profile's filter must not change the shape of paths:
 * stack_table_is_shaped() is false. */
int32_t otlp_tables_stack(struct otlp_tables *tables, const struct profile_entry *entry);

/* Returns the index of an attribute with a text as its value, or a number if `text` is NULL. */
int32_t otlp_tables_attribute(struct otlp_tables *tables, const char *key, const char *text,
			      int64_t number);

/* Moves the tables into a message, which the caller frees with the request. Returns 0 or -ENOMEM.
 */
int otlp_tables_finish(struct otlp_tables *tables, Otlp__Dictionary **ret_dictionary);

/* Appends a pointer to a list of a message, which frees the list. Returns 0 or -ENOMEM. */
int otlp_append(void ***list, size_t *n, void *message);

/* Returns a text or a number as a value, NULL for lack of memory. */
Otlp__AnyValue *otlp_value(const char *text, int64_t number);

#endif
