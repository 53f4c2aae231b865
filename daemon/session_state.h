/* SPDX-License-Identifier: MIT */
/* A session's state: session_open.c sets it up, session.c runs it, session_round.c reads the rings,
 * and session_batch.c hands on what is new. No other module includes this. */
#ifndef SESSION_STATE_H
#define SESSION_STATE_H

#include <sys/utsname.h>

#include "daemon/archive/archive.h"
#include "daemon/base/idle_time.h"
#include "daemon/base/options.h"
#include "daemon/base/epoll_set.h"
#include "daemon/budget.h"
#include "daemon/capture/event_choice.h"
#include "daemon/capture/event_groups.h"
#include "daemon/capture/online_cpus.h"
#include "daemon/capture/sampler.h"
#include "daemon/capture/target.h"
#include "daemon/intake.h"
#include "daemon/recorder/table_wait.h"
#include "daemon/recorder/recorder.h"
#include "daemon/recorder/reorder.h"
#include "daemon/regions/regions.h"
#include "daemon/run_counters.h"
#include "daemon/service_manager.h"
#include "daemon/short_lived.h"
#include "daemon/status.h"
#include "daemon/waits.h"
#include "daemon/watch.h"
#include "daemon/window.h"
#include "daemon/work_debt.h"
#include "daemon/worker/names.h"
#include "daemon/worker/worker.h"
#include "proc/kernel_files.h"

#define SESSION_TICK_NS	  100000000u	       /* between looks at the side-band */
#define SESSION_READ_NS	  20000000u	       /* the same, while recorder_reads_memory() */
#define SESSION_COMMIT_NS UINT64_C(1000000000) /* between batches */

/* The part of the budget (--max-cpu) that making tables of root's files may take in the long run,
 * and those of users' as much. */
#define SESSION_TABLES_IN_BUDGET 0.25
#define SESSION_NAMES_IN_BUDGET	 0.5 /* the same of finding names */

/* Times that the kernel's scheduler has added up. */
struct scheduler_times {
	uint64_t stolen_ns;
	uint64_t cgroup_ns; /* CPU time of the cgroup that is recorded */
};

/* Events and records, from their rings to the recorder. */
struct session_rings {
	struct sideband *sideband;
	struct intake *intake;
	struct short_lived *short_lived; /* NULL: all processes are followed */
	int error; /* error of the intake while the loop waited for a worker; 0: none */
	struct reorder *queue;
	struct table_wait table_wait;
	uint64_t round_ns;   /* records that are read after the last round are not older than
			      * this */
	uint64_t read_ns;    /* time of the record that was read last */
	uint64_t horizon_ns; /* the last round has handed out the items older than this, unless they
			      * wait for a table or a walk */
	uint64_t queued_bytes; /* bytes of records in `queue` */
	uint64_t most_bytes;   /* that may wait there before the ring is left unread */
	uint64_t full;	       /* number of reads that this ended */
	uint64_t handed_out;   /* number of records handed out so far */
	bool is_behind;	       /* records were left in the ring, since the queue holds many */
	bool awaits_walk;      /* the next record waits for the walk of its stack */
};

/* The store, and the recording of the current window. */
struct session_recording {
	char *store_path;
	struct archive *archive;
	struct archive_state state;
	struct names *names; /* finds names for the archive */
	struct store_recording info;
	struct utsname host;
	char note[256]; /* info.note, with --mpi */
	struct window window;
	struct run_counters before; /* the counters as they were when the current window began */
	int64_t first;		    /* number of the run's first recording */
	uint64_t full_windows;	    /* windows that ended early to save memory */
	uint64_t commit_ns;	    /* when the last batch of rows was made */
};

/* The cost of stackd, and its budget. */
struct session_cost {
	struct budget budget;
	struct work_debt debt;
	uint64_t kernel_ns;	      /* CPU time of the kernel half at the last batch */
	uint64_t caused_ns;	      /* CPU time of the loop for events so far */
	uint64_t running_ns;	      /* session_running_cost_ns() at the last look at the budget */
	struct probe_cost probe_cost; /* cost of a probe, if there are counters; 0: it is not
				       * known */
	int stats_fd;		      /* descriptor that keeps the kernel's BPF statistics on, until
				       * sampler_new() takes it over */
};

struct session_clocks {
	struct idle_time idle_since;		/* all 0: not the whole machine is recorded */
	struct idle_times idle;			/* idle times of the whole recording, once sampling
						 * has stopped */
	struct scheduler_times before, at_stop; /* at the start of the recording, and when sampling
						 * stopped */
	uint64_t stopped_ns;			/* when sampling stopped; 0: it goes on */
};

/* What is sampled, and on which CPUs. */
struct session_scope {
	struct target *target;
	struct event_choice event;
	struct online_cpus cpus;
	bool is_on_cpus; /* processes are recorded, by events of the CPUs */
	bool is_crowd;	 /* the target has very many threads, so stackd raises its priority while it
			  * attaches */
};

/* State of the reports to the user and the service manager. */
struct session_log {
	struct status status;
	struct service_manager_watchdog watchdog;
	struct watch watch;
};

struct session {
	const struct options *options;
	struct workers *workers;
	struct copier *copier;	 /* NULL: none */
	struct fetcher *fetcher; /* NULL: no debuginfod server is asked */
	struct epoll_set wakeups;
	uint64_t tick_ns; /* of `wakeups` */
	struct session_scope scope;
	struct sampler *sampler;
	struct event_groups *event_groups; /* NULL: no counter is an event */
	struct tables *tables;
	struct call_tables *calls; /* NULL: none */
	struct regions *regions;   /* NULL: none */
	struct waits waits;
	struct recorder *recorder;
	struct kernel_files kernel; /* opened before the right to do so is dropped */
	struct session_rings rings;
	struct session_recording recording;
	struct session_cost cost;
	struct session_clocks clocks;
	struct session_log log;
	struct {
		bool is_over;
		bool is_used_up;      /* the run ended because so many files were met */
		bool has_failed;      /* the run ended because of an error */
		bool is_signalled;    /* somebody wants it to end */
		bool is_early;	      /* and wanted it before the first sample was due */
		uint64_t deadline_ns; /* when --duration is over; 0: never */
	} end;
};

/* --- session_batch.c ----------------------------------------------------------------------------
 */

/* Gives all counters as of now. */
void session_count(const struct session *s, struct run_counters *ret_counters);

/* Returns the cost so far of the kernel half, and of the loop but for events, which rises with the
 * rate. */
uint64_t session_running_cost_ns(const struct session *s);

/* Sets how often the loop wakes up, by the budget and by what is recorded. */
void session_set_tick(struct session *s);

/* Begins the account of --max-cpu (work_debt.h): what the start has cost is not in it. */
void session_begin_account(struct session *s);

/* Takes what stackd has spent from its account. */
void session_pay(struct session *s);

/* Returns by which factor the time between two batches is longer than SESSION_COMMIT_NS:
 * budget_pace(), or with a debt the longest. */
unsigned session_pace(const struct session *s);

/* Hands the rows that are new since the last call to the archive, as a batch. `end`: the batch is
 * the window's last one. 0 or -ENOMEM. */
int session_submit(struct session *s, bool end);

/* Ends the window (the part of a long recording that is a recording by itself, --window) and begins
 * the next one. The caller has handed out all samples before its end. 0 or -ENOMEM. */
int session_cut(struct session *s);

/* --- session_round.c ----------------------------------------------------------------------------
 */

/* Reads all events and records that are in the rings, and hands those to the recorder that are so
 * old that no older one can still come. If there are too many records for one round, sets
 * rings.is_behind, and the next round goes on. 0 or an error. */
int session_round(struct session *s);

/* Returns whether --duration is over and sampling must be stopped, which it was not yet. Then a
 * round reads and hands out no more: the rest follows once sampling has stopped. */
bool session_is_time_over(const struct session *s);

/* Takes the walks that workers have finished, and hands out the records that waited for these
 * walks, without reading the rings. 0 or an error. */
int session_take_walks(struct session *s);

/* Waits between two rounds while stackd is in debt (work_debt.h): until that is paid, something can
 * end the run, the ring is a quarter full, or a batch is due at the time `due_ns`. Walks go on. 0
 * or an error. */
int session_rest(struct session *s, uint64_t due_ns);

/* Returns whether so many events of new processes are kept that a round is due. */
bool session_is_crowded(const struct session *s);

/* From now on does not follow processes that no record is of, and that end at once. 0 or -ENOMEM.
 */
int session_leave_out_short_lived(struct session *s);

/* Waits some milliseconds for the recipe table, or the walk of a copied stack, that the next record
 * needs and does not have yet. */
void session_await(struct session *s);

/* Hands out all that is left once sampling has stopped. 0 or an error. */
int session_finish_rounds(struct session *s);

/* Begins a window. */
void session_begin_window(struct session *s, struct window window);

/* The function recorder_options.relieve: reads all events, and also the records if their ring is a
 * quarter full. `session`: a struct session. 0, or an error of the recorder. */
int session_relieve(void *session);

/* The function recorder_options.drain: handles all events that have arrived by now, and leaves
 * those that arrive meanwhile to the next call, so that it ends. `session` and result as for
 * session_relieve(). */
int session_drain_sideband(void *session);

/* Does the same, but not after session_is_time_over(). */
int session_drain_in_time(struct session *s);

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
