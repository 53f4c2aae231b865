/* SPDX-License-Identifier: MIT */
/* Chooses and probes the event; see event_choice.h. */
#include "daemon/base/rights.h"
#include "daemon/capture/event_choice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/log.h"
#include "daemon/capture/sampler.h"

static enum exit_status parse(const struct options *o, struct event_choice *choice)
{
	uint64_t limit = event_spec_max_frequency();
	char *sentence = NULL;
	int err = event_spec_parse(o->event, o->frequency, o->period, &choice->spec, &sentence);

	if (err) {
		log_error("%s", sentence ? sentence : strerror(-err));
		free(sentence);
		return STATUS_USAGE;
	}
	if (limit && o->frequency > limit) {
		log_error("--freq %" PRIu64 " exceeds the kernel's limit of %" PRIu64
			  " Hz: lower it, or raise kernel.perf_event_max_sample_rate",
			  o->frequency, limit);
		return STATUS_USAGE;
	}
	return STATUS_DONE;
}

/* With --lbr, adds branch records to the event. */
static enum exit_status add_branches(const struct options *o, struct event_choice *choice)
{
	const char *sys_root = getenv("STACKD_SYS_ROOT"), *proc_root = getenv("STACKD_PROC_ROOT");
	struct branch_caps *caps = &choice->branches;
	bool has_records;

	if (!o->lbr)
		return STATUS_DONE;
	branch_caps_read(sys_root ? sys_root : "/sys", proc_root ? proc_root : "/proc", caps);
	has_records = caps->kind == BRANCH_CAPS_CALL_STACK || caps->kind == BRANCH_CAPS_ANY;
	if (has_records && event_spec_may_branch(&choice->spec)) {
		event_spec_add_branches(&choice->spec, caps->kind == BRANCH_CAPS_CALL_STACK);
		choice->spec.may_fall_back &= o->lbr_anyway;
		return STATUS_DONE;
	}
	if (o->lbr_anyway)
		return STATUS_DONE;
	if (has_records) {
		log_error("--lbr: only the processor's own events have branch records, and '%s' is "
			  "none: leave it out, or name one such as cycles",
			  choice->spec.name);
		return STATUS_USAGE;
	}
	log_error(
		"--lbr: %s; record without --lbr: call paths are complete without them",
		caps->kind == BRANCH_CAPS_NO_PMU
			? "no PMU here (most virtual machines have none), so there are no branch records"
			: "this processor's PMU has no branch records");
	return STATUS_UNSUPPORTED;
}

enum exit_status event_choice_make(const struct options *options, struct event_choice *ret_choice)
{
	struct event_choice choice = {0};
	enum exit_status status = parse(options, &choice);

	if (!status)
		status = add_branches(options, &choice);
	if (!status)
		*ret_choice = choice;
	return status;
}

enum exit_status event_choice_probe(struct event_choice *choice, bool quiet)
{
	bool asked_for_cycles = choice->spec.may_fall_back;
	int err = sampler_probe(&choice->spec);

	if (err)
		return event_choice_explain(choice, err);
	if (asked_for_cycles && !choice->spec.may_fall_back) {
		choice->note = "no PMU: sampled cpu-clock instead of cycles";
		if (!quiet)
			log_info("no hardware cycles on this machine: sampling %s instead",
				 choice->spec.name);
	}
	return STATUS_DONE;
}

enum exit_status event_choice_explain(const struct event_choice *choice, int err)
{
	if (err == -EACCES || err == -EPERM) {
		log_error("no right to sample '%s' (%s): %s", choice->spec.name, strerror(-err),
			  rights_remedy(
				  ", or with CAP_PERFMON, or lower kernel.perf_event_paranoid"));
		return STATUS_UNSUPPORTED;
	}
	if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -ENXIO) {
		log_error("event '%s' is not supported on this machine (%s): no PMU, or not this "
			  "event; cpu-clock works everywhere",
			  choice->spec.name, strerror(-err));
		return STATUS_UNSUPPORTED;
	}
	log_error("event '%s' was refused by the kernel: %s", choice->spec.name, strerror(-err));
	return STATUS_FAILED;
}
