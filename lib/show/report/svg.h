/* SPDX-License-Identifier: MIT */
/* The common parts of pictures: SVG files without scripts or references to other files. */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include "base/text.h"

#define SVG_CHARACTER 6.7 /* width of a character of svg_begin()'s font, in pixels */

/* Appends the head of a picture of `width` by `height` pixels, with a background and the classes
 *   t  a title, h  a heading, g  grey text, r  a bar, l  a line of a scale
 * and the pattern "i", which hatches inferred frames. The caller appends "</svg>" at the end. */
void svg_begin(struct buf *b, double width, double height);

#define SVG_BLOCKED  "hsl(285,38%,76%)" /* the colours of waits in all pictures */
#define SVG_RUNNABLE "hsl(130,42%,68%)"

/* Appends text, escaped for XML. */
void svg_put(struct buf *b, const char *text);

/* Does what svg_put_text() does with the text of a buffer, and frees the buffer. If `text` has
 * failed, so has `b` afterwards. */
void svg_put_buf(struct buf *b, struct buf *text);

/* Appends a name from a recording, escaped for display and for XML. */
void svg_put_name(struct buf *b, const char *name);

/* Returns the hue, in degrees, for a name: the same in every picture. */
unsigned svg_hue(const char *name);

#endif
