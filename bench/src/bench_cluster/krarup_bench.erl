%% The Erlang sides of `bench-cluster`: the servers, and the client that measures.
%%
%% It reads lines `WORKLOAD SIZE` and answers each with lines `figure VALUE` and `done`. The end of
%% its input ends the node.
-module(krarup_bench).
-behaviour(gen_server).
-export([main/1, init/1, handle_call/3, handle_cast/2, handle_info/2]).

-define(SINKS, 8).
-define(CALLERS, 32).
-define(BESIDE, 8).
-define(TIMEOUT, 60000).

main([Peer]) ->
    Names = [server | [sink(Number) || Number <- lists:seq(0, ?SINKS - 1)]],
    [{ok, _} = gen_server:start({local, Name}, ?MODULE, [], []) || Name <- Names],
    io:put_chars("ready\n"),
    serve(list_to_atom(Peer)).

sink(Number) -> list_to_atom("sink" ++ integer_to_list(Number)).

%% The servers.

init([]) -> {ok, 0}.

handle_call({add, A, B}, _, Count) -> {reply, A + B, Count};
handle_call({echo, Bytes}, _, Count) -> {reply, Bytes, Count};
handle_call(count, _, Count) -> {reply, Count, 0};
handle_call(me, _, Count) -> {reply, self(), Count}.

handle_cast({item, _, _}, Count) -> {noreply, Count + 1}.

handle_info(_, Count) -> {noreply, Count}.

%% The client.

serve(Peer) ->
    case io:get_line("") of
        eof -> halt();
        Line ->
            [Workload, Size] = string:lexemes(Line, " \n"),
            try
                Server = reach({server, Peer}, 100),
                Figures = measure(list_to_atom(Workload), list_to_integer(Size), Peer, Server),
                [io:format("figure ~w~n", [float(Figure)]) || Figure <- Figures],
                io:put_chars("done\n")
            catch Class:Reason:Stack -> io:format("error ~0p~n", [{Class, Reason, Stack}])
            end,
            serve(Peer)
    end.

%% Connects.
reach(Server, Tries) ->
    try gen_server:call(Server, me, ?TIMEOUT)
    catch exit:_ when Tries > 0 -> timer:sleep(50), reach(Server, Tries - 1)
    end.

measure(call, Size, Peer, _) ->
    [seconds(fun() -> add({server, Peer}, Size) end) * 1.0e6 / Size];
measure(call32, Size, Peer, _) ->
    Share = max(1, Size div ?CALLERS),
    Time = together([fun() -> add({server, Peer}, Share) end || _ <- lists:seq(1, ?CALLERS)]),
    [Share * ?CALLERS / Time];
measure(cast, Size, Peer, _) ->
    [Size / together([fun() -> casts({sink0, Peer}, Size) end])];
measure(cast8, Size, Peer, _) ->
    Share = max(1, Size div ?SINKS),
    Senders = [fun() -> casts({sink(N), Peer}, Share) end || N <- lists:seq(0, ?SINKS - 1)],
    [Share * ?SINKS / together(Senders)];
measure(big, Size, Peer, _) ->
    [megabytes(Peer, 1, Size), megabytes(Peer, 10, max(1, Size div 10))];
measure(beside, Size, Peer, _) ->
    Bytes = binary:copy(<<7>>, 3 bsl 20),
    Echo = fun Echo() -> Bytes = gen_server:call({server, Peer}, {echo, Bytes}, ?TIMEOUT), Echo() end,
    Big = [spawn_link(Echo) || _ <- lists:seq(1, ?BESIDE)],
    Times = [seconds(fun() -> add({sink0, Peer}, 1) end) || _ <- lists:seq(1, Size)],
    [begin unlink(Pid), exit(Pid, kill) end || Pid <- Big],
    Sorted = lists:sort(Times),
    [lists:nth(max(1, ceil(Size * Part)), Sorted) * 1.0e6 || Part <- [0.5, 0.99]];
measure(bonds, Size, Peer, Server) ->
    Each = fun(Make) ->
        Time = seconds(fun() -> repeat(Size, Make), gen_server:call({server, Peer}, me, ?TIMEOUT) end),
        Size / Time
    end,
    [Each(fun() -> link(Server), unlink(Server) end),
     Each(fun() -> demonitor(monitor(process, Server), [flush]) end)];
measure(downs, Size, Peer, Server) ->
    repeat(Size, fun() -> monitor(process, Server) end),
    gen_server:call({server, Peer}, me, ?TIMEOUT),
    Time = seconds(fun() ->
        true = erlang:disconnect_node(Peer),
        repeat(Size, fun() -> receive {'DOWN', _, process, Server, noconnection} -> ok end end)
    end),
    [Size / Time];
measure(codec, Size, _, _) ->
    Call = {'$gen_call', {self(), [alias | make_ref()]}, {add, 2, 3}},
    Article = fun(N) ->
        At = case N rem 2 of 0 -> N; 1 -> undefined end,
        #{name => list_to_binary("article " ++ integer_to_list(N)), count => N, price => N / 4, at => At}
    end,
    Articles = [Article(N) || N <- lists:seq(0, 999)],
    lists:append([[nanoseconds(fun() -> binary_to_term(Bytes) end, Times),
                   nanoseconds(fun() -> term_to_binary(Term) end, Times)]
                  || {Term, Times} <- [{Call, Size}, {Articles, max(1, Size div 1000)}],
                     Bytes <- [term_to_binary(Term)]]).

%% The mean time in a process with a fresh heap.
nanoseconds(Act, Times) ->
    seconds(fun() -> repeat(Times, Act) end) * 1.0e9 / Times.

megabytes(Peer, Mebibytes, Times) ->
    Bytes = binary:copy(<<7>>, Mebibytes bsl 20),
    Echo = fun() -> Bytes = gen_server:call({server, Peer}, {echo, Bytes}, ?TIMEOUT) end,
    Mebibytes * Times * 1.048576 / together([fun() -> repeat(Times, Echo) end]).

add(_, 0) -> ok;
add(Server, Left) ->
    Next = Left + 1,
    Next = gen_server:call(Server, {add, Left, 1}, ?TIMEOUT),
    add(Server, Left - 1).

casts(Sink, Size) ->
    Bytes = binary:copy(<<7>>, 40),
    casts(Sink, Size, Bytes),
    Size = gen_server:call(Sink, count, ?TIMEOUT).

casts(_, 0, _) -> ok;
casts(Sink, Left, Bytes) ->
    gen_server:cast(Sink, {item, Left, Bytes}),
    casts(Sink, Left - 1, Bytes).

repeat(0, _) -> ok;
repeat(Times, Act) -> Act(), repeat(Times - 1, Act).

seconds(Act) ->
    Begin = erlang:monotonic_time(nanosecond),
    Act(),
    (erlang:monotonic_time(nanosecond) - Begin) / 1.0e9.

%% The time in which processes of their own do all of it.
together(Acts) ->
    seconds(fun() ->
        Pids = [spawn_monitor(Act) || Act <- Acts],
        [receive {'DOWN', Ref, process, _, Reason} -> normal = Reason end || {_, Ref} <- Pids]
    end).
