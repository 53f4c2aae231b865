/* SPDX-License-Identifier: MIT */
/*
 * Reads perf's side-band rings; see sideband.h.
 *
 * Each CPU has a ring of pages that the kernel writes and this code reads: one control page with
 * the positions, then the data. A record may wrap around the end of the data, so it is copied out
 * before it is looked at. Records end with the sample id (tid and time, as asked for by
 * sample_id_all), so the last eight bytes are the time.
 *
 * The kernel says only behind a loss that it has lost events, and when it says so. So such an event
 * counts as of the time of the last record before it. That one can have been read in an earlier
 * call: a ring that was full when it was read counts as one that has lost events, too.
 *
 * Names (PERF_RECORD_COMM) are in the same ring as mappings. In a ring of their own they would not
 * displace those, but the start of a program is one of them, and was taken behind its mappings,
 * which it then removed: paths of its first milliseconds had none.
 */
#include "daemon/capture/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "daemon/capture/record_pool.h"

enum content { ALL, N_CONTENTS };

/* No record is larger: a path, and what is around it. */
#define MOST_RECORD_BYTES 4352
#define WAKEUP_BYTES	  131072 /* pending events of a CPU that the loop is waked for */

struct ring {
	int fd;
	enum content content;
	struct perf_event_mmap_page *control; /* the control page, with the data behind it; NULL:
					       * not open */
	/* while it is read: its next record, the end of all, and what the next one begins with */
	uint64_t tail, head;
	struct perf_event_header next;
	uint64_t next_ns;
	uint64_t last_ns; /* time of the record that was read last */
	bool was_full;	  /* the record that comes next may not have found room */
};

struct sideband {
	int epoll;
	size_t n_cpus, n_rings; /* a CPU's rings follow one another */
	size_t page_size;
	size_t data_sizes[N_CONTENTS];
	uint8_t *record; /* one record, unwrapped */
	struct record_pool *pool;
	enum sideband_verdict (*judge)(void *arg, const struct sideband_peek *peek); /* or NULL */
	void *judge_arg;
	uint64_t drains;
	struct ring **pending; /* rings with records, while they are read; room for all */
	struct ring rings[];
};

static size_t data_size(const struct sideband *s, const struct ring *ring)
{
	return s->data_sizes[ring->content];
}

/* --- opening --------------------------------------------------------------------------------- */

static int open_ring(struct sideband *s, struct ring *ring, int cpu, int cgroup_fd)
{
	const unsigned long flags =
		PERF_FLAG_FD_CLOEXEC | (cgroup_fd >= 0 ? PERF_FLAG_PID_CGROUP : 0);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.build_id = 1,
		.cgroup = 1,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = WAKEUP_BYTES,
	};
	struct epoll_event want = {.events = EPOLLIN};
	void *map;

	ring->fd = (int)syscall(SYS_perf_event_open, &attr, cgroup_fd, cpu, -1, flags);
	if (ring->fd < 0)
		return -errno;
	map = mmap(NULL, data_size(s, ring) + s->page_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		   ring->fd, 0);
	if (map == MAP_FAILED)
		return errno == EPERM ? -ENOBUFS : -errno; /* EPERM: it may not lock so much */
	ring->control = map;
	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, ring->fd, &want) ? -errno : 0;
}

/* Opens a CPU's rings. */
static int open_cpu(struct sideband *s, size_t cpu, int cgroup_fd)
{
	int err = 0;

	for (size_t i = 0; i < N_CONTENTS && !err; i++)
		err = open_ring(s, &s->rings[cpu * N_CONTENTS + i], (int)cpu, cgroup_fd);
	return err;
}

static void close_ring(struct sideband *s, struct ring *ring)
{
	if (ring->control)
		munmap(ring->control, data_size(s, ring) + s->page_size);
	if (ring->fd >= 0)
		close(ring->fd);
	ring->control = NULL;
	ring->fd = -1;
}

static void close_cpu(struct sideband *s, size_t cpu)
{
	for (size_t i = 0; i < N_CONTENTS; i++)
		close_ring(s, &s->rings[cpu * N_CONTENTS + i]);
}

static int open_all(struct sideband *s, int cgroup_fd)
{
	int err = 0;

	for (size_t i = 0; i < s->n_cpus && !err; i++) {
		err = open_cpu(s, i, cgroup_fd);
		if (err == -ENODEV && i > 0)
			err = 0; /* an offline CPU */
	}
	return err;
}

/* Opens all CPUs' rings, smaller ones as long as their memory may not be locked. */
static int open_largest(struct sideband *s, int cgroup_fd)
{
	int err = open_all(s, cgroup_fd);

	while (err == -ENOBUFS && s->data_sizes[ALL] / 2 >= SIDEBAND_LEAST_BYTES) {
		for (size_t i = 0; i < s->n_cpus; i++)
			close_cpu(s, i);
		s->data_sizes[ALL] /= 2;
		err = open_all(s, cgroup_fd);
	}
	return err;
}

int sideband_new(int cgroup_fd, size_t bytes, struct sideband **ret_sideband)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t n = cpus > 0 ? (size_t)cpus : 1;
	struct sideband *s = calloc(1, sizeof(*s) + n * N_CONTENTS * sizeof(s->rings[0]));
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->n_cpus = n;
	s->n_rings = n * N_CONTENTS;
	s->page_size = (size_t)sysconf(_SC_PAGESIZE);
	s->data_sizes[ALL] = bytes;
	for (size_t i = 0; i < s->n_rings; i++)
		s->rings[i] = (struct ring){.fd = -1, .content = (enum content)(i % N_CONTENTS)};
	s->record = malloc(UINT16_MAX + 1);
	s->pending = calloc(s->n_rings, sizeof(struct ring *));
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!s->record || !s->pending || s->epoll < 0)
		err = s->record && s->pending ? -errno : -ENOMEM;
	if (!err)
		err = record_pool_new(&s->pool);
	if (!err)
		err = open_largest(s, cgroup_fd);
	if (err) {
		sideband_free(s);
		return err;
	}
	*ret_sideband = s;
	return 0;
}

int sideband_reopen(struct sideband *s, int cpu, int cgroup_fd)
{
	int err;

	if (cpu < 0 || (size_t)cpu >= s->n_cpus)
		return -ENODEV;
	close_cpu(s, (size_t)cpu);
	err = open_cpu(s, (size_t)cpu, cgroup_fd);
	if (err)
		close_cpu(s, (size_t)cpu);
	return err;
}

void sideband_free(struct sideband *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_rings; i++)
		close_ring(s, &s->rings[i]);
	if (s->epoll >= 0)
		close(s->epoll);
	record_pool_free(s->pool);
	free(s->record);
	free(s->pending);
	free(s);
}

void sideband_judge_by(struct sideband *s,
		       enum sideband_verdict (*judge)(void *arg, const struct sideband_peek *peek),
		       void *arg)
{
	s->judge = judge;
	s->judge_arg = arg;
}

int sideband_poll_fd(const struct sideband *s)
{
	return s->epoll;
}

/* --- records to events ----------------------------------------------------------------------- */

/* The body of PERF_RECORD_MMAP2, after the header. */
struct mmap2_body {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	union {
		struct {
			uint32_t maj, min;
			uint64_t ino, ino_generation;
		};
		struct {
			uint8_t build_id_size;
			uint8_t reserved_1;
			uint16_t reserved_2;
			uint8_t build_id[20];
		};
	};
	uint32_t prot, flags;
	char filename[];
};

struct comm_body {
	uint32_t pid, tid;
	char comm[];
};

struct task_body { /* PERF_RECORD_FORK and PERF_RECORD_EXIT */
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct cgroup_body { /* PERF_RECORD_CGROUP: a cgroup was created */
	uint64_t id;
	char path[];
};

/* Allocates an event with the text that the record has from `text` to its end. */
static struct sideband_event *new_event(struct record_pool *pool, enum sideband_kind kind,
					const char *text, const char *end)
{
	size_t len = text ? strnlen(text, (size_t)(end - text)) : 0;
	struct sideband_event *event = record_pool_take(pool, sizeof(*event) + len + 1);

	if (!event)
		return NULL;
	*event = (struct sideband_event){.kind = kind};
	if (len)
		memcpy(event->text, text, len);
	event->text[len] = 0;
	return event;
}

static struct sideband_event *from_mmap2(struct record_pool *pool, const struct mmap2_body *body,
					 uint16_t misc, const char *end)
{
	struct sideband_event *event = new_event(pool, SIDEBAND_MMAP, body->filename, end);

	if (!event)
		return NULL;
	event->pid = (pid_t)body->pid;
	event->tid = (pid_t)body->tid;
	event->mapping = (struct object_mapping){
		.start = body->addr,
		.end = body->addr + body->len,
		.offset = body->pgoff,
		.path = event->text,
	};
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		event->mapping.build_id_len = body->build_id_size <= sizeof(event->build_id)
						      ? body->build_id_size
						      : sizeof(event->build_id);
		memcpy(event->build_id, body->build_id, sizeof(event->build_id));
		event->mapping.build_id = event->build_id;
	} else {
		event->mapping.dev_major = body->maj;
		event->mapping.dev_minor = body->min;
		event->mapping.inode = body->ino;
	}
	return event;
}

static struct sideband_event *from_comm(struct record_pool *pool, const struct comm_body *body,
					uint16_t misc, const char *end)
{
	struct sideband_event *event = new_event(pool, SIDEBAND_COMM, body->comm, end);

	if (!event)
		return NULL;
	event->pid = (pid_t)body->pid;
	event->tid = (pid_t)body->tid;
	event->is_exec = misc & PERF_RECORD_MISC_COMM_EXEC;
	return event;
}

static struct sideband_event *from_task(struct record_pool *pool, const struct task_body *body,
					uint32_t type)
{
	struct sideband_event *event = new_event(
		pool, type == PERF_RECORD_FORK ? SIDEBAND_FORK : SIDEBAND_EXIT, NULL, NULL);

	if (!event)
		return NULL;
	event->pid = (pid_t)body->pid;
	event->tid = (pid_t)body->tid;
	event->parent_pid = (pid_t)body->ppid;
	event->parent_tid = (pid_t)body->ptid;
	return event;
}

static struct sideband_event *from_cgroup(struct record_pool *pool, const struct cgroup_body *body,
					  const char *end)
{
	struct sideband_event *event = new_event(pool, SIDEBAND_CGROUP, body->path, end);

	if (event)
		event->cgroup = body->id;
	return event;
}

static struct sideband_event *from_lost(struct record_pool *pool, const uint64_t *body)
{
	struct sideband_event *event = new_event(pool, SIDEBAND_LOST, NULL, NULL);

	if (event)
		event->lost = body[1];
	return event;
}

/* Converts a record. 0 with an event, or with NULL for records of other kinds; -ENOMEM. */
static int to_event(struct record_pool *pool, const struct perf_event_header *header,
		    struct sideband_event **ret_event)
{
	const void *body = header + 1;
	const char *end = (const char *)header + header->size - sizeof(uint64_t) * 2;
	size_t len = header->size - sizeof(*header);
	struct sideband_event *event = NULL;
	bool wanted = true;

	if (header->type == PERF_RECORD_MMAP2 && len > sizeof(struct mmap2_body) + 16)
		event = from_mmap2(pool, body, header->misc, end);
	else if (header->type == PERF_RECORD_COMM && len > sizeof(struct comm_body) + 16)
		event = from_comm(pool, body, header->misc, end);
	else if ((header->type == PERF_RECORD_FORK || header->type == PERF_RECORD_EXIT) &&
		 len >= sizeof(struct task_body) + 16)
		event = from_task(pool, body, header->type);
	else if (header->type == PERF_RECORD_CGROUP && len > sizeof(struct cgroup_body) + 16)
		event = from_cgroup(pool, body, end);
	else if (header->type == PERF_RECORD_LOST && len >= 32)
		event = from_lost(pool, body);
	else
		wanted = false;
	if (event)
		memcpy(&event->time_ns, (const char *)header + header->size - 8, 8);
	*ret_event = event;
	return wanted && !event ? -ENOMEM : 0;
}

/* --- rings ----------------------------------------------------------------------------------- */

/* Copies `len` bytes at a ring position out. */
static void copy_out(const struct sideband *s, const struct ring *ring, uint64_t at, void *to,
		     size_t len)
{
	const uint8_t *data = (const uint8_t *)ring->control + s->page_size;
	size_t size = data_size(s, ring), from = at % size;
	size_t first = len < size - from ? len : size - from;

	memcpy(to, data + from, first);
	memcpy((uint8_t *)to + first, data, len - first);
}

/* Looks at the next record of a ring. false: there is none, or its size is invalid, so that neither
 * it nor those behind it can be read. */
static bool peek(const struct sideband *s, struct ring *ring)
{
	if (ring->tail == ring->head)
		return false;
	copy_out(s, ring, ring->tail, &ring->next, sizeof(ring->next));
	if (ring->next.size < sizeof(ring->next) + 16) {
		ring->tail = ring->head;
		return false;
	}
	copy_out(s, ring, ring->tail + ring->next.size - sizeof(ring->next_ns), &ring->next_ns,
		 sizeof(ring->next_ns));
	return true;
}

/* Asks whether a ring's next record is to be taken. */
static enum sideband_verdict judge(const struct sideband *s, const struct ring *ring)
{
	const bool is_name = ring->next.type == PERF_RECORD_COMM &&
			     !(ring->next.misc & PERF_RECORD_MISC_COMM_EXEC);
	struct sideband_peek what = {.kind = is_name ? SIDEBAND_COMM : SIDEBAND_MMAP,
				     .time_ns = ring->next_ns,
				     .drain = s->drains};
	uint32_t pid;

	if (!s->judge || !(is_name || ring->next.type == PERF_RECORD_MMAP2))
		return SIDEBAND_TAKE;
	copy_out(s, ring, ring->tail + sizeof(ring->next), &pid, sizeof(pid));
	what.pid = (pid_t)pid;
	return s->judge(s->judge_arg, &what);
}

/* Takes the next record out of a ring. */
static int take(struct sideband *s, struct ring *ring,
		int (*each)(void *arg, struct sideband_event *event), void *arg)
{
	const enum sideband_verdict verdict = judge(s, ring);
	struct sideband_event *event = NULL;
	int err = 0;

	if (verdict != SIDEBAND_SKIP)
		copy_out(s, ring, ring->tail, s->record, ring->next.size);
	ring->tail += ring->next.size;
	/* Free the space at once, since `each` may take long. */
	__atomic_store_n(&ring->control->data_tail, ring->tail, __ATOMIC_RELEASE);
	if (verdict != SIDEBAND_SKIP)
		err = to_event(s->pool, (const struct perf_event_header *)s->record, &event);
	if (event && event->kind == SIDEBAND_LOST)
		event->time_ns = ring->last_ns;
	ring->last_ns = ring->next_ns;
	if (event) {
		event->is_left_out = verdict == SIDEBAND_TAKE_UNREAD;
		err = each(arg, event);
	}
	return err;
}

/* Finds the rings that have records, as of now. Returns how many. */
static size_t find_pending(struct sideband *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_rings; i++) {
		struct ring *ring = &s->rings[i];

		if (!ring->control)
			continue;
		ring->head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
		ring->tail = ring->control->data_tail;
		ring->was_full = data_size(s, ring) - (ring->head - ring->tail) < MOST_RECORD_BYTES;
		if (peek(s, ring))
			s->pending[n++] = ring;
		else
			__atomic_store_n(&ring->control->data_tail, ring->tail, __ATOMIC_RELEASE);
	}
	return n;
}

/* Tells that events of a ring that was full may have been lost since its last record. */
static int tell_of_full(struct sideband *s, struct ring *ring,
			int (*each)(void *arg, struct sideband_event *event), void *arg)
{
	struct sideband_event *event = new_event(s->pool, SIDEBAND_LOST, NULL, NULL);

	if (!event)
		return -ENOMEM;
	event->time_ns = ring->last_ns;
	return each(arg, event);
}

static size_t oldest(struct ring *const *rings, size_t n)
{
	size_t found = 0;

	for (size_t i = 1; i < n; i++)
		if (rings[i]->next_ns < rings[found]->next_ns)
			found = i;
	return found;
}

int sideband_drain(struct sideband *s, int (*each)(void *arg, struct sideband_event *event),
		   void *arg)
{
	size_t n = find_pending(s);
	int err = 0;

	s->drains++;
	while (n && !err) {
		size_t i = oldest(s->pending, n);
		struct ring *ring = s->pending[i];

		err = take(s, ring, each, arg);
		if (peek(s, ring))
			continue;
		__atomic_store_n(&ring->control->data_tail, ring->tail, __ATOMIC_RELEASE);
		if (!err && ring->was_full)
			err = tell_of_full(s, ring, each, arg);
		s->pending[i] = s->pending[--n];
	}
	return err;
}

bool sideband_waits(const struct sideband *s)
{
	for (size_t i = 0; i < s->n_rings; i++) {
		const struct perf_event_mmap_page *control = s->rings[i].control;

		if (control &&
		    __atomic_load_n(&control->data_head, __ATOMIC_RELAXED) != control->data_tail)
			return true;
	}
	return false;
}
