/* SPDX-License-Identifier: MIT */
/*
 * Rows of a store for the processes and threads that have recorded data; see process.h. A record's
 * row stays the same when records are renumbered.
 */
#include <errno.h>

#include "proc/process_table.h"

int process_table_add_row(struct process_table *table, const struct thread *thread,
			  uint32_t *ret_process)
{
	struct thread *t = &table->threads[thread->number];
	struct process *p = &table->processes[t->process];

	if (VEC_RESERVE(&table->process_rows, 1) || VEC_RESERVE(&table->thread_rows, 1))
		return -ENOMEM;
	if (p->row == PROCESS_NO_ROW) {
		p->row = (uint32_t)table->process_rows.count;
		table->process_rows.items[table->process_rows.count++] = p->number;
	}
	if (t->row == PROCESS_NO_ROW) {
		t->row = (uint32_t)table->thread_rows.count;
		table->thread_rows.items[table->thread_rows.count++] = t->number;
	}
	*ret_process = p->row;
	return 0;
}

void process_table_begin_rows(struct process_table *table)
{
	for (uint32_t i = 0; i < table->n_processes; i++)
		table->processes[i].row = PROCESS_NO_ROW;
	for (uint32_t i = 0; i < table->n_threads; i++)
		table->threads[i].row = PROCESS_NO_ROW;
	table->process_rows.count = table->thread_rows.count = 0;
}

uint32_t process_table_process_rows(const struct process_table *table)
{
	return (uint32_t)table->process_rows.count;
}

uint32_t process_table_thread_rows(const struct process_table *table)
{
	return (uint32_t)table->thread_rows.count;
}

const struct process *process_table_process_of_row(const struct process_table *t, uint32_t row)
{
	return row < t->process_rows.count ? process_table_process_at(t, t->process_rows.items[row])
					   : NULL;
}

const struct thread *process_table_thread_of_row(const struct process_table *t, uint32_t row)
{
	return row < t->thread_rows.count ? process_table_thread_at(t, t->thread_rows.items[row])
					  : NULL;
}
