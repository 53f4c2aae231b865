/* SPDX-License-Identifier: MIT */
/* Knows the functions of Go's runtime; see go_stack.h. */
#include "runtime/go/go_stack.h"

#include <stddef.h>
#include <string.h>

enum go_stack go_stack_of(const char *name)
{
	static const struct {
		const char *name;
		enum go_stack stack;
	} known[] = {
		{"goexit", GO_STACK_OUTERMOST},		 {"mstart", GO_STACK_OUTERMOST},
		{"rt0_go", GO_STACK_OUTERMOST},		 {"schedule", GO_STACK_SCHEDULER},
		{"asyncPreempt", GO_STACK_INJECTED},	 {"sigpanic", GO_STACK_INJECTED},
		{"debugCallV1", GO_STACK_INJECTED},	 {"debugCallV2", GO_STACK_INJECTED},
		{"systemstack", GO_STACK_SYSTEMSTACK},	 {"mcall", GO_STACK_MCALL},
		{"morestack", GO_STACK_MORESTACK},	 {"asmcgocall", GO_STACK_ASMCGOCALL},
		{"systemstack_switch", GO_STACK_SWITCH}, {"gogo", GO_STACK_GOGO},
		{"asmcgocall_no_g", GO_STACK_SWITCH},	 {"cgocallback", GO_STACK_CGOCALLBACK},
		{"nanotime1", GO_STACK_BORROWS},	 {"walltime", GO_STACK_BORROWS},
		{"walltime1", GO_STACK_BORROWS},	 {"vgetrandom1", GO_STACK_BORROWS},
		{"callCgoMmap", GO_STACK_BORROWS},	 {"callCgoMunmap", GO_STACK_BORROWS},
		{"callCgoSigaction", GO_STACK_BORROWS},	 {"sigfwd", GO_STACK_BORROWS},
		{"sigreturn", GO_STACK_SIGNAL},		 {"sigreturn__sigaction", GO_STACK_SIGNAL},
	};
	size_t len = name ? strlen(name) : 0;

	if (len >= 5 && !strcmp(name + len - 5, ".abi0"))
		len -= 5;
	if (len >= 10 && !strncmp(name, "_rt0_amd64", 10))
		return strstr(name, "_lib") ? GO_STACK_USUAL : GO_STACK_OUTERMOST;
	if (len == 8 && (!strncmp(name, "time.now", 8) || !strncmp(name, "racecall", 8) ||
			 !strncmp(name, "msancall", 8) || !strncmp(name, "asancall", 8)))
		return GO_STACK_BORROWS;
	if (len == 4 && !strncmp(name, "gogo", 4))
		return GO_STACK_GOGO;
	if (len < 8 || strncmp(name, "runtime.", 8) != 0)
		return GO_STACK_USUAL;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strlen(known[i].name) == len - 8 && !strncmp(known[i].name, name + 8, len - 8))
			return known[i].stack;
	}
	return GO_STACK_USUAL;
}
