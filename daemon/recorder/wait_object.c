/* SPDX-License-Identifier: MIT */
/*
 * Looks up names, and keeps them in two sets. New names go into the present set. When that is old
 * or large, it becomes the previous set, whose names are forgotten, and a new one begins. See
 * wait_object.h.
 */
#include "daemon/recorder/wait_object.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/clock.h"
#include "proc/descriptor.h"

#define MOST_NAMES     4096 /* most names in each of the sets */
#define TURN_NS	       INT64_C(2000000000)
#define SHARE	       20 /* look-ups may use one second of CPU time in so many seconds */
#define MOST_CREDIT_NS INT64_C(50000000)
#define FIRST_PASSING  32768 /* first port that the kernel gives to clients */

struct key {
	uint64_t inode;
	uint32_t generation;
	uint32_t descriptor;
	pid_t pid; /* 0: an AF_UNIX socket, which its inode number alone identifies */
	uint32_t pad;
};

struct entry {
	struct key key;
	char *name; /* NULL: it was not found */
	UT_hash_handle hh;
};

struct wait_objects {
	char *root;
	struct entry *now, *before;
	int64_t turned_ns, counted_ns; /* of CLOCK_MONOTONIC */
	int64_t credit_ns;	       /* CPU time that look-ups may use */
	uint64_t unnamed;
};

int wait_objects_new(const char *root, struct wait_objects **ret_objects)
{
	struct wait_objects *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->root = strdup(root);
	if (!o->root) {
		free(o);
		return -ENOMEM;
	}
	*ret_objects = o;
	return 0;
}

static void free_set(struct entry **set)
{
	struct entry *entry, *next;

	HASH_ITER (hh, *set, entry, next) {
		HASH_DEL(*set, entry);
		free(entry->name);
		free(entry);
	}
}

void wait_objects_free(struct wait_objects *o)
{
	if (!o)
		return;
	free_set(&o->now);
	free_set(&o->before);
	free(o->root);
	free(o);
}

/* --- what is remembered ---------------------------------------------------------------------- */

/* Returns whether the object of a wait has a path that must be looked up; *ret_key is the key of
 * its entry. */
static bool has_key(pid_t pid, const struct stackd_wait *wait, struct key *ret_key)
{
	*ret_key = (struct key){.inode = wait->number};
	if (wait->object == STACKD_OBJECT_UNIX)
		return true;
	ret_key->pid = pid;
	ret_key->descriptor = (uint32_t)wait->argument;
	ret_key->generation = wait->generation;
	return wait->object == STACKD_OBJECT_FILE && wait->argument <= INT_MAX;
}

static struct entry *find(struct entry *set, const struct key *key)
{
	struct entry *entry;

	HASH_FIND(hh, set, key, sizeof(*key), entry);
	return entry;
}

/* Adds a name to the present set, which owns it from now on; frees it on failure. 0 or -ENOMEM. */
static int remember(struct wait_objects *o, const struct key *key, char *name)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry) {
		free(name);
		return -ENOMEM;
	}
	entry->key = *key;
	entry->name = name;
	HASH_ADD(hh, o->now, key, sizeof(entry->key), entry);
	return 0;
}

static void turn(struct wait_objects *o, int64_t now_ns)
{
	if (now_ns - o->turned_ns < TURN_NS && HASH_COUNT(o->now) < MOST_NAMES)
		return;
	free_set(&o->before);
	o->before = o->now;
	o->now = NULL;
	o->turned_ns = now_ns;
}

/* --- looking up ------------------------------------------------------------------------------ */

static bool has_credit(struct wait_objects *o, int64_t now_ns)
{
	o->credit_ns += (now_ns - o->counted_ns) / SHARE;
	o->counted_ns = now_ns;
	if (o->credit_ns > MOST_CREDIT_NS)
		o->credit_ns = MOST_CREDIT_NS;
	return o->credit_ns > 0;
}

/* Returns when a wait began, by CLOCK_REALTIME. */
static uint64_t begin_of(const struct stackd_wait *wait, uint64_t time_ns, int64_t now_ns)
{
	uint64_t age = (uint64_t)now_ns - time_ns + wait->blocked_ns +
		       (wait->runnable_ns & ~STACKD_NOT_SAMPLED);

	return clock_ns(CLOCK_REALTIME) - age;
}

static int look_up(struct wait_objects *o, pid_t pid, uint64_t begin_ns, const struct key *key)
{
	char *name = NULL;
	int err = key->pid ? descriptor_path(o->root, pid, (int)key->descriptor, key->inode,
					     begin_ns, &name)
			   : descriptor_unix_address(o->root, pid, key->inode, &name);

	return err == -ENOMEM ? err : remember(o, key, name);
}

/* Copies an entry of the previous set to the present one, because the address of a socket does not
 * change, so that it need not be looked up again. 0 or -ENOMEM. */
static int take_over(struct wait_objects *o, const struct key *key, const struct entry *known)
{
	char *name = strdup(known->name);

	return name ? remember(o, key, name) : -ENOMEM;
}

int wait_objects_prefetch(struct wait_objects *o, pid_t pid, uint64_t time_ns,
			  const struct stackd_wait *wait)
{
	const struct entry *known;
	struct key key;
	uint64_t spent;
	int64_t now;
	int err;

	if (!wait->blocked_ns || !has_key(pid, wait, &key))
		return 0;
	now = (int64_t)clock_ns(CLOCK_MONOTONIC);
	turn(o, now);
	if (find(o->now, &key))
		return 0;
	known = key.pid ? NULL : find(o->before, &key);
	if (known && known->name)
		return take_over(o, &key, known);
	if (!has_credit(o, now))
		return 0;
	spent = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	err = look_up(o, pid, begin_of(wait, time_ns, now), &key);
	o->credit_ns -= (int64_t)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - spent);
	return err;
}

/* --- names ----------------------------------------------------------------------------------- */

static const char *looked_up(const struct wait_objects *o, pid_t pid,
			     const struct stackd_wait *wait)
{
	const struct entry *entry;
	struct key key;

	if (!has_key(pid, wait, &key))
		return NULL;
	entry = find(o->now, &key);
	if (!entry || !entry->name)
		entry = find(o->before, &key);
	return entry ? entry->name : NULL;
}

static const char *protocol_name(unsigned protocol)
{
	switch (protocol) {
	case IPPROTO_TCP:
		return "tcp";
	case IPPROTO_UDP:
		return "udp";
	case IPPROTO_SCTP:
		return "sctp";
	default:
		return "ip";
	}
}

/* Writes an address, with a port if that is not 0. */
static void write_peer(const struct stackd_wait *wait, unsigned port, char *to, size_t size)
{
	char address[INET6_ADDRSTRLEN] = "";
	struct in6_addr peer;
	bool is_ip4;

	memcpy(&peer, wait->peer, sizeof(peer));
	is_ip4 = IN6_IS_ADDR_V4MAPPED(&peer);
	if (is_ip4)
		inet_ntop(AF_INET, &wait->peer[3], address, sizeof(address));
	else
		inet_ntop(AF_INET6, &peer, address, sizeof(address));
	if (!port)
		snprintf(to, size, "%s", address);
	else
		snprintf(to, size, is_ip4 ? "%s:%u" : "[%s]:%u", address, port);
}

/* Names a connection: at a service's end by the service's port and the client's address, without
 * the client's port, which is another one each time; at a client's end by the service's address and
 * port. */
static void name_ip(const struct stackd_wait *wait, char *name, bool *ret_is_passing)
{
	const char *protocol = protocol_name(wait->protocol);
	const bool is_service = wait->local_port && wait->local_port < FIRST_PASSING;
	char peer[INET6_ADDRSTRLEN + 16];

	if (!wait->peer_port) {
		snprintf(name, WAIT_OBJECT_MAX, "%s port %u", protocol, wait->local_port);
		*ret_is_passing = !is_service;
		return;
	}
	if (is_service && wait->peer_port >= FIRST_PASSING) {
		write_peer(wait, 0, peer, sizeof(peer));
		snprintf(name, WAIT_OBJECT_MAX, "%s port %u from %s", protocol, wait->local_port,
			 peer);
		return;
	}
	write_peer(wait, wait->peer_port, peer, sizeof(peer));
	snprintf(name, WAIT_OBJECT_MAX, "%s %s", protocol, peer);
}

const char *wait_objects_name(struct wait_objects *o, pid_t pid, const struct stackd_wait *wait,
			      char buffer[static WAIT_OBJECT_MAX], bool *ret_is_passing)
{
	const char *path = looked_up(o, pid, wait);

	*ret_is_passing = wait->object != STACKD_OBJECT_FILE && wait->object != STACKD_OBJECT_ANON;
	switch ((enum stackd_object)wait->object) {
	case STACKD_OBJECT_FILE:
		o->unnamed += !path;
		return path;
	case STACKD_OBJECT_PIPE:
		snprintf(buffer, WAIT_OBJECT_MAX, "pipe:[%" PRIu64 "]", (uint64_t)wait->number);
		return buffer;
	case STACKD_OBJECT_ANON:
		snprintf(buffer, WAIT_OBJECT_MAX, "%.*s", (int)sizeof(wait->name), wait->name);
		return *buffer ? buffer : NULL;
	case STACKD_OBJECT_IP:
		name_ip(wait, buffer, ret_is_passing);
		return buffer;
	case STACKD_OBJECT_UNIX:
		*ret_is_passing = !path;
		o->unnamed += !path;
		if (path)
			snprintf(buffer, WAIT_OBJECT_MAX, "unix %s", path);
		else
			snprintf(buffer, WAIT_OBJECT_MAX, "socket:[%" PRIu64 "]",
				 (uint64_t)wait->number);
		return buffer;
	case STACKD_OBJECT_SOCKET:
		snprintf(buffer, WAIT_OBJECT_MAX, "socket:[%" PRIu64 "]", (uint64_t)wait->number);
		return buffer;
	case STACKD_OBJECT_FUTEX:
		snprintf(buffer, WAIT_OBJECT_MAX, "futex 0x%" PRIx64, (uint64_t)wait->argument);
		return buffer;
	case STACKD_OBJECT_NONE:
		break;
	}
	return NULL;
}

uint64_t wait_objects_unnamed(const struct wait_objects *o)
{
	return o->unnamed;
}
