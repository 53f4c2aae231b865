%% SPDX-License-Identifier: MIT
%% Modules that are loaded, replaced, deleted and purged all the time, so that the code of one gets the addresses of another:
%% 64 of them, of the same size. The even ones are versions of one module. Each calls a native function of its own.
-module(erlang_reload).
-export([main/1]).

main([Library, Ms]) ->
    ok = erlang_leaves:load(atom_to_list(Library)),
    erlang_leaves:turns(20000),
    Modules = list_to_tuple([make(K) || K <- lists:seq(0, 63)]),
    loop(Modules, cpu_ms() + list_to_integer(atom_to_list(Ms))).

cpu_ms() -> element(1, erlang:statistics(runtime)).

%% Module, and its code: called_K/0 is in line 100 * K + 3, and is called from line 100 * K + 2.
make(K) ->
    Name = case K rem 2 of 0 -> "reloaded"; 1 -> io_lib:format("reloaded_~p", [K]) end,
    Texts = [io_lib:format("-module(~s).", [Name]),
             "-export([run/0]).",
             io_lib:format("run() -> X = called_~p(), X + 1.", [K]),
             io_lib:format("called_~p() -> X = erlang_leaves:leaf(~p, erlang_leaves:turns()), X + 1.", [K, K])],
    Forms = [form(Text, 100 * K + I) || {Text, I} <- lists:zip(Texts, lists:seq(0, 3))],
    {ok, Module, Code} = compile:forms(Forms),
    {Module, Code}.

form(Text, Line) ->
    {ok, Tokens, _} = erl_scan:string(lists:flatten(Text), Line),
    {ok, Form} = erl_parse:parse_form(Tokens),
    Form.

loop(Modules, End) ->
    {Module, Code} = element(rand:uniform(64), Modules),
    code:purge(Module),
    {module, Module} = code:load_binary(Module, "", Code),
    runs(Module, element(rand:uniform(8), {1, 1, 2, 3, 5, 20, 500, 2000})),
    _ = rand:uniform(3) =:= 1 andalso begin code:purge(Module), code:delete(Module) end,
    case cpu_ms() > End of true -> ok; false -> loop(Modules, End) end.

runs(_, 0) -> ok;
runs(Module, N) ->
    X = Module:run(),
    runs(Module, N - X + 2).
