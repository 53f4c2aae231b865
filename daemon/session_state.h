/* SPDX-License-Identifier: MIT */
/* A session's state: session_open.c sets it up, session.c runs it. No other module includes this.
 */
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

#define SESSION_TICK_NS 100000000u /* between looks at the side-band */

/* What the kernel has added up. */
struct scheduler_times {
	uint64_t stolen_ns;
	uint64_t cgroup_ns; /* of the cgroup that is recorded */
};

struct session {
	const struct options *options;
	struct event_choice event;
	char *path; /* of the store */

	struct workers *workers;
	struct target *target;
	struct sampler *sampler;
	struct probe_cost probe_cost;	   /* with counters; 0: it is not known */
	struct event_groups *event_groups; /* NULL: no counter is an event */
	int stats_fd;			   /* until the sampler has it */
	struct sideband *sideband;
	struct intake *intake;
	int intake_error; /* that the intake returned while the loop waited for a worker; 0: none */
	struct reorder *queue;
	struct table_wait table_wait;
	struct recorder *recorder;
	struct tables *tables;
	struct regions *regions; /* NULL: none */
	struct waits waits;
	struct archive *archive;
	struct names *names; /* that the archive finds */

	struct wakeups wakeups;

	struct store_recording info; /* of the window at hand, as all times below */
	struct utsname host;
	struct window window;
	struct run_counters before; /* what earlier windows have counted */
	int64_t first_recording;
	uint64_t full_windows; /* that ended for the sake of memory */
	struct status status;
	struct service_watchdog watchdog;
	struct watch watch;
	struct archive_state store;
	bool is_on_cpus; /* processes are recorded, by events of the CPUs */
	bool is_crowd;	 /* so many threads are recorded that attaching is to be hurried */
	struct budget budget;
	uint64_t running_ns; /* what rises with the rate of what was spent, at the last look */
	struct online_cpus cpus;
	struct idle_time idle_since;		  /* all 0: not the whole machine is recorded */
	struct idle_times idle;			  /* when sampling stopped; */
	struct scheduler_times time_before, time; /* when sampling began, and stopped; */
	uint64_t stopped_ns;			  /* 0: it goes on */
	uint64_t round_ns;     /* when the last round began, or up to when it has read */
	uint64_t read_ns;      /* time of the record that was read last */
	uint64_t queued_bytes; /* of records that have been read, and not handed out */
	uint64_t handed_out;   /* records, so far */
	bool is_behind;	       /* the ring was not read to its end */
	bool awaits_walk;      /* the next record's stack is being walked */
	uint64_t horizon_ns;   /* up to which the last round has handed out */
	uint64_t commit_ns;
	bool is_over;
	bool has_failed; /* it is over for that; */
	bool is_used_up; /* for numbers of files having run out */
};

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
