// SPDX-License-Identifier: MIT
/* Names of what threads waited for, and how many of them there can be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/recorder/wait_frames.h"
#include "daemon/recorder/wait_object.h"
#include "file_clock.h"
#include "proc/descriptor.h"

#define SECOND_NS UINT64_C(1000000000)
#define WHILE_NS  (1000 * SECOND_NS) /* longer than the test is kept from running */

/* Asserts the name; NULL: it has none. */
static void assert_name(struct wait_objects *o, const struct stackd_wait *wait,
			const char *expected, bool is_passing)
{
	char buffer[WAIT_OBJECT_MAX];
	bool passing;
	const char *name = wait_objects_name(o, getpid(), wait, buffer, &passing);

	assert_int_equal(name != NULL, expected != NULL);
	if (expected) {
		assert_string_equal(name, expected);
		assert_int_equal(passing, is_passing);
	}
}

static struct wait_objects *objects(void)
{
	struct wait_objects *o;

	assert_int_equal(wait_objects_new("/proc", &o), 0);
	return o;
}

static uint64_t inode_of(int fd)
{
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	return status.st_ino;
}

/* A wait of a millisecond for a descriptor, which ends now. */
static struct stackd_wait wait_for(int fd, uint64_t inode, uint32_t generation)
{
	return (struct stackd_wait){.kind = STACKD_EVENT_WAIT,
				    .blocked_ns = SECOND_NS / 1000,
				    .object = STACKD_OBJECT_FILE,
				    .argument = (uint64_t)fd,
				    .number = inode,
				    .generation = generation};
}

static void prefetch(struct wait_objects *o, const struct stackd_wait *wait)
{
	assert_int_equal(wait_objects_prefetch(o, getpid(), clock_ns(CLOCK_MONOTONIC), wait), 0);
}

static void test_records(void **state)
{
	struct wait_objects *o = objects();
	struct stackd_wait wait = {.object = STACKD_OBJECT_PIPE, .number = 45};

	(void)state;
	assert_name(o, &wait, "pipe:[45]", true);
	wait.object = STACKD_OBJECT_SOCKET;
	assert_name(o, &wait, "socket:[45]", true);
	wait = (struct stackd_wait){.object = STACKD_OBJECT_FUTEX, .argument = 0x7f0000001234};
	assert_name(o, &wait, "futex 0x7f0000001234", true);
	wait = (struct stackd_wait){.object = STACKD_OBJECT_ANON, .name = "[eventfd]"};
	assert_name(o, &wait, "[eventfd]", false);
	memset(wait.name, 'x', sizeof(wait.name)); /* without a 0 at its end */
	assert_name(o, &wait, "xxxxxxxxxxxxxxxx", false);
	wait.name[0] = '\0';
	assert_name(o, &wait, NULL, false);
	wait = (struct stackd_wait){.argument = 3};
	assert_name(o, &wait, NULL, false);
	assert_int_equal(wait_objects_unnamed(o), 0);
	wait_objects_free(o);
}

static struct stackd_wait peer(int protocol, const char *address, unsigned local, unsigned port)
{
	struct stackd_wait wait = {.object = STACKD_OBJECT_IP,
				   .protocol = (uint8_t)protocol,
				   .local_port = (uint16_t)local,
				   .peer_port = (uint16_t)port};

	assert_int_equal(inet_pton(AF_INET6, address, wait.peer), 1);
	return wait;
}

/* A service has a port of its own; that of who asks it says nothing. */
static void test_peers(void **state)
{
	const struct {
		struct stackd_wait wait;
		const char *name;
		bool is_passing;
	} cases[] = {
		{peer(IPPROTO_TCP, "::ffff:10.0.0.9", 40123, 5432), "tcp 10.0.0.9:5432", true},
		{peer(IPPROTO_TCP, "fe80::1", 40123, 443), "tcp [fe80::1]:443", true},
		{peer(IPPROTO_TCP, "::ffff:10.0.0.7", 5432, 40123), "tcp port 5432 from 10.0.0.7",
		 true},
		{peer(IPPROTO_TCP, "fe80::2", 443, 40123), "tcp port 443 from fe80::2", true},
		{peer(IPPROTO_TCP, "::ffff:10.0.0.7", 40124, 40123), "tcp 10.0.0.7:40123", true},
		{peer(IPPROTO_UDP, "::ffff:10.0.0.7", 53, 53), "udp 10.0.0.7:53", true},
		{peer(IPPROTO_TCP, "::", 80, 0), "tcp port 80", false},
		{peer(IPPROTO_UDP, "::", 40123, 0), "udp port 40123", true},
		{peer(IPPROTO_ICMP, "::ffff:10.0.0.7", 0, 0), "ip port 0", true},
	};
	struct wait_objects *o = objects();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_name(o, &cases[i].wait, cases[i].name, cases[i].is_passing);
	wait_objects_free(o);
}

static int make_file(char *path)
{
	int fd;

	strcpy(path, "/tmp/test-wait-object-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	return fd;
}

/* A descriptor's path is that of the file that it was, or none. */
static void test_files(void **state)
{
	struct wait_objects *o = objects();
	char path[64], other[64];
	int fd = make_file(path), next;
	uint64_t inode = inode_of(fd);
	struct stackd_wait wait;

	(void)state;
	file_clock_goes_on(); /* the file was there before the wait, by the file system's clock as
				 well */
	wait = wait_for(fd, inode, 1);
	assert_name(o, &wait, NULL, false);
	assert_int_equal(wait_objects_unnamed(o), 1);
	prefetch(o, &wait);
	assert_name(o, &wait, path, false);
	wait.number = inode + 1; /* another file had the descriptor */
	prefetch(o, &wait);
	assert_name(o, &wait, NULL, false);
	wait = wait_for(1000000, inode, 1); /* there is none any more */
	prefetch(o, &wait);
	assert_name(o, &wait, NULL, false);
	wait = wait_for(fd, inode, 1);
	wait.argument = UINT64_MAX; /* no descriptor */
	prefetch(o, &wait);
	assert_name(o, &wait, NULL, false);

	next = make_file(other);
	assert_int_equal(dup2(next, fd), fd);
	wait = wait_for(fd, inode, 1); /* what was found out before still holds */
	prefetch(o, &wait);
	assert_name(o, &wait, path, false);
	wait = wait_for(fd, inode, 2); /* but not for a file with the same number */
	prefetch(o, &wait);
	assert_name(o, &wait, NULL, false);
	wait_objects_free(o);
	close(fd);
	close(next);
	unlink(path);
	unlink(other);
}

/* The file took over the descriptor and the inode's number only after the wait. */
static void test_young_file(void **state)
{
	const uint64_t now = clock_ns(CLOCK_REALTIME);
	char path[64], *found = NULL;
	int fd = make_file(path);
	uint64_t inode = inode_of(fd);

	(void)state;
	assert_int_equal(descriptor_path("/proc", getpid(), fd, inode, now + WHILE_NS, &found), 0);
	assert_string_equal(found, path);
	free(found);
	assert_int_equal(descriptor_path("/proc", getpid(), fd, inode, now - WHILE_NS, &found),
			 -ENOENT);
	assert_int_equal(descriptor_path("/proc", getpid(), fd, 0, now + WHILE_NS, &found),
			 -ENOENT);
	unlink(path);
	assert_int_equal(descriptor_path("/proc", getpid(), fd, inode, now + WHILE_NS, &found), 0);
	assert_non_null(strstr(found, " (deleted)"));
	free(found);
	close(fd);
	assert_int_equal(descriptor_path("/proc", getpid(), fd, inode, now, &found), -ENOENT);
}

static void test_unix_sockets(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct wait_objects *o = objects();
	struct stackd_wait wait = {.object = STACKD_OBJECT_UNIX, .blocked_ns = 1};
	char expected[128];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/test wait %d", (int)getpid());
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	wait.number = inode_of(fd);
	snprintf(expected, sizeof(expected), "socket:[%llu]", (unsigned long long)wait.number);
	assert_name(o, &wait, expected, true);
	prefetch(o, &wait);
	snprintf(expected, sizeof(expected), "unix %s", address.sun_path);
	assert_name(o, &wait, expected, false);
	wait.number = UINT64_MAX; /* it is in another namespace, or closed */
	prefetch(o, &wait);
	assert_name(o, &wait, "socket:[18446744073709551615]", true);
	unlink(address.sun_path);
	close(fd);
	wait_objects_free(o);
}

/* Those that mean nothing later do not use up the room of the others. */
static void test_bound(void **state)
{
	const struct object *object, *again, *mapped;
	struct object_table *table;
	struct wait_frames *f;
	char name[32];

	(void)state;
	assert_int_equal(object_table_new("/proc", &table), 0);
	assert_int_equal(wait_frames_new(table, &f), 0);
	for (int i = 0; i < WAIT_FRAMES_PASSING; i++) {
		snprintf(name, sizeof(name), "pipe:[%d]", i);
		assert_int_equal(wait_frames_find(f, WAIT_FRAME_PASSING, name, &object), 0);
		assert_string_equal(object->path, name);
		assert_int_equal(object->kind, OBJECT_AWAITED);
	}
	assert_int_equal(wait_frames_find(f, WAIT_FRAME_PASSING, "pipe:[x]", &object), 0);
	assert_string_equal(object->path, WAIT_FRAMES_OTHERS);
	assert_int_equal(wait_frames_find(f, WAIT_FRAME_PASSING, "pipe:[y]", &again), 0);
	assert_ptr_equal(object, again);
	assert_int_equal(wait_frames_find(f, WAIT_FRAME_PASSING, name, &object), 0);
	assert_string_equal(object->path, name); /* known ones stay */
	assert_int_equal(wait_frames_find(f, WAIT_FRAME_LASTING, "/bin/x", &object), 0);
	assert_string_equal(object->path, "/bin/x");
	assert_int_equal(
		object_table_add(table, &(struct object){.path = (char *)"/bin/x"}, &mapped), 0);
	assert_int_not_equal(object->file_id, mapped->file_id);
	assert_int_equal(wait_frames_find(f, WAIT_FRAME_REASON, "[others]", &object), 0);
	assert_int_equal(object->kind, OBJECT_MARK);
	wait_frames_free(f);
	object_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),	     cmocka_unit_test(test_peers),
		cmocka_unit_test(test_files),	     cmocka_unit_test(test_young_file),
		cmocka_unit_test(test_unix_sockets), cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
