%% The top of the tree. Elements are found by the table of the store, and publish to the events: if
%% one of these ends, whatever depends on it starts anew.
-module(lc_sup).
-behaviour(supervisor).
-export([start_link/0, init/1]).

start_link() ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, []).

init([]) ->
    Flags = #{strategy => rest_for_one, intensity => 4, period => 3600},
    {ok, {Flags,
          [#{id => events, start => {lc_events, start_link, []}, modules => dynamic},
           #{id => store, start => {lc_store, start_link, []}},
           #{id => elements, start => {lc_element_sup, start_link, []}, type => supervisor}]}}.
