/* SPDX-License-Identifier: MIT */
/* Asks stackd for tables; see table.h. */
#include "table.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/at_fork.h"
#include "region.h"
#include "request.h"
#include "unload.h"

#define ANSWER_MS 20000 /* for a stackd that is stopped; one that has ended answers at once */

__thread struct table table_of_thread;

static struct sockaddr_un address;
static socklen_t address_size; /* 0: no stackd has started the program */
static pthread_key_t at_exit;
static bool has_key;

/* --- asking ----------------------------------------------------------------------------------- */

/* While more threads ask than the socket has room for, connect() waits. */
static int connected(void)
{
	const struct timeval most = {.tv_sec = ANSWER_MS / 1000};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), failed;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	do {
		failed = connect(fd, (const struct sockaddr *)&address, address_size);
	} while (failed && errno == EINTR);
	if (failed) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Waits for the answer. Returns the table's descriptor; -1: there is none. */
static int answer_of(int fd, struct stackd_call_answer *ret_answer)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {.iov_base = ret_answer, .iov_len = sizeof(*ret_answer)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	struct cmsghdr *header;
	int table = -1, is_ready;

	do {
		is_ready = poll(&wait, 1, ANSWER_MS);
	} while (is_ready < 0 && errno == EINTR);
	if (is_ready <= 0 ||
	    recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != sizeof(*ret_answer))
		return -1;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(&table, CMSG_DATA(header), sizeof(table));
	return table;
}

static struct stackd_calls *mapped(int fd)
{
	void *at =
		mmap(NULL, sizeof(struct stackd_calls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void begin(struct stackd_calls *calls, uint32_t number)
{
	const struct stackd_call_probe probe = {.kind = STACKD_CALL_BEGIN, .table = number};

	table_of_thread.calls = calls;
	table_of_thread.number = number;
	if (has_key)
		pthread_setspecific(at_exit, &table_of_thread);
	call_probe(&probe);
}

__attribute__((noinline, cold)) void table_ask(void)
{
	const int err = errno;
	struct stackd_call_answer answer = {0};
	struct stackd_calls *calls = NULL;
	int fd, table = -1;

	table_of_thread.is_asked = true;
	if (!address_size)
		return;
	fd = connected();
	if (fd >= 0)
		table = answer_of(fd, &answer);
	if (table >= 0)
		calls = mapped(table);
	if (table >= 0)
		close(table);
	if (fd >= 0)
		close(fd);
	if (calls && answer.version == STACKD_CALLS_VERSION &&
	    calls->version == STACKD_CALLS_VERSION)
		begin(calls, answer.table);
	else if (calls)
		munmap(calls, sizeof(*calls));
	errno = err;
}

/* --- ends ------------------------------------------------------------------------------------- */

/* Destructors of other keys may call MPI. So the table goes in the last round of them. */
static void leave(void *arg)
{
	static __thread int rounds;

	(void)arg;
	if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS &&
	    !pthread_setspecific(at_exit, &table_of_thread))
		return;
	request_forget(table_of_thread.calls);
	munmap(table_of_thread.calls, sizeof(*table_of_thread.calls));
	table_of_thread.calls = NULL;
}

/* The child of a fork is another thread, which must not count in its parent's table. */
static void begin_anew(void)
{
	table_of_thread.calls = NULL;
	table_of_thread.is_asked = false;
	request_forget_all();
	region_forget();
	unload_begin_anew();
}

__attribute__((constructor)) static void prepare(void)
{
	const char *name = getenv("STACKMPI_SOCKET");
	size_t len = name ? strlen(name) : 0;

	if (!len || len >= sizeof(address.sun_path))
		return;
	address.sun_family = AF_UNIX;
	memcpy(address.sun_path + 1, name, len); /* an abstract name, which begins with a 0 */
	address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
	has_key = !pthread_key_create(&at_exit, leave);
	at_fork_in_child(begin_anew);
}
