%% The application of the line protocol. It owns the listening socket.
-module(lc_tcp_app).
-behaviour(application).
-export([start/2, stop/1, port/0]).

start(_Type, _Args) ->
    {ok, Port} = application:get_env(port),
    Options = [binary, {packet, line}, {active, false}, {reuseaddr, true}, {ip, {127, 0, 0, 1}}],
    {ok, Listener} = gen_tcp:listen(Port, Options),
    {ok, Actual} = inet:port(Listener),
    application:set_env(lease_cache_tcp, actual_port, Actual),
    {ok, Supervisor} = lc_tcp_sup:start_link(Listener),
    {ok, _} = lc_tcp_sup:start_connection(),
    {ok, Supervisor, Listener}.

stop(Listener) ->
    gen_tcp:close(Listener).

%% The port, also when the system has chosen it.
port() ->
    {ok, Port} = application:get_env(lease_cache_tcp, actual_port),
    Port.
