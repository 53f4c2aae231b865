#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds the picture of a chronology against its text: timeline.py TEXT SVG

Every row of the text is a bar of the picture with the same routine, callers, line, times and
samples; bars stand where the ticks of the axis say that their times are, those of callers above
what they call. Exit status 1, and which row: they differ."""

import re
import sys
import xml.etree.ElementTree as xml

SVG = "{http://www.w3.org/2000/svg}"
ROW = re.compile(r"^ +([0-9.]+) +([0-9.]+) +(\d+) [█▏▎▍▌▋▊▉·#.\-]+ ( +)(.*)$")


def rows_of_text(lines):
    """(from, to, samples, name) of each row, in order, and how deep it is within others."""
    rows = []
    for line in lines:
        match = ROW.match(line.rstrip("\n"))
        if match:
            rows.append((match[1], match[2], match[3], match[5], len(match[4]) // 2))
    return rows


def bars_of(svg):
    """The same of each bar, with where it stands."""
    bars = []
    for group in svg.iter(SVG + "g"):
        name, times = group.find(SVG + "title").text.split("\n")[:2]
        match = re.match(r"([0-9.]+) s to ([0-9.]+) s, (\d+) samples?", times)
        box = {key: float(group.find(SVG + "rect").get(key)) for key in ("x", "y", "width")}
        bars.append((match[1], match[2], match[3], name, box))
    return bars


def scale_of(svg):
    """Time to x, by the first and the last tick."""
    ticks = [(float(t.text[:-2]), float(t.get("x"))) for t in svg.iter(SVG + "text")
             if re.fullmatch(r"[0-9.]+ s", t.text or "")]
    (from_s, from_x), (to_s, to_x) = min(ticks), max(ticks)
    per_s = (to_x - from_x) / (to_s - from_s)
    # Times are printed to a millisecond, those of ticks as well.
    return (lambda s: from_x + (s - from_s) * per_s), 0.0011 * per_s + 0.1


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = rows_of_text(file)
    svg = xml.parse(sys.argv[2]).getroot()
    bars, (x_of, slack) = bars_of(svg), scale_of(svg)
    assert rows, "no rows in the text"
    assert sorted(row[:4] for row in rows) == sorted(bar[:4] for bar in bars), (
        [row for row in rows if row[:4] not in [bar[:4] for bar in bars]],
        [bar for bar in bars if bar[:4] not in [row[:4] for row in rows]])
    for bar in bars:
        start, end, box = float(bar[0]), float(bar[1]), bar[4]
        assert abs(box["x"] - x_of(start)) <= slack, ("begins elsewhere", bar, x_of(start))
        assert abs(box["x"] + box["width"] - x_of(end)) <= slack + 1, ("ends elsewhere", bar)
    # A nested bar is below its caller.
    inside = []
    for row in rows:
        box = next(bar[4] for bar in bars if bar[:4] == row[:4])
        del inside[row[4]:]
        assert not inside or box["y"] > inside[-1], ("not below its caller", row)
        inside.append(box["y"])
    print("%d bars" % len(bars))


if __name__ == "__main__":
    main()
