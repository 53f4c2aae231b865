/* SPDX-License-Identifier: MIT */
/* What pictures have in common: SVG files without scripts or anything from elsewhere. */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include "base/text.h"

#define SVG_CHARACTER 6.7 /* width of one of svg_begin()'s font, in pixels */

/* The head of a picture of that size, with a background and the classes
 *   t  a title, h  a heading, g  grey text, r  a bar, l  a line of a scale
 * and the pattern "i", which hatches what is inferred. */
void svg_begin(struct buf *b, double width, double height);

/* Text as XML has it. svg_put_buf() frees what it puts. */
void svg_put(struct buf *b, const char *text);
void svg_put_buf(struct buf *b, struct buf *text);

#endif
