# SPDX-License-Identifier: MIT
"""Names that stackd has not entered yet: the reader finds them, and never wrong ones."""

import collections
import contextlib
import json
import os
import re
import shutil
import time

from chains import Expectation
from harness import (DONE, SIGINT, SIGKILL, STACKCTL, WORKLOADS, Daemon, Recording, Skip,
                     background, build_id, check, check_chains, faulty_stackd, live, record, run, scratch,
                     sparing, user_frames)
from test_top import load_screen

PYTHON = """
import json, re
print("READY", flush=True)
while True:
    text = json.dumps({str(i): [i, str(i)] for i in range(2000)})
    json.loads(text)
    re.findall("[0-9]+", text)
    sorted(text.split(","))
"""

NAMESAKES = """
static volatile unsigned long sink;
static void __attribute__((noipa)) parse(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
	sink--;
}
void %s(void)
{
	parse(100000);
	sink++;
}
"""
NAMESAKES_MAIN = """
#include <time.h>
void lex(void), read_all(void);
int main(void)
{
	while (clock() < CLOCKS_PER_SEC / 2) {
		lex();
		read_all();
	}
}
"""

ADA = {
    "pack.ads": """
package Pack is
   procedure Work (N : Integer);
end Pack;
""",
    "pack.adb": """
package body Pack is
   Sink : Integer := 0;
   pragma Volatile (Sink);
   procedure Work (N : Integer) is
   begin
      for I in 1 .. N loop
         Sink := I;
      end loop;
      Sink := 0;
   end Work;
end Pack;
""",
    "hot.adb": """
with Pack;
procedure Hot is
   procedure Inner is
   begin
      Pack.Work (100_000);
      Pack.Work (100_001);
   end Inner;
   pragma No_Inline (Inner);
begin
   for I in 1 .. 1_000 loop
      Inner;
   end loop;
end Hot;
"""}


def cut_off(store, pid):
    """A recording of a process of chain whose stackd was killed before it had names of that file: its
    worker hangs there."""
    fault = "hang:names:" + build_id(os.path.join(WORKLOADS, "chain"))
    with Daemon(store, "-F", 3989, "--pid", pid, stackd=faulty_stackd(), env={"STACKD_FAULT": fault}) as daemon:
        daemon.wait_recording()
        daemon.wait_samples(100)  # one of each of the few paths is among so many
        daemon.finish(SIGKILL)
    return Recording(store)


@contextlib.contextmanager
def copied(folder, name="chain"):
    """A running copy of a workload, and its path."""
    path = folder + "/prog"
    shutil.copy(os.path.join(WORKLOADS, name), path)
    with background(path, 60, ready="READY") as process, sparing(process, 0.25):
        yield process, path


def names_in(recording, path):
    """The names of the frames in a file; None is among them if one has none."""
    found = set()
    for sample in recording.samples():
        found.update(frame.symbol for frame in sample.frames if frame.object == path)
    check(found, "no frames in " + path)
    return found


def locations(recording):
    """By id: object, function and line, and what is inlined there."""
    found = {}
    for line in recording.text("export", "--tags").splitlines():
        words = line.split("\t")
        if words[0] == "location":
            found[words[1]] = [words[5:]]
        elif words[0] == "inlined":
            found[words[1]].append(words[2:])
    return found


def unnamed_rows(recording):
    """The number of rows of the flat list, and the labels of those without a name."""
    report = json.loads(recording.text("report", "--view", "flat", "--json", "--percent-limit",
                                       "0"))
    symbols = [report["symbols"][row["symbol"]]
               for process in report["processes"] for row in process["functions"]]
    return len(symbols), {symbol["name"] for symbol in symbols if symbol["unnamed"]}


@live
def test_names_of_running():
    """Three seconds after the start a report says what it says in the end."""
    with scratch() as folder, background("python3", "-c", PYTHON, ready="READY") as process, \
            sparing(process, 0.25):
        with Daemon(folder + "/s.db", "-F", 3989, "--pid", process.pid) as daemon:
            daemon.wait_recording()
            time.sleep(3)
            daemon.wait_samples(500)
            recording = Recording(folder + "/s.db")
            early = locations(recording)
            rows, unnamed = unnamed_rows(recording)
            check(daemon.finish(SIGINT).status == DONE, "stackd failed")
        late = locations(recording)
        print(len(early), "locations;", rows, "rows, of which without names", len(unnamed))
        check(len(early) > 50 and set(early) <= set(late), "locations are gone", len(early))
        other = [(early[at], late[at]) for at in early if early[at] != late[at]]
        check(not other, "%d locations have other names in the end" % len(other), *other[:10])
        check(unnamed <= unnamed_rows(recording)[1], "rows without names", unnamed)


@live
def test_names_in_all_views():
    """They are found where a recording is opened, so by everything that shows one."""
    with scratch() as folder, copied(folder) as (process, _):
        store = cut_off(folder + "/s.db", process.pid).store
        for verb in (["report"], ["report", "--view", "callers"], ["report", "--symbol", "leaf"],
                     ["flamegraph", "-o", "-"], ["timeline", "--threshold", "1"],
                     ["annotate", "leaf"],
                     ["export", "--tags"], ["export", "--json"], ["export", "--speedscope"],
                     ["export", "--callgrind"], ["export", "--perf-script"]):
            result = run(STACKCTL, *verb, "-i", store)
            check(result.status == DONE and "leaf" in result.out, "no names: %s" % verb,
                  result.status, result.err, result.out[:1000])
        result = run(STACKCTL, "diff", store, store)
        check(result.status == DONE and "prog+0x" not in result.out, "no names: diff", result)


@live
def test_names_on_first_screen():
    make_screen = load_screen()
    with scratch() as folder, copied(folder) as (process, _):
        cut_off(folder + "/s.db", process.pid)
        screen = make_screen([STACKCTL, "top", "--window", "0", "--interval", "60", "-i",
                              folder + "/s.db"])  # there is no second look
        screen.wait_for("leaf ")
        check(not any("prog+0x" in line for line in screen.lines()), "rows without names",
              *screen.lines())
        screen.send("q")
        check(screen.finish() == 0, "top failed")


@live
def test_names_of_changed_file():
    """Another file of that name is not taken for the recorded one."""
    with scratch() as folder:
        with copied(folder) as (process, path):
            recording = cut_off(folder + "/s.db", process.pid)
            os.rename(path, path + ".old")
            shutil.copy(os.path.join(WORKLOADS, "recursion"), path)
            check(names_in(recording, path) == {None}, "names of another file",
                  names_in(recording, path))
        check(names_in(recording, path) == {None}, "names of another file, later")
        os.unlink(path)
        check(names_in(recording, path) == {None}, "names of no file")
        os.rename(path + ".old", path)
        check_chains(recording.samples(), Expectation.of_source("chain"), at_least=0)
        check(None not in names_in(recording, path), "names are missing")


@live
def test_names_in_unreadable_file():
    """A reader who may not read the file: the report is there, without its names."""
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all"]

    def folded():
        result = run(*user, folder + "/stackctl", "export", "--folded", "-i", folder + "/s.db")
        check(result.status == DONE, "status %d" % result.status, result.err)
        return result.out

    with scratch() as folder, copied(folder) as (process, path):
        cut_off(folder + "/s.db", process.pid)
        shutil.copy(STACKCTL, folder + "/stackctl")
        os.chmod(folder, 0o777)
        os.chmod(folder + "/s.db", 0o644)
        for tail in ("-wal", "-shm"):
            if os.path.exists(folder + "/s.db" + tail):
                os.chmod(folder + "/s.db" + tail, 0o666)
        check(";alpha" in folded(), "no names", folded()[:1000])
        os.chmod(path, 0)
        check(";alpha" not in folded() and "prog+0x" in folded(), "names", folded()[:1000])


@live
def test_names_of_ended():
    """JIT code of a process that has ended before its names were looked up for the first time (unless
    other load makes its 0.3 s of CPU time last for more than a second)."""
    script = '"%s/jit" 0.3; true' % WORKLOADS
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "-F", 997, "--", "/bin/sh", "-c", script,
                                   env={"KEEP_PERF_MAP": "1"})
        samples = [sample for sample in recording.samples() if sample.comm == "jit"]
        found = collections.Counter(frame.symbol for sample in samples for frame in sample.frames
                                    if frame.object == "[jit]")
        for pid in {sample.tid for sample in samples}:
            with contextlib.suppress(FileNotFoundError):
                os.unlink("/tmp/perf-%d.map" % pid)
        print(result.err, found)
        check(found["jit_leaf"] > 10 and set(found) <= {"jit_leaf", "jit_outer"}, "names", found)


@live
def test_names_in_container():
    """A file that only the program's own mount namespace has, while the program lives."""
    with scratch() as folder:
        script = ("mount -t tmpfs none %s && cp %s/chain %s/prog && exec %s/prog 60"
                  % (folder + "/in", WORKLOADS, folder + "/in", folder + "/in"))
        os.mkdir(folder + "/in")
        if run("unshare", "-m", "true").status != 0:
            raise Skip("no mount namespaces")
        path = folder + "/in/prog"
        with background("unshare", "-m", "sh", "-c", script, ready="READY") as process:
            with open("/proc/%d/maps" % process.pid, encoding="utf-8") as maps:
                if " %s\n" % path not in maps.read():
                    raise Skip("in a chroot, files of other mount namespaces have other paths")
            recording = cut_off(folder + "/s.db", process.pid)
            check(not os.path.exists(path), "the file is here, too")
            check(None not in names_in(recording, path), "names are missing")
            check_chains(recording.samples(), Expectation.of_source("chain"), at_least=0)
        check(names_in(recording, path) == {None}, "names of no file")


@live
def test_names_grouped_by_function():
    """Without symbols, a row is a function: its name is where that starts."""
    with scratch() as folder:
        path = folder + "/prog"
        table = run("nm", os.path.join(WORKLOADS, "chain"))
        check(table.status == DONE, "nm", table.err)
        starts = {int(line.split()[0], 16) for line in table.out.splitlines()
                  if line.split()[1] in "tTwW"}
        check(run("strip", "-o", path, os.path.join(WORKLOADS, "chain")).status == DONE, "strip")
        with background(path, 60, ready="READY") as process:
            recording = cut_off(folder + "/s.db", process.pid)
        names = {name for name in re.findall(r"prog\+0x([0-9a-f]+)", "\n".join(recording.folded()))}
        print(sorted(names), sorted(map(hex, starts)))
        # (code of chain lies at its address)
        check(len(names) > 3 and all(int(name, 16) in starts for name in names),
              "rows that are no functions", sorted(names))


@live
def test_namesakes():
    """Static functions of one name in two files, with and without what names their files."""
    with scratch() as folder:
        for name, text in (("main", NAMESAKES_MAIN), ("lexer", NAMESAKES % "lex"),
                           ("reader", NAMESAKES % "read_all")):
            with open("%s/%s.c" % (folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        for flag in "-g", "-g0":
            program = folder + "/prog" + flag
            made = run("gcc", "-O2", flag, "-o", program,
                       *("%s/%s.c" % (folder, name) for name in ("main", "lexer", "reader")))
            check(made.status == DONE, "not compiled", made.err)
            recording, _ = record(program + ".db", "-F", 997, "--", program)
            starts = ["parse [prog%s+0x%x]" % (flag, int(line.split()[0], 16))
                      for line in run("nm", "-n", program).out.splitlines()
                      if line.endswith(" t parse")]  # (code of it lies at its address)
            wanted = {"-g": {"lex": "parse (lexer.c)", "read_all": "parse (reader.c)"},
                      "-g0": {"lex": starts[0], "read_all": starts[1]}}[flag]
            found = {}
            for line in recording.folded():
                path = line.split(";")
                for caller, callee in zip(path, path[1:]):
                    if caller in wanted:
                        found.setdefault(caller, set()).add(callee)
            print(flag, found)
            for caller, callee in wanted.items():
                parsers = {name for name in found.get(caller, ()) if name.startswith("parse")}
                check(parsers == {callee}, "callees of " + caller, flag, parsers, callee)
            folded = recording.text("export", "--folded", "--focus", "parse")
            check(all(name in folded for name in wanted.values()), "not found by 'parse'", folded)
            folded = recording.text("export", "--folded", "--focus", wanted["lex"])
            check(wanted["lex"] in folded and wanted["read_all"] not in folded,
                  "not found alone", folded)


@live(long=True)
def test_ada():
    """GNAT's names are readable where DWARF tells that they are Ada's."""
    if not shutil.which("gnatmake"):
        raise Skip("no gnatmake (deps.sh long)")
    with scratch() as folder:
        for name, text in ADA.items():
            with open("%s/%s" % (folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        made = run("sh", "-c", "cd %s && gnatmake -q -O2 -g hot.adb" % folder)
        check(made.status == DONE, "not compiled", made.err)
        recording, result = record(folder + "/s.db", "-F", 3989, "--", folder + "/hot")
        folded = recording.folded()
        print(result.err, folded)
        # Inner's second call is its last act, a jump: half of the samples have no Inner.
        at_work = [sum(count for path, count in folded.items() if path.endswith(end))
                   for end in (";main;hot;hot.inner;pack.work", ";main;hot;pack.work")]
        check(sum(at_work) > 20 and at_work[0] and not any("__work" in path for path in folded), "names", folded)


@live
def test_32bit():
    """Stacks of 32-bit programs are not walked, but the function that a sample hits has its name."""
    program = WORKLOADS + "/thirty_two"
    if run("sh", "-c", program).status == 126:
        raise Skip("this kernel runs no 32-bit programs")
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "-F", 3989, "--", program)
        found = collections.Counter(user_frames(sample)[-1].symbol for sample in recording.samples()
                                    if user_frames(sample))
        print(result.err, found, recording.stats()["end_reasons"])
        check(found["hot"] > 50 and set(found) <= {"hot", "cold", "_start"},
              "the functions that were hit", found)
        check(set(recording.stats()["end_reasons"]) <= {"foreign_abi", "no_user", "entry"},
              "end reasons", recording.stats()["end_reasons"])
