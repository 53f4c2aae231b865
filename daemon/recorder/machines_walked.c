/* SPDX-License-Identifier: MIT */
/* Looks addresses of the kernel half's walks up in machines; see machines_walked.h. */
#include "daemon/recorder/machines_walked.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/capture/record.h"
#include "daemon/recorder/machine.h"

#define AT_ONCE 512 /* addresses that are looked up at a time */

bool machines_walked_has(const struct stackd_header *record)
{
	return (record->kind & STACKD_KIND_MASK) == STACKD_RECORD_WALKED;
}

/* Returns the address of a frame, whose location is the byte before it if it is a return address.
 */
static uint64_t address_of(uint64_t location, bool is_return)
{
	return location + is_return;
}

/* Gives the next addresses of code that was made; a recursion has one many times in a row. Returns
 * their number; 0: there are no more, or the record is damaged. */
static size_t next_addresses(struct record_frames *frames,
			     struct machine_address addresses[AT_ONCE])
{
	struct record_frame frame;
	size_t n = 0;

	while (n < AT_ONCE && record_frames_next(frames, &frame) > 0) {
		const struct machine_address is = {
			.address =
				address_of(frame.location & STACKD_LOCATION_MASK, !frame.is_exact),
			.is_return = !frame.is_exact};

		if (frame.has_slice || frame.location >> 48 != STACKD_FILE_NONE ||
		    (n && addresses[n - 1].address == is.address))
			continue;
		addresses[n++] = is;
	}
	return n;
}

int machines_walked_note(struct machines *ms, const struct stackd_header *record, bool has_heights)
{
	struct machine_address addresses[AT_ONCE];
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct record_frames frames;
	struct machine *machine;
	size_t n = 0;
	int err = machines_of_walked(ms, (pid_t)record_pid(record), now_ns, &machine);

	if (err || !machine)
		return err;
	record_frames(record, has_heights, &frames);
	do {
		n = next_addresses(&frames, addresses);
		err = machine_note_walked(machine, addresses, n, record->time_ns, now_ns);
	} while (n == AT_ONCE && !err);
	return err;
}

/* Returns whether a location is of a managed function: not of a stub, nor of the native program. */
static bool is_function(const struct machines_walked_names *names, const struct location *location)
{
	struct managed_name name;

	return managed_name_of(names->managed, location, &name) && name.file &&
	       strcmp(name.file, MACHINE_STUBS) != 0;
}

int machines_walked_name(struct machines *ms, const struct machines_walked_names *names,
			 const struct stackd_header *record, struct path *path)
{
	const struct machine_stack stack = {.time_ns = record->time_ns};
	struct machine *machine =
		machines_walked_at(ms, (pid_t)record_pid(record), record->time_ns);
	struct location found[MACHINE_MOST];
	bool has_callee = false, has_stub = false;

	for (size_t i = path->count; machine && i-- > path->cut;) {
		const struct location *l = location_at(names->locations, path->locations[i]);
		const struct machine_frame frame = {.address = address_of(l->offset, l->is_return),
						    .is_return = l->is_return,
						    .is_leaf = i + 1 == path->count,
						    .has_callee = has_callee,
						    .has_stub = has_stub};
		int n;

		has_stub = false;

		if (object_table_at(names->objects, l->object)->kind != OBJECT_JIT) {
			has_callee |= is_function(names, l);
			continue;
		}
		n = machine_find(machine, &stack, &frame, found);
		if (n < 0)
			return n;
		machines_count_frame(ms, n == 1);
		if (n != 1)
			continue;
		found[0].provenance = PROVENANCE_RUNTIME_TABLE;
		if (location_intern(names->locations, &found[0], &path->locations[i]))
			return -ENOMEM;
		has_stub = !is_function(names, &found[0]);
		has_callee |= !has_stub;
	}
	return 0;
}
