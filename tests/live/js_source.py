# SPDX-License-Identifier: MIT
"""Makes a JavaScript program whose functions can each be reached by one path only, and knows the line of each call.

A path P is a chain of functions f_P_0, f_P_1, ... of random kinds of calls. The last one sorts an array by f_P_N, which is
called by one of V8's builtins, so that samples hit code of all kinds: of functions, of builtins, of the runtime."""

import random

NAME = "js_paths"


class Source:
    def __init__(self):
        self.lines = []
        self.expected = {}  # by (path, step): the lines at which its functions may call

    def put(self, text, key=None):
        """Adds a line, at which the functions of a step (path, step) call."""
        self.lines.append(text)
        if key:
            self.expected.setdefault(key, set()).add(len(self.lines))


# Functions named NAME that call CALL. A line that begins with "!" calls; KEY is P_N.
LINKS = {
    "plain": ("function NAME(x) {", "!\treturn CALL(x) + 1;", "}"),
    "arrow": ("const NAME = x =>", "!\tCALL(x) + 1;"),
    "map": ("function NAME(x) {", "!\treturn [x, x + 1].map(y =>", "!\t\tCALL(y))", "!\t\t.length;", "}"),
    "sort": ("function NAME(x) {", "!\treturn [x & 7, x & 3].sort((a, b) =>", "!\t\tCALL(a) - b)[0];", "}"),
    "replace": ("function NAME(x) {", "!\treturn 'abab'.replace(/b/g, () =>", "!\t\t'' + CALL(x)).length;", "}"),
    "closure": ("function NAME(x) {", "\tconst g = y =>", "!\t\tCALL(y + x);", "!\treturn g(1);", "}"),
    "finally": ("function NAME(x) {", "\ttry {", "!\t\treturn CALL(x);", "\t} finally {", "\t\tsink++;", "\t}", "}"),
    "catch": ("function NAME(x) {", "\ttry {", "!\t\tthrow new Error();", "\t} catch {", "!\t\treturn CALL(x);", "\t}", "}"),
    "recursion": ("function NAME(x, n = 2) {", "\tif (n > 0)", "!\t\treturn NAME(x, n - 1) + 1;", "!\treturn CALL(x);", "}"),
    "apply": ("function NAME(x) {", "!\treturn Reflect.apply(CALL, null, [x]);", "}"),
    "bound": ("function NAME(x) {", "!\treturn CALL.bind(null)(x);", "}"),
    "spread": ("function NAME(x) {", "!\treturn CALL(...[x]);", "}"),
    "default": ("function NAME(x, y = 1) {", "!\treturn CALL(x) + y;", "}"),
    "proxy": ("function NAME(x) {", "!\treturn new Proxy({}, { get: () =>", "!\t\tCALL(x) }).value;", "}"),
    "generator": ("function* c_KEY(x) {", "!\tyield CALL(x);", "}",
                  "function NAME(x) {", "\tlet sum = 0;", "!\tfor (const y of c_KEY(x)) sum += y;", "\treturn sum;", "}"),
    "evaluated": ("const c_KEY = x =>", "!\tCALL(x);",
                  "const NAME = new Function('call', 'return x => call(x) + 1')(c_KEY);"),
    "method": ("class C_KEY {", "\tc_KEY(x) {", "!\t\treturn CALL(x) + 1;", "\t}", "}",
               "function NAME(x) {", "!\treturn new C_KEY().c_KEY(x);", "}"),
    "static": ("class C_KEY {", "\tstatic c_KEY(x) {", "!\t\treturn CALL(x) + 1;", "\t}", "}",
               "function NAME(x) {", "!\treturn C_KEY.c_KEY(x);", "}"),
    "constructor": ("class C_KEY {", "\tconstructor(x) {", "!\t\tthis.value = CALL(x);", "\t}", "}",
                    "function NAME(x) {", "!\treturn new C_KEY(x).value;", "}"),
    "getter": ("class C_KEY {", "\tget c_KEY() {", "!\t\treturn CALL(7) + 1;", "\t}", "}",
               "function NAME(x) {", "!\treturn new C_KEY().c_KEY + x;", "}"),
}


def put_link(s, kind, path, step):
    """A function that calls the next one. Whatever calls it has the step's name or none."""
    for line in LINKS[kind]:
        text = line.lstrip("!")
        for word, value in (("NAME", "f_%d_%d" % (path, step)), ("CALL", "f_%d_%d" % (path, step + 1)),
                            ("KEY", "%d_%d" % (path, step))):
            text = text.replace(word, value)
        s.put(text, (path, step) if line.startswith("!") else None)


def put_end(s, path, last):
    key = (path, last)
    s.put("function f_%d_%d(x) {" % key)
    s.put("\tlet a = [];", key)
    s.put("\tfor (let i = 0; i < 40; i++)")
    s.put("\t\ta.push((i * 7919 + x) %% 101 + sink);" % (), key)
    s.put("\ta.sort((p, q) =>", key)
    s.put("\t\tMath.sign(p - q));", key)
    s.put("\tfor (let i = 0; i < 200; i++)")
    s.put("\t\tsink = (sink + Math.sqrt(i + x)) % 3;", key)
    s.put("\treturn a[0] | 0;")
    s.put("}")


def make(seed, paths=6, steps=8):
    """The text of a program, which takes as many seconds of CPU time as its argument says; by (path, step) the lines of its calls; and
    the number of the last step."""
    chance, s = random.Random(seed), Source()
    s.put("'use strict';")
    s.put("let sink = 0;")
    order = list(LINKS)
    chance.shuffle(order)
    for path in range(paths):
        for step in range(steps):
            put_link(s, order[(path * steps + step) % len(order)], path, step)
        put_end(s, path, steps)
    s.put("function main(seconds) {")
    s.put("\tconst end = process.cpuUsage().user + seconds * 1e6;")
    s.put("\tfor (let i = 0; i % 64 || process.cpuUsage().user < end; i++) {")
    for path in range(paths):
        s.put("\t\tf_%d_0(i + %d);" % (path, path), (path, -1))
    s.put("\t}")
    s.put("}")
    s.put("main(+process.argv[2] || 1);")
    return "\n".join(s.lines) + "\n", s.expected, steps
