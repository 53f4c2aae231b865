# SPDX-License-Identifier: MIT
"""Java (HotSpot): compiled methods keep no frame pointer, though they save rbp, so the kernel half
leaves their stacks to the daemon, and judges itself by those of the runtime's own threads. Whatever
the recording has of a path is right, and most paths are complete."""

import glob
import os
import re
import shutil

import java_judge
import java_source
import pprof
from harness import (DONE, MANAGED, PATIENCE, ROOT, STACKCTL, Skip, check, check_judged, live, record, record_until, run,
                     scratch)

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
                                       "java_frames", 1)
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


THREADS = os.path.join(ROOT, "tests", "workloads", "java_threads.java")
DEPTH = 150
NOTE = "[virtual thread]"
UNPROVEN = "[frames not proven]"
ENTERED = "jdk.internal.vm.Continuation.enterSpecial(jdk.internal.vm.Continuation, boolean, boolean)"

# What a thread of java_threads waits in, from its own method on.
WAITS = {"parks": "java.util.concurrent.locks.LockSupport.parkNanos(long)", "sleeps": "java.lang.Thread.sleep(long)",
         "waits": "java.lang.Object.wait(long)", "locks": "java.util.concurrent.locks.ReentrantLock.lock()", "enters": None}

# A machine of one CPU has one carrier, and there no thread goes on in another one.
CARRIERS = ("-Djdk.virtualThreadScheduler.parallelism=2",)


def kit_with_virtual_threads():
    for javac in sorted(glob.glob("/usr/lib/jvm/*/bin/javac"), reverse=True):
        version = re.search(r"javac (\d+)", run(javac, "-version").out)
        if version and int(version.group(1)) >= 21:
            return os.path.dirname(javac)
    raise Skip("no Java development kit has virtual threads")


def check_virtual(names):
    """The path of a sample in work(): a virtual thread's frames stand above those of its carrier, behind a note, and are all there,
    or a note says that they are not. Returns which."""
    own = [name for name in names if name.startswith("java_threads.")]
    check(names.count(NOTE) == 1, "not one virtual thread", names)
    at = names.index(NOTE)
    check("java.util.concurrent.ForkJoinWorkerThread.run()" in names[:at], "no carrier", names)
    check(not [name for name in names[:at] if name.startswith("java_threads.")], "the thread's frames in its carrier's", names)
    if names[at + 1] == UNPROVEN:
        check("java_threads.mounted(int)" not in own, "frames of a thread that never parks are not shown", names)
        return UNPROVEN
    check(names[at - 1] == ENTERED, "the note is elsewhere", names)
    deep = own.count("java_threads.deep(int, int)")
    check(deep == ("java_threads.parted(int)" in own) * DEPTH, "frames are missing", deep, names)
    check(deep or "java_threads.mounted(int)" in own, "a thread without its beginning", names)
    return "parted" if deep else "mounted"


def read_threads(store):
    """The samples in work(), by what check_virtual() says of them, and in how many paths each thread waits by its method."""
    found, waits = {}, {}
    if run(STACKCTL, "export", "--pprof", "-i", store, "-o", store + ".pb").status != DONE:
        return found, waits
    for frames, count in pprof.read(store + ".pb"):
        names = [frame[0] for frame in frames[::-1]]
        if "java_threads.work(int)" not in names or java_judge.is_unnamed((names[0], "", 0)) or \
                any(java_judge.is_unnamed(frame) and frame[0] not in (NOTE, UNPROVEN) for frame in frames):
            continue
        which = check_virtual(names)
        found[which] = found.get(which, 0) + count
    for line in run(STACKCTL, "export", "--folded", "--metric", "wait.blocked", "-i", store).out.splitlines():
        names = line.rsplit(" ", 1)[0].split(";")
        own = [name for name in names if re.match(r"java_threads\.(%s)\(\)" % "|".join(WAITS), name)]
        if names[0] not in WAITS or not own:
            continue
        check(own == ["java_threads.%s()" % names[0]], "another thread's method", line)
        if WAITS[names[0]] in names[names.index(own[0]):] + [None]:  # else for its code, such as a class that is loaded
            waits[names[0]] = waits.get(names[0], 0) + 1
    return found, waits


@live
def test_java_threads():
    """Virtual threads, and what threads wait in. Methods are read while the program runs: it does until they were."""
    kit = kit_with_virtual_threads()
    with scratch() as folder:
        result = run(os.path.join(kit, "javac"), *JAVAC[1:], "-d", folder, THREADS, timeout=PATIENCE)
        check(result.status == 0, "javac", result.status, result.err, result.out)
        store, enough = os.path.join(folder, "store.db"), os.path.join(folder, "enough")

        def is_met():
            found, waits = read_threads(store)
            return found.get("mounted") and found.get(UNPROVEN) and set(waits) == set(WAITS)
        record_until(store, "virtual threads, and a wait in each method", is_met, enough, *MANAGED, "--wait", "-F", 997, "--",
                     os.path.join(kit, "java"), "-XX:+UseSerialGC", *CARRIERS, "-cp", folder, "java_threads", enough)
        print(*read_threads(store))


LETTERS = "ABCDEFGHIJKLMNOP"
UNLOADED = """import java.nio.file.*;
public class java_unload {
	static volatile long sink;
	public static abstract class Base {
		public abstract int call(int x);
	}
%s	static int invoke(Base b, int x) {
		int sum = 0;
		for (int i = 0; i < 30; i++)
			sum += b.call(x);
		return sum;
	}
	static class Loader extends ClassLoader {
		Loader() {
			super(java_unload.class.getClassLoader());
		}
		Base make(byte[] bytes, String name) throws Exception {
			return (Base)defineClass(name, bytes, 0, bytes.length).getDeclaredConstructor().newInstance();
		}
	}
	public static void main(String[] a) throws Exception {
		String letters = "%s";
		byte[][] bytes = new byte[letters.length()][];
		for (int i = 0; i < bytes.length; i++)
			bytes[i] = Files.readAllBytes(Path.of(a[1], "Gen_" + letters.charAt(i) + ".class"));
		java.util.Random random = new java.util.Random(1);
		java.lang.management.ThreadMXBean threads = java.lang.management.ManagementFactory.getThreadMXBean();
		long end = threads.getCurrentThreadCpuTime() + (long)(Double.parseDouble(a[0]) * 1e9);
		for (int rounds = 1; threads.getCurrentThreadCpuTime() < end; rounds++) {
			int i = random.nextInt(bytes.length);
			sink += invoke(new Loader().make(bytes[i], "Gen_" + letters.charAt(i)), 3);
			if (rounds %% 4 == 0)
				System.gc();
		}
	}
}
"""
LEAF = """	public static int leaf_%s(int x) {
		for (int i = 0; i < 40; i++)
			x += new Throwable().hashCode() & 1;
		return x;
	}
"""
GENERATED = "public class Gen_%s extends java_unload.Base { public Gen_%s() {} public int call(int x) { return java_unload.leaf_%s(x) + 1; } }"


def make_unloaded(folder):
    """Makes java_unload, which loads classes of one shape again and again, and unloads them, so that each gets the memory of
    others: Gen_X.call() alone calls leaf_X()."""
    sources = {"java_unload": UNLOADED % ("".join(LEAF % letter for letter in LETTERS), LETTERS)}
    sources.update(("Gen_" + letter, GENERATED % (letter, letter, letter)) for letter in LETTERS)
    for name, text in sources.items():
        with open(os.path.join(folder, name + ".java"), "w", encoding="utf-8") as file:
            file.write(text)
    os.mkdir(os.path.join(folder, "main"))
    os.mkdir(os.path.join(folder, "generated"))
    result = run(*JAVAC, "-d", os.path.join(folder, "main"), *sorted(glob.glob(os.path.join(folder, "*.java"))), timeout=PATIENCE)
    check(result.status == 0, "javac", result.status, result.err, result.out)
    for letter in LETTERS:
        name = "Gen_%s.class" % letter
        os.rename(os.path.join(folder, "main", name), os.path.join(folder, "generated", name))


def check_unloaded(store, counts):
    run(STACKCTL, "export", "--pprof", "-i", store, "-o", store + ".pb")
    for frames, count in pprof.read(store + ".pb"):
        names = " ".join(frame[0] for frame in frames[::-1])
        classes, leaves = (re.findall(text, names) for text in (r"Gen_(\w)\.call", r"java_unload\.leaf_(\w)"))
        check(len(classes) <= 1 and len(leaves) <= 1, "two classes in one path", names)
        check(not classes or not leaves or classes == leaves, "a class that was not there", names)
        counts["both"] += count * bool(classes and leaves)
        counts["leaf"] += count * bool(leaves)


@live(long=True)
def test_java_unload():
    """Names of classes that are unloaded, and of others that get their memory."""
    if not shutil.which("javac") or not shutil.which("java"):
        raise Skip("there is no Java development kit")
    with scratch() as folder:
        make_unloaded(folder)
        for i, way in enumerate((("-Xint",), ("-XX:TieredStopAtLevel=1",), (), ("-XX:+UseG1GC",), ("-XX:+UseParallelGC",))):
            store, counts = "%s/%d.db" % (folder, i), {"both": 0, "leaf": 0}
            record(store, *MANAGED, "-F", 1997, "--", "java", *(way if way and "GC" in way[0] else (*way, "-XX:+UseSerialGC")), "-cp",
                   os.path.join(folder, "main"), "java_unload", 1, os.path.join(folder, "generated"))
            check_unloaded(store, counts)
            print(way, counts)
            check(counts["leaf"] > 100, "few samples hit a leaf", counts)


@live
def test_java_names():
    check_paths(1, ())


STUBS = """class java_stubs {
	static long sink;
	static int outer(int x) {
		return middle(x) + 1;
	}
	static int middle(int x) {
		return inner(x) + 1;
	}
	static int inner(int x) {
		return x + 1;
	}
	public static void main(String[] arguments) {
		long end = System.nanoTime() + (long)(Double.parseDouble(arguments[0]) * 1e9);
		for (int x = 0; System.nanoTime() < end; x++)
			for (int i = 0; i < 100; i++)
				sink += outer(x + i);
	}
}
"""


@live(long=True)
def test_java_stubs():
    """Compiled code calls a method that is never compiled, through a stub among its own code."""
    if not shutil.which("javac") or not shutil.which("java"):
        raise Skip("there is no Java development kit")
    with scratch() as folder:
        source, store, found = os.path.join(folder, "java_stubs.java"), os.path.join(folder, "store.db"), {}
        with open(source, "w", encoding="utf-8") as file:
            file.write(STUBS)
        result = run(*JAVAC, "-d", folder, source, timeout=PATIENCE)
        check(result.status == 0, "javac", result.status, result.err, result.out)
        record(store, *MANAGED, "-F", 4999, "--", "java", "-XX:-UseOnStackReplacement", "-XX:CompileCommand=exclude,java_stubs::inner",
               "-cp", folder, "java_stubs", 3)
        run(STACKCTL, "export", "--pprof", "-i", store, "-o", store + ".pb")
        for frames, count in pprof.read(store + ".pb"):
            methods = [frame[0] for frame in frames[::-1] if frame[0].startswith("java_stubs.")]
            path = " ".join(re.findall(r"\.(\w+)\(", " ".join(methods)))
            check(path in "main outer middle inner", "methods that do not call each other", path, frames[:6])
            found[path] = found.get(path, 0) + count
        print(found)
        check(found.get("main outer middle inner", 0) > 100, "few samples hit the last method", found)


@live(long=True)
def test_java_names_ways():
    for seed in range(2, 5):
        check_paths(seed, ("-Xint",), ("-XX:TieredStopAtLevel=1",), ("-XX:-TieredCompilation",), ("-Xcomp",),
                    ("-XX:+UseParallelGC",), ("-XX:+UseSerialGC",))
