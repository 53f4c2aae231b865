/* SPDX-License-Identifier: MIT */
/*
 * The parts that a packager may leave out: make WITHOUT="fold servers tags mpi
 * web", or some of these. The build leaves `web` out by itself where libmicrohttpd is missing.
 *
 * A part is folders of its own, which tests/lint/layers.txt lists. No other folder includes their
 * headers, so the rest builds without them. Where the core calls a part (a verb of stackctl, an
 * input that is a server's database, programs that keep a tag), the core has the header. The part
 * implements its functions; in a build without the part, cli/without/PART.c or
 * daemon/without/PART.c does, and says that the part was left out. The Makefile compiles one or the
 * other.
 */
#ifndef BASE_PARTS_H
#define BASE_PARTS_H

#include <stdbool.h>
#include <stdio.h>

enum part {
	PART_CORE, /* what is in every build */
	PART_FOLD,
	PART_SERVERS,
	PART_TAGS,
	PART_MPI,
	PART_WEB,
	PART_COUNT
};

/* Returns whether this build has the part. */
bool part_is_built(enum part part);

/* Returns what to say about a part that was left out, with the remedy: "built without folding (make
 * WITHOUT=fold)". A constant. */
const char *part_missing(enum part part);

/* Writes two lines, which parts this build has and which were left out: "parts: fold tags" and
 * "left out: servers mpi". */
void parts_print(FILE *out);

#endif
