/* SPDX-License-Identifier: MIT */
/* Units and containers by the paths of cgroups, as systemd 252 to 257, Docker, containerd, Podman,
 * CRI-O and the kubelet's two drivers make them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/cgroup_name.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "8c5a1fd3-2c5b-4a5e-9d0c-6a2f9b7c1e10"
#define POD "8c5a1fd3_2c5b_4a5e_9d0c_6a2f9b7c1e10"

static void is(void (*put)(const char *path, struct buf *b), const char *path, const char *expected)
{
	struct buf b = {0};

	put(path, &b);
	buf_put_u8(&b, '\0');
	assert_false(b.failed);
	assert_string_equal((const char *)b.data, expected);
	buf_free(&b);
}

static void units(void **state)
{
	static const char *const cases[][2] = {
		{"/system.slice/nginx.service", "nginx.service"},
		{"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope",
		 "app-x.scope"},
		{"/user.slice/user-1000.slice/session-2.scope", "session-2.scope"},
		{"/machine.slice/libpod-" ID ".scope/container", "libpod-" ID ".scope"},
		{"/system.slice/a.service/payload/b", "a.service"},
		{"/system.slice", "system.slice"},
		{"/system.slice/", "system.slice"},
		{"/a.slice/a-b.slice/x", "a-b.slice"},
		{"/init.scope", "init.scope"},
		{"/", "[no unit]"},
		{"/.service", "[no unit]"},
		{"/docker/" ID, "[no unit]"},
		{"[cgroup 77]", "[unknown]"},
		{NULL, "[unknown]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		is(cgroup_name_unit, cases[i][0], cases[i][1]);
}

static void containers(void **state)
{
	static const char *const cases[][2] = {
		{"/system.slice/docker-" ID ".scope", "docker 0123456789ab"},
		{"/docker/" ID, "docker 0123456789ab"},
		{"/docker/" ID "/init.scope", "docker 0123456789ab"},
		{"/machine.slice/libpod-" ID ".scope/container", "libpod 0123456789ab"},
		{"/machine.slice/libpod-conmon-" ID ".scope", "[no container]"},
		{"/system.slice/nerdctl-" ID ".scope", "nerdctl 0123456789ab"},
		{"/default/" ID, "default 0123456789ab"},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD
		 ".slice/cri-containerd-" ID ".scope",
		 "pod " UID "/0123456789ab"},
		{"/kubepods.slice/kubepods-pod" POD ".slice/crio-" ID ".scope",
		 "pod " UID "/0123456789ab"},
		{"/kubepods/besteffort/pod" UID "/" ID, "pod " UID "/0123456789ab"},
		{"/system.slice/containerd.service/kubepods-burstable-pod" POD
		 ".slice:cri-containerd:" ID,
		 "pod " UID "/0123456789ab"},
		/* the pod is what a user has written */
		{"/user.slice/user-1.slice/user@1.service/kubepods-pod" POD
		 ".slice/cri-containerd-" ID ".scope",
		 "cri-containerd 0123456789ab"},
		{"/lxc.payload.web/init.scope", "lxc web"},
		{"/lxc.payload/web/system.slice/a.service", "lxc web"},
		{"/lxc/101/ns/system.slice/a.service", "lxc 101"},
		{"/lxc.monitor.web", "[no container]"},
		{"/lxc/web/docker/" ID, "docker 0123456789ab"}, /* the innermost one */
		{"/machine.slice/systemd-nspawn@web.service/payload/init.scope", "nspawn web"},
		{"/machine.slice/systemd-nspawn@my\\x2dweb.service/payload", "nspawn my-web"},
		{"/machine.slice/machine-my\\x2dweb.scope/payload/init.scope", "nspawn my-web"},
		{"/machine.slice/machine-a\\x0ab\\x2.scope/payload", "nspawn a\\x0ab\\x2"},
		{"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator",
		 "[no container]"},
		{"/machine.slice/systemd-nspawn@.service", "[no container]"},
		{"/lxc", "[no container]"},
		{"/system.slice/docker.service", "[no container]"},
		{"/system.slice/docker-0123.scope", "[no container]"},
		{"/x/g" ID, "[no container]"},
		{"/" ID, "container 0123456789ab"},
		{"/", "[no container]"},
		{NULL, "[unknown]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		is(cgroup_name_container, cases[i][0], cases[i][1]);
}

static void chooses(void **state)
{
	const char *path = "/system.slice/system-a.slice/a@1.service";

	(void)state;
	assert_true(cgroup_name_is_in(path, "a@1.service"));
	assert_true(cgroup_name_is_in(path, "a@1"));
	assert_true(cgroup_name_is_in(path, "a@*"));
	assert_true(cgroup_name_is_in(path, "system.slice"));
	assert_true(cgroup_name_is_in(path, "system-?.slice"));
	assert_false(cgroup_name_is_in(path, "system"));
	assert_false(cgroup_name_is_in(path, "a@1.serv"));
	assert_false(cgroup_name_is_in(path, "/system.slice"));
	assert_false(cgroup_name_is_in("/", "*"));
	assert_false(cgroup_name_is_in(NULL, "*"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units),
		cmocka_unit_test(containers),
		cmocka_unit_test(chooses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
