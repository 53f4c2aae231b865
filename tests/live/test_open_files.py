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


ROOM = 512  # numbers for files


def faulty(folder, room, script, *options, what="files"):
    """A stackd that has numbers for so many files, or room for so many objects, and records a script."""
    return Daemon(folder + "/s.db", "-F", 3989, *options, "--", "sh", "-c", script, stackd=faulty_stackd(),
                  env={"STACKD_FAULT": "few:%s:%x" % (what, room)}, start_new_session=True)


def end(daemon):
    """Its status and messages."""
    messages = daemon.process.communicate(timeout=PATIENCE)[1]
    with contextlib.suppress(ProcessLookupError):
        os.killpg(daemon.process.pid, signal.SIGKILL)
    return daemon.process.returncode, messages


# Libraries that one thread loads at the same addresses, one after the other: they are as large as each other, and
# their frames are not. `run` calls itself `inner` times, so that a walk by another library's rules goes wrong.
LIBRARY = """
#include <time.h>
static volatile unsigned sum;
__attribute__((noinline)) void inner_KIND(const struct timespec *end)
{
	volatile char room[16 + 48 * KIND];
	struct timespec now;
	do {
		for (int i = 0; i < 5000; i++) {
			room[i % sizeof(room)] = (char)i;
			sum += room[0];
		}
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec < end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec < end->tv_nsec));
	sum++;
}
__attribute__((noinline)) void outer_KIND(const struct timespec *end)
{
	volatile char room[16 + 80 * ((KIND + 2) % 4)];
	room[0] = 0;
	inner_KIND(end);
	sum += room[0];
}
void run(const struct timespec *end)
{
	outer_KIND(end);
	sum++;
}
"""
LOADER = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 2;; i = i + 1 < argc ? i + 1 : 2) {
		void *library = dlopen(argv[i], RTLD_NOW);
		void (*run)(const struct timespec *) = library ? dlsym(library, "run") : 0;
		struct timespec end;
		if (!run)
			return 1;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
		end.tv_nsec += atoi(argv[1]) * 1000;
		end.tv_sec += end.tv_nsec / 1000000000;
		end.tv_nsec %= 1000000000;
		prctl(PR_SET_NAME, argv[i] + 2);
		run(&end);
		prctl(PR_SET_NAME, "loader");
		dlclose(library);
		usleep(3000);
	}
}
"""
KINDS, LIBRARIES, FEW = 4, 100, 32


def build_libraries(folder):
    """A program that loads libraries, and so many of them: copies of KINDS, each with a build-id of its own."""
    images, marker = [], b"\xa5" * 16
    with open(folder + "/loader.c", "w", encoding="ascii") as file:
        file.write(LOADER)
    check(run("gcc", "-O1", "-o", folder + "/loader", folder + "/loader.c").status == 0, "gcc")
    for kind in range(KINDS):
        with open(folder + "/library.c", "w", encoding="ascii") as file:
            file.write(LIBRARY.replace("KIND", str(kind)))
        done = run("gcc", "-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC", "-Wl,--build-id=0x" + marker.hex(),
                   "-o", folder + "/library.so", folder + "/library.c")
        check(done.status == 0, "gcc", done.err)
        with open(folder + "/library.so", "rb") as file:
            images.append(file.read())
    for i in range(LIBRARIES):
        with open("%s/%04d" % (folder, i), "wb") as file:
            file.write(images[i % KINDS].replace(marker, (i + 1).to_bytes(8, "big") + b"\x5a" * 8))


def taken_back(store):
    """How many numbers have been, as far as is in the store."""
    result = run(STACKCTL, "stats", "--json", "-i", store)
    return json.loads(result.out)["counters"].get("file_numbers_taken_back", 0) if result.status == 0 else 0


def judge_libraries(recording):
    """No sample has a frame of another library than the one that the thread was named after. How many were seen."""
    seen = set()
    for sample in recording.samples():
        if not sample.comm.isdigit():
            continue
        kind = int(sample.comm) % KINDS
        path = ["run", "outer_%d" % kind, "inner_%d" % kind]
        own = [frame for frame in user_frames(sample) if os.path.basename(frame.object).isdigit()]
        others = {os.path.basename(frame.object) for frame in own} - {sample.comm}
        check(not others, "frames of another file", others, sample)
        names = [frame.symbol for frame in own]
        odd = [name for name in names if name and "@plt" not in name and name not in (*path, "_init")]
        check(not odd, "functions of another file", odd, sample)
        if path[2] in names:
            check(names[:3] == path, "path", sample)
            seen.add(sample.comm)
    return len(seen)


@live
def test_numbers_given_again():
    """A service meets more files than it has numbers for: it takes the numbers of those that nobody maps any more, and
    no sample gets a frame, or a rule, of the file that had the number before."""
    with scratch() as folder:
        build_libraries(folder)
        script = "cd '%s'; exec ./loader 8000 %s" % (folder, " ".join("./%04d" % i for i in range(LIBRARIES)))
        with faulty(folder, FEW, script) as daemon:
            daemon.wait_for("numbers", lambda: taken_back(folder + "/s.db") > FEW)
            daemon.process.send_signal(signal.SIGINT)
            status, messages = end(daemon)
        recording = Recording(folder + "/s.db")
        counters = recording.stats()["counters"]
        print(status, messages, counters)
        check(status == 0, "status", status, messages)
        check(judge_libraries(recording) > FEW, "few libraries have samples")


@live(long=True)
def test_many_objects():
    """A service that has met very many files ends with a window, to be started again; a command is recorded to its end."""
    message = "files, which it keeps in memory: it ends, for the service manager to start it again"
    with scratch() as folder:
        with Daemon(folder + "/all.db", "--all", "--window", "2s", stackd=faulty_stackd(), env={"STACKD_FAULT": "few:objects:8"},
                    start_new_session=True) as daemon:
            status, messages = end(daemon)
        check(status == 75, "status", status, messages)
        check(message in messages, messages)
        with faulty(folder, 8, "sleep 5; exit 3", "--window", "2s", what="objects") as daemon:
            status, messages = end(daemon)
        check(status != 75, "status", status, messages)
        check(message not in messages, messages)


@live(long=True)
def test_no_numbers_left():
    """No number can be taken back: the daemon walks what the kernel half cannot."""
    with scratch() as folder:
        copies = build(folder, ROOM + 100)
        # Each program stays until the last one has run.
        script = ("cd '%s'; for i in 0*; do ./$i 0.003 1000000000 & all=\"$all $!\"; sleep 0.01; done; ./0000 0.25; "
                  "kill $all" % copies)
        with faulty(folder, ROOM, script) as daemon:
            status, messages = end(daemon)
        recording = Recording(folder + "/s.db")
        samples, counters = check_whole(recording), recording.stats()["counters"]
        print(status, messages, counters)
        check(status == 0, "status", status, messages)
        check("all numbers of files are in use" in messages, "messages", messages)
        check(not counters.get("file_numbers_taken_back"), "numbers were taken back", counters)
        last = {sample.comm for sample in samples if sample.comm.isdigit()
                and path_of(sample)[:3] == ("main", "outer", "inner")}
        check(len(last) > ROOM, "copies with whole paths", len(last))
