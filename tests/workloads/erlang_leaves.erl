%% SPDX-License-Identifier: MIT
%% The native functions of erlang_leaves.c, and functions that keep the compiler from knowing what is called.
-module(erlang_leaves).
-export([load/1, leaf/2, turns/0, turns/1, id/1, call_fun/2]).

load(Library) -> erlang:load_nif(Library, 0).

leaf(_, _) -> erlang:nif_error(not_loaded).

%% How long each leaf runs.
turns(N) -> persistent_term:put(?MODULE, N).
turns() -> persistent_term:get(?MODULE).

id(X) -> X.

call_fun(F, A) ->
    X = F(A),
    X + 1.
