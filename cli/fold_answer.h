/* SPDX-License-Identifier: MIT */
/* Folds passes for the page of `stackctl web` (web/web.h). In a build without folding,
 * cli/without/fold.c stands in. */
#ifndef CLI_FOLD_ANSWER_H
#define CLI_FOLD_ANSWER_H

#include "web/web.h"

/* See struct web_source. */
int fold_answer(const void *arg, struct profile *profile, const struct web_fold *fold,
		struct json *j);

/* Answers with one folding, which is `folding`, instead of what is asked for: for a page of it. */
int fold_answer_given(const void *folding, struct profile *profile, const struct web_fold *fold,
		      struct json *j);

#endif
