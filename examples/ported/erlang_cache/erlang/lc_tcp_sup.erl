%% The connections, and the one that waits for its client.
-module(lc_tcp_sup).
-behaviour(supervisor).
-export([start_link/1, start_connection/0, init/1]).

start_link(Listener) ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, [Listener]).

start_connection() ->
    supervisor:start_child(?MODULE, []).

init([Listener]) ->
    Flags = #{strategy => simple_one_for_one, intensity => 0, period => 1},
    {ok, {Flags,
          [#{id => connection, start => {lc_tcp, start_link, [Listener]},
             restart => temporary, shutdown => brutal_kill}]}}.
