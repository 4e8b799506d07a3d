%% A connection: one line is one command.
-module(lc_tcp).
-behaviour(gen_server).
-export([start_link/1]).
-export([init/1, handle_continue/2, handle_call/3, handle_cast/2, handle_info/2]).

start_link(Listener) ->
    gen_server:start_link(?MODULE, Listener, []).

init(Listener) ->
    {ok, Listener, {continue, accept}}.

handle_continue(accept, Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    {ok, _} = lc_tcp_sup:start_connection(),
    ok = inet:setopts(Socket, [{active, once}]),
    {noreply, Socket}.

handle_call(_Request, _From, Socket) ->
    {noreply, Socket}.

handle_cast(_Message, Socket) ->
    {noreply, Socket}.

handle_info({tcp, Socket, Line}, Socket) ->
    Answer = run(string:lexemes(Line, " \r\n")),
    ok = gen_tcp:send(Socket, [Answer, "\n"]),
    ok = inet:setopts(Socket, [{active, once}]),
    {noreply, Socket};
handle_info({tcp_closed, Socket}, Socket) ->
    {stop, normal, Socket};
handle_info({tcp_error, Socket, _Reason}, Socket) ->
    {stop, normal, Socket}.

run([<<"INSERT">>, Key, Value]) ->
    ok = lease_cache:insert(Key, Value),
    "OK";
run([<<"LOOKUP">>, Key]) ->
    case lease_cache:lookup(Key) of
        {ok, Value} -> ["VALUE ", Value];
        not_found -> "NOT FOUND"
    end;
run([<<"DELETE">>, Key]) ->
    ok = lease_cache:delete(Key),
    "OK";
run(_) ->
    "UNKNOWN COMMAND".
