/* SPDX-License-Identifier: MIT */
/* Takes passes through regions and marks, and the bytes of MPI's calls; see recorder.h and
 * docs/REGIONS.md. */
#include <errno.h>

#include "daemon/capture/event.h"
#include "daemon/recorder/recorder_internal.h"

/* --- bytes of MPI ----------------------------------------------------------------------------- */

/* Keeps the bytes of a call of MPI in a series, if they are known and not 0. */
static int keep_bytes(struct recorder *r, enum metric_series series, uint64_t bytes,
		      const struct store_sample *row)
{
	bytes = bytes == STACKD_MPI_NOT_KNOWN ? 0 : STACKD_MPI_BYTES_OF(bytes);
	return bytes ? recorder_keep(r, series, bytes, *row) : 0;
}

/* Stores the bytes that a call of MPI has received or read. If only the size of its buffer is
 * known, stores that also in SERIES_MPI_AT_MOST. */
static int keep_received(struct recorder *r, uint64_t bytes, const struct store_sample *row)
{
	bool is_known = bytes != STACKD_MPI_NOT_KNOWN;
	int err = keep_bytes(
		r, is_known && bytes & STACKD_MPI_OF_FILE ? SERIES_MPI_READ : SERIES_MPI_RECEIVED,
		bytes, row);

	return err || !is_known || !(bytes & STACKD_MPI_AT_MOST)
		       ? err
		       : keep_bytes(r, SERIES_MPI_AT_MOST, bytes, row);
}

/* Stores the bytes that a call has received; if its receives are not complete yet, keeps the row in
 * r->mpi.pending until they are. 0 or -ENOMEM. */
static int keep_or_await(struct recorder *r, pid_t tid, const struct stackd_pass *pass,
			 const struct store_sample *row)
{
	struct store_sample later = *row;
	int err;

	if (pass->received == STACKD_MPI_NOT_KNOWN || !(pass->received & STACKD_MPI_LATER))
		return keep_received(r, pass->received, row);
	later.period = pass->received;
	err = mpi_pending_add(r->mpi.pending, (uint32_t)tid, row->time_ns - pass->wall_ns, &later);
	return err > 0 ? keep_received(r, pass->received, row) : err;
}

int recorder_complete(struct recorder *r, const struct event *event)
{
	const struct stackd_completed *completed = (const struct stackd_completed *)event->record;
	struct store_sample row;

	if (!mpi_pending_take(r->mpi.pending, completed->poster, completed->enter_ns,
			      completed->posted, &row))
		return 0;
	row.time_ns = completed->header.time_ns;
	return keep_received(r, completed->arrived, &row);
}

int recorder_end_window(struct recorder *r, uint64_t now_ns)
{
	struct store_sample row;
	int err = 0;

	while (!err && mpi_pending_take_any(r->mpi.pending, &row)) {
		row.time_ns = now_ns > row.time_ns ? now_ns : row.time_ns;
		err = keep_received(r, row.period, &row);
	}
	return err;
}

/* Stores the bytes that a call of MPI has sent and received. If either number is not known, counts
 * one call in SERIES_MPI_UNKNOWN. */
static int keep_mpi(struct recorder *r, pid_t tid, const struct stackd_pass *pass,
		    const struct store_sample *row)
{
	bool is_written = pass->sent != STACKD_MPI_NOT_KNOWN && pass->sent & STACKD_MPI_OF_FILE;
	int err = keep_bytes(r, is_written ? SERIES_MPI_WRITTEN : SERIES_MPI_SENT, pass->sent, row);

	if (!err)
		err = keep_or_await(r, tid, pass, row);
	if (!err && (pass->sent == STACKD_MPI_NOT_KNOWN || pass->received == STACKD_MPI_NOT_KNOWN))
		err = recorder_keep(r, SERIES_MPI_UNKNOWN, 1, *row);
	return err;
}

/* --- passes ----------------------------------------------------------------------------------- */

/* Returns when a pass ended. The record's time is that of its walk, which comes later, because the
 * thread may have lost its CPU in between, or because the pass was left without a return, and the
 * kernel half found that out later. */
static uint64_t ended_at(const struct event *event)
{
	uint64_t late = event->time_ns - event->measured.pass.ended_ns;

	return event->time_ns - (late & STACKD_PASS_MOST_LATE_NS);
}

int recorder_place_pass(struct recorder *r, const struct event *event, struct store_sample *row)
{
	(void)r;
	row->time_ns = ended_at(event);
	if (event->kind == STACKD_EVENT_LEFT) /* even if the path was cut at a wrong caller */
		row->end_reason = STACKD_END_LEFT;
	return 0;
}

int recorder_place_mark(struct recorder *r, const struct event *event, struct store_sample *row)
{
	uint32_t index = event->measured.pass.number - STACKD_MOST_REGIONS - 1;

	row->time_ns = ended_at(event);
	return index < r->marks.count ? recorder_add_frame(r, r->marks.items[index], &row->node)
				      : -EBADMSG;
}

int recorder_pass(struct recorder *r, const struct event *event, struct store_sample *row)
{
	const struct stackd_pass *pass = &event->measured.pass;
	int err = recorder_keep(r, SERIES_REGION_TIME, pass->wall_ns - pass->nested_wall_ns, *row);

	if (!err)
		err = recorder_keep(r, SERIES_REGION_CPU, pass->cpu_ns - pass->nested_cpu_ns, *row);
	if (!err && pass->nested_wall_ns)
		err = recorder_keep(r, SERIES_REGION_NESTED_TIME, pass->nested_wall_ns, *row);
	if (!err && pass->nested_wall_ns)
		err = recorder_keep(r, SERIES_REGION_NESTED_CPU, pass->nested_cpu_ns, *row);
	return err ? err : keep_mpi(r, event->tid, pass, row);
}
