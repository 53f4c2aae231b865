/* SPDX-License-Identifier: MIT */
/* A session's state: session_open.c sets it up, session.c runs it, session_round.c reads the rings,
 * and session_batch.c hands on what is new. No other module includes this. */
#ifndef SESSION_STATE_H
#define SESSION_STATE_H

#include <sys/utsname.h>

#include "daemon/archive/archive.h"
#include "daemon/base/idle_time.h"
#include "daemon/base/options.h"
#include "daemon/base/wakeups.h"
#include "daemon/budget.h"
#include "daemon/capture/event_choice.h"
#include "daemon/capture/event_groups.h"
#include "daemon/capture/online_cpus.h"
#include "daemon/capture/sampler.h"
#include "daemon/capture/target.h"
#include "daemon/intake.h"
#include "daemon/model/table_wait.h"
#include "daemon/model/recorder.h"
#include "daemon/model/reorder.h"
#include "daemon/regions/regions.h"
#include "daemon/run_counters.h"
#include "daemon/service.h"
#include "daemon/status.h"
#include "daemon/waits.h"
#include "daemon/watch.h"
#include "daemon/window.h"
#include "daemon/worker/names.h"
#include "daemon/worker/worker.h"

#define SESSION_TICK_NS	  100000000u	       /* between looks at the side-band */
#define SESSION_COMMIT_NS UINT64_C(1000000000) /* between batches */

/* What the kernel has added up. */
struct scheduler_times {
	uint64_t stolen_ns;
	uint64_t cgroup_ns; /* of the cgroup that is recorded */
};

/* Events and records, from their rings to the recorder. */
struct session_rings {
	struct sideband *sideband;
	struct intake *intake;
	int error; /* that the intake returned while the loop waited for a worker; 0: none */
	struct reorder *queue;
	struct table_wait table_wait;
	uint64_t round_ns;     /* when the last round began, or up to when it has read */
	uint64_t read_ns;      /* time of the record that was read last */
	uint64_t horizon_ns;   /* up to which the last round has handed out */
	uint64_t queued_bytes; /* of records that have been read, and not handed out */
	uint64_t handed_out;   /* records, so far */
	bool is_behind;	       /* the ring was not read to its end */
	bool awaits_walk;      /* the next record's stack is being walked */
};

/* Where it goes, and the recording of the window at hand. */
struct session_recording {
	char *store_path;
	struct archive *archive;
	struct archive_state state;
	struct names *names; /* that the archive finds */
	struct store_recording info;
	struct utsname host;
	struct window window;
	struct run_counters before; /* what earlier windows have counted */
	int64_t first;		    /* recording of the run */
	uint64_t full_windows;	    /* that ended for the sake of memory */
	uint64_t commit_ns;	    /* when the last batch was made */
};

/* What it takes, and may take. */
struct session_cost {
	struct budget budget;
	uint64_t running_ns; /* what rises with the rate of what was spent, at the last look */
	struct probe_cost probe_cost; /* with counters; 0: it is not known */
	int stats_fd;		      /* until the sampler has it */
};

struct session_clocks {
	struct idle_time idle_since;		/* all 0: not the whole machine is recorded */
	struct idle_times idle;			/* when sampling stopped; */
	struct scheduler_times before, at_stop; /* when it began, and stopped; */
	uint64_t stopped_ns;			/* 0: it goes on */
};

/* What is sampled, and on which CPUs. */
struct session_scope {
	struct target *target;
	struct event_choice event;
	struct online_cpus cpus;
	bool is_on_cpus; /* processes are recorded, by events of the CPUs */
	bool is_crowd;	 /* so many threads are recorded that attaching is to be hurried */
};

/* What others are told of it. */
struct session_log {
	struct status status;
	struct service_watchdog watchdog;
	struct watch watch;
};

struct session {
	const struct options *options;
	struct workers *workers;
	struct wakeups wakeups;
	struct session_scope scope;
	struct sampler *sampler;
	struct event_groups *event_groups; /* NULL: no counter is an event */
	struct tables *tables;
	struct regions *regions; /* NULL: none */
	struct waits waits;
	struct recorder *recorder;
	struct session_rings rings;
	struct session_recording recording;
	struct session_cost cost;
	struct session_clocks clocks;
	struct session_log log;
	struct {
		bool is_over;
		bool has_failed; /* it is over for that; */
		bool is_used_up; /* for numbers of files having run out */
	} end;
};

/* --- session_batch.c ----------------------------------------------------------------------------
 */

/* Gives all counters as of now. */
void session_count(const struct session *s, struct run_counters *ret_counters);

/* Returns the cost so far of the kernel half and of the loop, which rises with the rate. */
uint64_t session_running_cost_ns(const struct session *s);

/* Hands what is new to the archive. `end`: it is the last of the window. 0 or -ENOMEM. */
int session_submit(struct session *s, bool end);

/* Ends the window and begins the next. All samples before its end are handed out. 0 or -ENOMEM. */
int session_cut(struct session *s);

/* --- session_round.c ----------------------------------------------------------------------------
 */

/* Reads all pending events and records, and hands out those that are old enough. Where that is too
 * much at a time, rings.is_behind is set, and the next round goes on. 0 or an error. */
int session_round(struct session *s);

/* Goes on with walks, and hands out what they have kept from it, without reading the rings. 0 or an
 * error. */
int session_take_walks(struct session *s);

/* Waits a while for what a record is held for. */
void session_await(struct session *s);

/* Hands out all that is left once sampling has stopped. 0 or an error. */
int session_finish_rounds(struct session *s);

/* Begins a window. */
void session_begin_window(struct session *s, struct window window);

/* Reads what waits in the rings, as far as it cannot wait, for struct recorder_options. Takes the
 * session. 0, or an error of the recorder. */
int session_relieve(void *session);

/* Reads the events that wait, for struct recorder_options. As above. */
int session_drain_sideband(void *session);

/* Takes events and records out of the rings while the loop waits for a worker; for
 * fork_server_use_meanwhile(). */
void session_take_meanwhile(void *session, bool is_waiting);

/* Opens all that a session needs, and starts the target. Both strings are borrowed while the
 * session runs; `target` may be NULL. Logs its own errors; returns the status to exit with.
 * session_close() follows in any case. */
enum exit_status session_open(struct session *s, struct fork_server *server,
			      const char *command_line, char *target);

/* Returns the times as of now. */
struct scheduler_times session_times(const struct session *s);

/* Closes what session_open() has opened. */
void session_close(struct session *s);

#endif
