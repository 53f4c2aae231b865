/* SPDX-License-Identifier: MIT */
/*
 * Keeps the probes of regions; see region_probes.h.
 *
 * Exits are attached before entries, and detached after them, so that stackd sees the end of every
 * instance (pass) whose beginning it has seen.
 *
 * The kernel takes some 50 ms to detach a link. A thread that is off the CPU can keep an instance
 * open for all of that time, and return after the exits were detached. That instance must not count
 * as left by an exception. So stackd first sets a flag, for all regions (regions_stopped) or for
 * one (STACKD_REGION_IS_GONE), and the kernel half sends no instance without an exit while the flag
 * is set. Then stackd detaches the exits. At the end of a recording, stackd detaches the entries of
 * all groups before the exits of any.
 */
#include "daemon/regions/region_probes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "daemon/regions/probe.h"
#include "daemon/regions/uprobe_multi.h"

enum side { LEAVE, ENTER, SIDES };

/* Instructions that one program is attached to. */
struct places {
	VEC(uint64_t) offsets;
	VEC(uint64_t) cookies;
};

/* The probes of one call of region_probes_attach(). */
struct group {
	char *path;
	struct places places[SIDES];
	int links[SIDES]; /* -1: none */
	VEC(struct probe)
	probes; /* where there are no links: the exits' probes, then the
		 * entries' */
};

struct region_probes {
	const struct sampler_regions *kernel;
	VEC(struct group) groups;
};

struct region_probes *region_probes_new(const struct sampler_regions *kernel)
{
	struct region_probes *p = calloc(1, sizeof(*p));

	if (p)
		p->kernel = kernel;
	return p;
}

/* --- places ---------------------------------------------------------------------------------- */

static int add_place(struct places *places, uint64_t offset, uint64_t cookie)
{
	if (VEC_RESERVE(&places->offsets, 1) || VEC_RESERVE(&places->cookies, 1))
		return -ENOMEM;
	places->offsets.items[places->offsets.count++] = offset;
	places->cookies.items[places->cookies.count++] = cookie;
	return 0;
}

static int add_function(struct group *group, const struct found_region *f, uint64_t number)
{
	const uint64_t entry = (f->exits.is_loop ? STACKD_ENTRY_LOOP : 0) |
			       (f->is_once ? STACKD_ENTRY_ONCE : 0) | f->place |
			       STACKD_ENTRY_MOVED(f->exits.after, f->exits.frame);
	const uint64_t once = f->is_once ? STACKD_EXIT_ONCE : 0;
	int err = 0;

	for (size_t i = 0; i < f->exits.all.count && !err; i++) {
		const struct function_exit *exit = &f->exits.all.items[i];

		err = add_place(&group->places[LEAVE], exit->offset,
				number | (exit->kind | once) << 32 |
					STACKD_EXIT_REST(exit->saved, exit->frame));
	}
	return err ? err
		   : add_place(&group->places[ENTER], f->offset + f->exits.after, number | entry);
}

/* Removes the places of a region. Returns whether there were any. */
static bool remove_places(struct places *places, uint32_t number)
{
	size_t kept = 0, count = places->offsets.count;

	for (size_t i = 0; i < count; i++) {
		if (STACKD_REGION_NUMBER(places->cookies.items[i]) == number)
			continue;
		places->offsets.items[kept] = places->offsets.items[i];
		places->cookies.items[kept++] = places->cookies.items[i];
	}
	places->offsets.count = places->cookies.count = kept;
	return kept < count;
}

/* --- groups ---------------------------------------------------------------------------------- */

static int program_of(const struct region_probes *p, enum side side)
{
	return side == LEAVE ? p->kernel->leave_fd : p->kernel->enter_fd;
}

static void close_links(int *links)
{
	for (int side = SIDES - 1; side >= 0; side--) {
		if (links[side] >= 0)
			close(links[side]);
		links[side] = -1;
	}
}

/* Attaches to all places of a group by one link for each side that has places (a function that
 * never returns has no exits). 0; or -errno, and nothing is attached. */
static int link_all(const struct region_probes *p, const struct group *group, int *ret_links)
{
	int err = 0;

	ret_links[LEAVE] = ret_links[ENTER] = -1;
	for (int side = 0; side < SIDES && err >= 0; side++) {
		const struct places *places = &group->places[side];

		if (!places->offsets.count)
			continue;
		err = probe_check_places(group->path, places->offsets.items, places->offsets.count);
		if (!err)
			err = uprobe_multi_attach(program_of(p, side), group->path,
						  places->offsets.items, places->cookies.items,
						  places->offsets.count, 0);
		ret_links[side] = err < 0 ? -1 : err;
	}
	if (err < 0)
		close_links(ret_links);
	return err < 0 ? err : 0;
}

static int probe_each(const struct region_probes *p, struct group *group)
{
	int err = 0;

	for (int side = 0; side < SIDES; side++) {
		const struct places *places = &group->places[side];

		if (VEC_RESERVE(&group->probes, places->offsets.count))
			return -ENOMEM;
		for (size_t i = 0; i < places->offsets.count && !err; i++) {
			err = probe_attach(program_of(p, side), group->path,
					   places->offsets.items[i], 0, places->cookies.items[i],
					   &group->probes.items[group->probes.count]);
			group->probes.count += !err;
		}
	}
	return err;
}

static void free_group(struct group *group)
{
	close_links(group->links);
	while (group->probes.count)
		probe_detach(&group->probes.items[--group->probes.count]);
	for (int side = 0; side < SIDES; side++) {
		free(group->places[side].offsets.items);
		free(group->places[side].cookies.items);
	}
	free(group->probes.items);
	free(group->path);
}

static int attach_group(const struct region_probes *p, struct group *group)
{
	return p->kernel->is_multi ? link_all(p, group, group->links) : probe_each(p, group);
}

/* Enters the description of a function of MPI, and of its library, into the kernel half's maps. */
static int tell_mpi(const struct region_probes *p, const struct found_region *f, uint32_t number)
{
	const uint32_t library = f->mpi.library;

	if (!f->is_once)
		return 0;
	if (library && bpf_map_update_elem(p->kernel->libraries_fd, &library, &f->library, BPF_ANY))
		return -errno;
	return bpf_map_update_elem(p->kernel->mpi_fd, &number, &f->mpi, BPF_ANY) ? -errno : 0;
}

int region_probes_attach(struct region_probes *p, const struct found_region *const *functions,
			 const uint32_t *numbers, size_t count, const char *path)
{
	struct group group = {.path = strdup(path), .links = {-1, -1}};
	int err = !group.path || VEC_RESERVE(&p->groups, 1) ? -ENOMEM : 0;

	for (size_t i = 0; i < count && !err; i++)
		err = tell_mpi(p, functions[i], numbers[i]);
	for (size_t i = 0; i < count && !err; i++)
		err = functions[i]->error ? functions[i]->error
					  : add_function(&group, functions[i], numbers[i]);
	if (!err)
		err = attach_group(p, &group);
	if (err)
		free_group(&group);
	else
		p->groups.items[p->groups.count++] = group;
	return err;
}

/* --- detaching ------------------------------------------------------------------------------- */

/* Tells the kernel half that a region's probes are being removed. A region that was never entered
 * has no open instance, so it keeps its state: regions.c reads there that it was never entered. */
static void tell_gone(const struct region_probes *p, uint32_t number)
{
	const uint32_t gone = STACKD_REGION_IS_GONE;
	uint32_t state = STACKD_REGION_IS_MEASURED;

	bpf_map_lookup_elem(p->kernel->off_fd, &number, &state);
	if (state != STACKD_REGION_IS_MEASURED)
		bpf_map_update_elem(p->kernel->off_fd, &number, &gone, BPF_ANY);
}

/* Makes the links of a group again, without the places that were removed. Meanwhile the programs
 * run twice at each place. If that fails, the old links stay, and the kernel half ignores entries
 * of the removed region. */
static void link_again(const struct region_probes *p, struct group *group)
{
	int links[SIDES];

	*p->kernel->is_linked_twice = 1;
	if (!link_all(p, group, links)) {
		close_links(group->links);
		memcpy(group->links, links, sizeof(links));
	}
	*p->kernel->is_linked_twice = 0;
}

/* Detaches the probes of a region in a group without links. group->probes has the order of the
 * places. */
static void detach_probes(struct group *group, uint32_t number)
{
	size_t kept = 0, at = 0;

	for (int side = 0; side < SIDES; side++) {
		const struct places *places = &group->places[side];

		for (size_t i = 0; i < places->cookies.count; i++, at++) {
			struct probe *probe = &group->probes.items[at];

			if (STACKD_REGION_NUMBER(places->cookies.items[i]) == number)
				probe_detach(probe);
			else
				group->probes.items[kept++] = *probe;
		}
	}
	group->probes.count = kept;
}

void region_probes_detach(struct region_probes *p, uint32_t number)
{
	tell_gone(p, number);
	for (size_t i = 0; i < p->groups.count; i++) {
		struct group *group = &p->groups.items[i];
		bool had_exits, had_entries;

		if (group->probes.count)
			detach_probes(group, number);
		had_exits = remove_places(&group->places[LEAVE], number);
		had_entries = remove_places(&group->places[ENTER], number);
		if ((had_exits || had_entries) && p->kernel->is_multi)
			link_again(p, group);
	}
}

static void detach_entries(struct group *group)
{
	if (group->links[ENTER] >= 0)
		close(group->links[ENTER]);
	group->links[ENTER] = -1;
	while (group->probes.count > group->places[LEAVE].offsets.count)
		probe_detach(&group->probes.items[--group->probes.count]);
}

void region_probes_free(struct region_probes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->groups.count; i++)
		detach_entries(&p->groups.items[i]);
	*p->kernel->is_stopped = 1;
	for (size_t i = 0; i < p->groups.count; i++)
		free_group(&p->groups.items[i]);
	free(p->groups.items);
	free(p);
}
