%% The elements: one child for each key, never restarted, because its value is lost.
-module(lc_element_sup).
-behaviour(supervisor).
-export([start_link/0, start_element/3, init/1]).

start_link() ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, []).

start_element(Key, Value, Lease) ->
    supervisor:start_child(?MODULE, [Key, Value, Lease]).

init([]) ->
    Flags = #{strategy => simple_one_for_one, intensity => 0, period => 1},
    {ok, {Flags,
          [#{id => element, start => {lc_element, start_link, []},
             restart => temporary, shutdown => brutal_kill}]}}.
