# SPDX-License-Identifier: MIT
"""Makes a library that counts the calls of MPI's functions by MPI's own interface for tools: it has
each function of mpi.h, which counts and calls the one with P before its name. Preloaded, it writes
the counts of a process to $MPI_COUNTS/PID when the process ends."""

import re

# What mpi.h has of a function, in the headers of Open MPI and of MPICH.
DECLARATION = re.compile(r"\b(int|double|MPI_\w+)\s+(MPI_[A-Z][a-z]\w*)\s*\(([^;{}()]*)\)[^;{}]*;")

HEAD = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct { const char *name; unsigned long calls; } counts[1000];

static __attribute__((destructor)) void write_counts(void)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d", getenv("MPI_COUNTS"), (int)getpid());
	file = fopen(path, "w");
	for (int i = 0; i < 1000 && file; i++) {
		if (counts[i].calls)
			fprintf(file, "%s %lu\\n", counts[i].name, counts[i].calls);
	}
	if (file)
		fclose(file);
}
"""

FUNCTION = """
{type} {name}({parameters})
{{
	counts[{index}].name = "{name}";
	__atomic_fetch_add(&counts[{index}].calls, 1, __ATOMIC_RELAXED);
	return P{name}({arguments});
}}
"""


def declarations(header):
    """Name -> (type, parameters) of each function."""
    header = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    found = {}
    for kind, name, parameters in DECLARATION.findall(header):
        if "..." not in parameters and not name.startswith("MPI_T_"):
            found.setdefault(name, (kind, " ".join(parameters.split())))
    return found


def argument_of(parameter):
    """The name of a parameter: char *argv[], int ranges[][3], void *buf."""
    return re.search(r"(\w+)\s*(\[[^\]]*\]\s*)*$", parameter).group(1)


def source(header):
    """The library's source, by the text of mpi.h with what it includes."""
    text = HEAD
    for index, (name, (kind, parameters)) in enumerate(sorted(declarations(header).items())):
        words = [] if parameters == "void" else parameters.split(",")
        try:
            arguments = ", ".join(argument_of(word.strip()) for word in words)
        except AttributeError:
            continue
        text += FUNCTION.format(type=kind, name=name, parameters=parameters, index=index,
                                arguments=arguments)
    return text
