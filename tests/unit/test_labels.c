/* SPDX-License-Identifier: MIT */
/* Labels of threads by key and by short name, with and without recorded ones (model/labels.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/labels.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "8c5a1fd3-2c5b-4a5e-9d0c-6a2f9b7c1e10"

static const struct store_tables tables = {.recording = {.host = "box"}};

static void is(const struct store_thread *thread, const char *key, const char *expected)
{
	struct buf b = {0};
	const bool has = labels_put(&tables, thread, key, &b);

	assert_int_equal(has, expected != NULL);
	assert_int_equal(b.len, expected ? strlen(expected) : 0);
	if (b.len)
		assert_memory_equal(b.data, expected, b.len);
	buf_free(&b);
}

static void test_recorded(void **state)
{
	const struct store_thread thread = {
		.cgroup = "/kubepods/burstable/pod" UID "/" ID,
		.label_set = "env=prod\nk8s.container.name=nginx\nk8s.deployment.name=web\n"
			     "k8s.namespace.name=shop\nk8s.node.name=node-1\nk8s.pod.name=web-1\n"
			     "service.name=front"};

	(void)state;
	is(&thread, "env", "prod");
	is(&thread, "en", NULL);
	is(&thread, "service", "front");
	is(&thread, "service.name", "front");
	is(&thread, "namespace", "shop");
	is(&thread, "pod", "web-1");
	is(&thread, "container", "nginx");
	is(&thread, "workload", "web");
	is(&thread, "node", "node-1");
}

/* What a pod's name tells of its workload. */
static void test_workload(void **state)
{
	static const char *const pods[][2] = {
		{"web-7d4b9c6f5d-x2x7k", "web"},
		{"shop-web-7d4b9c6f5d-x2x7k", "shop-web"},
		{"agent-x2x7k", "agent"},
		{"db-0", "db"},
		{"shop-db-12", "shop-db"},
		{"etcd-node-a", NULL},
		{"backup-28374650-x2x7k", "backup"},
		{"static", NULL},
		{"-x2x7k", NULL},
		{"web-apple-x2x7k", "web-apple"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pods) / sizeof(*pods); i++) {
		char set[128];
		const struct store_thread thread = {.label_set = set};

		snprintf(set, sizeof(set), "env=prod\nk8s.pod.name=%s", pods[i][0]);
		is(&thread, "workload", pods[i][1]);
	}
}

/* What the environment claims is no place, but a workload. */
static void test_claimed(void **state)
{
	const struct store_thread thread = {
		.label_set = "claimed.k8s.deployment.name=web\nclaimed.k8s.pod.name=web-1"};
	const struct store_thread both = {
		.label_set = "claimed.k8s.deployment.name=web\nk8s.job.name=told"};

	(void)state;
	is(&thread, "pod", NULL);
	is(&thread, "workload", "web");
	is(&thread, "claimed.k8s.pod.name", "web-1");
	is(&both, "workload", "told");
}

/* Recordings of earlier versions have no labels. */
static void test_told(void **state)
{
	const struct store_thread pod = {.cgroup = "/kubepods/burstable/pod" UID "/" ID},
				  unit = {.cgroup = "/system.slice/nginx.service"},
				  slice = {.cgroup = "/system.slice/" ID}, none = {.tid = 1},
				  user = {.cgroup = "/user.slice/kubepods/pod" UID "/" ID};

	(void)state;
	is(&pod, "pod", UID);
	is(&pod, "container", "pod " UID "/0123456789ab");
	is(&pod, "service", NULL);
	is(&pod, "namespace", NULL);
	is(&pod, "node", "box");
	is(&unit, "service", "nginx");
	is(&unit, "pod", NULL);
	is(&unit, "container", NULL);
	is(&slice, "service", NULL);
	is(&user, "pod", NULL); /* anybody may name a cgroup below user.slice */
	is(&none, "service", NULL);
	is(&none, "pod", NULL);
	is(&none, "container", NULL);
	is(&none, "env", NULL);
}

static void test_patterns(void **state)
{
	const struct store_thread thread = {.label_set = "env=prod\nodd=a?b\nk8s.pod.name=web-1"};
	/* A control character is recorded as '?'. */
	static const char *const yes[] = {"env=prod", "env=p*", "pod=web-?", "odd=a\nb",
					  "node=box", "team=",	"namespace="};
	static const char *const no[] = {"env=",    "env=pro", "pod=web",
					 "odd=a\n", "team=*",  "service=?*"};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		assert_true(labels_is_pattern(yes[i]) && labels_match(&tables, &thread, yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		assert_true(labels_is_pattern(no[i]) && !labels_match(&tables, &thread, no[i]));
	assert_false(labels_is_pattern("env"));
	assert_false(labels_is_pattern("=x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded), cmocka_unit_test(test_claimed),
		cmocka_unit_test(test_workload), cmocka_unit_test(test_told),
		cmocka_unit_test(test_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
