/* SPDX-License-Identifier: MIT */
/* Makes tables and answers threads that ask for one; see call_tables.h. */
#include "daemon/capture/call_tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

#define BACKLOG 4096
#define NO_USER ((uid_t)-1) /* of a table that no thread has had */
/* Tables that are made before a thread asks: the kernel waits for a grace period of RCU when it
 * enters one, which takes seconds on a machine with much to do. */
#define SPARE	   8
#define LINGER_NS  UINT64_C(3000000000)	 /* how long a table stays when its thread has ended */
#define UNBEGUN_NS UINT64_C(60000000000) /* when a table is given up that no thread has begun */
#define ROOM_MS	   6000 /* how long a thread waits for the table of one that has ended */

struct table {
	struct stackd_calls *calls; /* NULL: there is no map under this number */
	int fd;
	uid_t uid;	   /* the user whose threads have had it, and who may still write to it */
	uint64_t since_ns; /* when a thread got it; 0: it is free */
	uint64_t ended_ns; /* when its thread was found to have ended; 0: it was not */
};

struct call_tables {
	int map, socket, stop;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* of the tables */
	struct table tables[STACKD_CALL_TABLES];
	uint32_t generation; /* stackd_calls.generation */
	atomic_uint_fast64_t refused, foreign, unanswered;
};

int call_tables_name(char ret_name[static CALL_TABLES_NAME])
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(ret_name, CALL_TABLES_NAME, "stackd-%016llx%016llx", (unsigned long long)random[0],
		 (unsigned long long)random[1]);
	return 0;
}

/* --- making one ------------------------------------------------------------------------------- */

static void unmake(struct table *table)
{
	munmap(table->calls, sizeof(*table->calls));
	close(table->fd);
	*table = (struct table){0};
}

/* Lets other threads have a table. It stays in the kernel half's map. */
static void drop(struct table *table)
{
	table->since_ns = table->ended_ns = 0;
}

/* Makes a table, and enters it into the kernel half's map, in place of the one that had the number
 * before. That waits for a grace period of RCU, so the lock is not held. */
static int make(const struct call_tables *t, uint32_t number, struct table *ret_table)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	void *at;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "call_table", sizeof(uint32_t),
				sizeof(struct stackd_calls), 1, &options);

	if (fd < 0)
		return fd;
	at = mmap(NULL, sizeof(struct stackd_calls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED || bpf_map_update_elem(t->map, &number, &fd, BPF_ANY)) {
		int err = -errno;

		if (at != MAP_FAILED)
			munmap(at, sizeof(struct stackd_calls));
		close(fd);
		return err;
	}
	*ret_table = (struct table){.calls = at, .fd = fd, .uid = NO_USER};
	return 0;
}

/* Returns the first table that no thread has, and that is a user's; STACKD_CALL_TABLES: there is
 * none. Only this thread makes tables and gives them away, so that stays so. */
static uint32_t free_of(struct call_tables *t, uid_t uid)
{
	uint32_t number = 0;

	pthread_mutex_lock(&t->lock);
	while (number < STACKD_CALL_TABLES &&
	       (!t->tables[number].calls || t->tables[number].since_ns ||
		t->tables[number].uid != uid))
		number++;
	pthread_mutex_unlock(&t->lock);
	return number;
}

/* Returns the first number without a map; or else, of a table that no thread has;
 * STACKD_CALL_TABLES: there is none. */
static uint32_t number_to_make(struct call_tables *t, bool may_replace)
{
	uint32_t number = 0, replaced = STACKD_CALL_TABLES;

	pthread_mutex_lock(&t->lock);
	for (; number < STACKD_CALL_TABLES && t->tables[number].calls; number++) {
		if (may_replace && !t->tables[number].since_ns)
			replaced = number;
	}
	pthread_mutex_unlock(&t->lock);
	return number < STACKD_CALL_TABLES ? number : replaced;
}

/* Makes a table. 0; -ENOSPC: there are as many as there can be; or another -errno. */
static int make_any(struct call_tables *t, bool may_replace, uint32_t *ret_number)
{
	const uint32_t number = number_to_make(t, may_replace);
	struct table table;
	int err = number < STACKD_CALL_TABLES ? make(t, number, &table) : -ENOSPC;

	if (err)
		return err;
	pthread_mutex_lock(&t->lock);
	if (t->tables[number].calls)
		unmake(&t->tables[number]);
	t->tables[number] = table;
	pthread_mutex_unlock(&t->lock);
	*ret_number = number;
	return 0;
}

/* Finds a table for a thread of a user: one that the user's threads have had, since they can still
 * write to it; a spare one; or a new one. 0 or -errno, as make_any(). */
static int find_any(struct call_tables *t, uid_t uid, uint32_t *ret_number)
{
	*ret_number = free_of(t, uid);
	if (*ret_number == STACKD_CALL_TABLES)
		*ret_number = free_of(t, NO_USER);
	return *ret_number < STACKD_CALL_TABLES ? 0 : make_any(t, true, ret_number);
}

/* --- answering -------------------------------------------------------------------------------- */

/* Returns whether the process at the other end is of a user that stackd or its caller is. */
static bool is_own(int fd, uid_t *ret_uid)
{
	const char *caller = getenv("SUDO_UID");
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return false;
	*ret_uid = peer.uid;
	return peer.uid == geteuid() || (caller && peer.uid == (uid_t)strtoul(caller, NULL, 10));
}

static bool send_table(const struct call_tables *t, int fd, uint32_t number)
{
	struct stackd_call_answer answer = {.version = STACKD_CALLS_VERSION, .table = number};
	struct iovec part = {.iov_base = &answer, .iov_len = sizeof(answer)};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	const struct msghdr message = {.msg_iov = &part,
				       .msg_iovlen = 1,
				       .msg_control = &control,
				       .msg_controllen = sizeof(control)};

	memcpy(CMSG_DATA(&control.header), &t->tables[number].fd, sizeof(int));
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(answer);
}

static bool has_ended(struct call_tables *t)
{
	bool has = false;

	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < STACKD_CALL_TABLES && !has; i++)
		has = t->tables[i].ended_ns;
	pthread_mutex_unlock(&t->lock);
	return has;
}

/* Finds a table. If all are taken, but threads have ended, waits for one of theirs. 0 or -errno. */
static int await_any(struct call_tables *t, uid_t uid, uint32_t *ret_number)
{
	const uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + ROOM_MS * UINT64_C(1000000);
	struct pollfd stop = {.fd = t->stop, .events = POLLIN};
	int err = find_any(t, uid, ret_number);

	while (err == -ENOSPC && has_ended(t) && clock_ns(CLOCK_MONOTONIC) < until_ns &&
	       poll(&stop, 1, 20) == 0)
		err = find_any(t, uid, ret_number);
	return err;
}

static void answer(struct call_tables *t, int fd)
{
	uint32_t number = 0;
	struct table *table;
	uid_t uid;

	if (!is_own(fd, &uid)) {
		atomic_fetch_add(&t->foreign, 1);
		return;
	}
	if (await_any(t, uid, &number)) {
		atomic_fetch_add(&t->refused, 1);
		return;
	}
	table = &t->tables[number];
	pthread_mutex_lock(&t->lock);
	memset(table->calls, 0, sizeof(*table->calls));
	table->calls->version = STACKD_CALLS_VERSION;
	table->calls->generation = t->generation;
	table->uid = uid;
	table->since_ns = clock_ns(CLOCK_MONOTONIC);
	if (!send_table(t, fd, number)) { /* the process has ended, or waits no more */
		drop(table);
		atomic_fetch_add(&t->unanswered, 1);
	}
	pthread_mutex_unlock(&t->lock);
}

/* Makes tables for threads that will ask, until one asks or there are enough. */
static void make_spare(struct call_tables *t)
{
	struct pollfd wait = {.fd = t->socket, .events = POLLIN};
	uint32_t number, n = 0;

	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < STACKD_CALL_TABLES; i++)
		n += t->tables[i].calls && !t->tables[i].since_ns;
	pthread_mutex_unlock(&t->lock);
	while (n < SPARE && poll(&wait, 1, 0) == 0 && !make_any(t, false, &number))
		n++;
}

static void *answer_all(void *arg)
{
	struct call_tables *t = arg;
	struct pollfd wait[] = {{.fd = t->socket, .events = POLLIN},
				{.fd = t->stop, .events = POLLIN}};

	for (;;) {
		int fd;

		make_spare(t);
		if (poll(wait, 2, -1) < 0 && errno != EINTR)
			break;
		if (wait[1].revents)
			break;
		fd = accept4(t->socket, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0) {
			poll(&wait[1], 1, 20); /* numbers for files may be used up for a while */
			continue;
		}
		answer(t, fd);
		close(fd);
	}
	return NULL;
}

/* --- start and end ---------------------------------------------------------------------------- */

static int listen_at(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	memcpy(address.sun_path + 1, name, len); /* an abstract name, which begins with a 0 */
	if (bind(fd, (const struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)) ||
	    listen(fd, BACKLOG)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

int call_tables_new(const char *name, int map, struct call_tables **ret_tables)
{
	struct call_tables *t = calloc(1, sizeof(*t));
	int err = 0;

	if (!t)
		return -ENOMEM;
	t->map = map;
	t->generation = 1;
	pthread_mutex_init(&t->lock, NULL);
	t->stop = eventfd(0, EFD_CLOEXEC);
	t->socket = listen_at(name);
	if (t->socket < 0 || t->stop < 0)
		err = t->socket < 0 ? t->socket : -errno;
	if (!err)
		err = -pthread_create(&t->thread, NULL, answer_all, t);
	t->has_thread = !err;
	if (err)
		call_tables_free(t);
	else
		*ret_tables = t;
	return err;
}

void call_tables_free(struct call_tables *t)
{
	const uint64_t one = 1;

	if (!t)
		return;
	if (t->has_thread && write(t->stop, &one, sizeof(one)) == sizeof(one))
		pthread_join(t->thread, NULL);
	for (uint32_t i = 0; i < STACKD_CALL_TABLES; i++) {
		if (t->tables[i].calls)
			unmake(&t->tables[i]);
	}
	if (t->socket >= 0)
		close(t->socket);
	if (t->stop >= 0)
		close(t->stop);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Returns whether the thread of a table, or the one that should begin it, has ended some time
 * ago. */
static bool is_over(struct table *table, uint64_t now_ns)
{
	const struct stackd_calls *calls = table->calls;
	const pid_t pid = (pid_t)calls->pid, tid = (pid_t)calls->tid;

	if (!tid)
		return now_ns - table->since_ns > UNBEGUN_NS;
	if (!table->ended_ns && syscall(SYS_tgkill, pid, tid, 0) && errno != EPERM)
		table->ended_ns = now_ns;
	return table->ended_ns && now_ns - table->ended_ns > LINGER_NS;
}

/* Begins to read a table. Returns whether a thread has it. */
static bool look_at(struct call_tables *t, uint32_t number, uint64_t now_ns,
		    struct call_table_read *ret_read)
{
	struct table *table = &t->tables[number];
	bool is_there;

	pthread_mutex_lock(&t->lock);
	is_there = table->calls && table->since_ns;
	if (is_there)
		*ret_read = (struct call_table_read){.is_over = is_over(table, now_ns),
						     .calls = table->calls,
						     .number = number,
						     .since_ns = table->since_ns,
						     .ended_ns = table->ended_ns};
	pthread_mutex_unlock(&t->lock);
	return is_there;
}

int call_tables_visit(struct call_tables *t, call_tables_each each, void *arg)
{
	int err = 0;

	for (uint32_t i = 0; i < STACKD_CALL_TABLES && !err; i++) {
		struct call_table_read read;

		if (!look_at(t, i, clock_ns(CLOCK_MONOTONIC), &read))
			continue;
		if (read.calls->tid || read.is_over)
			err = each(arg, &read);
		if (!read.is_over)
			continue;
		pthread_mutex_lock(&t->lock);
		drop(&t->tables[i]);
		pthread_mutex_unlock(&t->lock);
	}
	return err;
}

uint64_t call_tables_since(struct call_tables *t, uint32_t number)
{
	uint64_t since_ns;

	pthread_mutex_lock(&t->lock);
	since_ns = t->tables[number].since_ns;
	pthread_mutex_unlock(&t->lock);
	return since_ns;
}

void call_tables_renew(struct call_tables *t)
{
	pthread_mutex_lock(&t->lock);
	t->generation++;
	for (uint32_t i = 0; i < STACKD_CALL_TABLES; i++) {
		if (t->tables[i].calls)
			__atomic_store_n(&t->tables[i].calls->generation, t->generation,
					 __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&t->lock);
}

struct call_tables_counts call_tables_counts(const struct call_tables *t)
{
	struct call_tables *now = (struct call_tables *)t;

	if (!t)
		return (struct call_tables_counts){0};
	return (struct call_tables_counts){.refused = atomic_load(&now->refused),
					   .foreign = atomic_load(&now->foreign),
					   .unanswered = atomic_load(&now->unanswered)};
}
