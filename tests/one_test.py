# SPDX-License-Identifier: MIT
"""Runs one test of the groups that report for themselves (live, exports): its output goes to a log,
and its line to the caller. A test is an object with a name and a run(). The time that it took goes to
the file that STACKD_TEST_TIMES names, if it names one (tests/check.sh).

Nothing is run twice: a test judges what holds on any machine under any load, so one that failed once
has found a defect, of the product or of itself."""

import contextlib
import os
import time
import traceback

LONGEST = 400  # characters of a failure's reason in its line: a log may be out of reach


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


def run_test(test, log, skip, missing=None):
    """The line for one test. `skip`: the exception by which it says that this machine cannot;
    `missing`: why it cannot, if that is known before."""
    try:
        if missing:
            raise skip(missing)
        with contextlib.redirect_stdout(log), note_time(test.name):
            test.run()
    except skip as reason:
        return "SKIP %s: %s" % (test.name, reason)
    except Exception as error:  # pylint: disable=broad-except
        log.write("\n" + traceback.format_exc())
        reason = " | ".join(str(error).split("\n"))[:LONGEST]
        return "FAIL %s: %s (again: make check TEST=%s)" % (test.name, reason, test.name)
    return "PASS " + test.name
