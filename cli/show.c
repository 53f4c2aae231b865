/* SPDX-License-Identifier: MIT */
/* Shared parts of verbs that show one recording as text; see show.h. */
#include "show.h"

#include <argp.h>

#include "cmd.h"

const struct argp_child show_children[] = {
	{&input_argp, 0, NULL, 0}, {&terminal_argp, 0, NULL, 0}, {&output_argp, 0, NULL, 0}, {0}};

void show_children_begin(struct argp_state *state, struct show *show)
{
	state->child_inputs[0] = &show->input;
	state->child_inputs[1] = &show->terminal;
	state->child_inputs[2] = &show->output;
}

int show_output_begin(const struct show *show, bool is_data, struct output *ret_output)
{
	return output_begin_paged(show->output.path, is_data ? NULL : show->terminal.pager,
				  ret_output);
}

struct report_options show_options(const struct show *show)
{
	return (struct report_options){.width = show->terminal.pager ? 0 : show->terminal.width,
				       .color = show->terminal.color,
				       .utf8 = show->terminal.utf8,
				       .is_brief = show->terminal.is_terminal &&
						   !show->terminal.is_verbose,
				       .full_names = show->terminal.full_names};
}

int show_run(struct show *show, int (*run)(void *arg, const struct input_open *open), void *arg)
{
	struct input_open open;
	int status;

	terminal_setup(&show->terminal, show->output.path);
	status = input_open(&show->input, &open);
	if (status == CMD_DONE)
		status = run(arg, &open);
	input_close(&open);
	return status;
}
