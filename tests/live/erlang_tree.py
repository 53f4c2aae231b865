# SPDX-License-Identifier: MIT
"""Random call trees of Erlang, and what the path of a sample must be in them.

A module has 64 paths, each of which ends in a native function of its own (tests/workloads/erlang_leaves.c), reached by functions that
call each other in a random one of the ways below. Each way is some lines of source, in which NEXT is the next function and F the own
one, and the frames that are on the stack meanwhile: names and lines, from 1 on. A call that comes last leaves no frame.
"""

import os
import random
import re

LEAVES = "erlang_leaves"
LISTS = ("lists:*", 0)  # one frame or more of functions of that module
BEGIN = ("*", 0)        # another process begins here, so what was before is not on its stack

# name: lines of the function's body, lines of other functions, frames
WAYS = {
    "plain": (["X = NEXT(N),", "X + 1."], [], [("F/1", 1)]),
    "last": (["NEXT(N)."], [], []),
    "later": (["A = N * 2,", "B = erlang_leaves:id(A),", "X = NEXT(B),", "X + 1."], [], [("F/1", 3)]),
    "case": (["case NEXT(N) of", "0 -> 1;", "X -> X + 1", "end."], [], [("F/1", 1)]),
    "clauses": (["U(erlang_leaves:id(three), N) + 1."],
                ["U(one, N) -> X = NEXT0(N), X + 1;", "U(two, N) -> N;", "U(three, N) -> X = NEXT(N), X + 1."],
                [("F/1", 1), ("U/2", 4)]),
    "fun": (["G = fun(M) ->", "Y = NEXT(M), Y + 1", "end,", "erlang_leaves:call_fun(G, N) + 1."], [],
            [("F/1", 4), ("erlang_leaves:call_fun/2", 17), ("-F/1-fun-0-/1", 2)]),
    "closure": (["A = erlang_leaves:id(N),", "G = fun(M) -> Y = NEXT(M + A),", "Y + 1 end,", "erlang_leaves:call_fun(G, 1) + 1."], [],
                [("F/1", 4), ("erlang_leaves:call_fun/2", 17), ("-F/1-fun-0-/2", 2)]),
    "fun_last": (["G = fun(M) -> NEXT(M) end,", "erlang_leaves:call_fun(G, N) + 1."], [],
                 [("F/1", 2), ("erlang_leaves:call_fun/2", 17)]),
    "named_fun": (["G = fun H(0) -> X = NEXT(N), X + 1;", "H(K) ->", "Y = H(K - 1), Y + 1 end,", "erlang_leaves:call_fun(G, 2) + 1."], [],
                  [("F/1", 4), ("erlang_leaves:call_fun/2", 17), ("-F/1-H/1-0-/2", 3), ("-F/1-H/1-0-/2", 3), ("-F/1-H/1-0-/2", 1)]),
    "external_fun": (["erlang_leaves:call_fun(fun ?MODULE:NEXT/1, N) + 1."], [], [("F/1", 1), ("erlang_leaves:call_fun/2", 17)]),
    "remote": (["M = erlang_leaves:id(?MODULE),", "X = M:NEXT(N),", "X + 1."], [], [("F/1", 2)]),
    "apply": (["A = erlang_leaves:id([N]),", "X = apply(?MODULE, NEXT, A),", "X + 1."], [], [("F/1", 2)]),
    "comprehension": (["L = [", "NEXT(V) || V <- erlang_leaves:id([N])],", "hd(L) + 1."], [], [("F/1", 2), ("-F/1-lc$^0/1-0-/1", 2)]),
    "map": (["L = lists:map(fun(V) ->", "X = NEXT(V), X + 1 end, [N]),", "hd(L) + 1."], [], [("F/1", 1), LISTS, ("-F/1-fun-0-/1", 2)]),
    "foldl": (["lists:foldl(fun(V, A) ->", "X = NEXT(V), X + A end, 0, [N]) + 1."], [], [("F/1", 1), LISTS, ("-F/1-fun-0-/2", 2)]),
    "foreach": (["lists:foreach(fun(V) -> X = NEXT(V), X + 1 end, [N]),", "1."], [], [("F/1", 1), LISTS, ("-F/1-fun-0-/1", 1)]),
    "sort": (["L = lists:sort(fun(A, B) ->", "_ = NEXT(N),", "A < B end, [2, 1]),", "hd(L) + 1."], [],
             [("F/1", 1), LISTS, ("-F/1-fun-0-/3", 2)]),
    "try": (["try", "X = NEXT(N),", "X + 1", "catch _:_ -> 0 end."], [], [("F/1", 2)]),
    "try_of": (["try NEXT(N) of", "X -> X + 1", "catch _:_ -> 0 end."], [], [("F/1", 1)]),
    "catch": (["X = (catch NEXT(N)),", "erlang_leaves:id(X)."], [], [("F/1", 1)]),
    "after": (["try", "NEXT(N) + 1", "after erlang_leaves:id(1) end."], [], [("F/1", 2)]),
    "caught": (["try erlang_leaves:id(error(erlang_leaves:id(u)))", "catch error:u ->", "X = NEXT(N),", "X + 1 end."], [], [("F/1", 3)]),
    "thrown": (["try U(5) catch throw:V ->", "X = NEXT(N),", "X + V end."], ["U(0) -> throw(1);", "U(K) -> 1 + U(K - 1)."], [("F/1", 2)]),
    "recursion": (["U(4, N) + 1."], ["U(0, N) ->", "X = NEXT(N), X + 1;", "U(K, N) ->", "Y = U(K - 1, N), Y + 1."],
                  [("F/1", 1)] + 4 * [("U/2", 5)] + [("U/2", 3)]),
    "loop": (["U(4, N) + 1."], ["U(0, N) -> NEXT(N);", "U(K, N) -> U(K - 1, N)."], [("F/1", 1)]),
    "many_slots": (["A = erlang_leaves:id(N), B = erlang_leaves:id(A), C = erlang_leaves:id(B),",
                    "D = erlang_leaves:id(C), E = erlang_leaves:id(D), G = erlang_leaves:id(E),",
                    "X = NEXT(N),", "X + A + B + C + D + E + G."], [], [("F/1", 3)]),
    "spawned": (["Self = self(),", "{P, R} = spawn_monitor(fun() ->", "X = NEXT(N),", "Self ! {self(), X} end),",
                 "receive {P, X} -> erlang:demonitor(R, [flush]), X + 1; {'DOWN', R, _, _, _} -> 1 end."], [],
                [BEGIN, ("-F/1-fun-0-/2", 3)]),
    "received": (["self() ! {u, N},", "receive {u, M} -> X = NEXT(M),", "X + 1 end."], [], [("F/1", 2)]),
    "binary": (["<<A:8, _/binary>> = erlang_leaves:id(<<N:8, 1, 2>>),", "X = NEXT(A),", "X + 1."], [], [("F/1", 2)]),
    "map_update": (["M = erlang_leaves:id(#{a => N}),", "#{a := A} = M#{b => NEXT(N)},", "A + 1."], [], [("F/1", 2)]),
    "tuple": (["{_, X} = {erlang_leaves:id(N), NEXT(N)},", "X + 1."], [], [("F/1", 1)]),
    "yields": (["erlang:yield(),", "X = NEXT(N),", "X + 1."], [], [("F/1", 2)]),
    "collected": (["true = erlang:garbage_collect(),", "X = NEXT(N),", "X + 1."], [], [("F/1", 2)]),
    "fun_in_map": (["maps:fold(fun(_, V, A) -> X = NEXT(V), X + A end, 0, #{a => N}) + 1."], [],
                   [("F/1", 1), ("maps:*", 0), ("-F/1-fun-0-/3", 1)]),
}

HEADER = """-module(%s).
-compile([export_all, nowarn_export_all, nowarn_unused_vars]).
main([Library, Ms, Turns]) ->
    ok = erlang_leaves:load(atom_to_list(Library)),
    erlang_leaves:turns(list_to_integer(atom_to_list(Turns))),
    run(cpu_ms() + list_to_integer(atom_to_list(Ms))).
cpu_ms() -> element(1, erlang:statistics(runtime)).
run(End) ->
    _ = [enter(P) || P <- lists:seq(0, 63)],
    case cpu_ms() > End of true -> ok; false -> run(End) end.
"""


def quoted(name):
    """A name as traces of Erlang have it."""
    return name if re.match(r"[a-z]\w*$", name) else "'%s'" % name


class Tree:
    """The source of a module, and for each leaf the frames that are on the stack while it runs."""

    def __init__(self, module, seed):
        self.module, self.lines, self.paths = module, HEADER.split("\n")[:-1], {}
        self.lines[0] %= module
        rng = random.Random(seed)
        for path in range(64):
            self.add_path(path, [rng.choice(sorted(WAYS)) for _ in range(rng.randint(2, 9))])
        for path in range(64):
            self.lines.append("enter(%d) -> X = f_%d_0(7), X + 1%s" % (path, path, ";" if path < 63 else "."))
            self.paths[path].insert(0, ("%s:enter/1" % module, len(self.lines)))
        self.source = "\n".join(self.lines) + "\n"

    def add_path(self, path, ways):
        frames = self.paths[path] = []
        for i, way in enumerate(ways):
            body, others, on_stack = WAYS[way]
            own, following, first = "f_%d_%d" % (path, i), "f_%d_%d" % (path, i + 1), len(self.lines) + 1
            text = ["F(N) -> " + body[0], *body[1:], *others]
            for line in text:
                line = re.sub(r"\bNEXT0?\b", following, line)
                self.lines.append(re.sub(r"\bU\(", "u_%d_%d(" % (path, i), re.sub(r"\bF\(", own + "(", line)))
            for name, line in on_stack:
                frames.append(self.frame(name, line, own, "u_%d_%d" % (path, i), first, len(body)))
        self.lines.append("f_%d_%d(_) ->" % (path, len(ways)))
        self.lines.append("X = erlang_leaves:leaf(%d, erlang_leaves:turns()), X + 1." % path)
        frames.append(("%s:f_%d_%d/1" % (self.module, path, len(ways)), len(self.lines)))

    def frame(self, name, line, own, other, first, n_body):
        if name.endswith("*"):
            return name, 0
        if name.startswith(LEAVES):
            return name, line
        name, _, arity = name.rpartition("/")
        name = re.sub(r"^F$|(?<=^-)F(?=/1-)", own, re.sub(r"^U$", other, name))
        if own != name and other != name and not name.startswith("-" + own):
            raise ValueError(name)
        return "%s:%s/%s" % (self.module, quoted(name), arity), first + line - 1 if name != other else first + n_body + line - 2


def matches(frames, expected):
    """Whether frames, root first, are those that are expected."""
    at = 0
    for name, line in expected:
        if name.endswith(":*"):
            if at == len(frames) or not frames[at][0].startswith(name[:-1]):
                return False
            while at < len(frames) and frames[at][0].startswith(name[:-1]):
                at += 1
        elif at < len(frames) and frames[at][0] == name and frames[at][2] == line:
            at += 1
        else:
            return False
    return at == len(frames)


def on_stack(tree, leaf):
    """What is expected of a leaf's path, and whether it begins there."""
    expected = tree.paths[int(leaf[len("leaf_"):], 8)]
    begins = [i for i, frame in enumerate(expected) if frame == BEGIN]
    return (expected[begins[-1] + 1:], True) if begins else (expected, False)


def judge_leaf(tree, leaf, frames):
    """Compares the functions of a path that ends in a leaf, root first, with what is expected. Returns whether they are the same."""
    expected, is_begin = on_stack(tree, leaf)
    if not is_begin:
        enters = [i for i, frame in enumerate(frames) if frame[0] == "%s:enter/1" % tree.module]
        frames = frames[enters[0]:] if enters else frames
    return matches(frames, expected)


def write(folder, module, seed):
    tree = Tree(module, seed)
    with open(os.path.join(folder, module + ".erl"), "w", encoding="utf-8") as file:
        file.write(tree.source)
    return tree
