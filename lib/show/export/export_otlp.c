/* SPDX-License-Identifier: MIT */
/*
 * Makes requests with profiles of OpenTelemetry; see export_otlp.h.
 *
 * A request has resources (host, service, container or unit) and a dictionary (otlp_tables.h), to
 * which samples refer by place. A resource has one scope (stackd), this a profile (of one value),
 * and this the samples.
 *
 * Entries that differ only in end reason or origin are added up, because samples have no place for
 * these. Entries whose value is 0 are left out.
 */
#include "export/export_otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/int_map.h"
#include "base/strings.h"
#include "base/text.h"
#include "base/vec.h"
#include "export/otlp_tables.h"
#include "model/cgroup_name.h"
#include "model/labels.h"
#include "proc/cgroup_path.h"
#include "report/report_header.h"
#include "stack/label_set.h"

struct otlp_sum {
	int32_t stack;
	uint32_t thread, place; /* one of its threads; a number in `places` */
	uint64_t amount;
};

struct otlp {
	const struct pprof_parts *parts; /* the entries of this request, of one part */
	uint32_t value;			 /* number of the value that the profile has */
	const struct store_tables *t;
	const char *service;
	struct otlp_tables *tables;
	struct otlp_sum *sums;
	size_t n_sums;
	/* what a resource stands for: a container, a unit, or neither, and their labels */
	struct strings *places;
	/* one text for each distinct thread: what a sample and its resource say about its thread */
	struct strings *threads;
	struct int_map sum_at; /* (stack, number in `threads`) -> index in `sums` */
	Otlp__Request *request;
};

/* Allocates an initialised message of a type; NULL for lack of memory. */
#define NEW(type, init) ((type *)new_message(&(const type)init, sizeof(type)))

static void *new_message(const void *init, size_t size)
{
	void *message = malloc(size);

	if (message)
		memcpy(message, init, size);
	return message;
}

/* --- sums ------------------------------------------------------------------------------------- */

int export_otlp_place(const struct store_thread *thread, struct strings *places,
		      uint32_t *ret_number)
{
	struct buf container = {0}, unit = {0}, text = {0};
	int err;

	cgroup_name_container(thread->cgroup, &container);
	cgroup_name_unit(thread->cgroup, &unit);
	if (container.len && container.data[0] != '[') {
		text_put_raw(&text, "container ");
		buf_put(&text, container.data, container.len);
	} else if (unit.len && unit.data[0] != '[') {
		text_put_raw(&text, "unit ");
		buf_put(&text, unit.data, unit.len);
	}
	buf_put_u8(&text, '\n');
	text_put_raw(&text, thread->label_set ? thread->label_set : "");
	buf_put_u8(&text, '\0');
	err = container.failed || unit.failed || text.failed
		      ? -ENOMEM
		      : strings_intern(places, (const char *)text.data, ret_number);
	buf_free(&container);
	buf_free(&unit);
	buf_free(&text);
	return err;
}

/* Numbers what the samples of a thread say about it: its place and its name. */
static int number_thread(struct otlp *x, uint32_t number, uint32_t *ret_number, uint32_t *ret_place)
{
	const struct store_thread *thread = &x->t->threads[number];
	char *text;
	int err = export_otlp_place(thread, x->places, ret_place);

	if (err < 0)
		return err;
	if (asprintf(&text, "%u %s", *ret_place, thread->comm ? thread->comm : "") < 0)
		return -ENOMEM;
	err = strings_intern(x->threads, text, ret_number);
	free(text);
	return err;
}

static int add_entry(struct otlp *x, size_t number)
{
	const struct profile_entry *entry = &x->parts->entries[number];
	const bool is_records = x->parts->parts[0].has_records && x->value == 0;
	const uint64_t amount = is_records ? entry->samples : entry->weight;
	uint32_t sum, thread = 0, place = 0;
	int32_t stack;
	int err;

	if (!amount)
		return 0;
	stack = otlp_tables_stack(x->tables, entry);
	err = number_thread(x, entry->thread, &thread, &place);
	if (err == 0)
		err = int_map_enter_wide(&x->sum_at, (uint32_t)stack, thread, (uint32_t)x->n_sums,
					 &sum);
	if (err < 0)
		return err;
	if (sum == x->n_sums)
		x->sums[x->n_sums++] = (struct otlp_sum){stack, entry->thread, place, 0};
	x->sums[sum].amount += amount;
	return 0;
}

static int add_entries(struct otlp *x)
{
	const size_t n = x->parts->n_entries;
	int err = strings_new(&x->threads);

	if (err == 0)
		err = strings_new(&x->places);
	x->sums = vec_alloc(n + 1, sizeof(*x->sums));
	if (!x->sums)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < n; i++)
		err = add_entry(x, i);
	return err;
}

/* --- profiles --------------------------------------------------------------------------------- */

static int put_attributes(struct otlp *x, uint32_t number, Otlp__Sample *sample)
{
	const char *comm = x->t->threads[number].comm;

	sample->attribute_indices = vec_alloc(1, sizeof(*sample->attribute_indices));
	if (!sample->attribute_indices)
		return -ENOMEM;
	sample->attribute_indices[0] = otlp_tables_attribute(x->tables, "thread.name",
							     comm && *comm ? comm : "[unnamed]", 0);
	sample->n_attribute_indices = 1;
	return 0;
}

static int add_sample(struct otlp *x, size_t sum, Otlp__Profile *profile)
{
	const uint64_t value = x->sums[sum].amount;
	Otlp__Sample *sample = NEW(Otlp__Sample, OTLP__SAMPLE__INIT);
	int err = sample ? put_attributes(x, x->sums[sum].thread, sample) : -ENOMEM;

	if (err == 0) {
		sample->stack_index = x->sums[sum].stack;
		sample->values = vec_alloc(1, sizeof(*sample->values));
		err = sample->values ? 0 : -ENOMEM;
	}
	if (err == 0) {
		sample->values[0] = value > INT64_MAX ? INT64_MAX : (int64_t)value;
		sample->n_values = 1;
		err = otlp_append((void ***)&profile->samples, &profile->n_samples, sample);
	}
	if (err < 0 && sample)
		otlp__sample__free_unpacked(sample, NULL);
	return err;
}

static Otlp__ValueType *make_type(struct otlp *x, const struct pprof_value *value)
{
	Otlp__ValueType *type = NEW(Otlp__ValueType, OTLP__VALUE_TYPE__INIT);

	if (type) {
		type->type_strindex = otlp_tables_string(x->tables, value->name);
		type->unit_strindex = otlp_tables_string(x->tables, value->unit);
	}
	return type;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = hash_mix64(hash_chain(hash, (uint8_t)*text));
	return hash;
}

static int put_id(const struct otlp *x, uint32_t place, Otlp__Profile *profile)
{
	const struct store_recording *r = &x->t->recording;
	uint64_t id[2];

	for (uint64_t i = 0; i < 2; i++) {
		uint64_t hash = hash_text(hash_mix64(i + 1), r->host);

		hash = hash_mix64(hash_chain(hash, r->start_unix_ns));
		hash = hash_mix64(hash_chain(hash, r->end_ns - r->start_ns));
		hash = hash_mix64(hash_chain(hash, x->parts->first));
		hash = hash_mix64(hash_chain(hash, x->parts->n_entries));
		hash = hash_text(hash, strings_at(x->places, place));
		id[i] = hash_text(hash, x->parts->values[x->value].name) | 1; /* not all zeros */
	}
	profile->profile_id.data = malloc(sizeof(id));
	if (!profile->profile_id.data)
		return -ENOMEM;
	memcpy(profile->profile_id.data, id, sizeof(id));
	profile->profile_id.len = sizeof(id);
	return 0;
}

static int fill_profile(struct otlp *x, uint32_t place, Otlp__Profile *profile)
{
	const struct store_recording *r = &x->t->recording;
	int err = 0;

	for (size_t i = 0; err == 0 && i < x->n_sums; i++)
		if (x->sums[i].place == place)
			err = add_sample(x, i, profile);
	if (err < 0)
		return err;
	profile->time_unix_nano = r->start_unix_ns;
	profile->duration_nano = r->end_ns - r->start_ns;
	profile->sample_type = make_type(x, &x->parts->values[x->value]);
	profile->period = x->parts->period;
	if (profile->period)
		profile->period_type = make_type(x, &x->parts->period_type);
	if (!profile->sample_type || (profile->period && !profile->period_type))
		return -ENOMEM;
	return put_id(x, place, profile);
}

static int add_profile(struct otlp *x, uint32_t place, Otlp__ScopeProfiles *scope)
{
	Otlp__Profile *profile = NEW(Otlp__Profile, OTLP__PROFILE__INIT);
	int err = profile ? fill_profile(x, place, profile) : -ENOMEM;

	if (err == 0)
		err = otlp_append((void ***)&scope->profiles, &scope->n_profiles, profile);
	if (err < 0 && profile)
		otlp__profile__free_unpacked(profile, NULL);
	return err;
}

/* --- the request ------------------------------------------------------------------------------ */

static int add_attribute(Otlp__Resource *resource, const char *key, const char *text)
{
	Otlp__KeyValue *pair = NEW(Otlp__KeyValue, OTLP__KEY_VALUE__INIT);

	if (!pair)
		return -ENOMEM;
	pair->key = strdup(key);
	pair->value = otlp_value(text ? text : "", 0);
	if (!pair->key || !pair->value ||
	    otlp_append((void ***)&resource->attributes, &resource->n_attributes, pair) < 0) {
		free(pair->key);
		pair->key = NULL;
		otlp__key_value__free_unpacked(pair, NULL);
		return -ENOMEM;
	}
	return 0;
}

/* Adds an attribute that names the regions whose probes were taken off (--region-limit). Returns 0
 * or -ENOMEM. */
static int put_off(const struct otlp *x, Otlp__Resource *resource)
{
	char *text;
	int err = report_header_off_text(x->parts->profile, &text);

	if (text)
		err = add_attribute(resource, "stackd.regions_off", text);
	free(text);
	return err;
}

/* Returns a thread of a place. */
static const struct store_thread *thread_of(const struct otlp *x, uint32_t place)
{
	size_t i = 0;

	while (x->sums[i].place != place)
		i++;
	return &x->t->threads[x->sums[i].thread];
}

/* Adds what a place is, if its labels do not say that: a container by its whole id, or by its name
 * if it has no id, or a unit. */
static int put_place(const struct otlp *x, uint32_t place, Otlp__Resource *resource)
{
	const struct store_thread *thread = thread_of(x, place);
	const char *text = strings_at(x->places, place);
	const size_t len = strcspn(text, "\n"), word = strcspn(text, " \n");
	char name[512], digits[CGROUP_ID_DIGITS + 1];
	struct cgroup_owner owner;
	size_t unused;

	if (word == len)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)(len - word - 1), text + word + 1);
	if (!strncmp(text, "unit ", 5))
		return add_attribute(resource, "systemd.unit", name);
	if (thread->cgroup && cgroup_path_owner(thread->cgroup, &owner) && owner.id.len) {
		snprintf(digits, sizeof(digits), "%.*s", (int)owner.id.len, owner.id.name);
		return label_set_value(thread->label_set, "container.id", &unused)
			       ? 0
			       : add_attribute(resource, "container.id", digits);
	}
	/* "lxc web": the name is behind the runtime's. */
	return label_set_value(thread->label_set, "container.name", &unused)
		       ? 0
		       : add_attribute(resource, "container.name",
				       name + strcspn(name, " ") + (strchr(name, ' ') != NULL));
}

/* Adds the labels of a place, but for those that put_resource() adds itself. */
static int put_labels(const struct store_thread *thread, Otlp__Resource *resource)
{
	static const char *const own[] = {"service.name", "host.name",	  "os.type",
					  "os.version",	  "systemd.unit", "stackd.regions_off"};
	const char *at = thread->label_set, *key, *value;
	size_t key_len, value_len;
	int err = 0;

	while (err == 0 && label_set_next(&at, &key, &key_len, &value, &value_len)) {
		char name[LABEL_KEY_BYTES], text[LABEL_VALUE_BYTES];
		bool is_own = false;

		snprintf(name, sizeof(name), "%.*s", (int)key_len, key);
		snprintf(text, sizeof(text), "%.*s", (int)value_len, value);
		for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
			is_own |= strcmp(own[i], name) == 0;
		if (!is_own)
			err = add_attribute(resource, name, text);
	}
	return err;
}

/* Adds the name of a place's service: its label, else the container's name in its pod, else the
 * application's name. */
static int put_service(const struct otlp *x, const struct store_thread *thread,
		       Otlp__Resource *resource)
{
	struct buf name = {0};
	int err;

	if (!labels_put(x->t, thread, "service.name", &name) &&
	    !labels_put(x->t, thread, "k8s.container.name", &name))
		text_put_raw(&name, x->service);
	buf_put_u8(&name, '\0');
	err = name.failed ? -ENOMEM
			  : add_attribute(resource, "service.name", (const char *)name.data);
	buf_free(&name);
	return err;
}

static int put_resource(const struct otlp *x, uint32_t place, Otlp__ResourceProfiles *of)
{
	const struct store_thread *thread = thread_of(x, place);
	Otlp__Resource *resource = NEW(Otlp__Resource, OTLP__RESOURCE__INIT);
	int err = resource ? 0 : -ENOMEM;

	of->resource = resource;
	if (err == 0)
		err = put_service(x, thread, resource);
	if (err == 0)
		err = add_attribute(resource, "host.name", x->t->recording.host);
	if (err == 0)
		err = add_attribute(resource, "os.type", "linux");
	if (err == 0)
		err = add_attribute(resource, "os.version", x->t->recording.kernel);
	if (err == 0)
		err = put_labels(thread, resource);
	if (err == 0)
		err = put_place(x, place, resource);
	return err < 0 ? err : put_off(x, resource);
}

static int put_scope(Otlp__ScopeProfiles *of)
{
	of->scope = NEW(Otlp__Scope, OTLP__SCOPE__INIT);
	if (!of->scope)
		return -ENOMEM;
	of->scope->name = strdup("stackd");
	of->scope->version = strdup(STACKD_VERSION);
	return of->scope->name && of->scope->version ? 0 : -ENOMEM;
}

/* Makes a place's resource with its only scope, and adds both to the request. Returns 0 or
 * -ENOMEM. */
static int make_scope(struct otlp *x, uint32_t place, Otlp__ScopeProfiles **ret_scope)
{
	Otlp__ResourceProfiles *resource =
		NEW(Otlp__ResourceProfiles, OTLP__RESOURCE_PROFILES__INIT);
	Otlp__ScopeProfiles *scope = NEW(Otlp__ScopeProfiles, OTLP__SCOPE_PROFILES__INIT);

	if (!resource || !scope ||
	    otlp_append((void ***)&x->request->resource_profiles, &x->request->n_resource_profiles,
			resource) < 0) {
		free(resource);
		free(scope);
		return -ENOMEM;
	}
	if (otlp_append((void ***)&resource->scope_profiles, &resource->n_scope_profiles, scope) <
	    0) {
		free(scope);
		return -ENOMEM;
	}
	*ret_scope = scope;
	return put_resource(x, place, resource);
}

static int make_request(struct otlp *x)
{
	int err = otlp_tables_new(x->parts->profile, &x->tables);

	if (err == 0)
		err = add_entries(x);
	if (err < 0 || !x->n_sums)
		return err;
	x->request = NEW(Otlp__Request, OTLP__REQUEST__INIT);
	err = x->request ? 0 : -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < strings_count(x->places); i++) {
		Otlp__ScopeProfiles *scope = NULL;

		err = make_scope(x, i, &scope);
		if (err == 0)
			err = put_scope(scope);
		if (err == 0)
			err = add_profile(x, i, scope);
	}
	return err < 0 ? err : otlp_tables_finish(x->tables, &x->request->dictionary);
}

static int pack(const Otlp__Request *request, struct buf *b)
{
	const size_t size = otlp__request__get_packed_size(request);
	uint8_t *bytes = malloc(size + 1);

	if (!bytes)
		return -ENOMEM;
	buf_put(b, bytes, otlp__request__pack(request, bytes));
	free(bytes);
	return b->failed ? -ENOMEM : 0;
}

int export_otlp_slice(const struct pprof_parts *slice, uint32_t value, const char *service,
		      struct buf *b)
{
	struct otlp x = {.parts = slice,
			 .value = value,
			 .t = profile_tables(slice->profile),
			 .service = service};
	int err = make_request(&x);

	if (err == 0 && x.request)
		err = pack(x.request, b);
	if (x.request)
		otlp__request__free_unpacked(x.request, NULL);
	otlp_tables_free(x.tables);
	int_map_fini(&x.sum_at);
	strings_free(x.threads);
	strings_free(x.places);
	free(x.sums);
	return err;
}

int export_otlp_rejected(const struct buf *answer, uint64_t *ret_rejected, char **ret_said)
{
	Otlp__Response *response = otlp__response__unpack(NULL, answer->len, answer->data);
	const Otlp__PartialSuccess *partial = response ? response->partial_success : NULL;

	if (!response)
		return -EBADMSG;
	*ret_rejected = partial && partial->rejected_profiles > 0
				? (uint64_t)partial->rejected_profiles
				: 0;
	*ret_said = strdup(partial ? partial->error_message : "");
	otlp__response__free_unpacked(response, NULL);
	return *ret_said ? 0 : -ENOMEM;
}
