#!/usr/bin/env escript
%% -*- erlang -*-
%%! +S 1:1 +pc unicode
%%
%% Records the encodings of OTP for the tests of krarup-wire, which then need no Erlang:
%%
%%     ./record.escript terms      > terms.txt
%%     ./record.escript order      > order.txt
%%     ./record.escript digests    > digests.txt
%%     ./record.escript handshake  > handshake.txt     (starts epmd and a node)
%%     ./record.escript epmd       > epmd.txt          (the same)
%%     ./record.escript frames     > frames.txt        (the same)
%%     ./record.escript controls   > controls.txt      (the same)

main(["terms"]) ->
    ok = io:setopts([{encoding, unicode}]),
    header("HEX of term_to_binary(T, [{minor_version, 2}]), a tab, T as io_lib:format(\"~0tp\") prints it"),
    [line(term_to_binary(T, [{minor_version, 2}]), T) || T <- terms()],
    %% Terms that have no text in a script, or whose text contains a number of this node's tables.
    io:format("# HEX only: read and written back~n"),
    [bytes(term_to_binary(T, [{minor_version, 2}])) || T <- identities()],
    io:format("# HEX of term_to_binary(T), a tab, HEX with minor_version 2: both are read to the same~n"),
    [io:format("~s\t~s~n", [hex(term_to_binary(T)), hex(term_to_binary(T, [{minor_version, 2}]))])
     || T <- [foo, 'F oo', '', {ok, true}, [a, b], #{a => b}, 'å', list_to_atom([16#20ac])]];
main(["order"]) ->
    header("HEX of terms as lists:sort/1 sorts them; = before one that is equal (==) to the one before"),
    Sorted = lists:sort(mixed()),
    lists:foldl(
      fun(T, Before) ->
              Sign = case Before of {before, B} when B == T -> "="; _ -> "" end,
              io:format("~s~s~n", [Sign, hex(term_to_binary(T, [{minor_version, 2}]))]),
              {before, T}
      end, first, Sorted);
main(["digests"]) ->
    header("cookie, challenge, HEX of erlang:md5([cookie, integer_to_list(challenge)])"),
    [io:format("~s\t~w\t~s~n", [Cookie, N, hex(erlang:md5([Cookie, integer_to_list(N)]))])
     || Cookie <- ["secret", "A", "monster-of-cookies_42"], N <- [0, 1, 4711, 16#7fffffff, 16#ffffffff]];
main(["handshake"]) ->
    header("what a node of OTP does on the wire; > it writes, < we write; {packet, 2} without the length"),
    with_node(fun(Port) -> handshake(Port) end);
main(["epmd"]) ->
    header("requests (with length) and answers of epmd; > epmd writes, < we write"),
    with_node(fun(_) -> epmd() end);
main(["frames"]) ->
    header("frames that a node writes after the handshake, {packet, 4} without the length; *N: N more digits"),
    with_node(fun(Port) -> frames(Port) end);
main(["controls"]) ->
    header("frames that a node writes for what a process of it does, {packet, 4} without the length"),
    with_node(fun(Port) -> controls(Port) end).

header(What) ->
    io:format("# Recorded by record.escript from OTP ~s (erts ~s).~n# ~ts~n",
              [erlang:system_info(otp_release), erlang:system_info(version), What]).

line(Bytes, T) ->
    io:format("~s\t~ts~n", [hex(Bytes), io_lib:format("~0tp", [T])]).

bytes(Bytes) -> io:format("~s~n", [hex(Bytes)]).

hex(Bytes) -> [io_lib:format("~2.16.0b", [B]) || <<B>> <= iolist_to_binary(Bytes)].

terms() ->
    integers() ++ floats() ++ atoms() ++ lists_() ++ binaries() ++ tuples() ++ maps_() ++
        [fun lists:map/2, fun 'Elixir.Some':'do it'/255].

integers() ->
    Edges = [0, 1, 127, 128, 255, 256, 257, 65535, 65536, 1 bsl 27, 1 bsl 31, 1 bsl 32, 1 bsl 59,
             1 bsl 60, 1 bsl 63, 1 bsl 64, 1 bsl 127, 1 bsl 128, 1 bsl 2031, 1 bsl 2040, 1 bsl 2048,
             10, 1000000000, 1000000000000000000000],
    lists:usort(lists:append([[E - 1, E, E + 1, -E, -E - 1, -E + 1] || E <- Edges])).

floats() ->
    [0.0, -0.0, 1.0, -1.0, 0.1, 0.5, 1.5, 3.14159, 100.0, 123456.0, 1234567.5, 1.0e5, 1.0e6, 1.0e7,
     1.5e-7, 5.0e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 9007199254740991.0,
     9007199254740992.0, 9007199254740994.0, 123456789012345680.0, 0.30000000000000004]
        ++ [1.0 * math:pow(10, N) || N <- lists:seq(-12, 25)]
        ++ [1.25 * math:pow(10, N) || N <- lists:seq(-12, 25)]
        ++ [-1.2345678 * math:pow(10, N) || N <- lists:seq(-12, 25)].

atoms() ->
    [a, foo, true, undefined, 'Foo', 'a b', '', 'it\'s', 'back\\slash', 'and', 'maybe', 'end', 'when',
     'fun', foo@bar, 'foo-bar', 'foo.bar', '_x', 'x_Y9', '9x', '\n', 'tab\there', '\e', '\x{0}', '\x{7f}',
     'å', 'Å', 'aÅ', '÷', 'ß', 'straße', '\x{9f}', '\x{a0}', '$gen_call', 'Elixir.String', '"', '[]', '{}',
     list_to_atom([16#20ac]), list_to_atom([$a, 16#3b1]), list_to_atom([16#1f600]),
     list_to_atom(lists:duplicate(255, $x)), list_to_atom(lists:duplicate(255, 16#e5)),
     list_to_atom(lists:duplicate(127, 16#e5)), list_to_atom(lists:duplicate(128, 16#e5)),
     list_to_atom(lists:duplicate(255, 16#20ac))].

lists_() ->
    [[], [[]], [a], [1], [255], [256], [-1], [-1, -2], [255, 256], "abc", "a\n\t\"\\\e\r\b\v\f\d'", [0], [31],
     [127], [128], [159], [160], [229], "å is here", [1024, 98], [16#20ac], [a | b], [1, 2 | 3], [1, 2 | <<"x">>],
     [97 | b], [97, 98 | 99], [[97, 98], "x", [x]], ["a", ["b", ["c"]]], [1.5, 2], lists:seq(1, 20),
     lists:duplicate(300, $y), [$a, $b, c], [97, [98]], [[] | []], [[a | b] | c], "don't"].

binaries() ->
    [<<>>, <<"abc">>, <<"a\n\"\\">>, <<0>>, <<255>>, <<1, 2, 3>>, <<"å">>, <<"å"/utf8>>, <<"€"/utf8>>,
     <<"abc", 0>>, <<1:1>>, <<5:3>>, <<0:7>>, <<255, 1:1>>, <<"abc", 3:4>>, <<"{}">>, <<127>>, <<"a", 200>>].

tuples() ->
    [{}, {a}, {1, 2}, {{}, {{}}}, {ok, <<"x">>, "y", [z]}, list_to_tuple(lists:seq(1, 255)),
     list_to_tuple(lists:seq(1, 256)), {'$gen_call', {a, [alias | b]}, {add, 2, 3}}].

maps_() ->
    [#{}, #{a => 1}, #{b => 1, a => 2}, #{1 => x, 1.0 => y, 2 => z}, #{"k" => <<"v">>}, #{#{} => #{}},
     #{{a, b} => [c], [] => {}}, #{a => #{b => #{c => d}}}, #{<<"name">> => "ann", at => undefined}].

identities() ->
    Node = <<119, 8, "shop@box">>,
    Read = fun(Bytes) -> binary_to_term(iolist_to_binary([131 | Bytes])) end,
    Maps = [maps:from_list([{N, N * N} || N <- lists:seq(1, Size)]) || Size <- [32, 33, 100]],
    Maps ++
    [Read([88, Node, <<Id:32, Serial:32, Creation:32>>])
     || Id <- [0, 1, 32767, 1 bsl 18, 1 bsl 28, 16#ffffffff], Serial <- [0, 7, 16#ffffffff], Creation <- [4, 16#ffffffff]] ++
    [Read([120, Node, <<Id:64, 5:32>>]) || Id <- [0, 1, 1 bsl 28 - 1, 1 bsl 28, 1 bsl 32, 16#ffffffffffffffff]] ++
    [Read([90, <<(length(Words)):16>>, Node, <<9:32>>, [<<W:32>> || W <- Words]])
     || Words <- [[1], [1, 2], [1, 2, 3], [262143, 16#ffffffff, 16#ffffffff], [1, 2, 3, 4], [1, 2, 3, 4, 5]]] ++
    [self(), make_ref(), hd(erlang:ports()), alias([explicit_unalias])] ++
    closures(Read, Node).

%% Funs of a module that is not loaded, with free variables.
closures(Read, Node) ->
    [begin
         Inside = iolist_to_binary(
           [<<1, Uniq:128, 3:32, (length(Free)):32>>, <<119, 3, "mod">>, <<97, 3>>, <<98, 7654321:32>>,
            [88, Node, <<1:32, 2:32, 3:32>>], [begin <<131, B/binary>> = term_to_binary(T, [{minor_version, 2}]), B end || T <- Free]]),
         Read([112, <<(byte_size(Inside) + 4):32>>, Inside])
     end || {Uniq, Free} <- [{0, []}, {1 bsl 127 + 5, [a]}, {42, [{x, "y"}, <<1>>, [1, 2, 3]]}]].

mixed() ->
    [0, 1, 1.0, -1, -1.5, 1 bsl 64, float(1 bsl 64), -(1 bsl 64), 1 bsl 53, (1 bsl 53) + 1, 9007199254740992.0,
     1.0e300, -1.0e300, 1 bsl 1000, 0.5, 255, 256, -0.5, 1 bsl 62, float(1 bsl 62), (1 bsl 62) + 1,
     a, b, ab, '', 'å', 'Z', list_to_atom([16#20ac]), list_to_atom([16#ffff]), list_to_atom([16#1f600]),
     {}, {a}, {b}, {1, 2}, {1.0, 3}, {1, 1.0}, {a, b, c}, {1, {2}}, {1, {2.0}},
     #{}, #{a => 1}, #{a => 2}, #{b => 0}, #{1 => a}, #{1.0 => a}, #{2 => a}, #{a => 1, b => 1}, #{a => 1, c => 0}, #{1 => z, 1.0 => y},
     #{1 => z, 2 => y}, #{a => 1.0}, #{a => {}},
     [], [a], [1], [1, 2], [1.0, 3], "abc", "abd", [a | b], [a | 1], [a, b], [[]], [{}], [1 | <<>>], [1, <<>>], [1 | 5], [1 | a],
     <<>>, <<1>>, <<1, 2>>, <<2>>, <<1:1>>, <<0:1>>, <<1, 1:1>>, <<128>>, <<255>>, <<0:7>>, <<127:7>>].

%% A process that applies what it is told to, and one that stays: `mortal` ends when it is told to.
-define(DRIVER, "Drive = fun(F) -> receive {M, N, A} -> catch apply(M, N, A), F(F); "
                "{M, N, A, Label} -> seq_trace:set_token(label, Label), catch apply(M, N, A), seq_trace:set_token([]), F(F); "
                "{demonitor, P} -> demonitor(monitor(process, P)), F(F); {die, Why} -> spawn(fun() -> timer:sleep(100), register(mortal, self()), F(F) end), exit(Why) end end, "
                "register(driver, spawn(fun() -> Drive(Drive) end)), "
                "register(mortal, spawn(fun() -> Drive(Drive) end)), ").

%% -- with a node ------------------------------------------------------------

with_node(Do) ->
    os:cmd("epmd -daemon"),
    Node = open_port({spawn, "erl -noshell -hidden -sname golden@localhost -setcookie secret -kernel inet_dist_use_interface '{127,0,0,1}' "
                      "-eval '" ?DRIVER "io:format(\"~w~n\", [ready]).'"}, [{line, 80}]),
    receive {Node, {data, {eol, "ready"}}} -> ok end,
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, 4369, [binary, {active, false}]),
    ok = gen_tcp:send(Socket, <<7:16, 122, "golden">>),
    {ok, <<119, 0, Port:16, _/binary>>} = gen_tcp:recv(Socket, 0),
    try Do(Port) after
        case erlang:port_info(Node, os_pid) of {os_pid, Pid} -> os:cmd("kill " ++ integer_to_list(Pid)), timer:sleep(1000) end
    end.

wrote(Bytes) -> io:format("< ~s~n", [hex(Bytes)]).
read(Bytes) -> io:format("> ~s~n", [hex(Bytes)]).

dial(Port) -> gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}, {packet, 2}]).

send(Socket, Bytes) -> ok = gen_tcp:send(Socket, Bytes), wrote(Bytes).
recv(Socket) -> {ok, Bytes} = gen_tcp:recv(Socket, 0, 10000), read(Bytes), Bytes.

name(Flags) -> name(Flags, <<"me@localhost">>).

name(Flags, Name) -> <<$N, Flags:64, 77:32, (byte_size(Name)):16, Name/binary>>.

up(Port, Flags, Cookie) -> up(Port, Flags, Cookie, <<"me@localhost">>).

up(Port, Flags, Cookie, Name) ->
    {ok, Socket} = dial(Port),
    send(Socket, name(Flags, Name)),
    <<"sok">> = recv(Socket),
    <<$N, _:64, Theirs:32, _/binary>> = recv(Socket),
    send(Socket, [<<$r, 4711:32>>, erlang:md5([Cookie, integer_to_list(Theirs)])]),
    Socket.

handshake(Port) ->
    io:format("# accepted, cookie secret, challenge of the other side 4711~n"),
    One = up(Port, 16#d07df7fbc, "secret"),
    _ = recv(One),
    io:format("# a second connection of the same name: alive~n"),
    {ok, Two} = dial(Port),
    send(Two, name(16#d07df7fbc)),
    <<"salive">> = recv(Two),
    send(Two, <<"strue">>),
    _ = recv(Two),
    gen_tcp:close(Two),
    gen_tcp:close(One),
    timer:sleep(200),
    io:format("# a flag that is mandatory is missing (MAP_TAG), and MANDATORY_25_DIGEST~n"),
    {ok, Three} = dial(Port),
    send(Three, name(16#d03dd7fbc, <<"old@localhost">>)),
    _ = recv(Three),
    io:format("# a wrong cookie~n"),
    Four = up(Port, 16#d07df7fbc, "wrong", <<"enemy@localhost">>),
    {error, closed} = gen_tcp:recv(Four, 0, 10000),
    io:format("closed~n"),
    io:format("# dialled by the node: it writes first~n"),
    {ok, Listen} = gen_tcp:listen(0, [binary, {active, false}, {packet, 2}, {ip, {127, 0, 0, 1}}]),
    {ok, Mine} = inet:port(Listen),
    {ok, Registered} = gen_tcp:connect({127, 0, 0, 1}, 4369, [binary, {active, false}]),
    ok = gen_tcp:send(Registered, <<17:16, 120, Mine:16, 72, 0, 6:16, 6:16, 4:16, "mock", 0:16>>),
    {ok, _} = gen_tcp:recv(Registered, 0),
    Tell = up(Port, 16#d07df7fbc, "secret", <<"tell@localhost">>),
    _ = recv(Tell),
    ok = inet:setopts(Tell, [{packet, 4}]),
    io:format("# it is told to dial by a message, which is not shown~n"),
    Pid = <<88, 119, 14, "tell@localhost", 1:32, 0:32, 77:32>>,
    Bin = fun(T) -> <<131, B/binary>> = term_to_binary(T, [{minor_version, 2}]), B end,
    Control = <<104, 4, 97, 6, Pid/binary, 119, 0, 119, 3, "rex">>,
    Payload = <<104, 2, Pid/binary, (Bin({call, net_kernel, connect_node, [mock@localhost], user}))/binary>>,
    ok = gen_tcp:send(Tell, <<131, 68, 0, Control/binary, Payload/binary>>),
    {ok, Socket} = gen_tcp:accept(Listen, 10000),
    <<$N, _/binary>> = recv(Socket),
    send(Socket, <<"sok">>),
    send(Socket, <<$N, 16#d07df7fbc:64, 99:32, 5:32, 14:16, "mock@localhost">>),
    <<$r, Challenge:32, _/binary>> = recv(Socket),
    send(Socket, [$a, erlang:md5(["secret", integer_to_list(Challenge)])]),
    gen_tcp:close(Socket).

epmd() ->
    {ok, A} = gen_tcp:connect({127, 0, 0, 1}, 4369, [binary, {active, false}]),
    io:format("# register shop as hidden at port 4711~n"),
    send(A, <<17:16, 120, 4711:16, 72, 0, 6:16, 6:16, 4:16, "shop", 0:16>>),
    _ = recv(A),
    io:format("# the same name again: taken~n"),
    {ok, B} = gen_tcp:connect({127, 0, 0, 1}, 4369, [binary, {active, false}]),
    send(B, <<17:16, 120, 4712:16, 72, 0, 6:16, 6:16, 4:16, "shop", 0:16>>),
    _ = recv(B),
    io:format("# look it up~n"),
    {ok, C} = gen_tcp:connect({127, 0, 0, 1}, 4369, [binary, {active, false}]),
    send(C, <<5:16, 122, "shop">>),
    _ = recv(C),
    io:format("# look up what is not there~n"),
    {ok, D} = gen_tcp:connect({127, 0, 0, 1}, 4369, [binary, {active, false}]),
    send(D, <<5:16, 122, "none">>),
    _ = recv(D).

%% Makes the node send a few messages of different kinds to a process of this script.
frames(Port) ->
    [begin
         io:format("# flags ~.16b~n", [Flags]),
         Socket = up_silent(Port, Flags),
         ok = inet:setopts(Socket, [{packet, 4}]),
         Pid = <<88, 119, 12, "me@localhost", 1:32, 0:32, 77:32>>,
         Ref = <<90, 3:16, 119, 12, "me@localhost", 77:32, 1:32, 2:32, 3:32>>,
         Bin = fun(T) -> <<131, B/binary>> = term_to_binary(T, [{minor_version, 2}]), B end,
         Rex = fun(M, F, A) ->
                       Control = <<104, 4, 97, 6, Pid/binary, 119, 0, 119, 3, "rex">>,
                       Payload = <<104, 2, Pid/binary, 104, 5, 119, 4, "call", (Bin(M))/binary, (Bin(F))/binary, A/binary, 119, 4, "user">>,
                       write(Socket, Flags, Control, Payload)
               end,
         %% The result of a call, twice: the second time its atoms are cached.
         Rex(erlang, list_to_tuple, Bin([[shop, 1, <<"x">>, 'æble', {list_to_atom(lists:duplicate(200, 16#20ac))}]])),
         next(Socket),
         Rex(erlang, list_to_tuple, Bin([[shop, 2, <<"y">>, 'æble']])),
         next(Socket),
         %% A monitor of a name that is not registered.
         write(Socket, Flags, <<104, 4, 97, 19, Pid/binary, 119, 6, "nobody", Ref/binary>>, <<>>),
         next(Socket),
         %% A call whose result is an atom.
         Rex(erlang, binary_to_term, Bin([term_to_binary(done)])),
         next(Socket),
         %% A message over 64 KiB.
         Rex(binary, copy, Bin([<<"0123456789abcdef">>, 9000])),
         more(Socket),
         gen_tcp:close(Socket),
         timer:sleep(300)
     end || Flags <- [16#d07df7fbc, 16#d075f7fbc, 16#d07df5fbc, 16#4070f4fbc]].

up_silent(Port, Flags) ->
    {ok, Socket} = dial(Port),
    ok = gen_tcp:send(Socket, name(Flags)),
    {ok, <<"sok">>} = gen_tcp:recv(Socket, 0),
    {ok, <<$N, _:64, Theirs:32, _/binary>>} = gen_tcp:recv(Socket, 0),
    ok = gen_tcp:send(Socket, [<<$r, 4711:32>>, erlang:md5(["secret", integer_to_list(Theirs)])]),
    {ok, <<$a, _/binary>>} = gen_tcp:recv(Socket, 0),
    Socket.

headers(Flags) -> Flags band 16#802000 =/= 0.

write(Socket, Flags, Control, Payload) ->
    Bytes = case {headers(Flags), Payload} of
                {true, _} -> <<131, 68, 0, Control/binary, Payload/binary>>;
                {false, <<>>} -> <<112, 131, Control/binary>>;
                {false, _} -> <<112, 131, Control/binary, 131, Payload/binary>>
            end,
    ok = gen_tcp:send(Socket, Bytes).

next(Socket) ->
    case gen_tcp:recv(Socket, 0, 5000) of
        {ok, <<>>} -> next(Socket);
        {ok, Bytes} -> read(Bytes);
        {error, Why} -> io:format("~w~n", [Why])
    end.

more(Socket) ->
    case gen_tcp:recv(Socket, 0, 1500) of
        {ok, <<>>} -> more(Socket);
        {ok, <<First:200/binary, Rest/binary>>} ->
            %% The rest repeats the same sixteen digits.
            io:format("> ~s *~w~n", [hex(First), byte_size(Rest)]),
            more(Socket);
        {error, _} -> ok
    end.

%% What a process of the node does to a process of this script, one frame for each signal. Without
%% the atom cache, so that control messages are plain terms.
controls(Port) ->
    [begin
         io:format("# flags ~.16b~n", [Flags]),
         Socket = up_silent(Port, Flags),
         ok = inet:setopts(Socket, [{packet, 4}]),
         Pid = <<88, 119, 12, "me@localhost", 1:32, 0:32, 77:32>>,
         Ref = <<90, 3:16, 119, 12, "me@localhost", 77:32, 1:32, 2:32, 3:32>>,
         Bin = fun(T) -> <<131, B/binary>> = term_to_binary(T, [{minor_version, 2}]), B end,
         Tell = fun(Name, Payload) ->
                        Control = <<104, 4, 97, 6, Pid/binary, 119, 0, 119, (byte_size(Name)), Name/binary>>,
                        write(Socket, Flags, Control, Payload)
                end,
         Do = fun(What, M, F, A) ->
                      io:format("# ~s~n", [What]),
                      Args = [<<108, (length(A)):32>>, A, 106],
                      Token = get(token),
                      Tell(<<"driver">>, iolist_to_binary([<<104, (3 + length(Token))>>, Bin(M), Bin(F), Args, Token])),
                      every(Socket)
              end,
         Signals =
             fun() ->
                     Do("send to a pid", erlang, send, [Pid, Bin({hello, 1})]),
                     Do("send to a name", erlang, send, [Bin({shop, me@localhost}), Bin(hello)]),
                     Do("send to an alias", erlang, send, [Ref, Bin(hello)]),
                     Do("link", erlang, link, [Pid]),
                     Do("unlink", erlang, unlink, [Pid]),
                     Do("monitor", erlang, monitor, [Bin(process), Pid]),
                     Do("monitor of a name", erlang, monitor, [Bin(process), Bin({shop, me@localhost})]),
                     Do("exit", erlang, exit, [Pid, Bin({shutdown, 1})]),
                     Do("group leader", erlang, group_leader, [Pid, Pid]),
                     Do("spawn request", erlang, spawn_request,
                        [Bin(me@localhost), Bin(m), Bin(f), Bin([a, 1]), Bin([link, monitor])])
             end,
         put(token, []),
         Signals(),
         io:format("# demonitor~n"),
         Tell(<<"driver">>, <<104, 2, (Bin(demonitor))/binary, Pid/binary>>),
         every(Socket),
         io:format("# the same with a sequential trace token~n"),
         put(token, [Bin(5)]),
         Signals(),
         io:format("# a monitor of ours, and the end of the process~n"),
         write(Socket, Flags, <<104, 4, 97, 19, Pid/binary, 119, 6, "mortal", Ref/binary>>, <<>>),
         Tell(<<"mortal">>, <<104, 3, (Bin(erlang))/binary, (Bin(link))/binary, 108, 1:32, Pid/binary, 106>>),
         Tell(<<"mortal">>, Bin({die, {because, 1}})),
         every(Socket),
         io:format("# a spawn request of ours~n"),
         Mfa = <<104, 3, (Bin(erlang))/binary, (Bin(yield))/binary, 97, 0>>,
         write(Socket, Flags, <<104, 6, 97, 29, Ref/binary, Pid/binary, Pid/binary, Mfa/binary, (Bin([monitor]))/binary>>, <<106>>),
         every(Socket),
         io:format("# an unlink of ours~n"),
         write(Socket, Flags, <<104, 4, 97, 35, 97, 9, Pid/binary, (of_driver(Socket, Flags, Pid, Bin))/binary>>, <<>>),
         every(Socket),
         gen_tcp:close(Socket),
         timer:sleep(300)
     end || Flags <- [16#d07df5fbc, 16#407074fbc]].

%% The pid of the driver, as bytes.
of_driver(Socket, Flags, Pid, Bin) ->
    Control = <<104, 4, 97, 6, Pid/binary, 119, 0, 119, 3, "rex">>,
    Args = (Bin([driver])),
    Payload = <<104, 2, Pid/binary, 104, 5, 119, 4, "call", (Bin(erlang))/binary, (Bin(whereis))/binary, Args/binary, 119, 4, "user">>,
    write(Socket, Flags, Control, Payload),
    {ok, Frame} = gen_tcp:recv(Socket, 0, 5000),
    %% {rex, Pid}: the pid is the last term of the frame.
    [Before, _] = [binary:part(Frame, 0, S) || {S, _} <- lists:sublist(binary:matches(Frame, <<119, 3, "rex">>), 1)] ++ [x],
    Start = byte_size(Before) + 5,
    binary:part(Frame, Start, byte_size(Frame) - Start).

%% All frames until nothing comes.
every(Socket) ->
    case gen_tcp:recv(Socket, 0, 300) of
        {ok, <<>>} -> every(Socket);
        {ok, Bytes} -> read(Bytes), every(Socket);
        {error, timeout} -> ok;
        {error, Why} -> io:format("~w~n", [Why])
    end.
