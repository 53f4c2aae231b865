# SPDX-License-Identifier: MIT
"""The commands of all documents: each is run by a shell, as it is written.

Names that stand for something (N, BEFORE, FUNCTION, HOST) are replaced by what is there: a program that runs, two
stores, a function of it. Commands that show something read a recording that has all that stackd measures, or one of an
MPI job. Servers are a port that nobody listens at. What is not run has its reason in NOT_RUN. docs/find has tests of its
own (test_documents.py), which also compare what is shown.

A start of stackd costs half a second. So only `make check-long` records by each command, and runs those of all documents;
in `make check` those of README.md and two more (ALWAYS) are run, and stackd has no rights, and ends when it has read its
options: by the status for that, if they are right.
"""

import glob
import os
import re
import shlex
import shutil

from harness import (BUILD, DONE, FAILED, LONG, NATIVE, NO_SAMPLES, NO_SUPPORT, ROOT, STACKCTL, STACKD, USAGE, background, check,
                     live, run, scratch)
from test_documents import AS_ROOT

PAGES = ["README.md", "CONTRIBUTING.md", *sorted(os.path.relpath(page, ROOT) for page in glob.glob(ROOT + "/docs/*.md"))]
ALWAYS = ["README.md", "docs/REPORTS.md", "docs/WAITS.md"]
PROGRAMS = r"(?:stackd|stackctl|stackctl-mpi|mpirun|srun|docker|make|perf|gnuplot|python3|systemctl)"
COMMAND = re.compile(r"(?!stackctl [\w-]+:)" + PROGRAMS + r"(?: .*|$)")

# Has what documents name: the functions step() and solve(), a variable, a program that is also a job of MPI.
LIBRARY = """
volatile long sum;
void solve(int n) { for (int i = 0; i < n; i++) sum += i; }
"""
MODEL = r"""
#include <stdlib.h>
#include <time.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif
void solve(int n);
volatile long cells;
static void *kept;
__attribute__((noinline)) void step(void)
{
	const struct timespec pause = {0, 100000};
	kept = malloc(1 << 20);
	*(volatile char *)kept = 1;
	solve(1000000);
	cells += 7;
	nanosleep(&pause, NULL);
#ifdef WITH_MPI
	MPI_Barrier(MPI_COMM_WORLD);
#endif
	if (cells % 2)
		free(kept);
}
int main(int argc, char **argv)
{
#ifdef WITH_MPI
	MPI_Init(&argc, &argv);
#endif
	for (int i = 0; i < 200; i++)
		step();
#ifdef WITH_MPI
	MPI_Finalize();
#endif
	return 0;
}
"""
SPINNER = "#include <unistd.h>\nvoid solve(int n);\nint main(void) { alarm(600); write(1, \"runs\\n\", 5); for (;;) solve(1000); }\n"
FILES = {"credentials": "user = pusher\npassword = secret\n", "model.c": MODEL, "model_library.c": LIBRARY, "spinner.c": SPINNER, "app.py": "print(sum(i * i for i in range(200000)))\n",
         "app.rb": "puts (0..200000).sum { |i| i * i }\n",
         "app.php": "<?php echo array_sum(array_map(fn($i) => $i * $i, range(1, 200000))), \"\\n\";\n",
         "app.pl": "my $s = 0; $s += $_ ** 2 for 1 .. 200000; print $s, \"\\n\";\n",
         "templates.cc": "template <int n> struct a : a<n - 1> {}; template <> struct a<0> {}; a<500> b;\n"}

# (what a document has, what is run for it), applied in this order
INSTEAD = (
    (r"(--pid|-p) (?:N|4711|123|\$!)(?:\[,N\.\.\.\])?(?![\w,])", r"\1 {pid}"),
    (r"--tid (?:TID|4711)", "--tid {tid}"),
    (r"--cgroup PATH", "--cgroup /"),
    (r"--duration 10\b", "--duration 0.1"),
    (r"-- COMMAND(?: ARGS\.\.\.)?", "-- ./program"),
    (r"annotate ((?:\S+ )*)(?:FUNCTION|METHOD|func|work|render|'Page::render')(?!\S)", r"annotate \1step"),
    (r"push --paths 0$", "push clickhouse://server/profiles --paths 0"),
    (r"merge A B\.\.\. -o FILE", "merge before.db after.db -o all.tags"),
    (r"\bBEFORE\b|diff A\b", lambda match: match[0].replace("BEFORE", "before.db").replace("A", "before.db")),
    (r"\bAFTER\b|before\.db B\b", lambda match: match[0].replace("AFTER", "after.db").replace(" B", " after.db")),
    (r"--per REGION", "--per step"),
    (r"@3 @5", "@1 @1"),
    (r"/etc/stackd/push", "credentials"),
    (r"--from 12 --to", "--from 0 --to"),
    (r"report FILE\b", "report after.db"),
    (r"\bFILE\.prv", "run.prv"),
    (r"\bDIR\b", "tables"),
    (r"(?:server(?::8123|/folder)?|collector|HOST)(?=/|$|\s|\?)", "127.0.0.1:1"),
    (r"127\.0\.0\.1:1/DB", "127.0.0.1:1/profiles"),
)

# What is not run, with the reason.
NOT_RUN = (
    (r"stackd(?: --(?:alloc|region|wait|mpi|window|mark))?", "names a program or an option"),
    (r"stackctl(?: (?:push|names push|import|merge|diff|decode|report -i))?|stackctl (?:decode --json|diff --(?:json|significant|fail-above \S+)|push --follow|"
     r"push clickhouse://|fold -o x\.html)|stackctl-mpi.*", "names a verb or an option"),
    (r"make .*|make|python3 tests/.*", "builds and tests, as CI does"),
    (r"python3|srun|mpirun -n 4 ./solver", "names a program of others"),
    (r"helm .*", "export-kubernetes-chart makes the chart"),
    (r"docker .*", "tests/container builds and runs the image"),
    (r"systemctl .*", "tests/deb runs the service by systemd"),
    (r"(?:mpirun|srun) .*stackctl-mpi .*", "live-job runs it, for each MPI"),
    (r"perf .*stackctl import.*|stackctl import perf\.data", "cli-import imports what perf records; perf 6.1 aborts without more options"),
    (r"perf .*", "perf's own; cli-perf-habits has what is typed instead"),
    (r"gnuplot .*", "export-gnuplot runs it"),
    (r"stackctl import perf\.data --mark .*", "needs probes that perf has set: cli-import-counters"),
    (r"stackctl web.*", "serves until Ctrl+C: export-web-page"),
    (r"stackctl names push .* build/server .*", "export-clickhouse-names runs it"),
    (r"stackctl push .* --follow", "sends until Ctrl+C: export-servers-follow"),
    (r"stackctl flamegraph -i build/demo/.*", "draws what make demo has recorded"),
)

# What may end otherwise than with status 0: by which statuses, and what is said then. The first row counts.
OTHERWISE = (
    (r"^stackctl top\b", (USAGE,), "needs a terminal"),
    (r"127\.0\.0\.1:1", (FAILED,), "nothing can be reached there"),
    (r"--counter cycles|--lbr", (DONE, NO_SUPPORT, NO_SAMPLES), "no PMU|no branch records"),
    (r"\bdoctor\b", (DONE, NO_SUPPORT), ""),
    (r"^stackd ", (DONE, NO_SAMPLES), "no samples|has allocated nothing"),
    (r"--auto", (DONE, FAILED), "not periodic"),
    (r"--burst=2", (DONE, FAILED, USAGE), "no sample is within|no kind 2"),
    (r"--(?:focus|tid|unit|label|comm|container|host|since|from) ", (DONE, NO_SAMPLES), "has no |no waits|matches all the options|nothing was recorded"),
)


def commands_of(text):
    """The commands in indented lines and in spans, without the remarks behind them."""
    text = re.sub(r" \\\n +", " ", text)
    lines = re.findall(r"^ {4}(?:\$ )?(.*)$", text, re.MULTILINE)
    lines += [span.replace("\n", " ").replace("\\|", "|") for span in re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", text)]
    for line in lines:
        line = re.sub(r"\s+#.*", "", line).strip().removeprefix("sudo ")
        if COMMAND.fullmatch(line) and "..." not in re.sub(r"ARGS\.\.\.|N\.\.\.|B\.\.\.", "", line):
            yield line


def replaced(command):
    for what, by in INSTEAD:
        command = re.sub(what, by, command)
    if command.startswith("stackd ") and " -- " not in command:
        command += "" if re.search(r" (?:-p|-a|-G|--pid|--all|--cgroup)\b", command) else " --all"
        command += "" if "--duration" in command else " --duration 0.1"
    return command


def all_commands():
    """{what is run: (what is written, in which document)}, and {what is not run: the reason}."""
    found, left_out = {}, {}
    for page in PAGES:
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            for command in commands_of(file.read()):
                reason = next((why for what, why in NOT_RUN if re.fullmatch(what, command)), None)
                if reason:
                    left_out[command] = reason
                else:
                    found.setdefault(replaced(command), (command, page))
    return found, left_out


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def build(folder, has_mpi):
    """What documents name: programs, a library, files."""
    for name, text in FILES.items():
        write(os.path.join(folder, name), text, 0o600)
    here = ["-L.", "-lmodel", "-Wl,-rpath," + folder]
    programs = [["gcc", "-shared", "-fPIC", "-o", "libmodel.so", "model_library.c"], ["gcc", "-o", "spinner", "spinner.c", *here],
                ["gcc", "-o", "model", "model.c", *here]]
    if has_mpi:
        programs.append(["mpicc", "-DWITH_MPI", "-o", "job", "model.c", *here])
    for compiler, *words in programs:
        result = run(compiler, "-O1", "-g", "-w", *words, cwd=folder)
        check(result.status == DONE, " ".join(words), result.err)
    for name in ("program", "prog"):
        os.symlink("model", folder + "/" + name)
    os.mkdir(folder + "/bin")
    os.symlink(os.path.join(BUILD, "stackctl"), folder + "/bin/stackctl")
    without = "" if LONG else "setpriv --bounding-set=-all --inh-caps=-all "
    write(folder + "/bin/stackd", "#!/bin/sh\nexec %s%s \"$@\"\n" % (without, shlex.quote(STACKD)), 0o755)


def prepare(folder, has_mpi):
    """Builds, and records what commands show."""
    build(folder, has_mpi)
    recordings = [["-o", "store.db", "--full", "--wait-mean", "0", "--region", "step", "--counter", "var:cells", "--counter", "page-faults", "--", "./model"]]
    if has_mpi:
        recordings.append(["-o", "job.db", "--mpi=probes", "--", "mpirun", "-n", "2", "./job"])
    for words in recordings:
        result = run(STACKD, *NATIVE, *words, cwd=folder, env=AS_ROOT)
        check(result.status == DONE, "the recording", result.err)
    for name in ("before.db", "after.db", "main.db", "this.db"):
        shutil.copy(folder + "/store.db", folder + "/" + name)
    merged = run(STACKCTL, "merge", "store.db", "before.db", "-o", "job.tags", cwd=folder)
    check(merged.status == DONE, "merge", merged.err)
    lists = run(STACKCTL, "list", "--json", "-i", folder + "/store.db")
    check('"recording":1' in lists.out, "the store", lists)


def is_possible(command, has_mpi):
    """Whether this machine has the programs of a command."""
    return has_mpi or not re.search(r"--mpi|--burst|\brank\b", command)


def try_command(command, written, folder, pid):
    """What is wrong with a command as it ran, or None."""
    store = "made.db" if re.search(r"\bstackd\b", command) else "job.db" if re.search(r"--burst|--by rank", command) else "store.db"
    statuses, says = next(((statuses, says) for what, statuses, says in OTHERWISE if re.search(what, command)), ((DONE,), ""))
    if command.startswith("stackd ") and not LONG:
        statuses, says = (NO_SUPPORT,), "no right to|no PMU|no branch records"
    command = command.replace("{pid}", str(pid)).replace("{tid}", str(pid))
    environment = {**AS_ROOT, "PATH": folder + "/bin:" + os.environ["PATH"], "STACKD_STORE": folder + "/" + store, "PAGER": "cat"}
    result = run("bash", "-o", "pipefail", "-c", command, cwd=folder, env=environment)
    print(result.status, "|", command)
    if result.status in statuses and (result.status == DONE or re.search(says, result.err)):
        return None
    return "%s: %s: status %d: %s" % (written[1], written[0], result.status, result.err)


@live
def test_commands():
    """What documents say to type is typed: it runs, or says what the table says."""
    has_mpi = bool(shutil.which("mpicc") and shutil.which("mpirun"))
    found, left_out = all_commands()
    for command, reason in left_out.items():
        print("not run:", command, "|", reason)
    faults = []
    with scratch() as folder:
        prepare(folder, has_mpi)
        with background("./spinner", ready="runs", cwd=folder) as target:
            for command, written in found.items():
                if not LONG and written[1] not in ALWAYS:
                    continue
                fault = try_command(command, written, folder, target.pid) if is_possible(command, has_mpi) else None
                faults += [fault] if fault else []
    check(len(found) > 90, "only %d commands" % len(found))
    check(not faults, "%d of %d commands (INSTEAD, NOT_RUN and OTHERWISE say how they are run)" % (len(faults), len(found)), *faults)
