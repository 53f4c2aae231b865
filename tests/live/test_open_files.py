# SPDX-License-Identifier: MIT
"""stackd meets one new executable after another, and does not run out of descriptors, or says that it
has run out of numbers."""

import contextlib
import json
import os
import resource
import shutil
import signal
import threading

from harness import (STACKCTL, PATIENCE, Daemon, Recording, check, check_whole, differing, faulty_stackd,
                     live, run, scratch, user_frames)

# With half of the descriptors taken, files that nothing maps are closed at the second look, within
# two seconds; no more files than there are descriptors left may be opened in that time.
FILES, LIMIT = 1000, 800

PROGRAM = """
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned sum;
__attribute__((noinline)) static void inner(double seconds)
{
	struct timespec t;
	do {
		for (int i = 0; i < 10000; i++)
			sum += i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec + t.tv_nsec / 1e9 < seconds);
	sum++;
}
__attribute__((noinline)) static void outer(double seconds)
{
	inner(seconds);
	sum++;
}
int main(int argc, char **argv)
{
	outer(argc > 1 ? atof(argv[1]) : 1);
	usleep(argc > 2 ? atoi(argv[2]) : 0);
	return 0;
}
"""


def build(folder, copies):
    """So many copies of a program, each with a build-id of its own."""
    path, marker = folder + "/program", b"\xa5" * 16
    with open(path + ".c", "w", encoding="ascii") as file:
        file.write(PROGRAM)
    done = run("gcc", "-O1", "-fno-optimize-sibling-calls", "-Wl,--build-id=0x" + marker.hex(),
               "-o", path, path + ".c")
    check(done.status == 0, "gcc", done.err)
    with open(path, "rb") as file:
        image = file.read()
    check(image.count(marker) == 1, "the build-id is not in the file once")
    os.mkdir(folder + "/copies")
    for i in range(copies):
        copy = "%s/copies/%04d" % (folder, i)
        with open(copy, "wb") as file:
            file.write(image.replace(marker, (i + 1).to_bytes(8, "big") + b"\x5a" * 8))
        shutil.copymode(path, copy)
    return folder + "/copies"


def path_of(sample):
    """The names from main() to inner(), as far as the path has them."""
    names = [frame.symbol for frame in user_frames(sample)]
    return tuple(names[names.index("main"):][:3]) if "main" in names else tuple(names)


def watch(pid, counts, end):
    """Counts the descriptors of a process."""
    while not end.wait(0.1):
        counts.append(len(os.listdir("/proc/%d/fd" % pid)))


@live(long=True)
def test_new_executables():
    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))

    with scratch() as folder:
        copies, counts, end = build(folder, FILES + 1), [], threading.Event()
        script = ("cd '%s'; for i in 0*; do ./$i 0.003 9000; done; ./0000 0.25; exec ./%04d 0.5"
                  % (copies, FILES))
        with Daemon(folder + "/s.db", "-F", 3989, "--judge", "--", "sh", "-c", script,
                    preexec_fn=lower) as daemon:
            watcher = threading.Thread(target=watch, args=(daemon.process.pid, counts, end))
            watcher.start()
            daemon.process.wait(timeout=PATIENCE)
            end.set()
            watcher.join()
        recording = Recording(folder + "/s.db")
        counters = recording.stats()["counters"]
        print(max(counts), counters)
        samples = check_whole(recording)
        mine = [sample for sample in samples if sample.comm.isdigit()]
        # Where descriptors run out, files are closed before all of their locations are named.
        last = [path_of(sample) for sample in mine if sample.comm == "%04d" % FILES]
        again = [path_of(sample) for sample in mine if sample.comm == "0000"]
        print("%d samples, %d of the copies, %d of the last" % (len(samples), len(mine), len(last)))
        check(len({sample.comm for sample in mine}) > FILES * 9 // 10, "copies that have samples")
        for paths in (last, again):
            check(paths.count(("main", "outer", "inner")) >= 40, "few samples", len(paths))
            odd = [path for path in paths
                   if "inner" in path and path[:3] != ("main", "outer", "inner")]
            check(not odd, "%d wrong paths" % len(odd), *odd[:5])
        check(counters["forgotten.objects"] >= FILES - LIMIT, "files stay open", counters)
        check(max(counts) < LIMIT - 50, "descriptors ran short: %d" % max(counts))
        check(not counters.get("refused.file_read"), "files could not be read", counters)
        check(differing(counters) == 0, "walks differ from the daemon's", counters)
        check(counters["judged_right"] > 500, "the kernel half walked little", counters)


AGAIN, ROOM = 75, 512


def record_new_files(folder, copies, seconds, *options):
    """The status and messages of a recording that has numbers for ROOM files and meets more; the
    last program runs for so many seconds."""
    script = "cd '%s'; for i in *; do ./$i 0.003 9000; done; exec ./0000 %g 2>&-" % (copies, seconds)
    with Daemon(folder + "/s.db", "-F", 3989, *options, "--", "sh", "-c", script,
                stackd=faulty_stackd(), env={"STACKD_FAULT": "few:files:%x" % ROOM},
                start_new_session=True) as daemon:
        messages = daemon.process.communicate(timeout=PATIENCE)[1]
        status = daemon.process.returncode
        with contextlib.suppress(ProcessLookupError):
            os.killpg(daemon.process.pid, signal.SIGKILL)
    # The last of its windows may have ended before there was a sample.
    listed = json.loads(run(STACKCTL, "list", "--json", "-i", folder + "/s.db").out)["recordings"]
    recording = Recording(folder + "/s.db", [r["recording"] for r in listed if r["samples"]][-1])
    counters = recording.stats()["counters"]
    print(status, messages, counters)
    return status, messages, counters, check_whole(recording)


@live
def test_numbers_used_up():
    """A service ends with a window, to be started again, once it has few numbers left for files."""
    with scratch() as folder:
        copies = build(folder, ROOM + 100)
        status, messages, counters, _ = record_new_files(folder, copies, 100, "--window", "5s")
        check(status == AGAIN, "status", status)
        check("run out of numbers for files: it ends, for the service manager to start it again" in messages, "message", messages)
        check(counters["objects"] >= ROOM * 7 // 8, "objects", counters["objects"])


@live(long=True)
def test_no_numbers_left():
    """A recording that is no service goes on: the daemon walks what the kernel half cannot."""
    with scratch() as folder:
        copies = build(folder, ROOM + 100)
        status, messages, counters, samples = record_new_files(folder, copies, 0.25)
        check(status == 0, "status", status, messages)
        check(counters["objects"] > ROOM, "objects", counters["objects"])
        last = {sample.comm for sample in samples if sample.comm.isdigit()
                and path_of(sample)[:3] == ("main", "outer", "inner")}
        check(len(last) > ROOM, "copies with whole paths", len(last))
