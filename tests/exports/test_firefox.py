# SPDX-License-Identifier: MIT
"""The page in Firefox: all tests of pages that Chromium runs, with what the console complains of judged."""

import common
import firefox
from common import Skip, check, exports

PAGES = ("test_web", "test_flamegraph", "test_fold_page")

WRONG = """<!doctype html><script>console.error("said by the page")</script><script>setTimeout(() => { missing(); })</script>
<script>setTimeout(() => { document.title = "done"; }, 1)</script>"""


@exports(long=True)
def test_web_firefox():
    """Firefox shows what Chromium shows, and mouse and keys do the same."""
    if firefox.why_not():
        raise Skip(firefox.why_not() + " (deps.sh firefox)")
    others = common.OPENED[:]
    with firefox.Firefox() as browser:
        common.OPENED[:] = [browser]
        try:
            check_console(browser)
            for test in common.TESTS:
                if test.run.__module__ in PAGES:
                    print("in Firefox:", test.name, flush=True)
                    try:
                        test.run()
                    except Skip as why:
                        print("skipped:", why)
        finally:
            common.OPENED[:] = others


def check_console(browser):
    """The console's errors are seen: otherwise its silence would say nothing."""
    path = common.STORES.path("wrong.html")
    with open(path, "w", encoding="ascii") as file:
        file.write(WRONG)
    browser.open("file://" + path)
    browser.until("return document.title === 'done'")
    said = browser.complaints()
    check(len(said) == 2 and any("said by the page" in line for line in said) and any("missing" in line for line in said), "the console", said)
    check(not browser.complaints(), "errors are told once")
