# SPDX-License-Identifier: MIT
"""Java (HotSpot): compiled methods keep no frame pointer, though they save rbp, so the kernel half
leaves their stacks to the daemon, and judges itself by those of the runtime's own threads. Whatever
the recording has of a path is right, and most paths are complete."""

import os
import shutil

import java_judge
import java_source
from harness import MANAGED, PATIENCE, ROOT, Skip, check, check_judged, live, record, run, scratch

SOURCE = os.path.join(ROOT, "tests", "workloads", "java_frames.java")

# Both compilers and the interpreter, as usual; the first compiler alone, of which all is compiled,
# also before it is first called; and with frame pointers.
WAYS = ((), ("-XX:TieredStopAtLevel=1",), ("-XX:TieredStopAtLevel=1", "-Xcomp"),
        ("-XX:+PreserveFramePointer",))
# The others are left to the daemon within moments. How many there are is what the machine gives to it.
LEAST = {WAYS[0]: 40, WAYS[3]: 40}

# The compiler itself, for one file: with half of the CPU time.
JAVAC = ("javac", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")


def check_ways(*ways):
    if not shutil.which("javac") or not shutil.which("java"):
        raise Skip("there is no Java development kit")
    with scratch() as folder:
        result = run(*JAVAC, "-d", folder, SOURCE, timeout=PATIENCE)
        check(result.status == 0, "javac", result.status, result.err, result.out)
        for i, way in enumerate(ways):
            recording, result = record("%s/%d.db" % (folder, i), *MANAGED, "--judge", "-F", 1997, "--", "java", *way, "-cp", folder,
                                       "java_frames", 2)
            stats = recording.stats()
            counters = stats["counters"]
            judged = {name: counters["judged_" + name] for name in ("right", "cut", "wrong")}
            print(way, judged, stats["steps"], stats["end_reasons"], result.err)
            complete = [s for s in recording.samples()
                        if any((frame.object or "").endswith(("[stubs]", ".java")) for frame in s.frames)
                        and not s.frames[0].symbol.startswith("[incomplete")]
            check(len(complete) > 30, "few paths with compiled code are complete", len(complete))
            check(judged["wrong"] == 0, "paths are wrong", way, judged)
            check_judged(stats, 50, 20)
            check(judged["right"] + judged["cut"] > LEAST.get(way, 0),
                  "there was little to judge", way, judged)


@live
def test_java():
    check_ways(WAYS[0])


@live(long=True)
def test_java_ways():
    check_ways(*WAYS[1:])


def check_paths(seed, *ways):
    """Records the paths of a seed, and judges each sample's methods and lines."""
    if not shutil.which("javac") or not shutil.which("java"):
        raise Skip("there is no Java development kit")
    text, expected, last = java_source.make(seed)
    with scratch() as folder:
        source = os.path.join(folder, java_source.CLASS + ".java")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        result = run(*JAVAC, "-d", folder, source, timeout=PATIENCE)
        check(result.status == 0, "javac", result.status, result.err, result.out)
        for i, way in enumerate(ways):
            store = "%s/%d.db" % (folder, i)
            recording, _ = record(store, *MANAGED, "-F", 1997, "--", "java", *way, "-cp", folder,
                                  java_source.CLASS, 1)
            counts = java_judge.judge(store, expected, last)
            read = {name: count for name, count in recording.stats()["counters"].items() if name.startswith("jit_")}
            print(way, counts, read)
            check(counts["exact"] > 100, "few samples hit the end of a path", counts)
            check(read["jit_runtimes"] == 1 and not read["jit_runtimes_unread"], "the machine is not read", read)


@live
def test_java_names():
    check_paths(1, ())


@live(long=True)
def test_java_names_ways():
    for seed in range(2, 5):
        check_paths(seed, ("-Xint",), ("-XX:TieredStopAtLevel=1",), ("-XX:-TieredCompilation",), ("-Xcomp",),
                    ("-XX:+UseParallelGC",), ("-XX:+UseSerialGC",))
