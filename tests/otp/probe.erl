%% Probes a node from a real Erlang node.
%%
%%     erl -noshell -run probe main NODE COOKIE
%%
%% prints `ok NAME', `not ok NAME: expected .. got ..' or `skip NAME: why' for each check, and at
%% last `N passed, M failed'; the exit status is 0 if nothing failed. The node under test offers
%% the processes that README.md describes. What is expected here is what reference.erl does on
%% a real Erlang node.
%%
%%     PROBE_ONLY=call,link_race     checks whose names begin so
%%     PROBE_QUICK=1                 without those that wait for tens of seconds
%%     PROBE_SLOW_PEER=1             without the one that measures a peer that is optimised
%%     PROBE_RESTART='command'       starts the node under test again, and returns
-module(probe).
-export([main/1]).
%% For funs and servers that the checks start.
-export([server/1]).

-define(SCOPE, krarup_probe).
-define(LIMIT, 30000).

main([Node, Cookie]) ->
    {N, C} = {list_to_atom(Node), list_to_atom(Cookie)},
    ok = io:setopts([{encoding, unicode}]),
    ok = start_distribution(Node),
    persistent_term:put(probe_node, N),
    persistent_term:put(probe_cookie, C),
    true = erlang:set_cookie(node(), C),
    true = erlang:set_cookie(N, C),
    logger:set_primary_config(level, critical),
    {ok, _} = pg:start(?SCOPE),
    io:format("# OTP ~s, ~s probes ~s~n", [erlang:system_info(otp_release), node(), N]),
    %% Whatever is run of the checks, it is there.
    _ = net_adm:ping(N),
    Results = [run(Check) || Check <- checks()],
    Failed = length([x || failed <- Results]),
    io:format("~w passed, ~w failed~n", [length([x || passed <- Results]), Failed]),
    halt(min(Failed, 1)).

start_distribution(Node) ->
    case is_alive() of
        true -> ok;
        false ->
            os:cmd("epmd -daemon"),
            [_, Host] = string:split(Node, "@"),
            Domain = case lists:member($., Host) of true -> longnames; false -> shortnames end,
            Name = list_to_atom("probe" ++ os:getpid() ++ "@" ++ Host),
            {ok, _} = net_kernel:start(Name, #{name_domain => Domain, net_ticktime => 8}),
            ok
    end.

checks() ->
    handshake() ++ terms() ++ messages() ++ calls() ++ rpcs() ++ spawns() ++ monitors() ++
        links() ++ exits() ++ sys() ++ groups() ++ liveness() ++ restarts().

%% ---- the frame ---------------------------------------------------------------------------

%% {eq, Value} | {is, Text, Predicate}
run({Name, Expected, Body}) ->
    case is_wanted(Name) of
        false -> unwanted;
        true -> report(Name, Expected, in_process(Body))
    end.

is_wanted(Name) ->
    case os:getenv("PROBE_ONLY") of
        Unset when Unset =:= false; Unset =:= "" -> true;
        Only -> lists:any(fun(Prefix) -> lists:prefix(Prefix, atom_to_list(Name)) end,
                          string:tokens(Only, ","))
    end.

%% In a process of its own, so that nothing of one check is met by another.
in_process(Body) ->
    {Pid, Ref} =
        spawn_monitor(fun() ->
                          rand:seed(exsss, {1, 2, 3}),
                          exit(try {value, Body()}
                               catch throw:{skip, Why} -> {skip, Why};
                                     Class:Reason:Stack -> {Class, Reason, first(Stack)}
                               end)
                      end),
    receive {'DOWN', Ref, process, Pid, Outcome} -> Outcome
    after 4 * ?LIMIT -> exit(Pid, kill), no_end
    end.

first([{_, F, _, Where} | _]) -> {F, proplists:get_value(line, Where)};
first(_) -> unknown.

report(Name, _, {skip, Why}) ->
    io:format("skip ~s: ~s~n", [Name, Why]),
    skipped;
report(Name, Expected, Outcome) ->
    case holds(Expected, Outcome) of
        true ->
            io:format("ok ~s~n", [Name]),
            passed;
        false ->
            Got = case Outcome of {value, V} -> V; _ -> Outcome end,
            io:format("not ok ~s: expected ~ts got ~0tP~n", [Name, text(Expected), Got, 40]),
            failed
    end.

holds({eq, Value}, {value, Value}) -> true;
holds({is, _, Predicate}, {value, Value}) -> Predicate(Value) =:= true;
holds(_, _) -> false.

text({eq, Value}) -> io_lib:format("~0tP", [Value, 40]);
text({is, Text, _}) -> Text.

%% ---- words that the checks use -------------------------------------------------------------

n() -> persistent_term:get(probe_node).
at(Name) -> {Name, n()}.
call(Name, Request) -> gen_server:call(at(Name), Request, ?LIMIT).
tell(Pid, Command) -> gen_server:call(Pid, Command, ?LIMIT).
puppet() -> call(maker, new).
puppet(trap) -> call(maker, {new, trap}).
echo(Term) -> call(echo, Term).
is_otp() -> maps:get(impl, call(ctl, about)) =:= otp.
release() -> list_to_integer(erlang:system_info(otp_release)).
skip(Why) -> throw({skip, Why}).
optimised() -> os:getenv("PROBE_SLOW_PEER") =/= false andalso skip("the peer is not optimised").
quick() -> os:getenv("PROBE_QUICK") =/= false andalso skip("PROBE_QUICK is set").

%% Terms that an echo changes: none.
changed(Terms) -> [T || T <- Terms, T =/= echo(T)].

%% What lies in the mailbox, and comes within so many milliseconds after the last.
mail(Ms) -> receive M -> [M | mail(Ms)] after Ms -> [] end.

next() -> receive M -> M after ?LIMIT -> nothing end.

%% The reason with which a call exits.
exits(Call) ->
    try {returned, Call()} catch exit:{Reason, _} -> {exit, Reason} end.

%% How long it took in milliseconds does not matter but for a bound that is far off.
soon(Ms, Fun) ->
    Began = erlang:monotonic_time(millisecond),
    Value = Fun(),
    case erlang:monotonic_time(millisecond) - Began of
        Took when Took < Ms -> Value;
        Took -> {too_late, Took, Value}
    end.

%% What Fun gives, as soon as it is Wanted or the time is over.
until(Wanted, Fun) -> until(Wanted, Fun, 250).
until(Wanted, Fun, Tries) ->
    case Fun() of
        Wanted -> Wanted;
        Other when Tries =:= 0 -> Other;
        _ -> timer:sleep(20), until(Wanted, Fun, Tries - 1)
    end.

disconnect() ->
    true = erlang:disconnect_node(n()),
    until(false, fun() -> lists:member(n(), nodes(connected)) end).

%% A little server of ours: answers {add, A, B}, ends by {die, R}, is silent to `hang'.
server(Name) ->
    Name =:= none orelse register(Name, self()),
    server_loop().

server_loop() ->
    receive
        {'$gen_call', From, {add, A, B}} -> gen_server:reply(From, A + B), server_loop();
        {'$gen_call', _, {die, Reason}} -> exit(Reason);
        {'$gen_call', _, hang} -> server_loop();
        {'$gen_call', From, {ask, Name, Request}} ->
            gen_server:reply(From, call(Name, Request)),
            server_loop();
        {'$gen_call', From, Other} -> gen_server:reply(From, Other), server_loop();
        {'$gen_cast', {die, Reason}} -> exit(Reason);
        {die, Reason} -> exit(Reason);
        _ -> server_loop()
    end.

%% Started, and registered if it has a name.
ours(Name) ->
    Pid = spawn(?MODULE, server, [Name]),
    Name =:= none orelse until(Pid, fun() -> whereis(Name) end),
    Pid.

identifier(Tag, Node, Rest) when is_binary(Rest) ->
    Text = atom_to_binary(Node),
    {Before, After} = Tag,
    binary_to_term(<<131, Before/binary, 119, (byte_size(Text)), Text/binary, After/binary,
                     Rest/binary>>).

a_pid(Node, Id, Serial, Creation) ->
    identifier({<<88>>, <<>>}, Node, <<Id:32, Serial:32, Creation:32>>).
a_port(Node, Id, Creation) ->
    identifier({<<120>>, <<>>}, Node, <<Id:64, Creation:32>>).
a_ref(Node, Creation, Words) ->
    Bytes = << <<Word:32>> || Word <- Words >>,
    identifier({<<90, (length(Words)):16>>, <<>>}, Node, <<Creation:32, Bytes/binary>>).

creation(Pid) ->
    Bytes = term_to_binary(Pid),
    binary:decode_unsigned(binary:part(Bytes, byte_size(Bytes), -4)).

%% ---- handshake: Zhs, Zcall11 -----------------------------------------------------------------

handshake() ->
    [{hs_ping, {eq, pong}, fun() -> net_adm:ping(n()) end},
     {hs_connected, {eq, true}, fun() -> lists:member(n(), nodes(connected)) end},
     {hs_hidden_or_not, {eq, true},
      fun() ->
          Hidden = maps:get(hidden, call(ctl, about)),
          {Hidden, not Hidden} =:= {lists:member(n(), nodes(hidden)), lists:member(n(), nodes())}
      end},
     {hs_is_auth, {eq, yes}, fun() -> gen_server:call(at(net_kernel), {is_auth, node()}) end},
     {hs_creation, {is, "a creation of at least 4", fun(C) -> C >= 4 end},
      fun() -> creation(puppet()) end},
     {hs_again, {eq, [pong, pong, pong, pong, pong]},
      fun() ->
          [begin disconnect(), Pong = net_adm:ping(n()), here = echo(here), Pong end
           || _ <- lists:seq(1, 5)]
      end},
     {hs_same_incarnation, {eq, still},
      fun() ->
          P = puppet(),
          disconnect(),
          ok = tell(P, {send, self(), still}),
          next()
      end},
     {hs_wrong_cookie, {eq, {pang, pong}},
      fun() ->
          disconnect(),
          erlang:set_cookie(n(), 'another cookie'),
          Wrong = net_adm:ping(n()),
          erlang:set_cookie(n(), persistent_term:get(probe_cookie)),
          {Wrong, net_adm:ping(n())}
      end},
     {hs_they_dial, {eq, {true, true}},
      fun() ->
          Self = self(),
          %% Told to come back a little after the connection is gone.
          {echo, n()} ! {echo, Self, ready},
          {echo, ready} = next(),
          ok = call(ctl, {disconnect, node()}),
          until(false, fun() -> lists:member(n(), nodes(connected)) end),
          Dialled = call(ctl, {connect, node()}),
          {Dialled, lists:member(n(), nodes(connected))}
      end}].

%% ---- terms: Zterm, Zid ---------------------------------------------------------------------

terms() ->
    Same = {eq, []},
    [{term_integers, Same,
      fun() ->
          Edges = [0, 255, 256, (1 bsl 27) - 1, 1 bsl 27, (1 bsl 31) - 1, 1 bsl 31,
                   (1 bsl 59) - 1, 1 bsl 59, (1 bsl 63) - 1, 1 bsl 63, (1 bsl 64) - 1, 1 bsl 64],
          changed(Edges ++ [-E || E <- Edges] ++ [-E - 1 || E <- Edges])
      end},
     {term_bignums, Same,
      fun() -> changed([(1 bsl B) - D || B <- [65, 127, 128, 2040, 2041, 8000], D <- [0, 1]] ++
                       [-(1 bsl B) || B <- [65, 128, 2040, 2048, 8000]]) end},
     {term_floats, Same,
      fun() -> changed([0.0, 1.0, -1.0, 0.1, 1.0e308, -1.7976931348623157e308, 5.0e-324,
                        2.2250738585072014e-308, math:pi()]) end},
     {term_minus_zero, {eq, <<128, 0, 0, 0, 0, 0, 0, 0>>},
      fun() -> <<M:64/float>> = <<128, 0:56>>, F = echo(M), <<F:64/float>> end},
     {term_atoms, Same,
      fun() -> changed(['', a, 'with space', 'A', true, undefined, 'åäö', 'å→日本', '🙂',
                        list_to_atom(lists:duplicate(255, $x)),
                        list_to_atom(lists:duplicate(255, $å)),
                        list_to_atom(lists:duplicate(255, 16#1F642))]) end},
     {term_many_atoms, Same,
      fun() -> changed([[list_to_atom("probe_" ++ integer_to_list(I)) || I <- lists:seq(A, A + 500)]
                        || A <- lists:seq(0, 5000, 500)]) end},
     {term_binaries, Same,
      fun() -> changed([binary:copy(<<170>>, S) || S <- [0, 1, 63, 64, 65, 255, 256, 65535, 65536]])
      end},
     {term_bitstrings, Same,
      fun() -> changed([<<5:B>> || B <- lists:seq(3, 20)] ++ [<<1:1>>, <<0:1>>, <<-1:8007>>]) end},
     {term_lists, Same,
      fun() -> changed([[], [a], "text", [0], [255], [256], [-1], [-1, -2], [255, 256], [[], [[]]],
                        lists:duplicate(65535, 7), lists:duplicate(65536, 7),
                        lists:seq(1, 70000), [a | b], [1, 2 | <<"x">>], "a" ++ b, [[a | b] | c]])
      end},
     {term_tuples, Same,
      fun() -> changed([{}, {a}, {{}, {{}}}, list_to_tuple(lists:seq(1, 255)),
                        list_to_tuple(lists:seq(1, 256)), list_to_tuple(lists:seq(1, 70000))]) end},
     {term_maps, Same,
      fun() ->
          Map = fun(Size) -> maps:from_list([{I, {v, I}} || I <- lists:seq(1, Size)]) end,
          changed([#{}, #{1 => a, 1.0 => b}, #{#{} => #{#{a => 1} => []}}, Map(1), Map(32), Map(33),
                   Map(2000), #{"k" => <<"v">>, {a, b} => [c], 'å' => -0.5}])
      end},
     {term_pids, Same,
      fun() -> changed([self(), puppet(), a_pid('other@host', 1, 0, 7),
                        a_pid('other@host', 16#FFFFFFFF, 16#FFFFFFFF, 16#FFFFFFFF)]) end},
     {term_references, Same,
      fun() -> changed([make_ref(), alias(), tell(puppet(), make_ref)] ++
                       [a_ref('other@host', 9, lists:seq(W, 1, -1)) || W <- [1, 2, 3, 4, 5]] ++
                       [a_ref('other@host', 16#FFFFFFFF, [16#3FFFF, 16#FFFFFFFF, 16#FFFFFFFF])])
      end},
     {term_their_reference, {eq, {true, false}},
      fun() ->
          P = puppet(),
          Ref = tell(P, make_ref),
          {tell(P, {owns, Ref}), tell(P, {owns, make_ref()})}
      end},
     {term_ports, Same,
      fun() -> changed([hd(erlang:ports()), a_port('other@host', 1, 7),
                        a_port('other@host', 16#FFFFFFFFFFFFFFFF, 7)]) end},
     {term_funs, {eq, {true, {42, here}}},
      fun() ->
          {X, Y} = {42, here},
          F = fun() -> {X, Y} end,
          G = echo(F),
          {F =:= G, G()}
      end},
     {term_funs_with_much_inside, {eq, true},
      fun() ->
          Env = {self(), make_ref(), 'an atom of its own', #{a => [b | c]}, fun lists:map/2},
          F = fun(A) -> {A, Env} end,
          (echo({F, [F]})) =:= {F, [F]}
      end},
     {term_exports, Same, fun() -> changed([fun lists:map/2, fun erlang:node/0]) end},
     {term_deep, Same,
      fun() ->
          Nest = fun(Wrap) -> lists:foldl(fun(_, T) -> Wrap(T) end, end_of_it, lists:seq(1, 500)) end,
          changed([Nest(fun(T) -> {T} end), Nest(fun(T) -> [T] end), Nest(fun(T) -> #{k => T} end),
                   Nest(fun(T) -> [x | T] end)])
      end},
     {term_native_record, Same,
      fun() ->
          release() >= 29 orelse skip("OTP 29 and later"),
          maps:get(native_records, call(ctl, about)) orelse skip("an older node"),
          Atom = fun(A) -> <<119, (byte_size(A)), A/binary>> end,
          Bytes = [131, 67, <<2:32, 1>>, Atom(<<"probe">>), Atom(<<"point">>), Atom(<<"x">>),
                   Atom(<<"y">>), <<97, 3>>, <<97, 4>>],
          changed([binary_to_term(iolist_to_binary(Bytes))])
      end},
     {term_random, Same, fun() -> changed([random(5) || _ <- lists:seq(1, 3000)]) end}].

random(0) -> leaf(rand:uniform(20));
random(D) ->
    case rand:uniform(9) of
        1 -> list_to_tuple(randoms(D - 1));
        2 -> randoms(D - 1);
        3 -> randoms(D - 1) ++ random(0);
        4 -> maps:from_list([{random(D - 1), random(D - 1)} || _ <- lists:seq(1, rand:uniform(6))]);
        5 -> list_to_tuple([random(0) || _ <- lists:seq(1, 260)]);
        _ -> random(0)
    end.

randoms(D) -> [random(D) || _ <- lists:seq(1, rand:uniform(6) - 1)].

leaf(1) -> rand:uniform(256) - 1;
leaf(2) -> rand:uniform(1000) - 500;
leaf(3) -> (1 bsl rand:uniform(200)) - rand:uniform(5);
leaf(4) -> -(1 bsl rand:uniform(130));
leaf(5) -> rand:normal() * 1.0e10;
leaf(6) -> list_to_atom("at" ++ integer_to_list(rand:uniform(4000)));
leaf(7) -> 'å→日本';
leaf(8) -> rand:bytes(rand:uniform(200));
leaf(9) -> <<1:(rand:uniform(60))>>;
leaf(10) -> self();
leaf(11) -> make_ref();
leaf(12) -> hd(erlang:ports());
leaf(13) -> fun lists:map/2;
leaf(14) -> [];
leaf(15) -> {};
leaf(16) -> "string";
leaf(17) -> #{};
leaf(18) -> [-1, -2, -3];
leaf(19) -> lists:seq(0, 255);
leaf(20) -> <<>>.

%% ---- messages: Zmsg ------------------------------------------------------------------------

messages() ->
    [{msg_by_name, {eq, {echo, [hello, 1]}},
      fun() -> at(echo) ! {echo, self(), [hello, 1]}, next() end},
     {msg_by_pid, {eq, [{info, one}, {cast, two}, {info, three}]},
      fun() ->
          P = puppet(),
          P ! one,
          gen_server:cast(P, two),
          P ! three,
          tell(P, log)
      end},
     {msg_to_our_name, {eq, hello},
      fun() ->
          register(probe_inbox, self()),
          ok = tell(puppet(), {send, {probe_inbox, node()}, hello}),
          next()
      end},
     {msg_to_our_alias, {eq, {{echo, first}, []}},
      fun() ->
          A = alias(),
          at(echo) ! {echo, A, first},
          First = next(),
          unalias(A),
          at(echo) ! {echo, A, second},
          here = echo(here),
          {First, mail(100)}
      end},
     {msg_to_their_alias, {eq, {[{info, in_time}], []}},
      fun() ->
          P = puppet(),
          A = tell(P, alias),
          A ! in_time,
          First = tell(P, log),
          tell(P, {unalias, A}),
          A ! too_late,
          {First, tell(P, log)}
      end},
     {msg_order_in, {eq, {20000, ok}},
      fun() ->
          call(sink, reset),
          [at(sink) ! {seq, a, I} || I <- lists:seq(1, 20000)],
          {call(sink, {wait, 20000}), call(sink, order)}
      end},
     {msg_order_of_all_kinds, {eq, {4000, ok}},
      fun() ->
          call(sink, reset),
          Pid = call(who, {whereis, sink}),
          Ways = {fun(M) -> at(sink) ! M end, fun(M) -> gen_server:cast(Pid, M) end,
                  fun(M) -> Pid ! M end, fun(M) -> gen_server:send_request(Pid, M) end},
          [(element(1 + I rem 4, Ways))({seq, a, I}) || I <- lists:seq(1, 4000)],
          {call(sink, {wait, 4000}), call(sink, order)}
      end},
     {msg_order_of_many, {eq, {40000, ok}},
      fun() ->
          call(sink, reset),
          [spawn(fun() -> [at(sink) ! {seq, K, I} || I <- lists:seq(1, 5000)] end)
           || K <- lists:seq(1, 8)],
          {call(sink, {wait, 40000}), call(sink, order)}
      end},
     {msg_order_out, {eq, lists:seq(1, 20000)},
      fun() ->
          ok = tell(puppet(), {send_seq, self(), k, 1, 20000}),
          [receive {seq, k, N} -> N after ?LIMIT -> lost end || _ <- lists:seq(1, 20000)]
      end},
     {msg_sizes, {eq, []},
      fun() -> [S || S <- [0, 1, 65000, 65534, 65535, 65536, 65537, 131072, 1000000],
                     begin B = binary:copy(<<S>>, S), {B, [B]} =/= echo({B, [B]}) end] end},
     {msg_10_megabytes_there_and_back, {eq, true},
      fun() -> B = rand:bytes(10000000), B =:= echo(B) end},
     {msg_10_megabytes_in, {eq, {big, 10000000}},
      fun() ->
          call(sink, reset),
          at(sink) ! {big, binary:copy(<<7>>, 10000000)},
          call(sink, {wait, 1}),
          call(sink, last)
      end},
     {msg_10_megabytes_out, {eq, 10000000},
      fun() ->
          ok = tell(puppet(), {send_big, self(), 10000000}),
          receive {big, B} -> byte_size(B) after ?LIMIT -> nothing end
      end},
     {msg_small_ones_beside_big_ones_in, {is, "a small call answered before 12 of 10 MB",
                                          fun(C) -> C >= 1 end},
      fun() ->
          Self = self(),
          [spawn(fun() -> B = binary:copy(<<I>>, 10000000), B = echo(B), Self ! done end)
           || I <- lists:seq(1, 12)],
          calls_until(12, 0)
      end},
     {msg_small_ones_beside_big_ones_out,
      {is, "at least 20 small calls answered beside 12 of 10 MB", fun(C) -> C >= 20 end},
      fun() ->
          optimised(),
          Self = self(),
          Sink = fun() -> receive {big, B} when byte_size(B) =:= 10000000 -> Self ! done end end,
          Pairs = [{puppet(), spawn(Sink)} || _ <- lists:seq(1, 12)],
          [gen_server:send_request(P, {send_big, S, 10000000}) || {P, S} <- Pairs],
          Count = calls_until(12, 0),
          is_otp() andalso skip(io_lib:format("~w on OTP, as it comes", [Count])),
          Count
      end},
     {msg_none_of_ones_own_overtakes, {eq, {seq, a, 1}},
      fun() ->
          call(sink, reset),
          at(sink) ! {big, binary:copy(<<7>>, 10000000)},
          at(sink) ! {seq, a, 1},
          2 = call(sink, {wait, 2}),
          call(sink, last)
      end},
     {msg_none_of_their_own_overtakes, {eq, [big, seq]},
      fun() ->
          P = puppet(),
          R1 = gen_server:send_request(P, {send_big, self(), 10000000}),
          R2 = gen_server:send_request(P, {send_seq, self(), k, 1, 1}),
          Came = [receive {big, _} -> big; {seq, _, _} -> seq after ?LIMIT -> nothing end || _ <- [1, 2]],
          {reply, ok} = gen_server:receive_response(R1, ?LIMIT),
          {reply, ok} = gen_server:receive_response(R2, ?LIMIT),
          Came
      end},
     {msg_to_nobody, {eq, here},
      fun() ->
          P = puppet(),
          Ref = monitor(process, P),
          exit(P, kill),
          receive {'DOWN', Ref, _, _, _} -> ok end,
          P ! lost,
          at(no_such_name) ! lost,
          gen_server:cast(at(no_such_name), lost),
          echo(here)
      end}].

calls_until(0, Count) -> Count;
calls_until(Left, Count) ->
    here = echo(here),
    receive done -> calls_until(Left - 1, Count) after 0 -> calls_until(Left, Count + 1) end.

%% ---- calls: Zcall --------------------------------------------------------------------------

calls() ->
    [{call_by_name, {eq, 5}, fun() -> call(calc, {add, 2, 3}) end},
     {call_by_pid, {eq, 5}, fun() -> gen_server:call(call(who, {whereis, calc}), {add, 2, 3}) end},
     {call_after_casts, {eq, 42},
      fun() ->
          gen_server:cast(at(calc), clear),
          gen_server:cast(at(calc), {note, 40}),
          at(calc) ! {note, 2},
          call(calc, total)
      end},
     {call_result, {eq, [{ok, 3}, {error, <<"division by zero">>}]},
      fun() -> [call(calc, {divide, 7, B}) || B <- [2, 0]] end},
     {call_struct, {eq, #{name => <<"lamp">>, count => 2, at => undefined, first => red,
                          pair => {2.5, <<"lamp">>}}},
      fun() -> call(calc, {describe, #{name => <<"lamp">>, tags => [red, green], price => 2.5,
                                       at => undefined}}) end},
     {call_struct_with_options, {eq, {7, undefined}},
      fun() ->
          Thing = #{name => <<>>, tags => [green], price => 0.0, surplus => [x]},
          {maps:get(at, call(calc, {describe, Thing#{at => 7}})),
           maps:get(at, call(calc, {describe, Thing}))}
      end},
     {call_no_such_name, {eq, {exit, noproc}},
      fun() -> soon(2000, fun() -> exits(fun() -> call(no_such_name, x) end) end) end},
     {call_dead, {eq, {exit, noproc}},
      fun() ->
          P = puppet(),
          Ref = monitor(process, P),
          gen_server:cast(P, {die, bye}),
          receive {'DOWN', Ref, _, _, bye} -> ok end,
          soon(2000, fun() -> exits(fun() -> tell(P, self) end) end)
      end},
     {call_timeout, {eq, {exit, timeout}},
      fun() -> exits(fun() -> gen_server:call(at(slow), never, 100) end) end},
     {call_late_answer, {eq, []},
      fun() ->
          {exit, timeout} = exits(fun() -> gen_server:call(at(slow), {sleep, 300, late}, 100) end),
          mail(500)
      end},
     {call_answers_in_any_order, {eq, [10, 60, 110, 160, 210]},
      fun() ->
          Slow = at(slow),
          Ids = [gen_server:send_request(Slow, {sleep, Ms, Ms}) || Ms <- [210, 160, 110, 60, 10]],
          Self = self(),
          [spawn(fun() -> Self ! gen_server:call(Slow, {sleep, Ms, Ms}) end)
           || Ms <- [210, 160, 110, 60, 10]],
          [{reply, _} = gen_server:receive_response(Id, ?LIMIT) || Id <- Ids],
          [next() || _ <- Ids]
      end},
     {call_callee_dies, {eq, {exit, {shutdown, why}}},
      fun() -> exits(fun() -> tell(puppet(), {die, {shutdown, why}}) end) end},
     {call_callee_is_killed, {eq, {exit, killed}},
      fun() ->
          P = puppet(),
          spawn(fun() -> timer:sleep(100), exit(P, kill) end),
          exits(fun() -> tell(P, hang) end)
      end},
     {call_plain_tag, {eq, true},
      fun() ->
          Ref = make_ref(),
          at(echo) ! {'$gen_call', {self(), Ref}, hello},
          next() =:= {Ref, hello}
      end},
     {call_any_tag, {eq, {[tag, 7 | x], hello}},
      fun() -> at(echo) ! {'$gen_call', {self(), [tag, 7 | x]}, hello}, next() end},
     {call_multi, {eq, true},
      fun() -> gen_server:multi_call([n()], calc, {add, 1, 2}, ?LIMIT) =:= {[{n(), 3}], []} end},
     {call_many_at_once, {eq, lists:seq(1, 100)},
      fun() ->
          Ids = [gen_server:send_request(at(calc), {add, I, 0}) || I <- lists:seq(1, 100)],
          [element(2, gen_server:receive_response(Id, ?LIMIT)) || Id <- Ids]
      end},
     {call_token_passed_on, {eq, {reply, {passed, 77}}},
      fun() ->
          Id = gen_server:send_request(puppet(), {pass_on, self(), 77}),
          receive {please_answer, From, X} -> gen_server:reply(From, {passed, X})
          after ?LIMIT -> nothing
          end,
          gen_server:receive_response(Id, ?LIMIT)
      end},
     {call_out_by_name, {eq, {ok, 3}},
      fun() ->
          ours(probe_server),
          tell(puppet(), {call, {probe_server, node()}, {add, 1, 2}, 5000})
      end},
     {call_out_by_pid, {eq, {ok, #{a => [<<"b">>]}}},
      fun() -> tell(puppet(), {call, ours(none), #{a => [<<"b">>]}, 5000}) end},
     {call_out_no_such_name, {eq, {error, noproc}},
      fun() ->
          soon(2000, fun() -> tell(puppet(), {call, {no_such_name, node()}, x, 5000}) end)
      end},
     {call_out_timeout, {eq, {error, timeout}},
      fun() -> tell(puppet(), {call, ours(none), hang, 100}) end},
     {call_out_dies, {eq, {error, {shutdown, [why]}}},
      fun() -> tell(puppet(), {call, ours(none), {die, {shutdown, [why]}}, 5000}) end},
     {call_out_late_answer, {eq, []},
      fun() ->
          P = puppet(),
          Self = self(),
          S = spawn(fun() ->
                        receive {'$gen_call', From, x} ->
                            timer:sleep(300), gen_server:reply(From, late), Self ! answered
                        end
                    end),
          {error, timeout} = tell(P, {call, S, x, 100}),
          answered = next(),
          tell(P, log)
      end},
     {call_back_and_forth, {eq, {ok, 9}},
      fun() -> tell(puppet(), {call, ours(none), {ask, calc, {add, 4, 5}}, 5000}) end},
     {call_that_cannot_be_read, {eq, {true, 5}},
      fun() ->
          is_otp() andalso skip("an Erlang server would wait, or crash"),
          Ends = [soon(2000, fun() -> exits(fun() -> call(calc, Request) end) end)
                  || Request <- [{add, 1}, {add, 1, x}, {add, 1, 2, 3}, nothing_like_it, 7, {note, 1}]],
          {lists:all(fun({exit, {refused, {undecodable, Text}}}) -> is_binary(Text);
                        ({exit, {refused, no_reply}}) -> true;
                        (_) -> false
                     end, Ends), call(calc, {add, 2, 3})}
      end},
     {call_cast_out, {eq, {'$gen_cast', {note, 1}}},
      fun() -> ok = tell(puppet(), {cast, self(), {note, 1}}), next() end}].

%% ---- remote procedure calls: Zcall7, Zcall8 --------------------------------------------------

rpcs() ->
    Caught = fun(Call) -> try {value, Call()} catch C:R -> {C, R} end end,
    [{rpc_value, {eq, 6}, fun() -> rpc:call(n(), reference, sum, [[1, 2, 3]]) end},
     {rpc_erpc_value, {eq, 6}, fun() -> erpc:call(n(), reference, sum, [[1, 2, 3]]) end},
     {rpc_badrpc, {is, "{badrpc, {'EXIT', {oops, _}}}",
                   fun({badrpc, {'EXIT', {oops, _}}}) -> true; (_) -> false end},
      fun() -> rpc:call(n(), reference, boom, [oops]) end},
     {rpc_error, {is, "error:{exception, oops, _}",
                  fun({error, {exception, oops, [_ | _]}}) -> true; (_) -> false end},
      fun() -> Caught(fun() -> erpc:call(n(), reference, boom, [oops]) end) end},
     {rpc_throw, {eq, {throw, {a, ball}}},
      fun() -> Caught(fun() -> erpc:call(n(), reference, throw_it, [{a, ball}]) end) end},
     {rpc_exit, {eq, {exit, {exception, {bye, 1}}}},
      fun() -> Caught(fun() -> erpc:call(n(), reference, exit_it, [{bye, 1}]) end) end},
     {rpc_timeout, {eq, {error, {erpc, timeout}}},
      fun() -> Caught(fun() -> erpc:call(n(), reference, wait, [3000], 100) end) end},
     {rpc_multicall, {eq, {[6], []}},
      fun() -> rpc:multicall([n()], reference, sum, [[1, 2, 3]], ?LIMIT) end},
     {rpc_send_request, {eq, 10},
      fun() -> erpc:receive_response(erpc:send_request(n(), reference, sum, [[4, 6]]), ?LIMIT) end},
     {rpc_undefined, {is, "{badrpc, {'EXIT', {undef, [{no_such_module, f, [1], _} | _]}}}",
                      fun({badrpc, {'EXIT', {undef, [{no_such_module, f, [1], _} | _]}}}) -> true;
                         (_) -> false
                      end},
      fun() -> rpc:call(n(), no_such_module, f, [1]) end},
     {rpc_not_served, {eq, []},
      fun() ->
          is_otp() andalso skip("an Erlang node runs any function"),
          All = [{erlang, node, []}, {erlang, halt, []}, {init, stop, []}, {os, cmd, ["true"]},
                 {erlang, processes, []}, {code, load_binary, [x, "x", <<>>]}, {erlang, apply, [os, getpid, []]},
                 {reference, sum, []}, {reference, sum, [1, 2]}],
          [MFA || {M, F, A} = MFA <- All,
                  case rpc:call(n(), M, F, A) of
                      {badrpc, {'EXIT', {undef, [{M, F, A, _} | _]}}} -> false;
                      _ -> true
                  end]
      end},
     {rpc_nobody_waits_for_what_is_refused, {eq, {error, {exception, undef}}},
      fun() ->
          soon(2000, fun() ->
                         case Caught(fun() -> erpc:call(n(), no_such_module, f, []) end) of
                             {error, {exception, Reason, _}} -> {error, {exception, Reason}};
                             Other -> Other
                         end
                     end)
      end}].

%% ---- spawns: Zcall9 --------------------------------------------------------------------------

spawns() ->
    [{spawn_by_name, {eq, true},
      fun() ->
          P = spawn(n(), reference, worker, [self()]),
          node(P) =:= n() andalso next() =:= {hello, P}
      end},
     {spawn_linked, {eq, {'EXIT', done}},
      fun() ->
          process_flag(trap_exit, true),
          P = spawn_link(n(), reference, worker, [self()]),
          {hello, P} = next(),
          P ! {stop, done},
          receive {'EXIT', P, Reason} -> {'EXIT', Reason} after ?LIMIT -> nothing end
      end},
     {spawn_monitored, {eq, {'DOWN', {done, 1}}},
      fun() ->
          {P, Ref} = spawn_monitor(n(), reference, worker, [self()]),
          {hello, P} = next(),
          P ! {stop, {done, 1}},
          receive {'DOWN', Ref, process, P, Reason} -> {'DOWN', Reason} after ?LIMIT -> nothing end
      end},
     {spawn_request_is_answered, {eq, true},
      fun() ->
          Id = spawn_request(n(), reference, worker, [self()], [monitor]),
          P = receive {spawn_reply, Id, ok, Pid} -> Pid after ?LIMIT -> nothing end,
          receive {hello, P} -> ok after ?LIMIT -> nothing end =:= ok
      end},
     {spawn_of_what_is_not_there, {eq, over},
      fun() ->
          Id = spawn_request(n(), no_such_module, f, [1], [monitor]),
          receive
              {spawn_reply, Id, error, Reason} when is_atom(Reason) -> over;
              {spawn_reply, Id, ok, P} ->
                  receive {'DOWN', Id, process, P, {undef, _}} -> over after 2000 -> lives end
          after 2000 -> no_reply
          end
      end},
     {spawn_leaves_the_connection, {eq, here}, fun() -> echo(here) end}].

%% ---- monitors: Zlink6, Zlink2 ----------------------------------------------------------------

monitors() ->
    Down = fun(Ref) ->
               receive {'DOWN', Ref, process, What, Why} -> {What, Why} after ?LIMIT -> nothing end
           end,
    [{mon_pid, {eq, true},
      fun() ->
          P = puppet(),
          Ref = monitor(process, P),
          gen_server:cast(P, {die, {what, [a, <<"reason">>]}}),
          Down(Ref) =:= {P, {what, [a, <<"reason">>]}}
      end},
     {mon_name, {eq, true},
      fun() ->
          Ref = monitor(process, at(phoenix)),
          gen_server:cast(at(phoenix), {die, shutdown}),
          Down(Ref) =:= {at(phoenix), shutdown}
      end},
     {mon_name_moves_on, {eq, true},
      fun() ->
          Now = fun() -> try call(phoenix, self) catch exit:_ -> nobody end end,
          Next = fun() -> until(true, fun() -> is_pid(Now()) end), Now() end,
          Pids = [begin
                      P = Next(),
                      Ref = monitor(process, P),
                      gen_server:cast(at(phoenix), {die, shutdown}),
                      {P, shutdown} = Down(Ref),
                      P
                  end || _ <- [1, 2, 3]],
          length(lists:usort([Next() | Pids])) =:= 4
      end},
     {mon_no_such_name, {eq, true},
      fun() ->
          Ref = monitor(process, at(no_such_name)),
          soon(2000, fun() -> Down(Ref) end) =:= {at(no_such_name), noproc}
      end},
     {mon_dead_pid, {eq, true},
      fun() ->
          P = puppet(),
          {P, killed} = begin R = monitor(process, P), exit(P, kill), Down(R) end,
          soon(2000, fun() -> Down(monitor(process, P)) end) =:= {P, noproc}
      end},
     {mon_taken_away, {eq, []},
      fun() ->
          P = puppet(),
          Ref = monitor(process, P),
          demonitor(Ref, [flush]),
          R2 = monitor(process, P),
          exit(P, kill),
          _ = Down(R2),
          mail(100)
      end},
     {mon_two_tell_twice, {eq, [normal, normal]},
      fun() ->
          P = puppet(),
          Refs = [monitor(process, P), monitor(process, P)],
          gen_server:cast(P, {die, normal}),
          [Why || Ref <- Refs, {_, Why} <- [Down(Ref)]]
      end},
     {mon_a_thousand, {eq, {1000, []}},
      fun() ->
          Ps = call(maker, {new, 1000}),
          Refs = [monitor(process, P) || P <- Ps],
          [exit(P, kill) || P <- Ps],
          Downs = [x || Ref <- Refs, {_, killed} <- [Down(Ref)]],
          {length(Downs), mail(100)}
      end},
     {mon_tells_after_what_was_sent, {eq, {lists:seq(1, 500), down}},
      fun() ->
          P = puppet(),
          monitor(process, P),
          gen_server:send_request(P, {send_seq, self(), k, 1, 500}),
          gen_server:cast(P, {die, bye}),
          Came = [M || M <- mail(1000), element(1, M) =:= seq orelse element(1, M) =:= 'DOWN'],
          {Seqs, [Last]} = lists:split(length(Came) - 1, Came),
          {[N || {seq, k, N} <- Seqs],
           case Last of {'DOWN', _, process, P, bye} -> down; _ -> Last end}
      end},
     {mon_out_pid, {eq, true},
      fun() ->
          {P, S} = {puppet(), ours(none)},
          Ref = tell(P, {monitor, S}),
          gen_server:cast(S, {die, {shutdown, x}}),
          Expected = [{'DOWN', Ref, process, S, {shutdown, x}}],
          until(Expected, fun() -> tell_once(P, log) end) =:= Expected
      end},
     {mon_out_name, {eq, true},
      fun() ->
          P = puppet(),
          ours(probe_mortal),
          Ref = tell(P, {monitor, {probe_mortal, node()}}),
          gen_server:cast(probe_mortal, {die, bye}),
          Expected = [{'DOWN', Ref, process, {probe_mortal, node()}, bye}],
          until(Expected, fun() -> tell_once(P, log) end) =:= Expected
      end},
     {mon_out_nobody, {eq, true},
      fun() ->
          P = puppet(),
          Ref = tell(P, {monitor, {no_such_name, node()}}),
          Expected = [{'DOWN', Ref, process, {no_such_name, node()}, noproc}],
          until(Expected, fun() -> tell_once(P, log) end) =:= Expected
      end},
     {mon_out_taken_away, {eq, {true, []}},
      fun() ->
          {P, S} = {puppet(), ours(none)},
          Ref = tell(P, {monitor, S}),
          true = tell(P, {demonitor, Ref}),
          exit(S, kill),
          until(false, fun() -> is_process_alive(S) end),
          here = echo(here),
          {true, tell(P, log)}
      end}].

%% The log is emptied when it is read: what has come so far is kept here.
tell_once(P, log) ->
    Log = case get({log, P}) of undefined -> []; L -> L end ++ tell(P, log),
    put({log, P}, Log),
    Log.

%% ---- links: Zlink1 to Zlink5 -----------------------------------------------------------------

links() ->
    Exit = fun(P) ->
               receive {'EXIT', P, Why} -> Why after ?LIMIT -> nothing end
           end,
    Trapping = fun(Body) -> fun() -> process_flag(trap_exit, true), Body() end end,
    [{link_remote_ends, {eq, {boom, 1}},
      Trapping(fun() -> P = puppet(), link(P), gen_server:cast(P, {die, {boom, 1}}), Exit(P) end)},
     {link_takes_the_local_one_along, {eq, boom},
      fun() ->
          P = puppet(),
          {L, Ref} = spawn_monitor(fun() -> link(P), receive never -> ok end end),
          until(true, fun() -> process_info(L, links) =:= {links, [P]} end),
          gen_server:cast(P, {die, boom}),
          receive {'DOWN', Ref, process, L, Why} -> Why after ?LIMIT -> nothing end
      end},
     {link_takes_the_remote_one_along, {eq, boom},
      fun() ->
          P = puppet(),
          Ref = monitor(process, P),
          spawn(fun() -> link(P), exit(boom) end),
          receive {'DOWN', Ref, process, P, Why} -> Why after ?LIMIT -> nothing end
      end},
     {link_remote_one_traps, {eq, true},
      fun() ->
          P = puppet(trap),
          L = spawn(fun() -> link(P), exit({boom, self()}) end),
          Expected = [{'EXIT', L, {boom, L}}],
          until(Expected, fun() -> tell_once(P, log) end) =:= Expected
      end},
     {link_made_by_them, {eq, boom},
      Trapping(fun() ->
                   P = puppet(),
                   true = tell(P, {link, self()}),
                   gen_server:cast(P, {die, boom}),
                   Exit(P)
               end)},
     {link_made_by_them_takes_them_along, {eq, boom},
      fun() ->
          {P, S} = {puppet(), ours(none)},
          Ref = monitor(process, P),
          true = tell(P, {link, S}),
          gen_server:cast(S, {die, boom}),
          receive {'DOWN', Ref, process, P, Why} -> Why after ?LIMIT -> nothing end
      end},
     {link_to_nobody, {eq, noproc},
      Trapping(fun() ->
                   P = puppet(),
                   Ref = monitor(process, P),
                   exit(P, kill),
                   receive {'DOWN', Ref, _, _, _} -> ok end,
                   link(P),
                   soon(2000, fun() -> Exit(P) end)
               end)},
     {link_to_nobody_of_ours, {eq, true},
      fun() ->
          {P, S} = {puppet(trap), ours(none)},
          exit(S, kill),
          until(false, fun() -> is_process_alive(S) end),
          tell(P, {link, S}),
          Expected = [{'EXIT', S, noproc}],
          until(Expected, fun() -> tell_once(P, log) end) =:= Expected
      end},
     {link_taken_away, {eq, []},
      Trapping(fun() ->
                   P = puppet(),
                   link(P),
                   unlink(P),
                   Ref = monitor(process, P),
                   exit(P, kill),
                   receive {'DOWN', Ref, _, _, _} -> ok end,
                   mail(100)
               end)},
     {link_taken_away_by_them, {eq, []},
      Trapping(fun() ->
                   P = puppet(),
                   link(P),
                   true = tell(P, {unlink, self()}),
                   Ref = monitor(process, P),
                   exit(P, kill),
                   receive {'DOWN', Ref, _, _, _} -> ok end,
                   mail(100)
               end)},
     {link_twice_is_one, {eq, [boom]},
      Trapping(fun() ->
                   P = puppet(),
                   link(P),
                   tell(P, {link, self()}),
                   link(P),
                   gen_server:cast(P, {die, boom}),
                   [Why || {'EXIT', _, Why} <- mail(300)]
               end)},
     {link_made_again, {eq, boom},
      Trapping(fun() ->
                   P = puppet(),
                   [begin link(P), unlink(P) end || _ <- lists:seq(1, 100)],
                   link(P),
                   gen_server:cast(P, {die, boom}),
                   Exit(P)
               end)},
     {link_normal_end, {eq, {normal, true}},
      Trapping(fun() ->
                   {P, Q} = {puppet(), puppet()},
                   link(P),
                   gen_server:cast(P, {die, normal}),
                   spawn(fun() -> link(Q) end),
                   {Exit(P), is_pid(tell(Q, self))}
               end)},
     {link_race, {eq, []},
      Trapping(fun() ->
                   [Round || Round <- lists:seq(1, 60), not both_agree()]
               end)},
     {link_a_thousand, {eq, 1000},
      Trapping(fun() ->
                   Ps = call(maker, {new, 1000}),
                   [link(P) || P <- Ps],
                   [exit(P, kill) || P <- Ps],
                   length([x || P <- Ps, killed =:= Exit(P)])
               end)}].

%% Both ends link and unlink as they like; then one is killed, and the other must hear of it
%% exactly if it believes that there is a link.
both_agree() ->
    P = puppet(),
    Ids = [begin
               case rand:uniform(2) of 1 -> link(P); 2 -> unlink(P) end,
               What = case rand:uniform(2) of 1 -> link; 2 -> unlink end,
               gen_server:send_request(P, {What, self()})
           end || _ <- lists:seq(1, 30)],
    [{reply, true} = gen_server:receive_response(Id, ?LIMIT) || Id <- Ids],
    %% What was under way when the last answer was sent has come when this one does.
    P = tell(P, self),
    {links, Links} = process_info(self(), links),
    Believes = lists:member(P, Links),
    Ref = monitor(process, P),
    exit(P, kill),
    receive {'DOWN', Ref, process, P, killed} -> ok end,
    Heard = receive {'EXIT', P, killed} -> true after 50 -> false end,
    unlink(P),
    Believes =:= Heard.

%% ---- exit signals: Zlink8 --------------------------------------------------------------------

exits() ->
    Down = fun(P, Act) ->
               Ref = monitor(process, P),
               Act(),
               receive {'DOWN', Ref, process, P, Why} -> Why after ?LIMIT -> nothing end
           end,
    [{exit_with_a_reason, {eq, {some, "reason"}},
      fun() -> P = puppet(), Down(P, fun() -> exit(P, {some, "reason"}) end) end},
     {exit_trapped, {eq, true},
      fun() ->
          P = puppet(trap),
          exit(P, {some, reason}),
          exit(P, normal),
          tell(P, log) =:= [{'EXIT', self(), {some, reason}}, {'EXIT', self(), normal}]
      end},
     {exit_normal_is_ignored, {eq, true},
      fun() -> P = puppet(), exit(P, normal), is_pid(tell(P, self)) end},
     {exit_kill, {eq, killed},
      fun() -> P = puppet(trap), Down(P, fun() -> exit(P, kill) end) end},
     {exit_kill_is_killed_to_the_linked, {eq, killed},
      fun() ->
          process_flag(trap_exit, true),
          P = puppet(),
          link(P),
          exit(P, kill),
          receive {'EXIT', P, Why} -> Why after ?LIMIT -> nothing end
      end},
     {exit_of_the_dead, {eq, here},
      fun() ->
          P = puppet(),
          killed = Down(P, fun() -> exit(P, kill) end),
          exit(P, kill),
          exit(P, again),
          echo(here)
      end},
     {exit_out, {eq, true},
      fun() ->
          process_flag(trap_exit, true),
          P = puppet(),
          true = tell(P, {exit, self(), {why, not_}}),
          next() =:= {'EXIT', P, {why, not_}}
      end},
     {exit_out_kill, {eq, killed},
      fun() ->
          {P, S} = {puppet(), ours(none)},
          Down(S, fun() -> tell(P, {exit, S, kill}) end)
      end},
     {exit_out_normal_is_ignored, {eq, {ok, 3}},
      fun() ->
          {P, S} = {puppet(), ours(none)},
          tell(P, {exit, S, normal}),
          tell(P, {call, S, {add, 1, 2}, 5000})
      end},
     {exit_with_priority, {eq, {urgent, 1}},
      fun() ->
          release() >= 28 orelse skip("OTP 28 and later"),
          P = puppet(),
          Down(P, fun() -> erlang:apply(erlang, exit, [P, {urgent, 1}, [priority]]) end)
      end}].

%% ---- sys and supervisors: Zcall12, Zcall13 -----------------------------------------------------

sys() ->
    [{sys_get_state, {eq, true},
      fun() ->
          C = call(state, bump),
          %% OTP 25 answers the state and takes nothing else; later ones {ok, State}, likewise.
          {ok, State} = gen:call(at(state), system, get_state, ?LIMIT),
          State =:= #{count => C} orelse State =:= {ok, #{count => C}}
      end},
     {sys_get_status, {is, "{status, Pid, {module, _}, [_ | _]}",
                       fun({status, P, {module, M}, [_ | _]}) -> node(P) =:= n() andalso is_atom(M);
                          (_) -> false
                       end},
      fun() -> sys:get_status(at(state)) end},
     {sys_suspend_and_resume, {eq, {ok, {exit, timeout}, ok, 2}},
      fun() ->
          C = call(state, bump),
          A = sys:suspend(at(state)),
          B = exits(fun() -> gen_server:call(at(state), bump, 200) end),
          R = sys:resume(at(state)),
          {A, B, R, call(state, bump) - C}
      end},
     {sys_which_children, {eq, [{one, true, worker}, {two, true, worker}]},
      fun() -> lists:sort([{Id, is_pid(P) andalso node(P) =:= n(), Type}
                           || {Id, P, Type, _} <- supervisor:which_children(at(tree))]) end},
     {sys_count_children, {eq, [{active, 2}, {specs, 2}, {supervisors, 0}, {workers, 2}]},
      fun() -> lists:sort(supervisor:count_children(at(tree))) end}].

%% ---- groups: Zpg -----------------------------------------------------------------------------

groups() ->
    Members = fun(G) -> pg:get_members(?SCOPE, G) end,
    Theirs = fun(G) -> lists:sort(call(grouper, {members, G})) end,
    [{pg_they_join_and_leave, {eq, true},
      fun() ->
          P = call(who, {whereis, grouper}),
          ok = call(grouper, {join, g1}),
          A = until([P], fun() -> Members(g1) end),
          ok = call(grouper, {leave, g1}),
          B = until([], fun() -> Members(g1) end),
          {A, B} =:= {[P], []}
      end},
     {pg_leave_of_who_has_not_joined, {eq, not_joined}, fun() -> call(grouper, {leave, g0}) end},
     {pg_we_join_and_leave, {eq, true},
      fun() ->
          ok = pg:join(?SCOPE, g2, self()),
          A = until([self()], fun() -> Theirs(g2) end),
          [] = call(grouper, {local_members, g2}),
          ok = pg:leave(?SCOPE, g2, self()),
          {A, until([], fun() -> Theirs(g2) end)} =:= {[self()], []}
      end},
     {pg_member_of_theirs_ends, {eq, {1, []}},
      fun() ->
          P = call(grouper, {new_member, g3}),
          A = until([P], fun() -> Members(g3) end),
          exit(P, kill),
          {length(A), until([], fun() -> Members(g3) end)}
      end},
     {pg_member_of_ours_ends, {eq, {1, []}},
      fun() ->
          S = ours(none),
          ok = pg:join(?SCOPE, g4, S),
          A = until([S], fun() -> Theirs(g4) end),
          exit(S, kill),
          {length(A), until([], fun() -> Theirs(g4) end)}
      end},
     {pg_joined_twice, {eq, {2, 1, 0}},
      fun() ->
          [ok = pg:join(?SCOPE, g5, self()) || _ <- [1, 2]],
          Count = fun() -> length(Theirs(g5)) end,
          A = until(2, Count),
          pg:leave(?SCOPE, g5, self()),
          B = until(1, Count),
          pg:leave(?SCOPE, g5, self()),
          {A, B, until(0, Count)}
      end},
     {pg_several_at_once, {eq, {3, 1}},
      fun() ->
          [A, B, _] = All = [ours(none) || _ <- [1, 2, 3]],
          ok = pg:join(?SCOPE, g6, All),
          Three = until(3, fun() -> length(Theirs(g6)) end),
          ok = pg:leave(?SCOPE, g6, [A, B]),
          {Three, until(1, fun() -> length(Theirs(g6)) end)}
      end},
     {pg_we_watch_them, {eq, [join, leave]},
      fun() ->
          {Ref, []} = pg:monitor(?SCOPE, g7),
          ok = call(grouper, {join, g7}),
          ok = call(grouper, {leave, g7}),
          [receive {Ref, Change, g7, [_]} -> Change after ?LIMIT -> nothing end || _ <- [1, 2]]
      end},
     {pg_they_watch_us, {eq, true},
      fun() ->
          call(grouper, log),
          ok = pg:join(?SCOPE, g8, self()),
          ok = pg:leave(?SCOPE, g8, self()),
          Expected = [{join, g8, [self()]}, {leave, g8, [self()]}],
          put(seen, []),
          until(Expected, fun() ->
                              put(seen, get(seen) ++ [E || {_, g8, _} = E <- call(grouper, log)]),
                              get(seen)
                          end) =:= Expected
      end},
     {pg_group_of_any_term, {eq, true},
      fun() ->
          G = {'å', [1, <<"x">>], #{}},
          ok = pg:join(?SCOPE, G, self()),
          until([self()], fun() -> Theirs(G) end) =:= [self()] andalso
              lists:member(G, call(grouper, groups))
      end},
     {pg_after_a_loss, {eq, true},
      fun() ->
          P = call(grouper, {new_member, g9}),
          S = ours(none),
          ok = pg:join(?SCOPE, g9, S),
          Both = lists:sort([P, S]),
          Both = until(Both, fun() -> lists:sort(Members(g9)) end),
          disconnect(),
          [S] = until([S], fun() -> Members(g9) end),
          pong = net_adm:ping(n()),
          A = until(Both, fun() -> lists:sort(Members(g9)) end),
          B = until(Both, fun() -> Theirs(g9) end),
          {A, B} =:= {Both, Both}
      end}].

%% ---- liveness: Zlive, Zlink7 -------------------------------------------------------------------

liveness() ->
    [{live_told_once, {eq, true},
      fun() ->
          true = monitor_node(n(), true),
          disconnect(),
          next() =:= {nodedown, n()} andalso mail(100) =:= []
      end},
     {live_subscribed, {eq, [nodedown, nodeup]},
      fun() ->
          ok = net_kernel:monitor_nodes(true, [{node_type, all}]),
          pong = net_adm:ping(n()),
          mail(100),
          disconnect(),
          pong = net_adm:ping(n()),
          [element(1, M) || M <- mail(300), element(2, M) =:= n()]
      end},
     {live_they_notice, {eq, true},
      fun() ->
          call(nodes, log),
          disconnect(),
          pong = net_adm:ping(n()),
          Expected = [{down, node()}, {up, node()}],
          put(seen, []),
          until(Expected, fun() ->
                              put(seen, get(seen) ++ [E || {_, M} = E <- call(nodes, log), M =:= node()]),
                              get(seen)
                          end) =:= Expected
      end},
     {live_they_are_told_once, {eq, true},
      fun() ->
          true = call(nodes, {monitor_node, node()}),
          call(nodes, log),
          disconnect(),
          pong = net_adm:ping(n()),
          until(true, fun() -> lists:member({told, node()}, call(nodes, log)) end)
      end},
     {live_they_list_us, {eq, true}, fun() -> lists:member(node(), call(nodes, list)) end},
     {live_loss_here, {eq, [{call, true}, {down, noconnection}, {exit, noconnection}]},
      fun() ->
          process_flag(trap_exit, true),
          P = puppet(),
          link(P),
          Ref = monitor(process, P),
          Self = self(),
          spawn(fun() ->
                    Self ! {call, exits(fun() -> gen_server:call(at(slow), never, infinity) end)
                                  =:= {exit, {nodedown, n()}}}
                end),
          here = echo(here),
          timer:sleep(100),
          disconnect(),
          lists:sort([case M of
                          {'EXIT', P, Why} -> {exit, Why};
                          {'DOWN', Ref, process, P, Why} -> {down, Why};
                          _ -> M
                      end || M <- mail(300)])
      end},
     {live_loss_there, {eq, true},
      fun() ->
          P = puppet(trap),
          Self = self(),
          true = tell(P, {link, Self}),
          Ref = tell(P, {monitor, Self}),
          process_flag(trap_exit, true),
          disconnect(),
          Expected = lists:sort([{'EXIT', Self, noconnection},
                                 {'DOWN', Ref, process, Self, noconnection}]),
          until(Expected, fun() -> lists:sort(tell_once(P, log)) end) =:= Expected
      end},
     {live_nothing_is_revived, {eq, []},
      fun() ->
          process_flag(trap_exit, true),
          P = puppet(trap),
          link(P),
          monitor(process, P),
          disconnect(),
          [_, _] = mail(200),
          pong = net_adm:ping(n()),
          R = monitor(process, P),
          exit(P, kill),
          receive
              {'DOWN', R, process, P, killed} -> mail(200);
              {'DOWN', R, process, P, Why} -> Why
          after ?LIMIT -> no_down
          end
      end},
     {live_unheard_of_node_of_theirs, {eq, {error, noconnection}},
      fun() ->
          [_, Host] = string:split(atom_to_list(n()), "@"),
          Nowhere = list_to_atom("nobody_is_here@" ++ Host),
          soon(10000, fun() -> tell(puppet(), {call, {x, Nowhere}, x, 9000}) end)
      end},
     {live_silence_of_20_seconds, {eq, []},
      fun() ->
          quick(),
          net_kernel:get_net_ticktime() =:= 8 orelse skip("net_ticktime of this node is not 8"),
          ok = net_kernel:monitor_nodes(true, [{node_type, all}]),
          pong = net_adm:ping(n()),
          mail(100),
          timer:sleep(20000),
          [M || M <- mail(0), element(2, M) =:= n()]
      end}].

%% ---- ends and restarts: Zid5, Zid6, Zlive6, Zhs6 ---------------------------------------------------

restarts() ->
    Restart = fun() ->
                  case os:getenv("PROBE_RESTART") of
                      false -> skip("PROBE_RESTART is not set");
                      Command -> Command
                  end
              end,
    Again = fun(Command) ->
                os:cmd(Command),
                until(pong, fun() -> net_adm:ping(n()) end, 1000)
            end,
    Gone = fun() -> until(false, fun() -> lists:member(n(), nodes(connected)) end, 500) end,
    [{restart_after_a_stop, {eq, [pong, {call, true}, {down, noconnection}, {exit, noconnection}]},
      fun() ->
          Command = Restart(),
          process_flag(trap_exit, true),
          P = puppet(),
          persistent_term:put(probe_old, P),
          link(P),
          Ref = monitor(process, P),
          Self = self(),
          spawn(fun() ->
                    Self ! {call, exits(fun() -> gen_server:call(at(slow), never, infinity) end)
                                  =:= {exit, {nodedown, n()}}}
                end),
          here = echo(here),
          timer:sleep(100),
          ok = call(ctl, stop),
          Gone(),
          %% A node may end its processes before its connections.
          Told = lists:sort([case M of
                                 {'EXIT', P, Why} -> {exit, lost(Why)};
                                 {'DOWN', Ref, process, P, Why} -> {down, lost(Why)};
                                 _ -> M
                             end || M <- mail(300)]),
          timer:sleep(1000),
          pang = net_adm:ping(n()),
          [Again(Command) | Told]
      end},
     {restart_has_another_creation, {eq, true},
      fun() -> Restart(), creation(puppet()) =/= creation(persistent_term:get(probe_old)) end},
     {restart_old_pid_is_dead, {eq, {noproc, noproc, {exit, noproc}}},
      fun() ->
          Restart(),
          process_flag(trap_exit, true),
          %% Numbers are dealt out again: some new process has the number of the old one.
          _ = call(maker, {new, 200}),
          Old = persistent_term:get(probe_old),
          Old ! lost,
          exit(Old, kill),
          Ref = monitor(process, Old),
          A = receive {'DOWN', Ref, process, Old, Why} -> Why after 2000 -> nothing end,
          link(Old),
          B = receive {'EXIT', Old, Reason} -> Reason after 2000 -> nothing end,
          {A, B, soon(2000, fun() -> exits(fun() -> tell(Old, self) end) end)}
      end},
     {restart_names_are_there, {eq, 5}, fun() -> Restart(), call(calc, {add, 2, 3}) end},
     {restart_after_a_kill, {eq, {noconnection, pong, 5}},
      fun() ->
          Command = Restart(),
          P = puppet(),
          Ref = monitor(process, P),
          Pid = maps:get(os_pid, call(ctl, about)),
          os:cmd("kill -9 " ++ integer_to_list(Pid)),
          Why = receive {'DOWN', Ref, process, P, R} -> R after 5000 -> nothing end,
          Gone(),
          timer:sleep(500),
          {Why, Again(Command), call(calc, {add, 2, 3})}
      end}].

lost(noconnection) -> noconnection;
lost(shutdown) -> noconnection;
lost(killed) -> noconnection;
lost(Other) -> Other.
