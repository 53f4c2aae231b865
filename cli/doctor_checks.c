/* SPDX-License-Identifier: MIT */
/*
 * The checks of stackctl doctor, a function each; the table is at the end.
 *
 * Checks try things (open an event, load a program) rather than guess from the machine's version.
 * Checks that need root do not fail for a user, because users record with sudo: they report what
 * they could not check. Only the check `rights` is about the user's rights: it warns if the user is
 * not root, and fails for a root without capabilities (as in a container).
 */
#include "doctor.h"
#include "proc/branch_caps.h"
#include "proc/pid_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/text.h"
#include "store/store.h"
#include "store/store_path.h"
#include "store/store_reader.h"

typedef const struct doctor_machine machine;
typedef struct doctor_finding finding;

static void found(finding *f, enum doctor_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void found(finding *f, enum doctor_status status, const char *format, ...)
{
	va_list args;

	f->status = status;
	f->remedy[0] = '\0';
	va_start(args, format);
	vsnprintf(f->found, sizeof(f->found), format, args);
	va_end(args);
}

static void remedy(finding *f, const char *text)
{
	snprintf(f->remedy, sizeof(f->remedy), "%s", text);
}

/* --- looking ------------------------------------------------------------------------------- */

/* Reads the first bytes of ROOT/NAME as a string without its line end. Returns 0 or -errno. */
static int read_text(const char *root, const char *name, char *ret_text, size_t size)
{
	char path[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, ret_text, size - 1);
	close(fd);
	if (n < 0)
		return -errno;
	ret_text[n] = '\0';
	ret_text[strcspn(ret_text, "\n")] = '\0';
	return 0;
}

static int read_number(const char *root, const char *name, long *ret_number)
{
	char text[64], *end;
	int err = read_text(root, name, text, sizeof(text));
	long number;

	if (err < 0)
		return err;
	number = strtol(text, &end, 10);
	if (end == text)
		return -EINVAL;
	*ret_number = number;
	return 0;
}

/* Gives the value after the ':' of the first line of ROOT/NAME that starts with `key`. Returns 0,
 * -ENOENT or another -errno. */
static int read_field(const char *root, const char *name, const char *key, char *ret_value,
		      size_t size)
{
	char path[512], *line = NULL;
	size_t cap = 0;
	int err = -ENOENT;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (err == -ENOENT && getline(&line, &cap, file) > 0) {
		char *colon = strchr(line, ':');

		if (strncmp(line, key, strlen(key)) != 0 || !colon)
			continue;
		snprintf(ret_value, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
		ret_value[strcspn(ret_value, "\n")] = '\0';
		err = 0;
	}
	free(line);
	fclose(file);
	return err;
}

/* Returns whether this process may load BPF programs and open perf events of other processes. */
static bool has_rights(machine *m)
{
	const uint64_t need = UINT64_C(1) << CAP_PERFMON | UINT64_C(1) << CAP_BPF;
	char value[64];
	uint64_t have;

	if (read_field(m->proc_root, "self/status", "CapEff", value, sizeof(value)) < 0)
		return geteuid() == 0;
	have = strtoull(value, NULL, 16);
	return (have & need) == need || (have & UINT64_C(1) << CAP_SYS_ADMIN);
}

/* Opens a perf event on this process and closes it again. Returns 0 or -errno. */
static int try_event(uint32_t type, uint64_t config, uint64_t branches)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = type,
		.config = config,
		.sample_period = 1000000,
		.sample_type = branches ? PERF_SAMPLE_BRANCH_STACK : 0,
		.branch_sample_type = branches,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

/* --- the kernel ---------------------------------------------------------------------------- */

static void check_kernel_version(machine *m, finding *f)
{
	unsigned major = 0, minor = 0;
	char release[128];

	if (read_text(m->proc_root, "sys/kernel/osrelease", release, sizeof(release)) < 0 ||
	    sscanf(release, "%u.%u", &major, &minor) != 2) {
		found(f, DOCTOR_WARN, "the kernel's version cannot be read from %s", m->proc_root);
		remedy(f, "mount /proc");
	} else if (major < 6 || (major == 6 && minor < 1)) {
		found(f, DOCTOR_FAIL, "Linux %s is older than 6.1", release);
		remedy(f, "boot Linux 6.1 or newer (Debian 12 has it)");
	} else {
		found(f, DOCTOR_OK, "Linux %s", release);
	}
}

static void check_kernel_btf(machine *m, finding *f)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/kernel/btf/vmlinux", m->sys_root);
	if (access(path, R_OK) == 0) {
		found(f, DOCTOR_OK, "the kernel describes its types (%s)", path);
		return;
	}
	found(f, DOCTOR_FAIL, "the kernel does not describe its types: no %s", path);
	remedy(f, "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as Debian's are");
}

static void check_kernel_bpf(machine *m, finding *f)
{
	int probed;

	if (!has_rights(m)) {
		found(f, DOCTOR_OK, "not tried: this user may not load BPF programs");
		return;
	}
	libbpf_set_print(NULL);
	probed = libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_PERF_EVENT, NULL);
	if (probed == 1)
		probed = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL);
	if (probed == 1) {
		found(f, DOCTOR_OK, "perf_event programs and ring buffers can be made");
		return;
	}
	found(f, DOCTOR_FAIL, "a BPF program of type perf_event cannot be loaded%s%s",
	      probed < 0 ? ": " : "", probed < 0 ? strerror(-probed) : "");
	remedy(f,
	       "boot a kernel with CONFIG_BPF_SYSCALL=y and CONFIG_BPF_EVENTS=y; in a container, "
	       "allow bpf() (--cap-add BPF --cap-add PERFMON)");
}

static void check_rights(machine *m, finding *f)
{
	if (has_rights(m)) {
		found(f, DOCTOR_OK, "this user may record (CAP_PERFMON and CAP_BPF, or root)");
	} else if (geteuid() != 0) {
		found(f, DOCTOR_WARN, "this user may not record by itself");
		remedy(f, "sudo stackd --pid PID; reports need no rights");
	} else {
		found(f, DOCTOR_FAIL, "root without CAP_PERFMON and CAP_BPF: a container?");
		remedy(f,
		       "give the container --cap-add PERFMON --cap-add BPF, or record on the host");
	}
}

static void check_pid_namespace(machine *m, finding *f)
{
	if (pid_namespace_is_first(m->proc_root)) {
		found(f, DOCTOR_OK,
		      "process ids are the machine's own: this is its first pid "
		      "namespace");
	} else {
		found(f, DOCTOR_FAIL,
		      "this is a pid namespace other than the machine's: its "
		      "processes cannot be recorded from within");
		remedy(f, PID_NAMESPACE_REMEDY);
	}
}

static void check_kallsyms(machine *m, finding *f)
{
	char line[256] = "";
	long restrict_level = 0;
	int err = read_text(m->proc_root, "kallsyms", line, sizeof(line));

	read_number(m->proc_root, "sys/kernel/kptr_restrict", &restrict_level);
	if (err < 0 || !line[0]) {
		found(f, DOCTOR_WARN, "there are no kernel symbols: kernel frames stay unnamed");
		remedy(f, "boot a kernel with CONFIG_KALLSYMS=y");
	} else if (strtoull(line, NULL, 16)) {
		found(f, DOCTOR_OK, "kernel symbols can be read");
	} else if (restrict_level >= 2 || geteuid() == 0) {
		found(f, DOCTOR_WARN,
		      "kernel addresses are hidden (kernel.kptr_restrict = %ld): "
		      "kernel frames stay unnamed",
		      restrict_level);
		remedy(f, "sudo sysctl kernel.kptr_restrict=1");
	} else {
		found(f, DOCTOR_OK, "kernel symbols are hidden from this user, not from root");
	}
}

static void check_memlock(machine *m, finding *f)
{
	struct rlimit limit;

	(void)m;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		found(f, DOCTOR_WARN, "the limit of locked memory is not known: %s",
		      strerror(errno));
	else if (limit.rlim_cur == RLIM_INFINITY)
		found(f, DOCTOR_OK, "locked memory is not limited");
	else
		found(f, DOCTOR_OK,
		      "locked memory is limited to %llu KiB; kernels since 5.11 do not count BPF "
		      "maps in it",
		      (unsigned long long)limit.rlim_cur / 1024);
}

/* --- events -------------------------------------------------------------------------------- */

static void check_perf_paranoid(machine *m, finding *f)
{
	long level;

	if (read_number(m->proc_root, "sys/kernel/perf_event_paranoid", &level) < 0) {
		found(f, DOCTOR_FAIL,
		      "the kernel has no perf events (no %s/sys/kernel/"
		      "perf_event_paranoid)",
		      m->proc_root);
		remedy(f, "boot a kernel with CONFIG_PERF_EVENTS=y");
	} else {
		found(f, DOCTOR_OK, "kernel.perf_event_paranoid = %ld: %s", level,
		      level < 0 ? "no restrictions" : "does not restrict root or CAP_PERFMON");
	}
}

static void check_perf_event(machine *m, finding *f)
{
	int err = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0);

	if (err == 0) {
		found(f, DOCTOR_OK, "the event cpu-clock can be opened");
	} else if ((err == -EACCES || err == -EPERM) && !has_rights(m)) {
		found(f, DOCTOR_OK, "not tried: this user may not open events");
	} else {
		found(f, DOCTOR_FAIL, "the event cpu-clock cannot be opened: %s", strerror(-err));
		remedy(f, err == -ENOSYS
				  ? "boot a kernel with CONFIG_PERF_EVENTS=y"
				  : "in a container, allow perf_event_open() (--cap-add PERFMON)");
	}
}

static void check_pmu_cycles(machine *m, finding *f)
{
	int err = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0);

	if (err == 0) {
		found(f, DOCTOR_OK, "the processor counts cycles");
	} else if ((err == -EACCES || err == -EPERM) && !has_rights(m)) {
		found(f, DOCTOR_OK, "not tried: this user may not open events");
	} else {
		found(f, DOCTOR_WARN,
		      "no hardware cycles here (%s), as in most virtual machines: "
		      "stackd samples by cpu-clock instead",
		      strerror(-err));
		remedy(f, "give the virtual machine a PMU (qemu: -cpu host,pmu=on), or work "
			  "without one");
	}
}

static void check_pmu_branch_records(machine *m, finding *f)
{
	struct branch_caps caps;

	branch_caps_read(m->sys_root, m->proc_root, &caps);
	switch (caps.kind) {
	case BRANCH_CAPS_CALL_STACK:
		found(f, DOCTOR_OK, "%s has %u branch records with a call-stack mode", caps.pmu,
		      caps.entries);
		break;
	case BRANCH_CAPS_ANY:
		found(f, DOCTOR_WARN,
		      "AMD branch records (LbrExtV2): taken branches, without the "
		      "call-stack mode: --lbr can confirm only the last calls");
		remedy(f, "record without --lbr: call paths do not need branch records");
		break;
	case BRANCH_CAPS_NO_PMU:
		found(f, DOCTOR_WARN,
		      "no processor PMU is visible, hence no branch records: a virtual "
		      "machine?");
		remedy(f, "record without --lbr, or on the bare machine");
		break;
	case BRANCH_CAPS_NONE:
		found(f, DOCTOR_WARN, "the processor's PMU has no branch records%s%s%s",
		      *caps.vendor ? " (" : "", caps.vendor, *caps.vendor ? ")" : "");
		remedy(f, "record without --lbr: call paths do not need branch records");
		break;
	}
}

static void check_perf_rate(machine *m, finding *f)
{
	long rate;

	if (read_number(m->proc_root, "sys/kernel/perf_event_max_sample_rate", &rate) < 0) {
		found(f, DOCTOR_WARN, "the limit of the sampling rate cannot be read");
	} else if (rate < 1000) {
		found(f, DOCTOR_WARN, "the kernel allows at most %ld samples/s a CPU", rate);
		remedy(f, "sudo sysctl kernel.perf_event_max_sample_rate=100000");
	} else {
		found(f, DOCTOR_OK, "the kernel allows up to %ld samples/s a CPU", rate);
	}
}

static void check_perf_cpu_limit(machine *m, finding *f)
{
	long percent;

	if (read_number(m->proc_root, "sys/kernel/perf_cpu_time_max_percent", &percent) < 0) {
		found(f, DOCTOR_WARN, "the limit of the time spent sampling cannot be read");
	} else if (percent == 0 || percent == 100) {
		found(f, DOCTOR_OK, "the kernel does not throttle sampling by its cost");
	} else if (percent < 5) {
		found(f, DOCTOR_WARN,
		      "the kernel lowers the rate once sampling takes %ld%% of a CPU", percent);
		remedy(f, "sudo sysctl kernel.perf_cpu_time_max_percent=25");
	} else {
		found(f, DOCTOR_OK,
		      "the kernel lowers the rate only once sampling takes %ld%% of a CPU",
		      percent);
	}
}

/* --- what is around ------------------------------------------------------------------------ */

static void check_debuginfo(machine *m, finding *f)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	bool has_files = access("/usr/lib/debug/.build-id", F_OK) == 0;

	(void)m;
	if (urls && *urls) {
		found(f, DOCTOR_OK, "debuginfod servers are asked for debug information%s",
		      has_files ? ", after /usr/lib/debug" : "");
	} else if (has_files) {
		found(f, DOCTOR_OK, "separate debug information in /usr/lib/debug is used");
	} else {
		found(f, DOCTOR_WARN,
		      "no separate debug information: local functions of stripped "
		      "programs show as object+offset");
		remedy(f, "install -dbgsym packages, or set DEBUGINFOD_URLS to your distribution's "
			  "server for stackd");
	}
}

static void found_store(const char *path, int err, size_t n, const char *error, finding *f)
{
	switch (err) {
	case 0:
		found(f, DOCTOR_OK, "%s: %zu recording%s, store version %d", path, n,
		      text_plural(n, "", "s"), STORE_VERSION);
		break;
	case -ENODATA:
		found(f, DOCTOR_OK, "%s: no recording yet", path);
		break;
	case -ENOENT:
		found(f, DOCTOR_OK, "%s is not there yet: the first recording makes it", path);
		break;
	case -ENOTSUP:
		found(f, DOCTOR_WARN, "%s was made by a newer stackd", path);
		remedy(f, "update stackd, or write elsewhere: stackd -o FILE, stackctl -i FILE");
		break;
	case -EACCES:
	case -EPERM:
		found(f, DOCTOR_WARN, "%s cannot be read by this user", path);
		remedy(f, "sudo stackctl, or set STACKD_STORE to a store of your own");
		break;
	default:
		found(f, DOCTOR_WARN, "%s cannot be used: %s", path,
		      error ? error : strerror(-err));
		remedy(f,
		       "move the file away, or write elsewhere: stackd -o FILE, stackctl -i FILE");
		break;
	}
}

static void check_waits(machine *m, finding *f)
{
	char text[64];

	if (!read_text(m->proc_root, "self/schedstat", text, sizeof(text))) {
		found(f, DOCTOR_OK,
		      "the kernel adds up how long threads are runnable: --wait works");
		return;
	}
	found(f, DOCTOR_WARN,
	      "the kernel does not add up how long threads are runnable: no --wait");
	remedy(f, "record without --wait, or boot a kernel with CONFIG_SCHED_INFO");
}

static void check_store(machine *m, finding *f)
{
	struct store_recording *recordings = NULL;
	bool is_service;
	char *error = NULL, *path = store_path_to_read(&is_service);
	size_t n = 0;
	int err;

	(void)m;
	if (!path) {
		found(f, DOCTOR_WARN, "out of memory");
		return;
	}
	err = store_list_recordings(path, &recordings, &n, &error);
	found_store(path, err, n, error, f);
	if (err == 0)
		store_recordings_free(recordings, n);
	free(error);
	free(path);
}

static const struct doctor_check checks[] = {
	{"kernel.version", check_kernel_version},
	{"kernel.btf", check_kernel_btf},
	{"kernel.bpf", check_kernel_bpf},
	{"rights", check_rights},
	{"pid-namespace", check_pid_namespace},
	{"perf.paranoid", check_perf_paranoid},
	{"perf.event", check_perf_event},
	{"perf.rate", check_perf_rate},
	{"perf.cpu-limit", check_perf_cpu_limit},
	{"pmu.cycles", check_pmu_cycles},
	{"pmu.branch-records", check_pmu_branch_records},
	{"kallsyms", check_kallsyms},
	{"memlock", check_memlock},
	{"debuginfo", check_debuginfo},
	{"waits", check_waits},
	{"store", check_store},
};

const struct doctor_check *doctor_checks(size_t *ret_count)
{
	*ret_count = sizeof(checks) / sizeof(*checks);
	return checks;
}
