%% The stream of events: created, looked_up, replaced, deleted.
-module(lc_events).
-export([start_link/0, subscribe/1, publish/1]).

start_link() ->
    gen_event:start_link({local, ?MODULE}).

%% Each event is sent to this process as {lease_cache, Event}.
subscribe(Pid) ->
    gen_event:add_handler(?MODULE, {lc_tap, make_ref()}, Pid).

publish(Event) ->
    gen_event:sync_notify(?MODULE, Event).
