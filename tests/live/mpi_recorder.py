# SPDX-License-Identifier: MIT
"""Makes a library that counts the calls of MPI's functions by MPI's own interface for tools: it has
each function of mpi.h, for C and for Fortran, which counts and calls the one with P before its
name. Preloaded, it writes the counts of a process to $MPI_COUNTS/RANK when the process ends: for
each function that was called its name, the calls, the bytes sent and received, by what the library
says of datatypes and communicators, and the nanoseconds that the calls took."""

import re

# What mpi.h has of a function, in the headers of Open MPI and of MPICH.
DECLARATION = re.compile(r"\b(int|double|MPI_\w+)\s+(MPI_[A-Z][a-z]\w*)\s*\(([^;{}()]*)\)[^;{}]*;")

HEAD = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct { const char *name; unsigned long calls, sent, received, ns; } counts[2000];
static __thread int depth;

static unsigned long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ul + time.tv_nsec;
}

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

static int rank(MPI_Comm comm)
{
	int n;

	PMPI_Comm_rank(comm, &n);
	return n;
}

static long sum_of(const void *values, size_t bytes, MPI_Comm comm)
{
	long all = 0;

	for (long i = size(comm); i-- > 0;)
		all += bytes == 8 ? ((const long *)values)[i] : ((const int *)values)[i];
	return all;
}

#define sum(values, comm) sum_of(values, sizeof(*(values)), comm)

static long sum_typed(const int *values, const MPI_Datatype *types, MPI_Comm comm)
{
	long all = 0;

	for (long i = size(comm); i-- > 0;)
		all += values[i] ? values[i] * size_of(types[i]) : 0;
	return all;
}

static unsigned long arrived(MPI_Status *status, unsigned long most)
{
	int n;

	if (status == MPI_STATUS_IGNORE || PMPI_Get_count(status, MPI_BYTE, &n))
		return most;
	return n;
}

/* What is not passed on has no datatype. */
#define BYTES(count, type) ((count) > 0 ? (count) * size_of(type) : 0)

/* Persistent requests. */
static struct { MPI_Request request; unsigned long sent, received; } kept[1000];

static void keep(MPI_Request request, unsigned long sent, unsigned long received)
{
	for (int i = 0; i < 1000; i++) {
		if (!kept[i].request || kept[i].request == request) {
			kept[i].request = request;
			kept[i].sent = sent;
			kept[i].received = received;
			return;
		}
	}
	abort();
}

static unsigned long started(const MPI_Request *requests, int n, int is_sent)
{
	unsigned long bytes = 0;

	for (int i = 0; i < n * 1000; i++) {
		if (kept[i % 1000].request == requests[i / 1000])
			bytes += is_sent ? kept[i % 1000].sent : kept[i % 1000].received;
	}
	return bytes;
}

static const char *own_rank(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");

	return rank ? rank : getenv("PMI_RANK");
}

static __attribute__((destructor)) void write_counts(void)
{
	char path[4096];
	FILE *file;

	if (!getenv("MPI_COUNTS") || !own_rank())
		return;
	snprintf(path, sizeof(path), "%s/%s", getenv("MPI_COUNTS"), own_rank());
	file = fopen(path, "a");
	for (int i = 0; i < 2000 && file; i++) {
		if (counts[i].calls)
			fprintf(file, "%s %lu %lu %lu %lu\\n", counts[i].name, counts[i].calls,
				counts[i].sent, counts[i].received, counts[i].ns);
	}
	if (file)
		fclose(file);
}
"""

# Counts, and calls the function with P before its name. Functions call each other: Fortran's those
# of C, and those for files others; only the outermost is counted.
FUNCTION = """
{type} {name}({parameters})
{{
{converted}	unsigned long sent = depth ? 0 : {sent}, received = depth ? 0 : {received}, start;
	{type} returned;

	depth++;
	start = now();
	{call};
	start = now() - start;
	if (--depth)
		return returned;
	{kept}
	counts[{index}].name = "{name}";
	__atomic_fetch_add(&counts[{index}].calls, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counts[{index}].sent, sent, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counts[{index}].received, received, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counts[{index}].ns, start, __ATOMIC_RELAXED);
	return returned;
}}
"""

# What calls send and receive, by their arguments from 0.
TO_PEER = "({3} == MPI_PROC_NULL ? 0 : BYTES({1}, {2}))"
REDUCED = "BYTES({2}, {3})"
BOTH_REDUCED = (REDUCED, REDUCED)
AT_ROOT = "(rank({%d}) == {%d} ? %s : 0)"
BYTES = {
    "Send": (TO_PEER, "0"),
    "Ssend": (TO_PEER, "0"),
    "Bsend": (TO_PEER, "0"),
    "Rsend": (TO_PEER, "0"),
    "Recv": ("0", TO_PEER),
    "Mrecv": ("0", "BYTES({1}, {2})"),
    "Sendrecv": (TO_PEER, "({8} == MPI_PROC_NULL ? 0 : BYTES({6}, {7}))"),
    "Sendrecv_replace": (TO_PEER, "({5} == MPI_PROC_NULL ? 0 : BYTES({1}, {2}))"),
    "Allreduce": BOTH_REDUCED,
    "Scan": BOTH_REDUCED,
    "Exscan": BOTH_REDUCED,
    "Reduce": (REDUCED, AT_ROOT % (6, 5, REDUCED)),
    "Reduce_scatter_block": ("size({5}) * " + REDUCED, REDUCED),
    "Reduce_scatter": ("BYTES(sum({2}, {5}), {3})", "BYTES({2}[rank({5})], {3})"),
    "Bcast": (AT_ROOT % (4, 3, "BYTES({1}, {2})"), "(rank({4}) != {3} ? BYTES({1}, {2}) : 0)"),
    "Gather": ("({0} == IN_PLACE ? BYTES({4}, {5}) : BYTES({1}, {2}))",
               AT_ROOT % (7, 6, "size({7}) * BYTES({4}, {5})")),
    "Gatherv": ("({0} == IN_PLACE ? BYTES({4}[rank({8})], {6}) : BYTES({1}, {2}))",
                AT_ROOT % (8, 7, "BYTES(sum({4}, {8}), {6})")),
    "Scatter": (AT_ROOT % (7, 6, "size({7}) * BYTES({1}, {2})"),
                "({3} == IN_PLACE ? BYTES({1}, {2}) : BYTES({4}, {5}))"),
    "Scatterv": (AT_ROOT % (8, 7, "BYTES(sum({1}, {8}), {3})"),
                 "({4} == IN_PLACE ? BYTES({1}[rank({8})], {3}) : BYTES({5}, {6}))"),
    "Allgather": ("BYTES({4}, {5})", "size({6}) * BYTES({4}, {5})"),
    "Allgatherv": ("BYTES({4}[rank({7})], {6})", "BYTES(sum({4}, {7}), {6})"),
    "Alltoall": ("size({6}) * ({0} == IN_PLACE ? BYTES({4}, {5}) : BYTES({1}, {2}))",
                 "size({6}) * BYTES({4}, {5})"),
    "Alltoallv": ("({0} == IN_PLACE ? BYTES(sum({5}, {8}), {7}) : BYTES(sum({1}, {8}), {3}))",
                  "BYTES(sum({5}, {8}), {7})"),
    "Alltoallw": ("({0} == IN_PLACE ? sum_typed({5}, {7}, {8}) : sum_typed({1}, {3}, {8}))",
                  "sum_typed({5}, {7}, {8})"),
    "Put": (TO_PEER, "0"),
    "Get": ("0", TO_PEER),
    "Accumulate": (TO_PEER, "0"),
    "Get_accumulate": ("({6} == MPI_PROC_NULL ? 0 : BYTES({1}, {2}))",
                       "({6} == MPI_PROC_NULL ? 0 : BYTES({4}, {5}))"),
    "Fetch_and_op": ("size_of({2})", "size_of({2})"),
    "Compare_and_swap": ("size_of({3})", "size_of({3})"),
    "Psend": ("({4} == MPI_PROC_NULL ? 0 : {1} * BYTES({2}, {3}))", "0"),
    "Precv": ("0", "({4} == MPI_PROC_NULL ? 0 : {1} * BYTES({2}, {3}))"),
    "Start": ("started({0}, 1, 1)", "started({0}, 1, 0)"),
    "Startall": ("started({1}, {0}, 1)", "started({1}, {0}, 0)"),
}


# Functions whose last argument is a status, which tells what was received.
TELL = "MPI_Recv", "MPI_Mrecv", "MPI_Sendrecv", "MPI_Sendrecv_replace"


def bytes_of(name):
    """What a function sends and receives, and whether a request does so when it is started."""
    call, _, end = name[len("MPI_"):].partition("_init")
    if call.endswith("_c"):
        call = call[:-2]
    for known in (call, call[1:].capitalize() if call[0] in "IR" else ""):
        if known in BYTES:
            return BYTES[known], "_init" in name and end in ("", "_c")
    return ("0", "0"), False


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


def function(index, kind, name, words, arguments):
    """The function for C."""
    (sent, received), is_init = bytes_of(name)
    sent, received = ("(%s)" % part.format(*arguments).replace("IN_PLACE", "MPI_IN_PLACE")
                      for part in (sent, received))
    keep = "keep(*%s, sent, received); sent = received = 0;" % arguments[-1] if is_init else ""
    if name.replace("_c", "") in TELL:
        keep = "received = arrived(%s, received);" % arguments[-1]
    return FUNCTION.format(type=kind, name=name, parameters=", ".join(words) or "void", index=index,
                           sent=sent, received=received, kept=keep, converted="",
                           call="returned = P%s(%s)" % (name, ", ".join(arguments)))


# Fortran passes addresses, and numbers for handles. -> how an argument of C comes of `{0}`
CONVERTED = (
    (r"(const )?int \w+$", "int {1} = *(int *){0};"),
    (r"MPI_Datatype \w+$", "MPI_Datatype {1} = PMPI_Type_f2c(*(MPI_Fint *){0});"),
    (r"MPI_Comm \w+$", "MPI_Comm {1} = PMPI_Comm_f2c(*(MPI_Fint *){0});"),
    (r"MPI_Request \*\w+$", "MPI_Request {1}_[1] = {{0}}, *{1} = {1}_;"),
    (r"(const )?int \w+\[\]$", "const int *{1} = {0};"),
    (r"(const )?int \*\w+$", "const int *{1} = {0};"),
    (r"(const )?void \*\w+$", "const void *{1} = {0};"),
)


def fortran(index, name, words, arguments):
    """The function for Fortran, or "" if its arguments are not known here."""
    (sent, received), is_init = bytes_of(name)
    converted, used = "", set(map(int, re.findall(r"{(\d+)}", sent + received)))
    if name.startswith("MPI_Start"):
        return ""
    if is_init:
        used.add(len(arguments) - 1)
    for number in used:
        for pattern, text in CONVERTED:
            if re.match(pattern, words[number].strip()):
                converted += "\t" + text.format("f_" + arguments[number], arguments[number]) + "\n"
                break
        else:
            return ""
    keep = ""
    if is_init:
        last = arguments[-1]
        keep = ("*%s = PMPI_Request_f2c(*(MPI_Fint *)f_%s); keep(*%s, sent, received);"
                " sent = received = 0;" % (last, last, last))
    sent, received = ("(%s)" % part.format(*arguments).replace("IN_PLACE", "FORTRAN_IN_PLACE")
                      for part in (sent, received))
    given = ["f_" + argument for argument in arguments] + ["error"]
    link = name.lower() + "_"
    return "\nvoid p%s(%s);\n" % (link, ", ".join(["void *"] * len(given))) + FUNCTION.format(
        type="int", name=link, parameters=", ".join("void *" + word for word in given), index=index,
        converted=converted, sent=sent, received=received, kept=keep,
        call="returned = 0; p%s(%s)" % (link, ", ".join(given)))


START_FORTRAN = """
static unsigned long started_fortran(const MPI_Fint *requests, int n, int is_sent)
{
	unsigned long bytes = 0;

	for (int i = 0; i < n; i++) {
		MPI_Request request = PMPI_Request_f2c(requests[i]);

		bytes += started(&request, 1, is_sent);
	}
	return bytes;
}
"""


def in_place_of_fortran(header):
    """Where MPI_IN_PLACE is for Fortran: an address of the library's."""
    if "OMPI" in header or "ompi_" in header:
        return "extern int mpi_fortran_in_place_;\n#define FORTRAN_IN_PLACE " \
               "((void *)&mpi_fortran_in_place_)\n"
    return "extern void *MPIR_F_MPI_IN_PLACE __attribute__((weak));\n#define FORTRAN_IN_PLACE " \
           "(&MPIR_F_MPI_IN_PLACE ? MPIR_F_MPI_IN_PLACE : (void *)-1)\n"


def start_functions(index):
    """mpi_start_ and mpi_startall_, whose requests are numbers."""
    text = START_FORTRAN
    for at, (link, given, arguments) in enumerate((
            ("mpi_start_", ("requests", "error"), "requests, 1"),
            ("mpi_startall_", ("n", "requests", "error"), "requests, *(int *)n"))):
        text += "\nvoid p%s(%s);\n" % (link, ", ".join(["void *"] * len(given))) + FUNCTION.format(
            type="int", name=link, parameters=", ".join("void *" + word for word in given),
            index=index + at, converted="", kept="",
            sent="started_fortran(%s, 1)" % arguments,
            received="started_fortran(%s, 0)" % arguments,
            call="returned = 0; p%s(%s)" % (link, ", ".join(given)))
    return text


def source(header, with_fortran=False):
    """The library's source, by the text of mpi.h with what it includes."""
    text = HEAD + (in_place_of_fortran(header) if with_fortran else "")
    index = 0
    for name, (kind, parameters) in sorted(declarations(header).items()):
        words = [] if parameters == "void" else parameters.split(",")
        try:
            arguments = [argument_of(word.strip()) for word in words]
        except AttributeError:
            continue
        if with_fortran:
            text += fortran(index, name, words, arguments) if kind == "int" else ""
        else:
            text += function(index, kind, name, words, arguments)
        index += 1
    return text + (start_functions(index) if with_fortran else "")
