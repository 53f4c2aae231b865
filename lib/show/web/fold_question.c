/* SPDX-License-Identifier: MIT */
/* Folded passes: an optional part of the build answers, by the source's function `fold`. */
#include <errno.h>

#include "web/answers.h"
#include "web/selection.h"

static int explain(struct ask *ask, const struct web_fold *fold, int err)
{
	switch (err) {
	case -ENOENT:
		return ask_fail(ask, 404, "choose one of /regions, or a longer time",
				"the selection has no pass through '%.300s'", fold->region);
	case -ENODATA:
		return ask_fail(ask, 404,
				"choose a longer time, or record with a higher frequency (stackd "
				"-F)",
				"no sample is within a pass through '%.300s'", fold->region);
	case -ENOTSUP:
		return ask_fail(ask, 404, "record with stackd --counter, or choose wall time",
				"the recording has no readings of CPU time");
	default:
		return err;
	}
}

int answer_fold(struct ask *ask)
{
	static const char *const times[] = {"best", "cpu", "wall", NULL};
	const struct web_source *source = ask->store->source;
	struct web_fold fold = {.region = ask_text(ask, "region")};
	struct selection *s;
	unsigned time = WEB_FOLD_BEST;
	int err = ask_word(ask, "time", times, &time);

	fold.time = (enum web_fold_time)time;
	if (err == 0 && !source->fold)
		err = ask_fail(ask, 404, "use a build with folding (make without WITHOUT=fold)",
			       "this build cannot fold passes");
	if (err == 0)
		err = selection_of_metric(ask, METRIC_CPU, &s);
	if (err)
		return err;
	selection_put(ask, s);
	err = source->fold(source->fold_arg, s->profile, &fold, &ask->json);
	return explain(ask, &fold, err);
}
