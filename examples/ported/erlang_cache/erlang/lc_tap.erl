%% A handler of events that passes them to a process.
-module(lc_tap).
-behaviour(gen_event).
-export([init/1, handle_event/2, handle_call/2]).

init(Pid) ->
    {ok, Pid}.

handle_event(Event, Pid) ->
    Pid ! {lease_cache, Event},
    {ok, Pid}.

handle_call(_Request, Pid) ->
    {ok, ok, Pid}.
