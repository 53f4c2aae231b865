/* SPDX-License-Identifier: MIT */
/*
 * Draws the screen of stackctl top with ncurses. It is made for 80x24 over ssh; on a smaller screen
 * lines are cut.
 */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include "top_model.h"

struct top_state {
	enum top_view view;
	enum top_sort sort;
	double interval, window; /* seconds */
	bool is_paused, is_help;
	bool is_reversed; /* the order of rows */
	bool has_waits;	  /* rows have them */
	bool is_fleet;	  /* a server's database, with hosts in the place of processes */
	int32_t pid; /* the only process that is shown; 0: all. With is_fleet: 1 if only one host is
		      * shown */
	char pid_name[256]; /* the name of that process or host */
	uint64_t pid_row;   /* the key of the row of that process or host in TOP_PROCESSES */
	uint64_t cursor;    /* the key of the row with the cursor */
	uint32_t at, first; /* the cursor's row, and the first row on the screen */
	double cost;	    /* seconds that the last look took */
	char error[256];    /* why the last look failed, or what is missing, or "" */
};

/* Sets the terminal up. Returns 0; -ENOTTY: the type of the terminal (TERM) is unknown. */
int top_screen_begin(void);
void top_screen_end(void);

/* Returns the number of rows that fit on the screen. */
uint32_t top_screen_rows(void);

void top_screen_draw(const struct top_state *state, const struct profile *profile,
		     const struct top_row *rows, uint32_t n_rows);

/* Waits for a key for up to `timeout_ms`. Returns ncurses' key, or -1 for none. */
int top_screen_key(int timeout_ms);

#endif
