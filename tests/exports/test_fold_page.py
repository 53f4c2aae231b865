# SPDX-License-Identifier: MIT
"""The file of `stackctl fold`, looked at in a browser: its contents, and what the mouse and keys do."""

from common import STACKCTL, STORES, check, exports, run
from test_web import Page

TAB = "window.stackd.app.tabs.fold.tab"
VIEW = "return [%s.view.from, %s.view.to, %s.cursor]" % (TAB, TAB, TAB)


class FoldPage(Page):
    def __init__(self, store):
        path = STORES.path("fold.html")
        run(STACKCTL, "fold", "-i", store, "--region", "pass", "-o", path)
        super().__init__("file://" + path)
        self.check_quiet()

    def view(self):
        return self.browser.run(VIEW)

    def key(self, *keys):
        self.press(*keys)
        return self.view()

    def place(self, x):
        """The pixels of a moment of the pass, in the panel of the first counter."""
        return self.browser.run("const box = document.querySelector('#panels').getBoundingClientRect();"
                                "return [box.left + " + TAB + ".px(arguments[0]), box.top + 80]", x)


@exports
def test_fold_page():
    page = FoldPage(STORES.get("folded"))
    check("400 passes of 9.00 ms of CPU time" in page.text("#facts"), "facts", page.text("#facts"))
    rows = page.browser.run("return [...document.querySelectorAll('#panel tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))")
    check([row[5].split(" [")[0] for row in rows] == ["assemble", "solve", "output"], "phases", rows)
    check([row[1] for row in rows] == ["25.0 %", "70.0 %", "100.0 %"], "where they end", rows)
    names = page.browser.run("return [...document.querySelectorAll('#panels .routine title')].map(t => t.textContent)")
    check([name.split(",")[0] for name in names] == ["solve", "output", "assemble"], "routines", names)

    check_scales(page)
    check_lanes(page)

    # Pointing at a moment tells what there is: the rate, how much was reached, and the routine.
    page.browser.point(*page.place(0.5))
    said = page.text("#readout")
    cursor = page.view()[2]  # a pixel is a tenth of a percent
    check(abs(cursor - 0.5) < 0.002, "the cursor", cursor)
    reached = "%.1f %% reached" % (100 * (0.05 + (cursor - 0.25) / 0.6))
    check("4.5" in said and "222 M" in said and reached in said and "solve 100 %" in said.replace("100.0 %", "100 %"),
          "what is said of the middle", said, reached)

    # Keys: phases, zoom, all.
    page.browser.run("document.getElementById('panels').focus()")
    begin, end, cursor = page.key("n")
    check(begin == 0 and 0.25 < end < 0.3 and 0.12 < cursor < 0.13, "the first phase", begin, end, cursor)
    begin, end, cursor = page.key("n")
    check(0.15 < begin < 0.25 and 0.7 < end < 0.8, "the second phase", begin, end)
    check(page.key("Right")[2] > cursor, "the cursor moves")
    smaller = page.key("+")
    check(smaller[1] - smaller[0] < end - begin, "zoom", smaller)
    check(page.key("Escape")[:2] == [0, 1], "all of it")

    # The table's rows, and dragging.
    page.browser.run("document.querySelectorAll('#panel tbody tr')[2].click()")
    begin, end, _ = page.view()
    check(0.65 < begin < 0.7 and end == 1, "the third row", begin, end)
    page.key("0")
    drag(page, 0.2, 0.4)
    begin, end, _ = page.view()
    check(abs(begin - 0.2) < 0.01 and abs(end - 0.4) < 0.01, "the part that was dragged over", begin, end)
    page.screenshot("fold")
    page.check_quiet()


def check_scales(page):
    """Time and percent above, the rate on the left, and the share reached on the right."""
    scales = page.browser.run("return [...document.querySelectorAll('#panels .scale')].map(t => t.textContent)")
    check({"0.00 %", "50.0 %", "100.0 %", "0", "50 %", "100 %", "100 M", "200 M"} <= set(scales), "scales", scales)


def check_lanes(page):
    """Phases have the colours of their routines, the last with its callers, and lines are points where the
    samples are: those of a phase's routine lie within the phase."""
    boxes = page.browser.run("return [...document.querySelectorAll('#panels rect.phase')].map(box => "
                             "[box.getAttribute('fill'), box.textContent])")
    check([words.split(",")[0] for _, words in boxes] == ["assemble", "solve", "output"], "phases", boxes)
    check(len({fill for fill, _ in boxes}) == 3, "colours of phases", boxes)
    groups = page.browser.run("return [...document.querySelectorAll('g.line')].map(g => [g.getAttribute('fill'), "
                              "g.querySelector('title').textContent, "
                              "[...g.querySelectorAll('circle')].map(c => +c.getAttribute('cx'))])")
    fill_of = {words.split(",")[0]: fill for fill, words in boxes}
    bounds = {"assemble": (0, 0.25), "solve": (0.25, 0.7), "output": (0.7, 1)}
    check({title.split(",")[0] for _, title, _ in groups} == set(bounds), "lines", [g[:2] for g in groups])
    for fill, title, places in groups:
        routine = title.split(",")[0]
        low, high = (page.browser.run("return " + TAB + ".px(arguments[0])", x) for x in bounds[routine])
        check(fill == fill_of[routine], "the colour of %s" % routine, fill, fill_of)
        check(len(places) > 20 and all(low - 2 <= x <= high + 2 for x in places), "points of %s" % title, places)
    shown = page.browser.run("const d = " + TAB + ".data; return d.lines.reduce((n, line) => n + line.samples, 0)"
                             " + d.in_lines_left + d.without_line")
    check(shown == page.browser.run("return " + TAB + ".data.samples"), "samples of lines", shown)


def drag(page, start, end):
    (x, y), (to, _) = page.place(start), page.place(end)
    actions = [{"type": "pointerMove", "x": round(x), "y": round(y), "origin": "viewport"},
               {"type": "pointerDown", "button": 0},
               {"type": "pointerMove", "x": round(to), "y": round(y), "origin": "viewport"},
               {"type": "pointerUp", "button": 0}]
    page.browser.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "m", "actions": actions}]})


@exports
def test_fold_hostile():
    """A counter's name is no markup, wherever it is shown."""
    page = FoldPage(STORES.get("markup"))
    check("<script>" in page.text("#panels"), "the name", page.text("#panels")[:200])
    check(page.browser.run("return document.scripts.length") == 2, "scripts")
