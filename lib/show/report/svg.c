/* SPDX-License-Identifier: MIT */
/* Pictures' common parts; see svg.h. */
#include "report/svg.h"

#include "base/hash.h"

void svg_begin(struct buf *b, double width, double height)
{
	text_printf(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" ",
		    width, height);
	text_printf(b, "viewBox=\"0 0 %.0f %.0f\">\n<style>", width, height);
	text_put_raw(b,
		     "text{font:11px monospace;fill:#222}.t{font-weight:bold;font-size:16px}"
		     ".h{font-weight:bold;font-size:12px}.g{fill:#666}"
		     ".r{stroke:#fff;stroke-width:.6}.r:hover{stroke:#000}"
		     ".l{stroke:#bbb;stroke-width:.5}</style>\n<defs><pattern id=\"i\" width=\"6\" "
		     "height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
		     "<rect width=\"2\" height=\"6\" fill=\"#fff\" fill-opacity=\".55\"/></pattern>"
		     "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#fafafa\"/>\n");
}

void svg_put(struct buf *b, const char *text)
{
	for (; *text; text++) {
		char plain[2] = {*text, '\0'};

		text_put_raw(b, *text == '<'   ? "&lt;"
				: *text == '>' ? "&gt;"
				: *text == '&' ? "&amp;"
				: *text == '"' ? "&quot;"
					       : plain);
	}
}

void svg_put_buf(struct buf *b, struct buf *text)
{
	buf_put_u8(text, 0);
	if (text->failed)
		b->failed = true;
	svg_put(b, text->data && !text->failed ? (const char *)text->data : "");
	buf_free(text);
}

void svg_put_name(struct buf *b, const char *name)
{
	struct buf text = {0};

	text_put(&text, name, NULL);
	svg_put_buf(b, &text);
}

unsigned svg_hue(const char *name)
{
	uint64_t hash = 0;

	for (; *name; name++)
		hash = hash_mix64(hash + (unsigned char)*name);
	return (unsigned)(hash % 360);
}
