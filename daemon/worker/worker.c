/* SPDX-License-Identifier: MIT */
/*
 * Calls workers, checks the limits of calls, and handles failures of workers; see worker.h.
 *
 * Limits are of CPU time, so that a busy machine does not make a file look hostile. A worker that
 * owes a reply sleeps if it neither runs nor waits for a CPU or a disk. If it sleeps at
 * WORKER_SLEEP_LOOKS looks in a row, it counts as hung; so it does if it waits for a disk at
 * STUCK_LOOKS looks in a row and gets no CPU time in between. Looks are counted, not timed, since
 * all processes may be stopped for a while.
 */
#include "daemon/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "daemon/base/cpu_share.h"
#include "daemon/base/log.h"
#include "daemon/base/own_cost.h"
#include "daemon/base/slowness.h"
#include "daemon/worker/refusals.h"
#include "daemon/worker/wire.h"
#include "daemon/worker/worker_page.h"
#include "proc/proc_fs.h"

/* Longest time of a call, whatever the worker does; as cpu_limits, times slowness(). */
#define WALL_NS	       UINT64_C(300000000000)
#define IDLE_NS	       UINT64_C(10000000000) /* an idle worker ends after this time */
#define LARGE_IDLE_NS  UINT64_C(1000000000)  /* or this, if its memory exceeds LARGE_BYTES */
#define LARGE_BYTES    (UINT64_C(8) << 20)
#define RENEW_NS       UINT64_C(300000000000) /* a worker with so much CPU time is replaced */
#define RENEW_CALLS    256		      /* RENEW_NS is checked once in so many calls */
#define LOOK_QUESTIONS 256		      /* questions of a worker between two looks at it */

/* A worker that waits for a disk at so many looks in a row is given up: after 30 s, and after 3 s
 * if the loop waits for it. */
#define STUCK_LOOKS	 3000
#define STUCK_LOOP_LOOKS 300

static const uint64_t cpu_limits[WORKER_COUNT] = {
	[WORKER_LOOP] = UINT64_C(2000000000),	  [WORKER_WALKS] = UINT64_C(2000000000),
	[WORKER_TABLES] = UINT64_C(60000000000),  [WORKER_NAMES] = UINT64_C(60000000000),
	[WORKER_REGIONS] = UINT64_C(60000000000),
};

/* State of waiting for a worker's messages. */
struct waiting {
	struct worker *worker;
	const struct worker_call *call;
	uint64_t begun_ns, cpu_before_ns; /* time and CPU time at the first look; 0: there was none
					   * yet */
	unsigned asleep;		  /* looks in a row at which the worker slept */
	unsigned stuck; /* looks in a row at which it waited for a disk, and had got no CPU time */
	unsigned slept; /* looks at which it slept */
	uint64_t seen_cpu_ns; /* CPU time at the last look */
};

/* A call of worker_begin(). */
struct flight {
	bool is_on;
	struct worker_call call;
	struct wire_stream stream;
	struct waiting waiting;
	uint64_t heard_ns;  /* time of the last message, or of the last look */
	unsigned questions; /* questions since then */
	struct buf text;    /* bytes of an answer */
	int epoll;	    /* epoll with the socket of the call; -1: none */
};

struct worker {
	struct workers *workers;
	enum worker_role role;
	pthread_mutex_t lock; /* held during a call */
	pid_t pid;	      /* 0: there is none */
	int socket;
	unsigned n_calls;
	unsigned server; /* the server that has forked it: its number of restarts */
	clockid_t clock;
	struct worker_page *page; /* NULL: there is none */
	bool has_failed;  /* the last process has failed, so the next start counts as a restart */
	uint64_t used_ns; /* when the last call ended */
	uint64_t ended_cpu_ns; /* CPU time of processes that have ended */
	uint64_t live_cpu_ns;  /* of the one that runs, at the last look */
	struct flight flight;
	struct cpu_share patience; /* of WORKER_LOOP: for calls that take long */
};

struct workers {
	struct fork_server *server;
	struct worker all[WORKER_COUNT];
	pthread_mutex_t lock;	 /* guards what follows */
	struct refusals refused; /* by id, or by the key of a file that could not be identified */
	struct workers_counts counts;
	uint64_t server_cpu_ns, ended_server_cpu_ns; /* CPU time of keeper and server when last
						      * read; CPU time of earlier servers */
	bool is_told;				     /* the log says that no worker can be
						      * started */
	uint64_t most_analysed, slowness;
};

/* --- processes ------------------------------------------------------------------------------- */

/* Makes the page that is shared with a worker. Its size is sealed, so a worker cannot shrink it and
 * make stackd fault. */
static int new_page(int *ret_fd, struct worker_page **ret_page)
{
	int fd = memfd_create("stackd-worker", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *page = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, sizeof(**ret_page)) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		page = mmap(NULL, sizeof(**ret_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return -ECHILD;
	}
	*ret_fd = fd;
	*ret_page = page;
	return 0;
}

static void count_restart(struct worker *w)
{
	pthread_mutex_lock(&w->workers->lock);
	w->workers->counts.restarts++;
	pthread_mutex_unlock(&w->workers->lock);
	log_event(LOG_EVENT_WORKER_RESTARTED, "the worker that reads files was started again");
	w->has_failed = false;
}

/* Logs, once, that no worker can be started, so that no file can be read any more. */
static void tell_of_server(struct workers *ws, int err)
{
	bool is_told;

	pthread_mutex_lock(&ws->lock);
	is_told = ws->is_told;
	ws->is_told = true;
	pthread_mutex_unlock(&ws->lock);
	if (!is_told)
		log_error(
			"cannot start a process to read files (%s): new files have neither names nor unwind information",
			strerror(-err));
}

/* Sets the timeouts of a socket to WORKER_LOOK_MS. */
static void set_timeouts(int socket)
{
	const struct timeval timeout = {.tv_usec = WORKER_LOOK_MS * 1000};

	setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

static int start(struct worker *w)
{
	struct fork_child child;
	int page_fd, err;

	if (w->pid)
		return 0;
	err = new_page(&page_fd, &w->page);
	if (err)
		return err;
	err = fork_server_spawn(w->workers->server, w->role != WORKER_NAMES, page_fd, &child);
	close(page_fd);
	if (err) {
		munmap(w->page, sizeof(*w->page));
		w->page = NULL;
		tell_of_server(w->workers, err);
		return -ECHILD;
	}
	w->pid = child.pid;
	w->socket = child.socket;
	w->server = child.server;
	set_timeouts(w->socket);
	if (clock_getcpuclockid(w->pid, &w->clock))
		w->clock = CLOCK_MONOTONIC;
	if (w->has_failed)
		count_restart(w);
	return 0;
}

/* Returns the CPU time of the process; of one that has ended, what it had used at the last look. */
static uint64_t live_cpu_ns(struct worker *w)
{
	struct timespec t;

	if (w->pid && clock_gettime(w->clock, &t) == 0)
		w->live_cpu_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return w->pid ? w->live_cpu_ns : 0;
}

/* Ends the process. Gives the status of wait(2). Returns 0, or the result of fork_server_end(). */
static int end(struct worker *w, int *ret_status)
{
	const struct fork_child child = {.pid = w->pid, .socket = w->socket, .server = w->server};
	uint64_t cpu_ns = 0;
	int err;

	*ret_status = 0;
	if (!w->pid)
		return 0;
	live_cpu_ns(w);
	close(w->socket);
	err = fork_server_end(w->workers->server, &child, ret_status, &cpu_ns);
	if (err == -EBUSY) {
		log_event(LOG_EVENT_WORKER_RESTARTED,
			  "a worker is stuck waiting for a disk: stackd goes on without it");
		err = 0;
	}
	/* The server does not know what a process has used that it could not wait for. */
	w->ended_cpu_ns += cpu_ns > w->live_cpu_ns ? cpu_ns : w->live_cpu_ns;
	w->live_cpu_ns = 0;
	munmap(w->page, sizeof(*w->page));
	w->page = NULL;
	w->pid = 0;
	return err;
}

static void end_idle(struct worker *w)
{
	int status;

	end(w, &status);
}

/* Ends a worker that has not failed, to save memory. */
static void give_up(struct worker *w)
{
	end_idle(w);
	worker_count_forgotten(w, WORKER_FORGOTTEN_WORKERS, 1);
}

/* --- refusals -------------------------------------------------------------------------------- */

static bool is_refused(struct workers *ws, uint64_t file_id)
{
	bool found;

	pthread_mutex_lock(&ws->lock);
	found = refusals_has(&ws->refused, file_id, clock_ns(CLOCK_BOOTTIME));
	pthread_mutex_unlock(&ws->lock);
	return found;
}

/* Returns the object that the worker was reading: the one that it has named in the shared page, or
 * else the object of the call. */
static const struct object *culprit(const struct worker *w, const struct worker_call *call)
{
	uint32_t named = w->page ? __atomic_load_n(&w->page->object_plus_1, __ATOMIC_RELAXED) : 0;

	if (call->objects && named && named <= object_table_count(call->objects))
		return object_table_at(call->objects, named - 1);
	return call->object;
}

static int refuse(struct worker *w, const struct worker_call *call, const struct object *object,
		  enum worker_refusal why)
{
	struct workers *ws = w->workers;
	const char *path = object ? object->path : call->path ? call->path : "a file";
	uint64_t key = object ? object->file_id : call->key;

	pthread_mutex_lock(&ws->lock);
	ws->counts.refused[why]++;
	if (key &&
	    !refusals_add(&ws->refused, key,
			  why == WORKER_REFUSED_STUCK ? REFUSALS_STUCK_NS : REFUSALS_FIRST_NS,
			  clock_ns(CLOCK_BOOTTIME)))
		ws->counts.forgotten[WORKER_FORGOTTEN_REFUSALS]++;
	pthread_mutex_unlock(&ws->lock);
	log_event(LOG_EVENT_FILE_REFUSED, "%s was refused: %s", path, worker_refusal_words(why));
	return -EOWNERDEAD;
}

/* Notes that somebody else has killed a worker while it read this file. Returns whether this is the
 * first time: then the file is not to blame, since the kernel may have been out of memory. */
static bool is_excused(struct worker *w, const struct worker_call *call,
		       const struct object *object)
{
	uint64_t key = object ? object->file_id : call->key;
	bool is_second = true;

	pthread_mutex_lock(&w->workers->lock);
	if (key)
		is_second = refusals_killed(&w->workers->refused, key, clock_ns(CLOCK_BOOTTIME));
	pthread_mutex_unlock(&w->workers->lock);
	if (!is_second)
		log_event(LOG_EVENT_WORKER_RESTARTED,
			  "a worker was killed while it read %s, which is read again",
			  object       ? object->path
			  : call->path ? call->path
				       : "a file");
	return !is_second;
}

/* --- waiting --------------------------------------------------------------------------------- */

/* Counts in a row the looks at which the worker sleeps, and those at which it waits for a disk
 * without having had CPU time since the look before. */
static void look_at_state(struct waiting *wait, uint64_t cpu_ns)
{
	struct proc_fs_stat stat;
	char state = proc_fs_stat("/proc", wait->worker->pid, &stat) ? 'R' : stat.state;
	bool has_run = cpu_ns != wait->seen_cpu_ns;

	wait->asleep = state == 'S' || state == 'T' || state == 't' ? wait->asleep + 1 : 0;
	wait->stuck = state == 'D' && !has_run ? wait->stuck + 1 : 0;
	wait->slept += wait->asleep > 0;
	wait->seen_cpu_ns = cpu_ns;
}

/* A wire_look_fn: checks the limits of a worker. 0; or the error with which the call ends: -ETIME
 * (CPU time), -ETIMEDOUT (it hangs), -EIO (its disk does not answer), -ECANCELED. Most calls end
 * before the first look. */
static int look(void *arg)
{
	struct waiting *wait = arg;
	struct worker *w = wait->worker;
	uint64_t now = clock_ns(CLOCK_MONOTONIC), cpu = live_cpu_ns(w);

	if (!wait->begun_ns) {
		wait->begun_ns = now;
		wait->cpu_before_ns = cpu;
	}
	cpu -= wait->cpu_before_ns;
	if (wait->call->is_cancelled && wait->call->is_cancelled(wait->call->arg, cpu))
		return -ECANCELED;
	if (cpu > cpu_limits[w->role] * w->workers->slowness)
		return -ETIME;
	look_at_state(wait, cpu);
	if (wait->stuck >= (w->role == WORKER_LOOP ? STUCK_LOOP_LOOKS : STUCK_LOOKS))
		return -EIO;
	if (wait->asleep >= WORKER_SLEEP_LOOKS)
		return -ETIMEDOUT;
	return now - wait->begun_ns > WALL_NS * w->workers->slowness ? -ETIMEDOUT : 0;
}

/* The loop, which waits for its worker, is patient with files that make the worker take long: six
 * seconds in a row, and a quarter of the time in the long run. Without that, somebody with many
 * such files, of which each one is refused in the end, would keep it from all else. A call counts,
 * with all the time that it took, if the worker has computed or slept for long in it: then the file
 * was slow, and not the machine alone. */
#define PATIENCE_NS    UINT64_C(6000000000)
#define PATIENCE_SHARE 0.25
#define SLOW_NS	       UINT64_C(100000000)

static bool is_of_loop(const struct worker *w, const struct worker_call *call)
{
	return w->role == WORKER_LOOP && call->kind != WIRE_IDENTIFY;
}

static void spend_patience(struct worker *w, const struct waiting *wait)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (is_of_loop(w, wait->call) &&
	    wait->seen_cpu_ns + wait->slept * WORKER_LOOK_MS * UINT64_C(1000000) > SLOW_NS)
		cpu_share_spend(&w->patience, now_ns - wait->begun_ns, now_ns);
}

static bool has_patience(struct worker *w, const struct worker_call *call)
{
	return !is_of_loop(w, call) || !cpu_share_wait_ns(&w->patience, clock_ns(CLOCK_MONOTONIC));
}

/* Does what look() does, for a worker for which this thread waits, and calls
 * fork_server_meanwhile(). */
static int look_meanwhile(void *arg)
{
	const struct waiting *wait = arg;

	fork_server_meanwhile(wait->worker->workers->server, true);
	return look(arg);
}

/* --- calls ----------------------------------------------------------------------------------- */

/* Returns whether somebody else killed the worker: its socket was closed before stackd did. */
static bool is_killed(int err, int status)
{
	return err == -EPIPE && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* Returns why a file is refused, by the error of the call and the status of the worker's
 * process. */
static enum worker_refusal reason(int err, int status)
{
	if (err == -ETIME || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
		return WORKER_REFUSED_TIME;
	if (err == -ETIMEDOUT)
		return WORKER_REFUSED_HANG;
	if (err == -EIO)
		return WORKER_REFUSED_STUCK;
	if (err == -EBADMSG || err == -EPROTO)
		return WORKER_REFUSED_REPLY;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		return WORKER_REFUSED_SYSCALL;
	if (is_killed(err, status))
		return WORKER_REFUSED_KILLED;
	if (WIFEXITED(status)) /* libraries that find no memory end the process */
		return WORKER_REFUSED_MEMORY;
	return WORKER_REFUSED_CRASH;
}

/* Ends a worker after a call that has failed with `err`, and refuses the file that it was reading.
 * Returns the result of the call: -EOWNERDEAD: the file was refused; -EHOSTDOWN: the file is not to
 * blame, since the fork server died, or somebody killed the worker (is_excused()); `err`, if it is
 * -ECANCELED or -ENOMEM. */
static int fail(struct worker *w, const struct worker_call *call, int err)
{
	const struct object *object = culprit(w, call);
	int status, ended = end(w, &status);

	if (err == -ECANCELED || err == -ENOMEM)
		return err;
	w->has_failed = true;
	if (ended == -EHOSTDOWN)
		return ended;
	if (is_killed(err, status) && is_excused(w, call, object))
		return -EHOSTDOWN;
	return refuse(w, call, object, reason(err, status));
}

/* Answers a worker's question: returns the header, and gives bytes and descriptor. */
static struct wire_header answer_to(const struct worker_call *call, uint32_t kind,
				    struct buf_reader *question, struct buf *text, int *ret_fd,
				    bool *ret_is_owned)
{
	struct wire_header header = {.kind = WIRE_ANSWER};

	*ret_fd = -1;
	*ret_is_owned = false;
	buf_clear(text);
	header.status =
		call->answer ? call->answer(call->arg, kind, question, text, ret_fd, ret_is_owned)
			     : -ENOSYS;
	header.len = (uint32_t)text->len;
	return header;
}

static int answer(const struct worker_call *call, const struct wire *wire, uint32_t kind,
		  const struct buf *question, struct buf *text)
{
	struct buf_reader reader = buf_reader(question->data, question->len);
	bool is_owned;
	int fd, err;
	const struct wire_header header = answer_to(call, kind, &reader, text, &fd, &is_owned);

	err = text->failed ? -ENOMEM : wire_send(wire, &header, text->data, fd);
	if (fd >= 0 && is_owned)
		close(fd);
	return err;
}

/* Sends the request, and answers questions until the reply has come. Also checks the limits of a
 * worker that never stops asking questions. */
static int exchange(struct worker *w, const struct worker_call *call, const struct buf *request,
		    struct buf *ret_reply, int *ret_status)
{
	struct waiting waiting = {.worker = w, .call = call};
	const struct wire wire = {.socket = w->socket, .look = look_meanwhile, .arg = &waiting};
	struct wire_header header = {.kind = call->kind, .len = (uint32_t)request->len};
	struct buf text = {0};
	int err = wire_send(&wire, &header, request->data, call->fd);

	for (unsigned n = 1; !err; n++) {
		err = wire_receive(&wire, WIRE_MAX_BYTES, &header, ret_reply, NULL);
		if (err || header.kind == WIRE_REPLY)
			break;
		waiting.asleep = 0;
		err = answer(call, &wire, header.kind, ret_reply, &text);
		if (!err && n % LOOK_QUESTIONS == 0)
			err = look_meanwhile(&waiting);
	}
	buf_free(&text);
	spend_patience(w, &waiting);
	*ret_status = header.status;
	return err;
}

/* Makes sure that the worker has a process for the next call; replaces one that has used RENEW_NS
 * of CPU time. 0, or an error of worker_call(). */
static int prepare(struct worker *w)
{
	int err;

	if (w->pid && w->n_calls++ % RENEW_CALLS == 0 && live_cpu_ns(w) > RENEW_NS)
		give_up(w);
	err = start(w);
	if (!err)
		__atomic_store_n(&w->page->object_plus_1, 0, __ATOMIC_RELAXED);
	return err;
}

/* Returns the result of a call that is over. `status`: that of the reply; `err`: 0, or why there is
 * no reply. */
static int conclude(struct worker *w, const struct worker_call *call, int status, int err)
{
	w->used_ns = clock_ns(CLOCK_MONOTONIC_COARSE);
	if (err)
		return fail(w, call, err);
	if (status == -ENOMEM) {
		/* The heap may be fragmented, so another worker, with a new heap, may have enough
		 * memory. */
		const struct object *object = culprit(w, call);

		end_idle(w);
		w->has_failed = true;
		return refuse(w, call, object, WORKER_REFUSED_MEMORY);
	}
	return status;
}

static int call_locked(struct worker *w, const struct worker_call *call, const struct buf *request,
		       struct buf *ret_reply)
{
	int status = 0, err = prepare(w);

	if (err)
		return err;
	err = exchange(w, call, request, ret_reply, &status);
	return conclude(w, call, status, err);
}

/* Counts a call that is not made. */
static void count_postponed(struct worker *w)
{
	pthread_mutex_lock(&w->workers->lock);
	w->workers->counts.postponed++;
	pthread_mutex_unlock(&w->workers->lock);
}

static void count_call(struct worker *w)
{
	pthread_mutex_lock(&w->workers->lock);
	w->workers->counts.calls++;
	pthread_mutex_unlock(&w->workers->lock);
}

int worker_call(struct worker *w, const struct worker_call *call, const struct buf *request,
		struct buf *ret_reply)
{
	int err;

	if (request->failed)
		return -ENOMEM;
	if (is_refused(w->workers, call->object ? call->object->file_id : call->key))
		return -EOWNERDEAD;
	if (w->flight.is_on)
		return -EBUSY;
	if (!has_patience(w, call)) {
		count_postponed(w);
		return -EDQUOT;
	}
	pthread_mutex_lock(&w->lock);
	err = call_locked(w, call, request, ret_reply);
	if (err == -EHOSTDOWN)
		err = call_locked(w, call, request, ret_reply);
	pthread_mutex_unlock(&w->lock);
	count_call(w);
	fork_server_meanwhile(w->workers->server, false);
	return err;
}

int worker_refuse_reply(struct worker *w, const struct worker_call *call)
{
	int err;

	pthread_mutex_lock(&w->lock);
	err = fail(w, call, -EPROTO);
	pthread_mutex_unlock(&w->lock);
	return err;
}

uint64_t worker_cpu_ns(struct worker *w)
{
	uint64_t ns;

	pthread_mutex_lock(&w->lock);
	ns = w->ended_cpu_ns + live_cpu_ns(w);
	pthread_mutex_unlock(&w->lock);
	return ns;
}

int worker_answer_object(struct worker *w, const struct object *object, struct buf *answer,
			 int *ret_fd)
{
	bool is_readable = object->elf && !is_refused(w->workers, object->file_id);
	int fd = is_readable ? elf_file_duplicate(object->elf) : -1;
	int32_t error = is_readable ? 0 : object->error ? object->error : -EOWNERDEAD;
	uint64_t identity = is_readable ? elf_file_identity(object->elf) : 0;
	uint32_t kind = object->kind;

	BUF_PUT(answer, kind);
	BUF_PUT(answer, error);
	BUF_PUT(answer, identity);
	BUF_PUT(answer, object->file_id);
	BUF_PUT(answer, object->owner.pid);
	buf_put_string(answer, object->path ? object->path : "");
	if (is_readable)
		*ret_fd = fd < 0 ? -1 : fd;
	return 0;
}

/* --- calls that do not wait ------------------------------------------------------------- */

bool worker_is_busy(const struct worker *w)
{
	return w->flight.is_on;
}

int worker_poll_fd(const struct worker *w)
{
	return w->flight.epoll;
}

/* Makes epoll wait for the socket: to be writable while a message is being sent, otherwise to be
 * readable. */
static int watch(const struct worker *w, int how)
{
	struct epoll_event event = {.events = wire_stream_is_sent(&w->flight.stream) ? EPOLLIN
										     : EPOLLOUT};

	return epoll_ctl(w->flight.epoll, how, w->socket, &event) ? -errno : 0;
}

int worker_begin(struct worker *w, const struct worker_call *call, const struct buf *request)
{
	const struct wire_header header = {.kind = call->kind, .len = (uint32_t)request->len};
	struct flight *f = &w->flight;
	int err;

	if (request->failed)
		return -ENOMEM;
	if (f->is_on)
		return -EBUSY;
	pthread_mutex_lock(&w->lock);
	err = prepare(w);
	pthread_mutex_unlock(&w->lock);
	count_call(w);
	if (err)
		return err;
	f->call = *call;
	f->waiting = (struct waiting){.worker = w, .call = &f->call};
	f->questions = 0;
	f->heard_ns = clock_ns(CLOCK_MONOTONIC);
	f->stream.socket = w->socket;
	wire_stream_put(&f->stream, &header, request->data, call->fd, false);
	err = f->stream.out.failed ? -ENOMEM : watch(w, EPOLL_CTL_ADD);
	f->is_on = !err;
	if (err)
		wire_stream_fini(&f->stream);
	return err;
}

/* Handles a message of the worker. Returns 0; 1: it was the reply; or an error. */
static int take_message(struct flight *f, const struct wire_header *header,
			struct buf_reader *bytes, int *ret_status)
{
	struct wire_header answered;
	bool is_owned;
	int fd;

	*ret_status = header->status;
	f->waiting.asleep = 0;
	if (header->kind == WIRE_REPLY)
		return 1;
	if (header->kind == WIRE_PART) {
		f->waiting.begun_ns = 0; /* the next part has limits of its own */
		f->questions = 0;
		return f->call.part ? f->call.part(f->call.arg, header->status, bytes) : -EBADMSG;
	}
	f->questions++;
	answered = answer_to(&f->call, header->kind, bytes, &f->text, &fd, &is_owned);
	wire_stream_put(&f->stream, &answered, f->text.data, fd, is_owned);
	return f->text.failed ? -ENOMEM : 0;
}

/* Checks the limits of a worker that has been silent for WORKER_LOOK_MS, or has asked
 * LOOK_QUESTIONS questions. 0, or the error with which the call ends. */
static int look_at_flight(struct flight *f, bool is_silent)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!is_silent && f->questions < LOOK_QUESTIONS)
		f->heard_ns = now;
	if (now - f->heard_ns < WORKER_LOOK_MS * UINT64_C(1000000) && f->questions < LOOK_QUESTIONS)
		return 0;
	f->heard_ns = now;
	f->questions = 0;
	return look(&f->waiting);
}

/* Sends and receives without waiting. Returns 0; 1: the reply has come; or an error. */
static int transfer(struct flight *f, int *ret_status)
{
	bool is_silent = true;
	int result = 0, has = 1;

	for (unsigned n = 0; !result && n < LOOK_QUESTIONS; n++) {
		struct wire_header header;
		struct buf_reader bytes;

		result = wire_stream_flush(&f->stream);
		if (result || !wire_stream_is_sent(&f->stream))
			break;
		has = wire_stream_get(&f->stream, WIRE_MAX_BYTES, &header, &bytes);
		if (has <= 0)
			break;
		is_silent = false;
		result = take_message(f, &header, &bytes, ret_status);
	}
	if (!result && has < 0)
		result = has;
	return result ? result : look_at_flight(f, is_silent);
}

bool worker_go_on(struct worker *w, int *ret_status)
{
	struct flight *f = &w->flight;
	int status = 0, result;

	if (!f->is_on)
		return false;
	result = transfer(f, &status);
	if (!result && watch(w, EPOLL_CTL_MOD))
		result = -ENOMEM;
	if (!result)
		return true;
	epoll_ctl(f->epoll, EPOLL_CTL_DEL, w->socket, NULL);
	f->is_on = false;
	wire_stream_fini(&f->stream);
	pthread_mutex_lock(&w->lock);
	*ret_status = conclude(w, &f->call, status, result < 0 ? result : 0);
	pthread_mutex_unlock(&w->lock);
	return false;
}

/* --- all of them ----------------------------------------------------------------------------- */

int workers_new(struct fork_server *server, uint64_t most_analysed, struct workers **ret_workers)
{
	struct workers *ws = calloc(1, sizeof(*ws));

	if (!ws)
		return -ENOMEM;
	ws->server = server;
	ws->most_analysed = most_analysed;
	ws->slowness = slowness();
	pthread_mutex_init(&ws->lock, NULL);
	for (int i = 0; i < WORKER_COUNT; i++) {
		ws->all[i].workers = ws;
		ws->all[i].role = (enum worker_role)i;
		ws->all[i].flight.epoll = -1;
		ws->all[i].patience = cpu_share_begin(PATIENCE_SHARE, PATIENCE_NS * ws->slowness,
						      clock_ns(CLOCK_MONOTONIC));
		pthread_mutex_init(&ws->all[i].lock, NULL);
	}
	ws->all[WORKER_WALKS].flight.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (ws->all[WORKER_WALKS].flight.epoll < 0) {
		int err = -errno;

		workers_free(ws);
		return err;
	}
	*ret_workers = ws;
	return 0;
}

static void free_flight(struct flight *f)
{
	wire_stream_fini(&f->stream);
	buf_free(&f->text);
	if (f->epoll >= 0)
		close(f->epoll);
}

void workers_free(struct workers *ws)
{
	if (!ws)
		return;
	for (int i = 0; i < WORKER_COUNT; i++) {
		free_flight(&ws->all[i].flight);
		end_idle(&ws->all[i]);
		pthread_mutex_destroy(&ws->all[i].lock);
	}
	pthread_mutex_destroy(&ws->lock);
	refusals_fini(&ws->refused);
	free(ws);
}

void workers_use_meanwhile(struct workers *ws, fork_server_meanwhile_fn *take, void *arg)
{
	if (ws)
		fork_server_use_meanwhile(ws->server, take, arg);
}

void workers_meanwhile(void *arg)
{
	const struct workers *ws = arg;

	if (ws)
		fork_server_meanwhile(ws->server, true);
}

uint64_t worker_most_analysed(const struct worker *w)
{
	return w->workers->most_analysed;
}

struct worker *workers_of(struct workers *ws, enum worker_role role)
{
	return ws ? &ws->all[role] : NULL;
}

/* Returns whether a worker that has been idle for `ns` must be ended. */
static bool is_idle(const struct worker *w, uint64_t ns)
{
	return ns > IDLE_NS || (ns > LARGE_IDLE_NS && own_cost_child_bytes(w->pid) > LARGE_BYTES);
}

void workers_trim(struct workers *ws)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < WORKER_COUNT; i++) {
		struct worker *w = &ws->all[i];

		if (pthread_mutex_trylock(&w->lock))
			continue;
		if (w->pid && !w->flight.is_on && now > w->used_ns && is_idle(w, now - w->used_ns))
			give_up(w);
		pthread_mutex_unlock(&w->lock);
	}
}

void worker_count_forgotten(struct worker *w, enum worker_forgotten what, uint64_t n)
{
	pthread_mutex_lock(&w->workers->lock);
	w->workers->counts.forgotten[what] += n;
	pthread_mutex_unlock(&w->workers->lock);
}

void worker_count_unproven(struct worker *w, uint64_t n)
{
	pthread_mutex_lock(&w->workers->lock);
	w->workers->counts.unproven += n;
	pthread_mutex_unlock(&w->workers->lock);
}

bool workers_are_lost(const struct workers *ws)
{
	return fork_server_is_lost(ws->server);
}

/* Returns the CPU time of the keeper and the fork server, and of earlier servers. */
static uint64_t servers_cpu_ns(struct workers *ws)
{
	uint64_t cpu_ns = 0;
	pid_t pids[2];
	clockid_t clock;

	fork_server_pids(ws->server, pids);
	for (int i = 0; i < 2; i++) {
		if (pids[i] > 0 && !clock_getcpuclockid(pids[i], &clock))
			cpu_ns += clock_ns(clock);
	}
	pthread_mutex_lock(&ws->lock);
	if (cpu_ns < ws->server_cpu_ns)
		ws->ended_server_cpu_ns += ws->server_cpu_ns;
	ws->server_cpu_ns = cpu_ns;
	cpu_ns += ws->ended_server_cpu_ns;
	pthread_mutex_unlock(&ws->lock);
	return cpu_ns;
}

static uint64_t servers_bytes(const struct workers *ws)
{
	uint64_t bytes = 0;
	pid_t pids[2];

	fork_server_pids(ws->server, pids);
	for (int i = 0; i < 2; i++)
		bytes += pids[i] > 0 ? own_cost_child_bytes(pids[i]) : 0;
	return bytes;
}

/* Returns the CPU time of a role's workers. Reads the members without their lock, which calls hold
 * for long, so it may be a moment old. */
static uint64_t role_cpu_ns(struct worker *w)
{
	const uint64_t ended_ns = __atomic_load_n(&w->ended_cpu_ns, __ATOMIC_RELAXED);

	return ended_ns + (__atomic_load_n(&w->pid, __ATOMIC_RELAXED) ? live_cpu_ns(w) : 0);
}

uint64_t workers_cpu_ns(struct workers *ws)
{
	uint64_t cpu_ns = servers_cpu_ns(ws);

	for (int i = 0; i < WORKER_COUNT; i++)
		cpu_ns += role_cpu_ns(&ws->all[i]);
	return cpu_ns;
}

void workers_counts(struct workers *ws, struct workers_counts *ret_counts)
{
	pthread_mutex_lock(&ws->lock);
	*ret_counts = ws->counts;
	pthread_mutex_unlock(&ws->lock);
	ret_counts->server_restarts = fork_server_restarts(ws->server);
	ret_counts->cpu_ns = servers_cpu_ns(ws);
	ret_counts->resident_bytes = servers_bytes(ws);
	for (int i = 0; i < WORKER_COUNT; i++) {
		struct worker *w = &ws->all[i];
		pid_t pid = __atomic_load_n(&w->pid, __ATOMIC_RELAXED);

		ret_counts->role_cpu_ns[i] = role_cpu_ns(w);
		ret_counts->cpu_ns += ret_counts->role_cpu_ns[i];
		ret_counts->resident_bytes += pid ? own_cost_child_bytes(pid) : 0;
	}
}
