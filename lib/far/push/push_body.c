/* SPDX-License-Identifier: MIT */
/* Makes bodies of requests; see push_body.h. */
#include "push/push_body.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_put.h"
#include "base/text.h"
#include "export/export_otlp.h"
#include "export/export_pprof.h"
#include "http/gzip.h"

#define SECOND_NS UINT64_C(1000000000)

static int make_pprof(const struct pprof_parts *slice, struct buf *b)
{
	char *data = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&data, &len);
	int err;

	if (!out)
		return -ENOMEM;
	err = export_pprof_slice(slice, out);
	if (fclose(out) != 0 && err == 0)
		err = -ENOMEM;
	if (err == 0)
		*b = (struct buf){.data = (uint8_t *)data, .len = len, .cap = len};
	else
		free(data);
	return err;
}

/* Compresses the buffer's content with gzip, because the pprof format requires it, and older
 * versions of Parca accept nothing else; receivers of OTLP must accept it. Returns 0, -EOVERFLOW or
 * -ENOMEM. */
static int pack(struct buf *b)
{
	struct buf packed = {0};
	int err = b->len > UINT32_MAX ? -EOVERFLOW : gzip_put(b->data, b->len, &packed);

	buf_free(err == 0 ? b : &packed);
	if (err == 0)
		*b = packed;
	return err;
}

/* --- Pyroscope -------------------------------------------------------------------------------- */

/* Appends a label's value, with '_' for characters that are not plain, because the syntax cannot
 * quote a character that ends the value. */
static void put_value(struct buf *b, const char *value)
{
	for (const char *at = value; *at; at++)
		buf_put_u8(b, isalnum((unsigned char)*at) || strchr("_-.:/", *at) ? (uint8_t)*at
										  : '_');
}

static int make_query(struct server *server, const struct store_recording *r, const char *app,
		      struct buf *query)
{
	const uint64_t end = r->start_unix_ns + (r->end_ns - r->start_ns);
	struct buf name = {0};
	int err;

	text_put_raw(&name, app);
	text_put_raw(&name, "{host=");
	put_value(&name, r->host ? r->host : "");
	text_put_raw(&name, "}");
	buf_put_u8(&name, '\0');
	if (name.failed) {
		buf_free(&name);
		return -ENOMEM;
	}
	text_put_raw(query, "name=");
	err = server_escape(server, (const char *)name.data, query);
	text_printf(query, "&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof&spyName=stackd",
		    r->start_unix_ns / SECOND_NS, (end + SECOND_NS - 1) / SECOND_NS);
	buf_free(&name);
	return err;
}

/* --- Parca ------------------------------------------------------------------------------------ */

static void write_label(struct json *j, const char *name, const char *value)
{
	struct buf text = {0};

	put_value(&text, value);
	json_put_object(j, NULL);
	json_put_string(j, "name", name);
	json_put_text(j, "value", &text);
	json_put_end(j);
}

/* Makes the message WriteRawRequest as JSON: one series with one profile. The profile of samples
 * has the name that others give theirs. */
static int make_json(const struct store_recording *r, const struct push_profile *profile,
		     const char *app, const struct buf *pprof, struct buf *ret_text)
{
	struct json j = {0};
	struct buf base64 = {0};

	text_put_base64(&base64, pprof->data, pprof->len);
	json_put_object(&j, NULL);
	json_put_array(&j, "series");
	json_put_object(&j, NULL);
	json_put_object(&j, "labels");
	json_put_array(&j, "labels");
	write_label(&j, "__name__", profile->part == 0 ? "process_cpu" : profile->group);
	write_label(&j, "job", app);
	write_label(&j, "host", r->host ? r->host : "");
	json_put_end(&j);
	json_put_end(&j);
	json_put_array(&j, "samples");
	json_put_object(&j, NULL);
	json_put_text(&j, "rawProfile", &base64);
	json_put_end(&j);
	json_put_end(&j);
	json_put_end(&j);
	json_put_end(&j);
	json_put_end(&j);
	*ret_text = j.text;
	return j.text.failed ? -ENOMEM : 0;
}

/* ---------------------------------------------------------------------------------------------- */

int server_body_make(struct server *server, const struct pprof_parts *slice,
		     const struct push_profile *profile, const char *app, struct server_body *body)
{
	const struct store_recording *recording = &profile_tables(slice->profile)->recording;
	struct buf pprof = {0};
	int err;

	*body = (struct server_body){0};
	if (server_kind(server) == SERVER_OTLP) {
		body->content_type = "application/x-protobuf";
		err = export_otlp_slice(slice, profile->value, app, &body->bytes);
		body->profile_bytes = body->bytes.len;
		body->is_packed = true;
		if (err == 0 && body->bytes.len)
			err = pack(&body->bytes);
		buf_put_u8(&body->query, '\0');
		return body->query.failed ? -ENOMEM : err;
	}
	err = make_pprof(slice, &pprof);
	body->profile_bytes = pprof.len;
	if (err == 0)
		err = pack(&pprof);
	if (err == 0 && server_kind(server) == SERVER_PARCA) {
		body->content_type = "application/json";
		err = make_json(recording, profile, app, &pprof, &body->bytes);
	} else if (err == 0) {
		body->content_type = "application/octet-stream";
		body->bytes = pprof;
		pprof = (struct buf){0};
		err = make_query(server, recording, app, &body->query);
	}
	buf_free(&pprof);
	buf_put_u8(&body->query, '\0');
	return body->query.failed ? -ENOMEM : err;
}

void server_body_free(struct server_body *body)
{
	buf_free(&body->query);
	buf_free(&body->bytes);
	*body = (struct server_body){0};
}
