%% An element: it holds the value of one key until its lease is over.
-module(lc_element).
-behaviour(gen_server).
-export([start_link/3, fetch/1, replace/2, delete/1, crash/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-record(state, {key, value, lease, started}).

start_link(Key, Value, Lease) ->
    gen_server:start_link(?MODULE, [Key, Value, Lease], []).

%% Each of these is gone if the element has ended.
fetch(Pid) -> request(Pid, fetch).
replace(Pid, Value) -> request(Pid, {replace, Value}).
delete(Pid) -> request(Pid, delete).
crash(Pid) -> request(Pid, crash).

request(Pid, Request) ->
    try
        gen_server:call(Pid, Request)
    catch
        exit:_ -> gone
    end.

init([Key, Value, Lease]) ->
    case lc_store:insert(Key, self()) of
        ok ->
            lc_events:publish({created, Key, Value}),
            Started = erlang:monotonic_time(millisecond),
            State = #state{key = Key, value = Value, lease = Lease, started = Started},
            {ok, State, time_left(State)};
        taken ->
            ignore
    end.

handle_call(fetch, _From, State = #state{key = Key, value = Value}) ->
    lc_events:publish({looked_up, Key}),
    {reply, {ok, Value}, State, time_left(State)};
handle_call({replace, Value}, _From, State = #state{key = Key}) ->
    lc_events:publish({replaced, Key, Value}),
    {reply, ok, State#state{value = Value}, time_left(State)};
handle_call(delete, _From, State) ->
    {stop, normal, ok, State};
handle_call(crash, _From, _State) ->
    error(crash).

handle_cast(_Message, State) ->
    {noreply, State, time_left(State)}.

handle_info(timeout, State) ->
    {stop, normal, State};
handle_info(_Other, State) ->
    {noreply, State, time_left(State)}.

terminate(_Reason, #state{key = Key}) ->
    lc_events:publish({deleted, Key}).

time_left(#state{lease = Lease, started = Started}) ->
    max(0, Started + Lease - erlang:monotonic_time(millisecond)).
