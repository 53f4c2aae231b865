%% SPDX-License-Identifier: MIT
%% Call paths of Erlang: functions of compiled modules, and C that they call, on a stack of the
%% process's own; one that is deep; one whose frame is large; and the scheduler's work between them.
%% In the path of each sample, these call each other:
%%
%% CALLS: main/1 cpu_ms/0
%% CALLS: '-main/1-fun-0-'/2 loop/1
%% CALLS: loop/1 outer/1 cpu_ms/0
%% CALLS: outer/1 middle/1
%% CALLS: middle/1 inner/2 deep/1 sorted/1 large/1 caught/1
%% CALLS: deep/1 deep/1
%% CALLS: large/1 inner/2
%% CALLS: caught/1 thrower/1
%% CALLS: thrower/1 thrower/1
%%
%% and deep/1 calls C when there are 101 of it. It takes the CPU time that it is told, whatever else runs.
-module(erlang_frames).
-export([main/1, outer/1, middle/1, inner/2, deep/1, sorted/1, large/1, caught/1, thrower/1]).

main([Seconds | _]) ->
    End = cpu_ms() + 1000 * list_to_integer(atom_to_list(Seconds)),
    Self = self(),
    spawn_link(fun() -> loop(End), Self ! done end),
    receive done -> ok end.

cpu_ms() -> element(1, erlang:statistics(runtime)).

loop(End) ->
    case cpu_ms() > End of
        true -> ok;
        false -> _ = outer(300), loop(End)
    end.

outer(N) -> middle(N) + 1.

middle(N) ->
    A = inner(N * 20, 0),
    B = sorted(N),
    C = deep(100),
    D = large(N),
    receive after 0 -> ok end,
    A + B + C + D + caught(20).

inner(0, Sum) -> Sum;
inner(N, Sum) -> inner(N - 1, (Sum * 31 + N) rem 65537).

sorted(N) ->
    L = [(I * 7919) rem 1009 || I <- lists:seq(1, N)],
    hd(lists:sort(L)) + length(L).

deep(0) -> erlang:phash2(lists:duplicate(500, x)) rem 2;
deep(N) -> 1 + deep(N - 1).

%% Each of these lives on the stack across the calls.
large(N) ->
    A = inner(N, 1), B = inner(N, 2), C = inner(N, 3), D = inner(N, 4), E = inner(N, 5),
    F = inner(N, 6), G = inner(N, 7), H = inner(N, 8), I = inner(N, 9), J = inner(N, 10),
    inner(N, A) + A + B + C + D + E + F + G + H + I + J.

caught(N) ->
    try thrower(N) catch throw:Value -> Value end.

thrower(0) -> throw(1);
thrower(N) -> 1 + thrower(N - 1).
