/* SPDX-License-Identifier: MIT */
/*
 * stackctl completion: the script that makes bash or zsh complete stackctl's verbs and options.
 *
 * The scripts have no lists: they run `stackctl complete [VERB]`, which prints a line for each verb
 * or option, from the same tables as --help: name, argument and description, separated by tabs. An
 * argument of the form "a|b|c" is completed to one of its words, FILE and DIR to file names.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/argp_help.h"
#include "cmd.h"
#include "options.h"
#include "output.h"

static const char completion_bash[] =
	"# bash completion of stackctl: source it, or install it as\n"
	"# /usr/share/bash-completion/completions/stackctl\n"
	"_stackctl() {\n"
	"    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} IFS=$'\\n'\n"
	"    local name arg rest words=()\n"
	"    COMPREPLY=()\n"
	"    if [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
	"    if [ \"$cur\" = = ]; then cur=; fi\n"
	"    if [ \"$COMP_CWORD\" = 1 ]; then\n"
	"        while IFS=$'\\t' read -r name rest; do words+=(\"$name\"); done \\\n"
	"            < <(stackctl complete 2>/dev/null)\n"
	"        COMPREPLY=($(compgen -W \"${words[*]}\" -- \"$cur\"))\n"
	"        return\n"
	"    fi\n"
	"    while IFS= read -r rest; do\n"
	"        name=${rest%%$'\\t'*} rest=${rest#*$'\\t'} arg=${rest%%$'\\t'*}\n"
	"        words+=(\"--$name\")\n"
	"        if [ \"$prev\" = \"--$name\" ] && [ -n \"$arg\" ]; then\n"
	"            case $arg in\n"
	"            *'|'*) COMPREPLY=($(compgen -W \"${arg//|/$'\\n'}\" -- \"$cur\")) ;;\n"
	"            *FILE* | *DIR*) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
	"            esac\n"
	"            return\n"
	"        fi\n"
	"    done < <(stackctl complete \"${COMP_WORDS[1]}\" 2>/dev/null)\n"
	"    case $cur in\n"
	"    -*) COMPREPLY=($(compgen -W \"${words[*]}\" -- \"$cur\")) ;;\n"
	"    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
	"    esac\n"
	"}\n"
	"complete -o filenames -F _stackctl stackctl\n";

static const char completion_zsh[] =
	"#compdef stackctl\n"
	"# zsh completion of stackctl: install it as _stackctl in a folder of $fpath\n"
	"_stackctl() {\n"
	"    local -a specs verbs\n"
	"    local line name arg text\n"
	"    if (( CURRENT == 2 )); then\n"
	"        for line in ${(f)\"$(stackctl complete 2>/dev/null)\"}; do\n"
	"            verbs+=(\"${line%%$'\\t'*}:${line##*$'\\t'}\")\n"
	"        done\n"
	"        _describe verb verbs\n"
	"        return\n"
	"    fi\n"
	"    for line in ${(f)\"$(stackctl complete $words[2] 2>/dev/null)\"}; do\n"
	"        name=${line%%$'\\t'*} arg=${${line#*$'\\t'}%%$'\\t'*} text=${line##*$'\\t'}\n"
	"        text=${${text//\\[/\\\\[}//\\]/\\\\]}\n"
	"        case $arg in\n"
	"        '') specs+=(\"--${name}[$text]\") ;;\n"
	"        *'|'*) specs+=(\"--${name}=[$text]:value:(${arg//|/ })\") ;;\n"
	"        *FILE*|*DIR*) specs+=(\"--${name}=[$text]:file:_files\") ;;\n"
	"        *) specs+=(\"--${name}=[$text]:${arg//:/ }: \") ;;\n"
	"        esac\n"
	"    done\n"
	"    (( CURRENT-- )); shift words\n"
	"    _arguments -s $specs '*:file:_files'\n"
	"}\n"
	"if [ \"$funcstack[1]\" = _stackctl ]; then _stackctl \"$@\"; else compdef _stackctl stackctl; fi\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **script = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (*script || (strcmp(arg, "bash") != 0 && strcmp(arg, "zsh") != 0))
			argp_help_error(state, "there is no completion for '%s': give bash or zsh",
					arg);
		*script = *arg == 'b' ? completion_bash : completion_zsh;
		return 0;
	case ARGP_KEY_END:
		if (!*script)
			argp_help_error(state, "give a shell: bash or zsh");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_completion(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "bash|zsh",
		.doc = "Writes a script with which bash or zsh completes verbs and options.\vThe "
		       "script asks stackctl itself, so it is never out of date:\n\n"
		       "  source <(stackctl completion bash)\n",
	};
	const char *script = NULL;
	struct output output;
	int status;

	options_parse(&argp, argc, argv, &script);
	status = output_begin(NULL, &output);
	if (status != CMD_DONE)
		return status;
	return output_end(&output, fputs(script, output.file) < 0 ? -EIO : 0);
}
