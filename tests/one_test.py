# SPDX-License-Identifier: MIT
"""Runs one test of the groups that report for themselves (live, exports): its output goes to a log,
and its line to whoever asked. A test is an object with a name and a run()."""

import contextlib
import traceback


def run_test(test, log, skip, missing=None):
    """The line for one test. `skip`: the exception by which it says that this machine cannot;
    `missing`: why it cannot, if that is known before."""
    try:
        if missing:
            raise skip(missing)
        with contextlib.redirect_stdout(log):
            test.run()
    except skip as reason:
        return "SKIP %s: %s" % (test.name, reason)
    except Exception as error:  # pylint: disable=broad-except
        log.write("\n" + traceback.format_exc())
        return "FAIL %s: %s" % (test.name, str(error).split("\n", maxsplit=1)[0][:200])
    return "PASS " + test.name
