/* SPDX-License-Identifier: MIT */
/* Finds the labels of threads; see labels.h. */
#include "model/labels.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "model/cgroup_name.h"
#include "model/pattern.h"
#include "stack/label_set.h"

#define KEYS 8

/* Short names, and the keys that they stand for. The first key that a thread has counts. */
static const struct {
	const char *name, *keys[KEYS];
} short_names[] = {
	{"service", {"service.name"}},
	{"namespace", {"k8s.namespace.name"}},
	{"pod", {"k8s.pod.name"}},
	{"container", {"k8s.container.name", "container.name"}},
	{"workload",
	 {"k8s.deployment.name", "k8s.statefulset.name", "k8s.daemonset.name", "k8s.job.name",
	  "claimed.k8s.deployment.name", "claimed.k8s.statefulset.name",
	  "claimed.k8s.daemonset.name", "claimed.k8s.job.name"}},
	{"node", {"k8s.node.name"}},
};

static bool put_value(const char *set, const char *key, struct buf *b)
{
	size_t len = 0;
	const char *value = label_set_value(set, key, &len);

	if (value)
		buf_put(b, value, len);
	return value;
}

/* Appends the name of a thread's systemd service. */
static bool put_service(const struct store_thread *thread, struct buf *b)
{
	static const char ending[] = ".service";
	const size_t end = sizeof(ending) - 1;
	struct buf unit = {0};
	bool is;

	if (!thread->cgroup)
		return false;
	cgroup_name_unit(thread->cgroup, &unit);
	is = !unit.failed && unit.len > end && memcmp(unit.data + unit.len - end, ending, end) == 0;
	if (is)
		buf_put(b, unit.data, unit.len - end);
	b->failed |= unit.failed;
	buf_free(&unit);
	return is;
}

/* Returns how many bytes of a name are before its last part, which is "-" and `least` to `most` of
 * these characters; 0: it has no such part. */
static size_t before_part(const char *name, size_t len, const char *characters, size_t least,
			  size_t most)
{
	size_t n = 0;

	while (n < len && memchr(characters, name[len - n - 1], strlen(characters)))
		n++;
	return n >= least && n <= most && n + 1 < len && name[len - n - 1] == '-' ? len - n - 1 : 0;
}

/* Appends the workload that a pod's name tells: Kubernetes makes it of the workload's name and of
 * random parts, whose characters make no words. A Deployment's pod has two, that of its ReplicaSet
 * and its own; a CronJob's has a time and one; a DaemonSet's or a Job's has one; a StatefulSet's
 * has a number. */
static bool put_workload(const struct store_thread *thread, struct buf *b)
{
	static const char random[] = "bcdfghjklmnpqrstvwxz2456789";
	size_t len = 0, own, set;
	const char *pod = label_set_value(thread->label_set, "k8s.pod.name", &len);

	if (!pod)
		return false;
	own = before_part(pod, len, random, 5, 5);
	set = own ? before_part(pod, own, random, 6, 10) : 0;
	if (own && !set)
		set = before_part(pod, own, "0123456789", 8, 10);
	if (!own)
		own = before_part(pod, len, "0123456789", 1, 9);
	buf_put(b, pod, set ? set : own);
	return own;
}

/* Appends what can be told of a short name without recorded labels. */
static bool put_known(const struct store_tables *t, const struct store_thread *thread,
		      const char *name, struct buf *b)
{
	const size_t before = b->len;

	if (strcmp(name, "service") == 0)
		return put_service(thread, b);
	if (strcmp(name, "pod") == 0)
		return thread->cgroup && cgroup_name_pod(thread->cgroup, b);
	if (strcmp(name, "workload") == 0)
		return put_workload(thread, b);
	if (strcmp(name, "container") == 0 && thread->cgroup) {
		cgroup_name_container(thread->cgroup, b);
		if (!b->failed && b->len > before && b->data[before] != '[')
			return true;
		b->len = before;
	}
	if (strcmp(name, "node") == 0 && t->recording.host) {
		text_put_raw(b, t->recording.host);
		return true;
	}
	return false;
}

/* Appends the value that was recorded of a key, or of the keys that a short name stands for. */
static bool put_recorded(const struct store_thread *thread, const char *key, struct buf *b)
{
	for (size_t i = 0; i < sizeof(short_names) / sizeof(*short_names); i++) {
		if (strcmp(short_names[i].name, key) != 0)
			continue;
		for (size_t j = 0; j < KEYS && short_names[i].keys[j]; j++)
			if (put_value(thread->label_set, short_names[i].keys[j], b))
				return true;
	}
	return put_value(thread->label_set, key, b);
}

bool labels_put(const struct store_tables *t, const struct store_thread *thread, const char *key,
		struct buf *b)
{
	return put_recorded(thread, key, b) || put_known(t, thread, key, b);
}

const char *labels_short_name(size_t number)
{
	return number < sizeof(short_names) / sizeof(*short_names) ? short_names[number].name
								   : NULL;
}

bool labels_is_host(const struct store_thread *thread, const char *key)
{
	struct buf value = {0};
	bool is = strcmp(key, "node") == 0 && !put_recorded(thread, key, &value);

	buf_free(&value);
	return is;
}

bool labels_is_pattern(const char *text)
{
	const char *equals = strchr(text, '=');

	return equals && equals != text && equals - text < LABEL_KEY_BYTES;
}

/* Appends a pattern and a 0, with '?' for control characters, as recorded values have it. */
static void put_cleaned(struct buf *b, const char *pattern)
{
	do
		buf_put(b, iscntrl((unsigned char)*pattern) && *pattern ? "?" : pattern, 1);
	while (*pattern++);
}

bool labels_match(const struct store_tables *t, const struct store_thread *thread, const char *text)
{
	const char *given = strchr(text, '=') + 1;
	char key[LABEL_KEY_BYTES];
	struct buf value = {0}, pattern = {0};
	bool is;

	memcpy(key, text, (size_t)(given - 1 - text));
	key[given - 1 - text] = '\0';
	put_cleaned(&pattern, given);
	if (labels_put(t, thread, key, &value))
		is = !value.failed && !pattern.failed && *given &&
		     pattern_matches((const char *)pattern.data, (const char *)value.data,
				     value.len);
	else
		is = !*given;
	buf_free(&pattern);
	buf_free(&value);
	return is;
}
