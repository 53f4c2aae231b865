/* SPDX-License-Identifier: MIT */
/*
 * stackctl doctor: runs all checks and shows them as lines or JSON:
 * {"schema":1,"can_record":bool,"checks":[{"id","status":"ok|warn|fail","finding","remedy"}]}. The
 * exit status is 0 if recording is possible (for root at least), else 4.
 */
#include "doctor.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "base/json_put.h"
#include "base/text.h"

enum { DOCTOR_JSON = 0x200, DOCTOR_PROC, DOCTOR_SYS };

struct doctor {
	struct doctor_machine machine;
	struct doctor_finding *findings;
	const struct doctor_check *checks;
	size_t n;
	bool is_json, can_record;
};

static const struct argp_option doctor_options[] = {
	{"json", DOCTOR_JSON, 0, 0, "Write JSON (schema in docs/JSON.md)", 4},
	{"proc-root", DOCTOR_PROC, "DIR", OPTION_HIDDEN, "Instead of /proc", 1},
	{"sys-root", DOCTOR_SYS, "DIR", OPTION_HIDDEN, "Instead of /sys", 1},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct doctor *doctor = state->input;

	switch (key) {
	case DOCTOR_JSON:
		doctor->is_json = true;
		return 0;
	case DOCTOR_PROC:
		doctor->machine.proc_root = arg;
		return 0;
	case DOCTOR_SYS:
		doctor->machine.sys_root = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const char *status_name(enum doctor_status status)
{
	return status == DOCTOR_OK ? "ok" : status == DOCTOR_WARN ? "warn" : "fail";
}

static int text(const struct doctor *doctor, FILE *out)
{
	struct buf b = {0};
	bool color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	static const char *const colors[] = {"\033[32m", "\033[33m", "\033[31m"};

	for (size_t i = 0; i < doctor->n; i++) {
		const struct doctor_finding *f = &doctor->findings[i];

		text_put_raw(&b, color ? colors[f->status] : "");
		text_printf(&b, "%-4s", status_name(f->status));
		text_put_raw(&b, color ? "\033[0m" : "");
		text_printf(&b, "  %-18s  ", doctor->checks[i].id);
		text_put(&b, f->found, NULL);
		if (f->remedy[0]) {
			text_put_raw(&b, "\n                          remedy: ");
			text_put(&b, f->remedy, NULL);
		}
		text_put_raw(&b, "\n");
	}
	text_put_raw(&b, doctor->can_record
				 ? "This machine can record.\n"
				 : "This machine cannot record: see what fails above.\n");
	return text_end(&b, out, 0);
}

static int json(const struct doctor *doctor, FILE *out)
{
	struct json j = {.out = out};

	json_put_object(&j, NULL);
	json_put_uint(&j, "schema", 1);
	json_put_bool(&j, "can_record", doctor->can_record);
	json_put_array(&j, "checks");
	for (size_t i = 0; i < doctor->n; i++) {
		const struct doctor_finding *f = &doctor->findings[i];

		json_put_line(&j);
		json_put_object(&j, NULL);
		json_put_string(&j, "id", doctor->checks[i].id);
		json_put_string(&j, "status", status_name(f->status));
		json_put_string(&j, "finding", f->found);
		json_put_string(&j, "remedy", f->remedy);
		json_put_end(&j);
	}
	return json_put_finish(&j, 0);
}

static void doctor_run(struct doctor *doctor)
{
	doctor->can_record = true;
	for (size_t i = 0; i < doctor->n; i++) {
		doctor->checks[i].run(&doctor->machine, &doctor->findings[i]);
		if (doctor->findings[i].status == DOCTOR_FAIL)
			doctor->can_record = false;
	}
}

static int doctor_write(const struct doctor *doctor)
{
	struct output output;
	int status = output_begin(NULL, &output);

	if (status != CMD_DONE)
		return status;
	status = output_end(&output, doctor->is_json ? json(doctor, output.file)
						     : text(doctor, output.file));
	if (status != CMD_DONE)
		return status;
	return doctor->can_record ? CMD_DONE : CMD_NO_SUPPORT;
}

int cmd_doctor(int argc, char **argv)
{
	static const struct argp argp = {
		.options = doctor_options,
		.parser = parse,
		.doc = "Checks what this machine can record, and reports what is missing and "
		       "how to fix it.",
	};
	const char *proc_root = getenv("STACKD_PROC_ROOT"), *sys_root = getenv("STACKD_SYS_ROOT");
	struct doctor doctor = {.machine = {proc_root && *proc_root ? proc_root : "/proc",
					    sys_root && *sys_root ? sys_root : "/sys"}};
	int status;

	options_parse(&argp, argc, argv, &doctor);
	doctor.checks = doctor_checks(&doctor.n);
	doctor.findings = calloc(doctor.n, sizeof(*doctor.findings));
	if (!doctor.findings) {
		message("out of memory");
		return CMD_FAILED;
	}
	doctor_run(&doctor);
	status = doctor_write(&doctor);
	free(doctor.findings);
	return status;
}
