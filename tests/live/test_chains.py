# SPDX-License-Identifier: MIT
"""Every sample of every workload has exactly the path that the workload promises: started by
stackd, and attached to while it runs."""

import collections
import json
import os
import re
import shutil

import chains
from chains import Expectation
from harness import (LONG, MANAGED, NATIVE, NO_SUPPORT, STACKCTL, STACKD, WORKLOADS, Recording, Skip, background,
                     check, check_chains, check_covered, check_whole, differing, is_at_end, is_cut, is_exiting, is_incomplete,
                     is_moment, judge_sample, live, may_be_in_kernel, record, record_attached, record_made, record_while,
                     run, scratch, user_frames, without_early, workload)

# A program that does one thing over and over has in a second at twice the rate what it has in two.
FREQUENCY = int(os.environ.get("STACKD_TEST_FREQUENCY", "3989"))  # bench/oracle.py's is another
SECONDS = 1 if LONG else 0.5
FASTER = 1 if "STACKD_TEST_FREQUENCY" in os.environ else 2.5  # are the tests of shapes, and shorter
# What is to be met here is that a program changes, so many times a second: it has as many seconds.
CHANGING = ("fork_exec", "threads", "dlopen_dlclose", "lazy")
# Their code is made at run time.
MADE = ("jit", "jit_bare", "jit_jumped", "jit_trace")
PREFIX = "--prefix=" + os.environ.get("STACKD_TEST_PREFIX", "verified")
# Until there are tables, each sample has a copy of its stack: at a high rate, more than the ring has
# room for where the machine does not get to stackd.
RING = ("--ring-bytes", "64M")

# name: (source, frequency). The deep one at a lower one, for the size of its text.
SHAPES = {name: (name, FREQUENCY) for name in (
    "chain", "recursion", "threads", "fork_exec", "dlopen_dlclose", "plugin",
    "leader_exits", "signal_handler",
    "vdso", "plt", "redzone", "alloca", "realigned", "kept", "dropped", "ucontext", "fibers", "tail_calls", "noreturn",
    "jit",
    "jit_bare", "jit_jumped", "jit_trace", "jumped",
    "registers", "rust_names", "cpp_names", "exceptions", "inlined", "split_stack")}
SHAPES.update({name: ("chain", FREQUENCY) for name in (
    "chain_nonpie", "chain_static", "chain_static_pie")})
BARE = ("chain", "alloca", "realigned", "recursion", "redzone", "registers", "tail_calls", "noreturn")
SHAPES.update({"bare_" + name: (name, FREQUENCY) for name in BARE})
SHAPES.update({name: ("thunks", FREQUENCY) for name in ("thunks", "bare_thunks")})
# Each sample has a copy of its stack.
SHAPES.update({name: ("copied", FREQUENCY // 4) for name in ("copied", "copied_too")})
SHAPES["plt_ibt"] = ("plt", FREQUENCY)
SHAPES.update({name: ("lazy", FREQUENCY) for name in ("lazy", "lazy_ibt")})
SHAPES["realigned_fp"] = ("realigned", FREQUENCY)
SHAPES["deep"] = ("deep", 397)

# The memory program becomes another one, which only starting it shows.
STARTED_ONLY = {"memfd": ("memfd", FREQUENCY)}


def pace(source, frequency):
    """The frequency and the seconds for a workload: as many samples for all of one frequency."""
    if source in CHANGING:
        return frequency // 2, 2 * SECONDS
    if source in MADE:  # the kernel half is told of the code a moment later
        return frequency, 1
    return int(frequency * FASTER), SECONDS / FASTER


# Those that `make check` attaches to as well as starting them: attaching differs by processes, threads
# and mappings that were there before. The others are attached to by `make check-long`.
ATTACHED = ("chain", "threads", "fork_exec", "jit")

# Of two that differ little, the one for `make check-long`.
SECOND = ("jit_trace", "lazy", "bare_recursion", "bare_registers", "bare_redzone", "bare_realigned", "chain_nonpie", "realigned_fp")


# A start of stackd takes longer than such a program: `make check` records those whose code is in files one after
# the other, for half as long, and `make check-long` each by itself, too.
TOGETHER = [name for name, (source, frequency) in SHAPES.items() if frequency == FREQUENCY and name not in SECOND and
            name != "chain" and source not in CHANGING + MADE]


def check_shape(recording, source):
    """Every sample of a workload has its path. The daemon tells the kernel half in which memory a process
    makes code. Samples before that are cut at such code, and marked."""
    expectation, by_events = Expectation.of_source(source), None if source in CHANGING else recording
    if source not in MADE:
        samples = check_whole(recording, lambda sample: expectation.is_torn_end(user_frames(sample)[1:]), by_events)
    else:
        samples = without_early(check_whole(recording, is_incomplete), expectation)
    check_chains(samples, expectation, by_events=by_events)


def started(name, source, frequency):
    frequency, seconds = pace(source, frequency)

    def test():
        with scratch() as folder:
            recording, result = (record_made if source in MADE else record)(
                folder + "/s.db", PREFIX, *RING, "-F", frequency, "--", os.path.join(WORKLOADS, name), seconds)
            print(result.err)
            check_shape(recording, source)
    live(test, name=name.replace("_", "-"), long=name in SECOND or name in TOGETHER)


def attached(name, source, frequency):
    frequency, seconds = pace(source, frequency)

    def test():
        with scratch() as folder:
            with workload(name, share=None) as process:
                recording, result = record_attached(folder + "/s.db", process, 0.75 * seconds, PREFIX,
                                                    *RING, "-F", frequency)
            print(result.err)
            check_shape(recording, source)
    live(test, name=name.replace("_", "-") + "-attached", long=name not in ATTACHED)


@live
def test_shapes():
    """Programs that a shell runs one after the other."""
    shapes = {name[:15]: Expectation.of_source(SHAPES[name][0]) for name in TOGETHER}
    frequency, seconds = pace("chain", FREQUENCY)

    def is_torn(sample):
        return sample.comm in shapes and shapes[sample.comm].is_torn_end(user_frames(sample)[1:])
    with scratch() as folder:
        recording, result = record(folder + "/s.db", *MANAGED, PREFIX, *RING, "-F", frequency, "--", "/bin/dash", "-c",
                                   'for name; do "$0/$name" %g; done' % (seconds / 2), WORKLOADS, *TOGETHER)
        print(result.err)
        samples = check_whole(recording, is_torn, by_events=recording)
        check(len(shapes) == len(TOGETHER), "two programs of one name", TOGETHER)
        for name, expectation in shapes.items():
            print(name)
            check_chains([sample for sample in samples if sample.comm == name], expectation, by_events=recording)


@live
def test_throws():
    """While exceptions are thrown, the unwinder overwrites its own frame: its caller's registers, and its return
    address. Paths are complete all the same, with and without frame pointers, but for an instruction between two stacks;
    and none has the landing pad's function for the unwinder's caller, as if that had called itself."""
    chain = ["main", "steady", "attempt", "middle", "thrower", "Guard::~Guard"]
    names = ("throws", "throws_fp")
    with scratch() as folder:
        recording, result = record(folder + "/s.db", *MANAGED, PREFIX, *RING, "-F", FREQUENCY, "--", "/bin/dash", "-c",
                                   'for name; do "$0/$name" 0.6; done', WORKLOADS, *names)
        print(result.err)
        samples = [sample for sample in recording.samples() if sample.comm in names]
    paths = collections.Counter((sample.comm,) + tuple((chains.base_name(frame.symbol) or "").split("(")[0]
                                                       for frame in user_frames(sample))
                                for sample in samples if not is_incomplete(sample))
    for name in names:
        thrown = [path for path in paths if path[0] == name and "thrower" in path and "_Unwind_RaiseException" in path]
        check(sum(paths[path] for path in thrown) > 100, "samples of %s while an exception is thrown" % name, paths)
    marks = collections.Counter(sample.frames[0].symbol for sample in samples if is_incomplete(sample))
    for reason in ("wrong_caller", "bad_recipe", "no_progress"):
        check(not marks["[incomplete: %s]" % reason], "a path is cut", marks, paths)
    for path in paths:
        own = [name for name in path if name in chain]
        check(own == [name for name in chain if name in own], "a function has called itself", path)


for _name, (_source, _frequency) in {**SHAPES, **STARTED_ONLY}.items():
    started(_name, _source, _frequency)
for _name, (_source, _frequency) in SHAPES.items():
    attached(_name, _source, _frequency)


def steady_paths(samples):
    """How many samples have each path: its functions from main() on, each once."""
    paths = collections.Counter(
        tuple(dict.fromkeys(chains.base_name(frame.symbol) for frame in user_frames(sample)
                            if frame.symbol))
        for sample in samples)
    return {path[path.index("main"):]: count for path, count in paths.items() if "main" in path}


def missing_paths(paths, others):
    """Those that are so frequent that chance does not keep them from being among the others: that all samples of
    a path are among the one's, if each could as well be the other's, has a probability below 1e-9."""
    share = sum(paths.values()) / (sum(paths.values()) + sum(others.values()))
    return [path for path, count in paths.items() if path not in others and share ** count < 1e-9]


@live(long=True)
def test_twins():
    """Programs without unwind information have the paths of their twins that have it, and the two
    walks agree on every sample."""
    with scratch() as folder:
        for name in ("alloca", "realigned", "registers", "recursion"):
            paths = []
            for program in (name, "bare_" + name):
                recording, _ = record("%s/%s.db" % (folder, program), "-F", FREQUENCY, "--judge",
                                      "--", os.path.join(WORKLOADS, program), 0.5 * SECONDS)
                counters = recording.stats()["counters"]
                check(differing(counters) == 0 and counters["judged_right"] > 100,
                      program + ": walks differ from the daemon's", counters)
                paths.append(steady_paths(recording.samples()))
            print(name, *paths, sep="\n")
            missing = missing_paths(*paths) + missing_paths(*reversed(paths))
            check(len(paths[0]) > 1 and not missing, name + " and its twin differ", *missing)


@live
def test_much_code():
    """Code without unwind information whose recipes take more than a second, in a program whose
    samples cannot wait for them: each is walked by what the instructions around it tell."""
    expectation = Expectation.of_source("much_code")
    with scratch() as folder:
        recording, result = record(folder + "/s.db", *RING, "-F", 997, "--",
                                   WORKLOADS + "/much_code", 2)
        counters, steps = (recording.stats()[key] for key in ("counters", "steps"))
        print(result.err, steps, {key: counters[key] for key in counters if "walk" in key})
        check_chains(check_whole(recording, by_events=recording), expectation, by_events=recording)
        check(steps["wrong"] == 0, "steps are judged wrong", steps)


@live
def test_jumped_apart():
    """Code of a library that is entered by jumps runs in the frame of the program's function, which has a bait: its own
    return address a second time, where functions that the code calls would have it if they ran in that frame, too."""
    expectation = Expectation.of_source("jumped_apart")
    with scratch() as folder, workload("jumped_apart") as process:
        recording, result = record_attached(folder + "/s.db", process, 0.4, *RING, "-F", 3989)
        samples = [sample for sample in recording.samples() if not is_moment(sample)]
        print(result.err, recording.stats()["end_reasons"])
    check_chains([sample for sample in samples if not is_incomplete(sample)], expectation, 0)
    inner = [sample for sample in samples
             if {"code_one", "code_two"} & {frame.symbol for frame in user_frames(sample)}]
    check(len(inner) > 40, "hardly any sample in the library's code", len(inner))
    check(any(not is_incomplete(sample) for sample in inner), "no path through the library's code is complete")


def is_first_switch(sample, frames):
    """At the end of switch_stacks() when it enters a new stack: its return address is the begin of a function, put
    there by hand, and nothing called the switch on that stack."""
    return sample.frames[0].symbol == "[incomplete: bad_return]" and [f.symbol for f in frames] == ["switch_stacks"]


def check_planted_returns(samples, expectation):
    """Complete paths are right; those that begin where the program has put an address on a stack end
    there, and say why, unless the code at the address says that a stack begins there."""
    whole, cut = [], []
    for sample in samples:
        frames = user_frames(sample)
        if frames and not is_at_end(sample) and not is_moment(sample):
            marked = str(frames[0].symbol).startswith("[incomplete")
            (cut if marked else whole).append((sample, frames[1:] if marked else frames))
    print(len(whole), "whole", len(cut), "cut")
    check_chains([sample for sample, _ in whole], expectation)
    odd = [chains.text_of(sample.frames) for sample, frames in cut
           if not is_first_switch(sample, frames) and
           (expectation.judge(frames) != "right" or frames[0].symbol != "steady_put" or
            sample.frames[0].symbol not in ("[incomplete: bad_return]", "[incomplete: wrong_caller]"))]
    check(not odd, "%d marked paths are wrong" % len(odd), *odd[:5])
    check(len(cut) > 40, "hardly any path is cut", len(cut))
    check(all(any(frames[-1].symbol == leaf for _, frames in whole)
              for leaf in ("main_leaf", "finish_leaf")), "coroutines without samples")


@live
def test_planted_returns():
    expectation = Expectation.of_source("planted_returns")
    with scratch() as folder:
        recording, result = record(folder + "/s.db", *RING, "-F", 2 * FREQUENCY, "--judge", "--",
                                   WORKLOADS + "/planted_returns", SECONDS / 2)
        stats = recording.stats()
        print(result.err, stats["end_reasons"])
        check_planted_returns(recording.samples(), expectation)
        check(differing(stats["counters"]) == 0, "walks are wrong", stats)


@live
def test_stripped():
    """Without symbols, frames are the same, and show object and offset. A comparison of the recording
    with itself has the same functions as a report, with the same amounts."""
    expectation = Expectation(["@exe;@exe;@exe;@exe;@exe"])
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", "-F", FREQUENCY, "--",
                              WORKLOADS + "/chain_stripped", SECONDS)
        check_chains(check_whole(recording), expectation)
        stacks = [stack for stack, count in recording.folded().items() if count > 100]
        check(stacks and all("chain_stripped+0x" in stack for stack in stacks),
              "an unnamed function is shown as object+offset", stacks[:5])
        report = json.loads(recording.text("report", "--view", "flat", "--by", "all", "--json"))
        named = [(report["symbols"][row["symbol"]]["name"], row["total"]) for row in report["parts"][0]["functions"]]
        listed = {name: [total, total] for name, total in named if name.startswith("chain_stripped+0x")}
        rows = json.loads(run(STACKCTL, "diff", "--json", recording.store, recording.store).out)["rows"]
        compared = {row["function"]: row["records"] for row in rows if row["function"].startswith("chain_stripped")}
        check(compared == listed, "functions that are compared", compared, listed)


@live
def test_uretprobe():
    """Return addresses that the kernel has replaced. Every sample of user mode is complete. In
    the kernel, while it replaces one, the true one is nowhere for a moment: those samples
    are marked, and the others have their true path."""
    expectation = Expectation.of_source("uretprobe")
    tried = run(WORKLOADS + "/uretprobe", 0.01)
    if tried.status == 77:
        raise Skip(tried.out.strip() or tried.err.strip())
    with scratch() as folder:
        for prefix in ("verified", "none") if LONG else ("verified",):
            recording, _ = record("%s/%s.db" % (folder, prefix), "-e", "cpu-clock:u", "-F",
                                  FREQUENCY, "--prefix", prefix, "--", WORKLOADS + "/uretprobe",
                                  SECONDS)
            check_chains(check_whole(recording), expectation)
        recording, _ = record(folder + "/s.db", "-F", FREQUENCY, "--judge", "--",
                              WORKLOADS + "/uretprobe", SECONDS)
        stats, samples = recording.stats(), recording.samples()
        cut = [s for s in samples if is_incomplete(s)]
        odd = [chains.text_of(s.frames) for s in cut if not is_replacing(s) and not is_moment(s)]
        print(stats["quality"], stats["end_reasons"])
        check(stats["lost"] == 0 and len(samples) == stats["samples"], "lost samples", stats)
        check(len(cut) == stats["quality"]["partial"], "unmarked", stats)
        check(not odd, "%d cut stacks" % len(odd), *odd[:10])
        check(differing(stats["counters"]) == 0, "walks are wrong", stats)
        check_chains([s for s in samples if not is_incomplete(s)], expectation)


@live
def test_uretprobe_signal():
    """A signal that hits a thread in the kernel's trampoline: behind the handler the path goes on to
    where the function returns to. Before the trampoline's system call, only the kernel has that
    address: a walk that is left to the daemon (there are no tables yet) ends there, and says so."""
    expectation = Expectation.of_source("uretprobe")
    tried = run(WORKLOADS + "/uretprobe", 0.01)
    if tried.status == 77:
        raise Skip(tried.out.strip() or tried.err.strip())
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", "-e", "cpu-clock:u", "-F", 5 * FREQUENCY, *RING, "--",
                              WORKLOADS + "/uretprobe", 1, "signals")
        stats, samples = recording.stats(), recording.samples()
    left = stats["counters"]["kernel_fallbacks"]
    cut = [s for s in samples if (s.frames[0].symbol or "").startswith("[incomplete:")]
    odd = [chains.text_of(s.frames) for s in cut if not is_moment(s) and
           (s.frames[0].symbol != "[incomplete: no_mapping]" or s.frames[1].ip % 4096 > 11)]
    complete = [s for s in samples if s not in set(cut)]
    handling = [text for text in map(lambda s: chains.text_of(s.frames), complete)
                if ";on_timer" in text]
    returning = sum(bool(re.search("steady_signals;[^;]*;on_timer", text)) for text in handling)
    print(stats["quality"], left, "left to the daemon", len(handling), "in the handler", returning,
          "behind a return")
    check(stats["lost"] == 0 and len(samples) == stats["samples"], "lost samples", stats)
    check(not odd, "%d cut stacks" % len(odd), *odd[:10])
    check(len(cut) == stats["quality"]["partial"], "unmarked", stats)
    check(len(cut) <= left, "cut stacks", len(cut), left)
    check(returning >= 20, "hardly any signal in a return", returning, len(handling))
    check_chains(complete, expectation)


@live
def test_newborn():
    """Threads that have done nothing yet, on stacks that nobody has touched: they begin there. Before
    there are tables, not even the one function is told."""
    with scratch() as folder:
        # Until there are tables, the largest copies of stacks are sent.
        recording, _ = record(folder + "/s.db", "-e", "cpu-clock:u", "-F", FREQUENCY, *RING, "--",
                              WORKLOADS + "/newborn", 0.3)
        stats, samples = recording.stats(), [s for s in recording.samples() if not is_at_end(s)]
    check(not stats["lost"], "lost samples", stats)
    newborn = [s for s in samples if chains.text_of(s.frames) in ("begin", "[no frames]")]
    check(len(newborn) >= 40, "few samples", len(newborn), len(samples))
    check_chains([s for s in samples if s not in set(newborn)], Expectation.of_source("newborn"), 0)


def is_handling(sample):
    return any(frame.symbol == "uprobe_notify_resume" for frame in sample.frames)


def is_replacing(sample):
    """Between the replacement of a return address and its entry into the kernel's list, the true
    one is nowhere: the walk ends right above the function's entry, at the trampoline, or before it."""
    frames = user_frames(sample)
    return (may_be_in_kernel(sample, "uprobe_notify_resume") and is_cut(sample, "no_mapping") and 2 <= len(frames) <= 3
            and all(frame.ip % 4096 <= 1 for frame in frames[1:-1])
            and frames[-1].symbol in ("first", "second", "leave"))


@live(long=True)
def test_uprobe_handling():
    """In the kernel, while it handles a probe, it changes registers one after the other. A clock
    that is ten times as fast meets that often: every stack is complete, except in that
    moment."""
    expectation = Expectation.of_source("uretprobe")
    tried = run(WORKLOADS + "/uretprobe", 0.01)
    if tried.status == 77:
        raise Skip(tried.out.strip() or tried.err.strip())
    with scratch() as folder:
        for kind in ("entry", "return"):
            with workload("uretprobe", 60, kind) as process:
                recording, _ = record_attached("%s/%s.db" % (folder, kind), process, 1.5, "-F",
                                               5 * FREQUENCY, "--judge")
            stats, samples = recording.stats(), recording.samples()
            cut = [s for s in samples if (s.frames[0].symbol or "").startswith("[incomplete:")]
            odd = [chains.text_of(s.frames) for s in cut
                   if not is_moment(s) and (kind == "entry" or not is_replacing(s))]
            handling = sum(is_handling(s) for s in samples)
            print(kind, stats["quality"], stats["end_reasons"], {"handling": handling})
            check(not odd, "%d cut stacks" % len(odd), *odd[:10])
            check(len(cut) == stats["quality"]["partial"], "unmarked", stats)
            check(differing(stats["counters"]) == 0, "walks are wrong", stats)
            check(handling >= 40, "only %d samples in a probe" % handling)
            check_chains([s for s in samples if s not in set(cut)], expectation)


@live
def test_uprobe_inside():
    """A probe on a call within a function, where a region's is put if the first instruction would
    take longer: what is at the top of the stack there says nothing, and the call is executed in the
    kernel, one register after the other."""
    expectation = Expectation.of_source("chain")
    with scratch() as folder:
        program = shutil.copy(WORKLOADS + "/chain", folder + "/chain")
        recording, _ = record(folder + "/s.db", "-F", 5 * FREQUENCY, "--judge", "--ring-bytes",
                              "64M", "--region", "alpha@chain", "--region-limit", 0, "--", program, 2)
        stats, samples = recording.stats(), check_whole(recording)
        handling = sum(is_handling(s) for s in samples)
        print(stats["quality"], {"handling": handling})
        check(differing(stats["counters"]) == 0, "walks are wrong", stats)
        check(handling >= 40, "only %d samples in a probe" % handling)
        check_chains(samples, expectation)


@live(long=True)
def test_uprobe_first_hit():
    """A thread's first breakpoint: when it has been passed, the kernel knows nothing of probes for
    the thread yet, and in a process without uretprobes there is no trampoline. Whatever sample hits
    behind the breakpoint has its true path. (Most of the time goes into making the threads: how many
    recordings have enough such samples is a matter of what else the machine does.)"""
    expectation = Expectation.of_source("uretprobe")
    tried = run(WORKLOADS + "/uretprobe", 0.01)
    if tried.status == 77:
        raise Skip(tried.out.strip() or tried.err.strip())
    handling = 0
    for _ in range(12):
        with scratch() as folder:
            recording, _ = record(folder + "/s.db", "-F", 5 * FREQUENCY, "--",
                                  WORKLOADS + "/uretprobe", 5, "threads")
            samples = [s for s in recording.samples() if user_frames(s)]
        inside = [s for s in samples if user_frames(s)[-1].symbol in ("first", "linger", "leaf")]
        odd = [chains.text_of(s.frames) for s in inside
               if judge_sample(s, expectation, False) not in ("right", "cut")]
        handling += sum(is_handling(s) for s in inside)
        print(len(samples), "samples", len(inside), "inside", handling, "handling")
        check(not odd, "%d of %d paths" % (len(odd), len(inside)), *odd[:10])
        if handling >= 10:
            break
    check(handling >= 10, "only %d samples in a probe" % handling)


@live
def test_signal_storm():
    """Thousands of samples within the delivery of signals, and within returns from handlers: a few
    hit while one context's registers are replaced by another's, and are mended or marked."""
    expectation = Expectation.of_source("signal_storm")
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", PREFIX, "-F", 9973, "--",
                              WORKLOADS + "/signal_storm", 2)
        samples = check_whole(recording)
        replaced = [s for s in samples if s.frames and re.search(
            r"setup_rt_frame|restore_sigcontext", s.frames[-1].symbol or "")]
        print(len(samples), "samples", len(replaced), "while registers are replaced")
        check(len(replaced) >= 20, "hardly any sample hit where it matters")
        check_chains(samples, expectation)


@live
def test_sigaltstack():
    """A handler on a stack of its own: the kernel half reads both stacks. A sample that is left to
    the daemon (before the tables are there) has a copy of one only: its walk ends at that one's
    end, says so, and shows the end of the true path. In the second program, the kernel does not know of
    the stack while a handler runs."""
    expectation = Expectation.of_source("signal_handler")
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", PREFIX, "-F", FREQUENCY, "--", "/bin/dash", "-c",
                              '"$0/sigaltstack" %g; "$0/disarmed" %g' % (SECONDS / 2, SECONDS / 2), WORKLOADS)
        samples, stats = recording.samples(), recording.stats()
        marked = [s for s in samples if (s.frames[0].symbol or "").startswith("[incomplete:")]
        print(stats["quality"], stats["end_reasons"], len(samples), {"cut": len(marked)})
        check(stats["lost"] == 0 and len(samples) == stats["samples"], "lost samples", stats)
        check(len(marked) == stats["quality"]["partial"], "not every cut stack is marked", stats)
        left, cut = stats["counters"]["kernel_fallbacks"], [s for s in marked if not is_moment(s)]
        check(len(cut) <= left, "stacks that the kernel half has cut", len(cut), left)
        for name in ("sigaltstack", "disarmed"):
            check_chains([s for s in samples if s.comm == name and s not in set(cut)], expectation)
        wrong = [chains.text_of(s.frames) for s in cut
                 if not is_at_end(s) and not expectation.ends_like(user_frames(s)[1:])]
        check(not wrong, "%d cut stacks are wrong" % len(wrong), *wrong[:5])


def check_unreadable(recording):
    samples, stats = recording.samples(), recording.stats()
    print(stats["quality"], stats["end_reasons"])
    check(stats["lost"] == 0 and len(samples) == stats["samples"], "lost samples", stats)
    marked = [s for s in samples if is_incomplete(s)]
    check(len(marked) == stats["quality"]["partial"], "%d stacks are marked" % len(marked), stats["quality"])
    odd = [chains.text_of(s.frames) for s in marked if not is_cut(s, "unreadable") and not is_exiting(s)]
    check(not odd, "%d stacks end otherwise" % len(odd), *odd[:5])
    check_covered(samples)


@live
def test_unreadable():
    """Callers' frames on pages that cannot be read half of the time, and a hole in the stack."""
    with scratch() as folder:
        check_unreadable(record(folder + "/s.db", PREFIX, "-F", FREQUENCY, "--",
                                WORKLOADS + "/unreadable", SECONDS)[0])


@live(long=True)
def test_unreadable_daemon():
    """The same walked by the daemon: the mappings of the stack change under its copies' ends."""
    with scratch() as folder:
        check_unreadable(record(folder + "/s.db", PREFIX, "--walk", "daemon", "-F", FREQUENCY,
                                "--", WORKLOADS + "/unreadable", SECONDS)[0])


@live(long=True)
def test_unreadable_attached():
    with scratch() as folder, workload("unreadable") as process:
        check_unreadable(record_attached(folder + "/s.db", process, 0.75 * SECONDS, PREFIX, "-F",
                                         FREQUENCY)[0])


@live
def test_deleted_program():
    """Names come from the file that is mapped, also when its path is gone."""
    with scratch() as folder:
        program = shutil.copy(WORKLOADS + "/chain", folder + "/gone")
        with workload(program) as process:
            os.unlink(program)
            recording, _ = record_attached(folder + "/s.db", process, 0.75 * SECONDS, "-F",
                                           FREQUENCY)
        check_chains(check_whole(recording), Expectation.of_source("chain"))


@live
def test_replaced_library():
    """...and when another file has taken its path: names are those of the mapped file."""
    with scratch() as folder:
        library = shutil.copy(WORKLOADS + "/libdl_one.so", folder + "/lib.so")
        with workload("plugin", 60, library) as process:
            shutil.copy(WORKLOADS + "/libdl_two.so", folder + "/new.so")
            os.rename(folder + "/new.so", library)
            recording, _ = record_attached(folder + "/s.db", process, 0.75 * SECONDS, "-F",
                                           FREQUENCY)
        check_chains(check_whole(recording), Expectation.of_source("plugin"))


def needs_mount_namespace():
    """A chroot whose root is no mount cannot make any."""
    done = run("unshare", "--mount", "--pid", "--fork", "true")
    if done.status != 0:
        raise Skip("no mount namespaces here: " + done.err.strip())


@live
def test_container():
    """A program that exists in another mount and pid namespace only, and has another program's
    path."""
    needs_mount_namespace()
    script = ("mount -t tmpfs none /mnt && cp '%s/chain' /mnt/hidden && exec /mnt/hidden 60"
              % WORKLOADS)
    with scratch() as folder:
        with background("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
                        script, ready="READY") as process:
            child = run("pgrep", "-P", process.pid).out.split()
            check(len(child) == 1, "one child of unshare", child)
            check(not os.path.exists("/mnt/hidden"), "the mount is private")
            recording, _ = record_while(folder + "/s.db", int(child[0]), 0.5 * SECONDS, "-F",
                                        FREQUENCY, "--pid", child[0])
        check_chains(check_whole(recording), Expectation.of_source("chain"))


@live
def test_inside_container():
    """In a pid namespace other than the machine's stackd says that it cannot record there, and how it can."""
    needs_mount_namespace()
    with scratch() as folder:
        for target in ("--pid", 1), ("--", WORKLOADS + "/chain", 0.1):
            result = run("unshare", "--mount", "--pid", "--fork", "--mount-proc", STACKD, "-o", folder + "/s.db",
                         *target)
            check(result.status == NO_SUPPORT and "--pid=host" in result.err, "refused", result)


@live
def test_container_started():
    """The same from the start on, with the processes that set it up."""
    needs_mount_namespace()
    script = ("mount -t tmpfs none /mnt && cp '%s/chain' /mnt/hidden && exec /mnt/hidden %g"
              % (WORKLOADS, SECONDS))
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", "-F", FREQUENCY, "--", "unshare", "--mount",
                              "--pid", "--fork", "sh", "-c", script)
        samples = [s for s in check_whole(recording) if s.comm == "hidden"]
        check_chains(samples, Expectation.of_source("chain"))


@live
def test_period():
    """-c: a sample every so many nanoseconds of CPU time, each of that weight."""
    with scratch() as folder:
        result = run(STACKD, *NATIVE, "-o", folder + "/s.db", "-e", "perf::CPU-CLOCK:u", "-c", 500000,
                     "--", WORKLOADS + "/chain", SECONDS)
        check(result.status == 0, "status %d" % result.status, result.err)
        samples = check_whole(Recording(folder + "/s.db"))
        check_chains(samples, Expectation.of_source("chain"))
