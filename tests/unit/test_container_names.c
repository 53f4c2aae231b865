/* SPDX-License-Identifier: MIT */
/* Names of containers and pods by the paths of cgroups, in files as Docker, containerd, CRI-O,
 * Podman and the kubelet write them (proc/container_names.h), and the labels that threads get of
 * these (daemon/recorder/labels.h). */
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/recorder/labels.h"
#include "proc/container_names.h"

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID   "8c5a1fd3-2c5b-4a5e-9d0c-6a2f9b7c1e10"
#define POD   "8c5a1fd3_2c5b_4a5e_9d0c_6a2f9b7c1e10"
#define SLICE "kubepods-burstable-pod" POD ".slice"

static char root[] = "/tmp/test_container_names.XXXXXX";

static int setup(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return strcmp(path, root) == 0 ? 0 : remove(path);
}

static void clear(void)
{
	assert_int_equal(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static int teardown(void **state)
{
	(void)state;
	clear();
	return rmdir(root);
}

/* Writes a file below the root, and the folders above it. */
static void put(const char *name, const char *text)
{
	char path[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void same(const char *text, const char *expected)
{
	if (expected)
		assert_string_equal(text ? text : "(none)", expected);
	else
		assert_null(text);
}

/* Checks what is found for a path: namespace, pod, container, and the name of one in no pod. */
static void check(const char *path, const char *name_space, const char *pod, const char *container,
		  const char *name)
{
	struct container_names n;

	assert_int_equal(container_names_ids(path, &n), 0);
	container_names_read(root, &n);
	same(n.name_space, name_space);
	same(n.pod, pod);
	same(n.container, container);
	same(n.name, name);
	container_names_fini(&n);
}

static void test_ids(void **state)
{
	static const struct {
		const char *path, *id, *uid;
	} cases[] = {
		{"/system.slice/docker-" ID ".scope", ID, NULL},
		{"/docker/" ID "/init.scope", ID, NULL},
		{"/machine.slice/libpod-" ID ".scope/container", ID, NULL},
		{"/kubepods.slice/kubepods-burstable.slice/" SLICE "/cri-containerd-" ID ".scope",
		 ID, UID},
		{"/kubepods.slice/" SLICE "/crio-" ID ".scope", ID, UID},
		{"/kubepods.slice/" SLICE "/crio-conmon-" ID ".scope", NULL, UID},
		{"/kubepods/besteffort/pod" UID "/" ID, ID, UID},
		{"/system.slice/" SLICE ":cri-containerd:" ID, ID, UID},
		{"/kubepods.slice/" SLICE, NULL, UID},
		{"/system.slice/containerd.service/" SLICE ":cri-containerd:" ID, ID, UID},
		{"/../../" SLICE "/crio-" ID ".scope", ID, UID},
		{"/libpod_parent/" OTHER "/libpod-" ID, ID, NULL},
		{"/system.slice/web.service/libpod-payload-" ID "/x", ID, NULL},
		/* what a container makes below its own cgroup: the outermost one counts */
		{"/docker/" ID "/kubepods/pod" UID "/" OTHER, ID, NULL},
		{"/kubepods/pod" UID "/" ID "/pod00000000-0000-0000-0000-000000000000/" OTHER, ID,
		 UID},
	};
	static const char *const none[] = {
		"/", "/system.slice/nginx.service", "/user.slice", "[cgroup 77]", "", "/podman/x",
		/* cgroups that a user, a service or a container with a delegated one can make */
		"/user.slice/user-1000.slice/user@1000.service/app.slice/kubepods-pod" POD
		".slice/cri-containerd-" ID ".scope",
		"/user.slice/" SLICE "/crio-" ID ".scope", "/../user.slice/docker-" ID ".scope",
		"/user.slice/docker/" ID,
		"/system.slice/web.service/" SLICE "/cri-containerd-" ID ".scope",
		"/system.slice/web.service/" SLICE "/libpod-payload-" ID,
		"/system.slice/web.service/" SLICE ":cri-containerd:" ID,
		"/system.slice/web.service/x/libpod-payload-" ID,
		"/system.slice/run-1.scope/docker/" ID,
		"/machine.slice/machine-web.scope/payload/kubepods/pod" UID "/" ID,
		"/machine.slice/libpod-conmon-" ID ".scope/docker/" OTHER,
		"/lxc.payload.web/kubepods/pod" UID "/" ID, "/alice/kubepods/pod" UID "/" ID};
	struct container_names n;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(container_names_ids(cases[i].path, &n), 0);
		same(n.id, cases[i].id);
		same(n.pod_uid, cases[i].uid);
		container_names_fini(&n);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		assert_int_equal(container_names_ids(none[i], &n), -ENOENT);
		container_names_fini(&n);
	}
}

static void test_kubelet(void **state)
{
	(void)state;
	clear();
	put("/var/log/containers/web-7d4b9-x2k_shop_nginx-" ID ".log", "");
	put("/var/log/containers/db-0_data_postgres-" OTHER ".log", "");
	put("/var/log/containers/odd.log", "");
	put("/var/log/pods/data_db-0_" UID "/postgres/0.log", "");
	check("/kubepods/burstable/pod" UID "/" ID, "shop", "web-7d4b9-x2k", "nginx", NULL);
	check("/kubepods.slice/" SLICE "/crio-" OTHER ".scope", "data", "db-0", "postgres", NULL);
	check("/kubepods.slice/" SLICE, "data", "db-0", NULL, NULL); /* the pod's own cgroup */
}

static void test_docker(void **state)
{
	(void)state;
	clear();
	put("/var/lib/docker/containers/" ID "/config.v2.json",
	    "{\"State\":{},\"Config\":{\"Env\":[\"A=\\\"Name\\\":\\\"/no\\\"\"]},"
	    "\"Name\" : \"/my_web-1\",\"Driver\":\"overlay2\"}");
	put("/var/lib/docker/containers/" OTHER "/config.v2.json",
	    "{\"Name\":\"/k8s_nginx_web-1_shop_" UID "_0\"}");
	check("/system.slice/docker-" ID ".scope", NULL, NULL, NULL, "my_web-1");
	check("/docker/" OTHER, "shop", "web-1", "nginx", NULL);
}

static void test_bundles(void **state)
{
	(void)state;
	clear();
	put("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
	    "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"nginx\","
	    "\"io.kubernetes.cri.sandbox-name\":\"web-1\","
	    "\"io.kubernetes.cri.sandbox-namespace\":\"shop\"}}");
	put("/run/containers/storage/overlay-containers/" OTHER "/userdata/config.json",
	    "{\n \"annotations\": {\n  \"io.kubernetes.pod.name\": \"db-0\",\n"
	    "  \"io.kubernetes.pod.namespace\": \"data\",\n"
	    "  \"io.kubernetes.container.name\": \"postgres\"\n }\n}");
	check("/kubepods/besteffort/pod" UID "/" ID, "shop", "web-1", "nginx", NULL);
	check("/kubepods.slice/" SLICE "/crio-" OTHER ".scope", "data", "db-0", "postgres", NULL);
}

static void test_podman(void **state)
{
	(void)state;
	clear();
	put("/var/lib/containers/storage/overlay-containers/containers.json",
	    "[{\"id\":\"" OTHER "\",\"names\":[\"first\"],\"image\":\"x\"},"
	    "{\"id\":\"" ID "\",\"image\":\"y\"}]");
	check("/machine.slice/libpod-" OTHER ".scope/container", NULL, NULL, NULL, "first");
	check("/machine.slice/libpod-" ID ".scope/container", NULL, NULL, NULL, NULL);
}

/* What users write into these files: the labels of an image, and annotations. */
static void test_forged_members(void **state)
{
	static const char forged[] = "k8s_c_payments_prod_u_0";
	char text[1024];

	(void)state;
	clear();
	snprintf(text, sizeof(text),
		 "{\"Config\":{\"Labels\":{\"Name\":\"%s\",\"a\":\"\\\"}}\"},"
		 "\"Env\":[\"]\",{\"Name\":\"%s\"}]},\"Name\":\"/web\"}",
		 forged, forged);
	put("/var/lib/docker/containers/" ID "/config.v2.json", text);
	check("/docker/" ID, NULL, NULL, NULL, "web");
	snprintf(text, sizeof(text), "{\"Config\":{\"Labels\":{\"Name\":\"%s\"}}}", forged);
	put("/var/lib/docker/containers/" ID "/config.v2.json", text);
	check("/docker/" ID, NULL, NULL, NULL, NULL);
	clear();
	put("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
	    "{\"process\":{\"x\":{\"io.kubernetes.pod.name\":\"payments\"}},"
	    "\"io.kubernetes.pod.name\":\"payments\",\"annotations\":"
	    "{\"io.kubernetes.pod.name\":\"web-1\"}}");
	check("/k8s.io/" ID, NULL, "web-1", NULL, NULL);
	clear();
	snprintf(text, sizeof(text),
		 "[{\"metadata\":{\"id\":\"" ID "\",\"names\":[\"%s\"]},\"id\":\"" OTHER
		 "\",\"names\":[\"" ID "\"]},"
		 "{\"x\":{\"names\":[\"%s\"]},\"id\":\"" ID "\",\"names\":[\"web\"]}]",
		 forged, forged);
	put("/var/lib/containers/storage/overlay-containers/containers.json", text);
	check("/kubepods/pod" UID "/" ID, NULL, NULL, NULL, "web");
}

/* A cgroup named as one of Podman's gets no names of Kubernetes, whatever its id is. */
static void test_podman_is_no_pod(void **state)
{
	(void)state;
	clear();
	put("/var/log/containers/web-1_shop_nginx-" ID ".log", "");
	put("/var/lib/containers/storage/overlay-containers/containers.json",
	    "[{\"id\":\"" ID "\",\"names\":[\"k8s_c_payments_prod_u_0\"]}]");
	check("/system.slice/web.service/libpod-payload-" ID, NULL, NULL, NULL,
	      "k8s_c_payments_prod_u_0");
	check("/kubepods/besteffort/pod" UID "/" ID, "shop", "web-1", "nginx", NULL);
}

/* Files that are no JSON, cut off, or folders. */
static void test_hostile(void **state)
{
	static const char *const texts[] = {
		"",	      "\"Name\"",   "\"Name\":", "\"Name\":\"/open", "\"Name\":\"a\\\"b\"",
		"\"Name\":[", "\"Name\":{}"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		clear();
		put("/var/lib/docker/containers/" ID "/config.v2.json", texts[i]);
		check("/docker/" ID, NULL, NULL, NULL, NULL);
	}
	clear();
	put("/var/lib/docker/containers/" ID "/config.v2.json/x", "");
	put("/var/log/containers/a_b-" ID ".log", "");
	put("/var/log/containers/a_b_c-" ID ".log.gz", "");
	put("/var/log/containers/a_b_" ID ".log", "");
	check("/docker/" ID, NULL, NULL, NULL, NULL);
}

/* --- labels of threads ------------------------------------------------------------------------ */

#define SECOND UINT64_C(1000000000)

static void takes(struct labels *l, const struct labels_of *of, const char *expected)
{
	char *text = NULL;
	const int is = labels_take(l, of, &text);

	assert_int_equal(is, expected != NULL);
	same(text, expected);
	free(text);
}

static void test_labels(void **state)
{
	static const char *const given[] = {"env=prod", "service.name=any"};
	struct labels_of of = {.row = 3,
			       .environment = "k8s.pod.name=forged\nservice.name=shop",
			       .time_ns = SECOND};
	struct labels *l;

	(void)state;
	clear();
	assert_int_equal(labels_new(given, 2, root, &l), 0);
	takes(l, &of, "claimed.k8s.pod.name=forged\nenv=prod\nservice.name=shop");
	takes(l, &of, NULL); /* it has them */
	of.cgroup = 7;	     /* becomes known, but has no names yet */
	of.path = "/docker/" ID;
	takes(l, &of, NULL);
	put("/var/log/containers/web-1_shop_nginx-" ID ".log", "");
	takes(l, &of, NULL); /* it is not looked at so soon */
	of.time_ns += SECOND;
	takes(l, &of,
	      "claimed.k8s.pod.name=forged\ncontainer.id=" ID
	      "\nenv=prod\nk8s.container.name=nginx\nk8s.namespace.name=shop\n"
	      "k8s.pod.name=web-1\nservice.name=shop");
	takes(l, &of, NULL);
	of.row = 0; /* another thread of the cgroup, and of a process without labels */
	of.environment = NULL;
	takes(l, &of,
	      "container.id=" ID "\nenv=prod\nk8s.container.name=nginx\nk8s.namespace.name=shop\n"
	      "k8s.pod.name=web-1\nservice.name=any");
	labels_begin_anew(l);
	of.cgroup = 8;
	of.path = "/system.slice/a.service";
	takes(l, &of, "env=prod\nservice.name=any");
	takes(l, &of, NULL);
	labels_free(l);
}

/* Names that never come are not looked for for ever. */
static void test_tries(void **state)
{
	struct labels_of of = {.cgroup = 1, .path = "/docker/" ID, .time_ns = 100 * SECOND};
	struct labels *l;

	(void)state;
	clear();
	assert_int_equal(labels_new(NULL, 0, root, &l), 0);
	takes(l, &of, "container.id=" ID);
	for (unsigned i = 1; i < LABELS_TRIES; i++) {
		of.time_ns += SECOND;
		takes(l, &of, i + 1 == LABELS_TRIES ? "container.id=" ID : NULL);
	}
	put("/var/log/containers/web-1_shop_nginx-" ID ".log", "");
	of.time_ns += SECOND;
	of.row = 1;
	takes(l, &of, "container.id=" ID);
	labels_free(l);
}

/* The environment claims where its program runs, and leaves room for the options' labels. */
static void test_claims(void **state)
{
	static const char *const given[] = {"k8s.node.name=node-1"};
	char environment[1024] = "container.id=c\nhost.name=h\nk8s.node.name=forged\nk8s=x";
	struct labels_of of = {.environment = environment, .time_ns = SECOND};
	struct labels *l;
	char *text = NULL;

	(void)state;
	clear();
	assert_int_equal(labels_new(given, 1, root, &l), 0);
	takes(l, &of,
	      "claimed.container.id=c\nclaimed.host.name=h\nclaimed.k8s.node.name=forged\nk8s=x\n"
	      "k8s.node.name=node-1");
	for (size_t i = 0, len = 0; i < 40; i++)
		len += (size_t)snprintf(environment + len, sizeof(environment) - len, "a%zu=b\n",
					i);
	of.row = 1;
	assert_int_equal(labels_take(l, &of, &text), 1);
	assert_non_null(strstr(text, "\nk8s.node.name=node-1"));
	free(text);
	labels_free(l);
}

/* Names of many cgroups are read one after the other, and none for those that a user has made. */
static void test_many_cgroups(void **state)
{
	struct labels_of of = {.path = "/docker/" ID, .time_ns = 100 * SECOND};
	struct labels *l;

	(void)state;
	clear();
	put("/var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/web\"}");
	assert_int_equal(labels_new(NULL, 0, root, &l), 0);
	for (of.cgroup = 1; of.cgroup <= LABELS_READS + 1; of.cgroup++) {
		of.row = (uint32_t)of.cgroup;
		takes(l, &of,
		      of.cgroup <= LABELS_READS ? "container.id=" ID "\ncontainer.name=web"
						: "container.id=" ID);
	}
	of.path = "/user.slice/docker/" ID;
	for (of.row = 1000; of.row < 2000; of.row++, of.cgroup++)
		takes(l, &of, NULL);
	of.path = "/docker/" ID;
	of.row = LABELS_READS + 1;
	of.cgroup = LABELS_READS + 1;
	takes(l, &of, NULL);
	of.time_ns += SECOND; /* the reads of a second are there again, which one is enough of */
	takes(l, &of, "container.id=" ID "\ncontainer.name=web");
	labels_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_kubelet),
		cmocka_unit_test(test_docker),
		cmocka_unit_test(test_bundles),
		cmocka_unit_test(test_podman),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_tries),
		cmocka_unit_test(test_forged_members),
		cmocka_unit_test(test_podman_is_no_pod),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_many_cgroups),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
