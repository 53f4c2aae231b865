/* SPDX-License-Identifier: MIT */
/* The state of tables.c, for the files that share it: tables.c alone and tables_end.c include
 * this. */
#ifndef TABLES_TABLES_INTERNAL_H
#define TABLES_TABLES_INTERNAL_H

#include <pthread.h>

#include "daemon/base/cpu_share.h"
#include "daemon/tables/file_numbers.h"
#include "daemon/tables/remakes.h"
#include "daemon/tables/requests.h"
#include "daemon/tables/room.h"
#include "daemon/tables/slices.h"
#include "daemon/tables/tables.h"
#include "unwind/recipe_rules.h"

/* Numbers that the thread takes back (tables_end.c). */
struct tables_ending {
	enum { NO_ENDING, ENDING_ASKED, ENDING_UNDER_WAY, ENDING_DONE } state;
	bool *is_ended;	   /* by number; owned, as the next */
	bool *has_room;	   /* by number: its table is hidden, and still has its room */
	uint32_t count;	   /* of the numbers */
	bool with_rules;   /* all tables go, and rules get their numbers anew */
	uint64_t ended_ns; /* ENDING_DONE: no walk that began after this has any of them */
};

#define TABLES_KNOWN_RULES 1024 /* rules that are remembered; a power of two */

/* A rule that was read from the maps while `changes` was so. */
struct known_rule {
	uint64_t changes, offset;
	uint32_t number; /* of the file; 0: none */
	struct stackd_rule rule;
};

enum owner { OF_ROOT, OF_USERS, N_OWNERS }; /* of files */

struct tables {
	struct tables_maps maps;
	struct table_source source;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t change;
	pthread_cond_t served;	 /* a request was */
	struct request *first;	 /* list of requests, the most urgent one first */
	struct request *serving; /* the request that the thread is serving, taken out of the list;
				  * NULL: none */
	bool is_ending;
	struct tables_counts counts; /* as they were after the last request */
	struct tables_ending ending;
	struct remakes *remakes; /* guarded by `lock` where both threads use it: for requests that
				  * are put off */
	struct cpu_share shares[N_OWNERS]; /* of making tables */

	/* The members below are used by the thread alone, unless they say otherwise. */
	struct tables_counts own;
	bool may_evict;	   /* whether the current request may evict tables */
	size_t bytes_made; /* bytes of tables made since memory was last given back */
	struct room *room;
	struct recipe_rules *rules;
	size_t rules_loaded;
	uint32_t *rules_of;	       /* by file number: rules that the file has added */
	struct stackd_inode *known_as; /* by file number: the inode key that was last entered;
					* guarded by `lock` */

	struct slices slices;

	/* The main loop's alone. */
	struct file_numbers *numbers;
	uint64_t unnumbered; /* requests of files for which no number was left */

	/* By file number, read by the recorder: set once, before the file's first walk, and kept
	 * when the table is evicted. Owned; NULL: all rules are of call frame information. */
	struct provenance_map **provenances;
	/* so are these; NULL: the file has no interpreter */
	struct stackd_interpreter **interpreters;
	/* and these; NULL: no runtime needs one */
	struct runtime_layout **layouts;

	/* Tables that were loaded, or evicted others, and numbers that were taken back. A rule that
	 * is remembered until the change has been counted is still the file's that had the number.
	 * Accessed atomically. */
	uint64_t changes;
	struct known_rule known[TABLES_KNOWN_RULES]; /* used by the main loop alone */
};

/* Writes the rules that are new to the kernel half's array. For the thread. */
void tables_load_new_rules(struct tables *tables);

/* Takes back what the main loop has asked for. For the thread, with the lock held, which it
 * releases meanwhile. */
void tables_end_asked(struct tables *tables);

#endif
