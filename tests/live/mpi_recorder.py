# SPDX-License-Identifier: MIT
"""Makes a library that counts the calls of MPI's functions by MPI's own interface for tools: it has
each function of mpi.h, which counts and calls the one with P before its name. Preloaded, it writes
the counts of a process to $MPI_COUNTS/PID when the process ends: for each function that was called
its name, the calls, and the bytes sent and received, by what the library says of datatypes and
communicators."""

import re

# What mpi.h has of a function, in the headers of Open MPI and of MPICH.
DECLARATION = re.compile(r"\b(int|double|MPI_\w+)\s+(MPI_[A-Z][a-z]\w*)\s*\(([^;{}()]*)\)[^;{}]*;")

HEAD = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct { const char *name; unsigned long calls, sent, received; } counts[1000];

static long size_of(MPI_Datatype type)
{
	int size;

	PMPI_Type_size(type, &size);
	return size;
}

static long size(MPI_Comm comm)
{
	int n;

	PMPI_Comm_size(comm, &n);
	return n;
}

static int is_root(int root, MPI_Comm comm)
{
	int rank;

	PMPI_Comm_rank(comm, &rank);
	return rank == root;
}

static __attribute__((destructor)) void write_counts(void)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d", getenv("MPI_COUNTS"), (int)getpid());
	file = fopen(path, "w");
	for (int i = 0; i < 1000 && file; i++) {
		if (counts[i].calls)
			fprintf(file, "%s %lu %lu %lu\\n", counts[i].name, counts[i].calls,
				counts[i].sent, counts[i].received);
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
	__atomic_fetch_add(&counts[{index}].sent, {sent}, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counts[{index}].received, {received}, __ATOMIC_RELAXED);
	return P{name}({arguments});
}}
"""

# What calls send and receive, by their arguments from 0.
TO_PEER = "({3} == MPI_PROC_NULL ? 0 : {1} * size_of({2}))"
REDUCED = "{2} * size_of({3})"
BYTES = {
    "MPI_Send": (TO_PEER, "0"),
    "MPI_Ssend": (TO_PEER, "0"),
    "MPI_Isend": (TO_PEER, "0"),
    "MPI_Recv": ("0", TO_PEER),
    "MPI_Irecv": ("0", TO_PEER),
    "MPI_Sendrecv": (TO_PEER, "({8} == MPI_PROC_NULL ? 0 : {6} * size_of({7}))"),
    "MPI_Sendrecv_replace": (TO_PEER, "({5} == MPI_PROC_NULL ? 0 : {1} * size_of({2}))"),
    "MPI_Allreduce": (REDUCED, REDUCED),
    "MPI_Scan": (REDUCED, REDUCED),
    "MPI_Reduce": (REDUCED, "is_root({5}, {6}) * " + REDUCED),
    "MPI_Bcast": ("is_root({3}, {4}) * {1} * size_of({2})", "!is_root({3}, {4}) * {1} * size_of({2})"),
    "MPI_Gather": ("({0} == MPI_IN_PLACE ? {4} * size_of({5}) : {1} * size_of({2}))",
                   "(is_root({6}, {7}) ? size({7}) * {4} * size_of({5}) : 0)"),
    "MPI_Scatter": ("(is_root({6}, {7}) ? size({7}) * {1} * size_of({2}) : 0)",
                    "({3} == MPI_IN_PLACE ? {1} * size_of({2}) : {4} * size_of({5}))"),
    "MPI_Allgather": ("{4} * size_of({5})", "size({6}) * {4} * size_of({5})"),
    "MPI_Alltoall": ("size({6}) * {4} * size_of({5})", "size({6}) * {4} * size_of({5})"),
}


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
            arguments = [argument_of(word.strip()) for word in words]
        except AttributeError:
            continue
        sent, received = (part.format(*arguments) for part in BYTES.get(name, ("0", "0")))
        text += FUNCTION.format(type=kind, name=name, parameters=parameters, index=index,
                                arguments=", ".join(arguments), sent=sent, received=received)
    return text
