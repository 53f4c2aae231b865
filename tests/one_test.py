# SPDX-License-Identifier: MIT
"""Runs one test of the groups that report for themselves (live, exports): its output goes to a log,
and its line to whoever asked. A test is an object with a name and a run(). What it took goes to the
file that STACKD_TEST_TIMES names, if it names one (tests/check.sh).

A test that fails while a hypervisor takes the machine's processors away says nothing: buffers that
nobody empties run over, and clocks that are to agree do not. The kernel counts that time. So such a
test is run again, and its log says how much it was; but for an error with `is_excused` False, which
says that something untrue was told, like a wrong path."""

import contextlib
import os
import time
import traceback


@contextlib.contextmanager
def note_time(name):
    """Adds a line for the block's time, and the CPU time of this process and those that it awaited."""
    begin, before = time.monotonic(), os.times()
    try:
        yield
    finally:
        after = os.times()
        user = after.user + after.children_user - before.user - before.children_user
        system = after.system + after.children_system - before.system - before.children_system
        with open(os.environ.get("STACKD_TEST_TIMES", os.devnull), "a", encoding="utf-8") as times:
            times.write("%.3f s, %.3f + %.3f s of a CPU: %s\n" % (time.monotonic() - begin, user,
                                                                 system, name))


def stolen():
    """Seconds in which the machine's processors had something to run and were not given to it."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


class Theft:
    """What was stolen from now on."""
    LEAST = 0.1  # seconds that a test can notice,
    SHARE = 0.01  # and of its time on all processors

    def __init__(self):
        self.begin, self.before = time.monotonic(), stolen()

    def seconds(self):
        return stolen() - self.before

    def is_much(self):
        all_time = (time.monotonic() - self.begin) * os.cpu_count()
        return self.seconds() > max(self.LEAST, self.SHARE * all_time)


TIMES = 3  # that a test is run at most


def run_once(test, log, skip, missing):
    """The line, and whether stolen time excuses a failure."""
    try:
        if missing:
            raise skip(missing)
        with contextlib.redirect_stdout(log), note_time(test.name):
            test.run()
    except skip as reason:
        return "SKIP %s: %s" % (test.name, reason), False
    except Exception as error:  # pylint: disable=broad-except
        log.write("\n" + traceback.format_exc())
        line = "FAIL %s: %s" % (test.name, str(error).split("\n", maxsplit=1)[0][:200])
        return line, getattr(error, "is_excused", True)
    return "PASS " + test.name, False


def run_test(test, log, skip, missing=None):
    """The line for one test. `skip`: the exception by which it says that this machine cannot;
    `missing`: why it cannot, if that is known before."""
    again = ""
    for times in range(1, TIMES + 1):
        theft = Theft()
        line, is_excused = run_once(test, log, skip, missing)
        if not is_excused or not theft.is_much() or times == TIMES:
            break
        again = ": run again, since %.2f s of processor time were stolen" % theft.seconds()
        log.write("\n%s%s\n" % (line, again))
    return line + again
