/* SPDX-License-Identifier: MIT */
/*
 * Waits once in each way, and says what for, in the file argv[2]; argv[1] is a folder for it. Then
 * it goes on until there is a file `enough` in the folder, or its parent has ended: stackd looks
 * paths up while the descriptors are there. Each line is
 *
 *   WAY<TAB>FRAMES      what it waits for, and who holds that, as stackd names them, with `;`
 *                       between
 *   WAY<TAB>            nobody can tell
 *   WAY<TAB>FRAMES?     perhaps nobody can tell
 *
 * The main thread waits, below `run` and WAY, until another one ends that.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "awaited_locks.h"
#include "workload.h"

#define HOLDER	   "the holder"
#define FIRST_PORT 20000 /* one that the kernel gives to no client */
#define WAIT_US	   20000

struct way {
	const char *name;
	void (*begin)(void); /* in the other thread, before the wait */
	void (*wait)(void);
	void (*end)(void); /* in the other thread, meanwhile */
};

static const char *folder;
static int holder; /* the other thread's number */
static pthread_barrier_t begun;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int is_set;
static int fifo = -1, other = -1;    /* two named pipes */
static int kept = -1;		     /* another descriptor of the first one */
static int ends[2], event, pair[2];  /* a pipe, an eventfd, two sockets */
static int unix_listener, unix_peer; /* the peer of the one that has connected */
static int unix_client;
static int listener[2], client[2], served[2]; /* of IPv4, and of IPv6 */
static int port[2];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void nap(unsigned us)
{
	nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
}

static void take(int from)
{
	char byte;

	if (read(from, &byte, 1) != 1)
		fail("read");
}

static void give(int to)
{
	if (write(to, "", 1) != 1)
		fail("write");
}

static uint64_t inode_of(int fd)
{
	struct stat status;

	if (fstat(fd, &status))
		fail("fstat");
	return status.st_ino;
}

/* --- files ----------------------------------------------------------------------------------- */

static int make_fifo(const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = mkfifo(path, 0600) ? -1 : open(path, O_RDWR);
	if (fd < 0)
		fail(path);
	return fd;
}

CALLEE void named(void)
{
	take(fifo);
	KEEP;
}

static void end_named(void)
{
	give(fifo);
}

/* The descriptor is the other pipe's, from before the wait on. */
static void begin_again(void)
{
	dup2(other, fifo);
}

CALLEE void again(void)
{
	take(fifo);
	KEEP;
}

/* While the thread waits for the first pipe, the descriptor becomes the other one's. */
static void begin_reused(void)
{
	fifo = make_fifo("reused");
	kept = dup(fifo);
}

CALLEE void reused(void)
{
	take(fifo);
	KEEP;
}

static void end_reused(void)
{
	dup2(other, fifo);
	give(kept);
}

static void begin_closed(void)
{
	fifo = make_fifo("closed");
	kept = dup(fifo);
}

CALLEE void closed(void)
{
	take(fifo);
	KEEP;
}

static void end_closed(void)
{
	close(fifo);
	give(kept);
}

/* As soon as the thread has waited, another file takes over the descriptor, and mostly the inode's
 * number. */
static void begin_replaced(void)
{
	fifo = make_fifo("replaced");
}

CALLEE void replaced(void)
{
	take(fifo);
	KEEP;
}

static void begin_successor(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/replaced", folder);
	close(fifo);
	if (unlink(path) || make_fifo("successor") != fifo)
		fail("successor");
}

CALLEE void successor(void)
{
	take(fifo);
	KEEP;
}

CALLEE void piped(void)
{
	take(ends[0]);
	KEEP;
}

/* For the one of several that comes first. */
CALLEE void polling_two(void)
{
	struct pollfd both[] = {{.fd = ends[0], .events = POLLIN}, {.fd = other, .events = POLLIN}};

	poll(both, 2, -1);
	take(ends[0]);
	KEEP;
}

static void end_piped(void)
{
	give(ends[1]);
}

CALLEE void polling(void)
{
	struct pollfd one = {.fd = other, .events = POLLIN};

	poll(&one, 1, -1);
	take(other);
	KEEP;
}

static void end_polling(void)
{
	give(other);
}

CALLEE void evented(void)
{
	uint64_t value;

	if (read(event, &value, sizeof(value)) != sizeof(value))
		fail("eventfd");
	KEEP;
}

static void end_evented(void)
{
	eventfd_write(event, 1);
}

/* --- sockets --------------------------------------------------------------------------------- */

CALLEE void paired(void)
{
	take(pair[0]);
	KEEP;
}

static void end_paired(void)
{
	give(pair[1]);
}

CALLEE void connected(void)
{
	take(unix_client);
	KEEP;
}

static void end_connected(void)
{
	give(unix_peer);
}

CALLEE void accepted(void)
{
	take(unix_peer);
	KEEP;
}

static void end_accepted(void)
{
	give(unix_client);
}

static void connect_ip(int i)
{
	const struct sockaddr_in ip4 = {.sin_family = AF_INET,
					.sin_port = htons((uint16_t)port[0]),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 ip6 = {.sin6_family = AF_INET6,
					 .sin6_port = htons((uint16_t)port[1]),
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT};

	client[i] = socket(i ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	if (connect(client[i], i ? (const struct sockaddr *)&ip6 : (const struct sockaddr *)&ip4,
		    i ? sizeof(ip6) : sizeof(ip4)))
		fail("connect");
}

CALLEE void listening(void)
{
	served[0] = accept(listener[0], NULL, NULL);
	KEEP;
}

static void end_listening(void)
{
	connect_ip(0);
}

CALLEE void listening6(void)
{
	served[1] = accept(listener[1], NULL, NULL);
	KEEP;
}

static void end_listening6(void)
{
	connect_ip(1);
}

CALLEE void asking(void)
{
	take(client[0]);
	KEEP;
}

static void end_asking(void)
{
	give(served[0]);
}

CALLEE void asking6(void)
{
	take(client[1]);
	KEEP;
}

static void end_asking6(void)
{
	give(served[1]);
}

CALLEE void serving(void)
{
	take(served[0]);
	KEEP;
}

static void end_serving(void)
{
	give(client[0]);
}

CALLEE void serving6(void)
{
	take(served[1]);
	KEEP;
}

static void end_serving6(void)
{
	give(client[1]);
}

/* --- futexes --------------------------------------------------------------------------------- */

CALLEE void conditional(void)
{
	pthread_mutex_lock(&guard);
	while (!is_set)
		pthread_cond_wait(&condition, &guard);
	pthread_mutex_unlock(&guard);
	KEEP;
}

static void end_conditional(void)
{
	is_set = 1;
	pthread_cond_signal(&condition);
}

CALLEE void counted(void)
{
	sem_wait(&semaphore);
	KEEP;
}

static void end_counted(void)
{
	sem_post(&semaphore);
}

/* --- what they are --------------------------------------------------------------------------- */

static void listen_unix(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
	unix_listener = socket(AF_UNIX, SOCK_STREAM, 0);
	unix_client = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(unix_listener, (const struct sockaddr *)&address, sizeof(address)) ||
	    listen(unix_listener, 1) ||
	    connect(unix_client, (const struct sockaddr *)&address, sizeof(address)))
		fail(address.sun_path);
	unix_peer = accept(unix_listener, NULL, NULL);
}

static void listen_ip(int i)
{
	struct sockaddr_in ip4 = {.sin_family = AF_INET};
	struct sockaddr_in6 ip6 = {.sin6_family = AF_INET6};

	listener[i] = socket(i ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	for (port[i] = FIRST_PORT + getpid() % 5000; port[i] < FIRST_PORT + 10000; port[i]++) {
		ip4.sin_port = ip6.sin6_port = htons((uint16_t)port[i]);
		if (!bind(listener[i],
			  i ? (const struct sockaddr *)&ip6 : (const struct sockaddr *)&ip4,
			  i ? sizeof(ip6) : sizeof(ip4)) &&
		    !listen(listener[i], 1))
			return;
	}
	fail("listen");
}

static void prepare(void)
{
	make_mutexes();
	sem_init(&semaphore, 0, 0);
	fifo = make_fifo("first");
	other = make_fifo("other");
	event = eventfd(0, 0);
	if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || event < 0)
		fail("pipe");
	listen_unix();
	listen_ip(0);
	listen_ip(1);
}

static void say(const char *way)
{
	const char *const paths[] = {"named",	       "%s/first?", "again",
				     "%s/other",       "reused",    "",
				     "closed",	       "",	    "replaced",
				     "%s/replaced?",   "successor", "%s/successor",
				     "polling",	       "%s/other",  "connected",
				     "unix %s/socket", "accepted",  "unix %s/socket"};

	printf("%s\t", way);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i += 2) {
		if (!strcmp(way, paths[i]))
			printf(paths[i + 1], folder);
	}
	if (!strcmp(way, "piped"))
		printf("pipe:[%" PRIu64 "]", inode_of(ends[0]));
	else if (!strcmp(way, "paired"))
		printf("socket:[%" PRIu64 "]", inode_of(pair[0]));
	else if (!strcmp(way, "evented"))
		printf("[eventfd]");
	else if (!strcmp(way, "listening") || !strcmp(way, "listening6"))
		printf("tcp port %d", port[way[9] == '6']);
	else if (!strcmp(way, "asking"))
		printf("tcp 127.0.0.1:%d", port[0]);
	else if (!strcmp(way, "asking6"))
		printf("tcp [::1]:%d", port[1]);
	else if (!strcmp(way, "serving"))
		printf("tcp port %d from 127.0.0.1", port[0]);
	else if (!strcmp(way, "serving6"))
		printf("tcp port %d from ::1", port[1]);
	else if (!strcmp(way, "conditional"))
		printf("futex %p*", (void *)&condition);
	else if (!strcmp(way, "counted"))
		printf("futex %p", (void *)&semaphore);
	else
		say_locked(way, HOLDER, holder);
	putchar('\n');
}

/* Whether the main thread waits. */
static int is_asleep(void)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	file = fopen(path, "r");
	if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		fail(path);
	fclose(file);
	return state == 'S';
}

static void *finish(void *arg)
{
	const struct way *way = arg;

	prctl(PR_SET_NAME, HOLDER);
	holder = (int)syscall(SYS_gettid);
	if (way->begin)
		way->begin();
	pthread_barrier_wait(&begun);
	while (!is_asleep())
		nap(100);
	nap(WAIT_US);
	way->end();
	return NULL;
}

CALLEE void run(const struct way *way)
{
	way->wait();
	KEEP;
}

/* Says all of it, and waits. */
static void wait_enough(void)
{
	const pid_t parent = getppid();
	char path[4096];

	snprintf(path, sizeof(path), "%s/enough", folder);
	fflush(stdout);
	while (access(path, F_OK) && getppid() == parent)
		nap(WAIT_US);
}

int main(int argc, char **argv)
{
	static struct way ways[] = {{"named", NULL, named, end_named},
				    {"again", begin_again, again, end_named},
				    {"reused", begin_reused, reused, end_reused},
				    {"closed", begin_closed, closed, end_closed},
				    {"replaced", begin_replaced, replaced, end_named},
				    {"successor", begin_successor, successor, end_named},
				    {"piped", NULL, piped, end_piped},
				    {"polling", NULL, polling, end_polling},
				    {"polling_two", NULL, polling_two, end_piped},
				    {"evented", NULL, evented, end_evented},
				    {"paired", NULL, paired, end_paired},
				    {"connected", NULL, connected, end_connected},
				    {"accepted", NULL, accepted, end_accepted},
				    {"listening", NULL, listening, end_listening},
				    {"listening6", NULL, listening6, end_listening6},
				    {"asking", NULL, asking, end_asking},
				    {"asking6", NULL, asking6, end_asking6},
				    {"serving", NULL, serving, end_serving},
				    {"serving6", NULL, serving6, end_serving6},
				    {"locked", begin_locked, locked, end_locked},
				    {"inherited", begin_inheriting, inherited, end_inheriting},
				    {"timed", begin_locked, timed, end_locked},
				    {"sturdy", begin_robust, sturdy, end_robust},
				    {"sturdy_timed", begin_robust, sturdy_timed, end_robust},
				    {"erring", begin_checked, erring, end_checked},
#ifdef __GLIBC__ /* musl waits for a word on the stack */
				    {"conditional", NULL, conditional, end_conditional},
#endif
				    {"counted", NULL, counted, end_counted}};
	pthread_t thread;

	folder = argc > 1 ? argv[1] : ".";
	if (argc > 2 && !freopen(argv[2], "w", stdout))
		fail(argv[2]);
	pthread_barrier_init(&begun, NULL, 2);
	prepare();
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		pthread_create(&thread, NULL, finish, &ways[i]);
		pthread_barrier_wait(&begun);
		run(&ways[i]);
		pthread_join(thread, NULL);
		say(ways[i].name);
	}
	wait_enough();
	return 0;
}
