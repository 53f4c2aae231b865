# SPDX-License-Identifier: MIT
"""The page in Firefox: the same tests as in Chromium, but for those of Chromium's own interface."""

import common
import firefox
import test_flamegraph
import test_fold_page
import test_web
from common import Skip, exports

SMOKE = (test_web.test_web_page, test_web.test_web_selection, test_web.test_web_keys, test_web.test_web_hostile, test_web.test_web_causes,
         test_flamegraph.test_flamegraph_page, test_flamegraph.test_flamegraph_diff, test_fold_page.test_fold_page)


@exports(long=True)
def test_web_firefox():
    """Firefox shows what Chromium shows, and mouse and keys do the same."""
    if firefox.why_not():
        raise Skip(firefox.why_not() + " (deps.sh firefox)")
    others = common.OPENED[:]
    with firefox.Firefox() as browser:
        common.OPENED[:] = [browser]
        try:
            for test in SMOKE:
                print("in Firefox:", test.__name__, flush=True)
                test()
        finally:
            common.OPENED[:] = others
