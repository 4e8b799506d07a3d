%% Runs a file of operations, and prints what each has answered and which events came.
%%
%%     erlc *.erl && erl -noshell -s lc_script main FILE
-module(lc_script).
-export([main/1]).

main([File]) ->
    logger:set_primary_config(level, none),
    {ok, _} = application:ensure_all_started(lease_cache_tcp),
    ok = lc_events:subscribe(self()),
    {ok, Text} = file:read_file(atom_to_list(File)),
    Lines = [Line || Line <- binary:split(Text, <<"\n">>, [global]), is_operation(Line)],
    lists:foldl(fun step/2, no_client, Lines),
    halt(0).

is_operation(<<"#", _/binary>>) -> false;
is_operation(Line) -> Line =/= <<>>.

step(Line, Client) ->
    say(["> ", Line]),
    {Answer, Next} = run(binary:split(Line, <<" ">>, [global]), Client),
    events(),
    say(["  ", Answer]),
    Next.

run([<<"insert">>, Key, Value], Client) ->
    {atom_to_list(lease_cache:insert(Key, Value)), Client};
run([<<"insert">>, Key, Value, Lease], Client) ->
    {atom_to_list(lease_cache:insert(Key, Value, binary_to_integer(Lease))), Client};
run([<<"lookup">>, Key], Client) ->
    case lease_cache:lookup(Key) of
        {ok, Value} -> {Value, Client};
        not_found -> {"not found", Client}
    end;
run([<<"delete">>, Key], Client) ->
    {atom_to_list(lease_cache:delete(Key)), Client};
%% Waits for the end of an element, which comes no earlier than its lease is over.
run([<<"expire">>, Key, Lease], Client) ->
    {ok, Pid} = lc_store:lookup(Key),
    {state, Key, _Value, Own, Started} = sys:get_state(Pid),
    Own = binary_to_integer(Lease),
    normal = ended(erlang:monitor(process, Pid)),
    true = erlang:monotonic_time(millisecond) >= Started + Own,
    {"expired", Client};
run([<<"crash">>, Key], Client) ->
    {ok, Pid} = lc_store:lookup(Key),
    gone = lc_element:crash(Pid),
    {"crashed", Client};
run([<<"kill">>, Key], Client) ->
    {ok, Pid} = lc_store:lookup(Key),
    killed = killed(Pid),
    {"killed", Client};
%% Kills a part of the tree, and waits until it and those behind it have been restarted.
run([<<"kill-part">>, Id], Client) ->
    Before = supervisor:which_children(lc_sup),
    {_, Pid, _, _} = lists:keyfind(binary_to_atom(Id), 1, Before),
    killed = killed(Pid),
    Names = [Name || {Name, _, _, _} <- restarted(Pid, Before)],
    Id == <<"events">> andalso lc_events:subscribe(self()),
    {["restarted ", lists:join(" ", [atom_to_list(Name) || Name <- lists:reverse(Names)])], Client};
run([<<"tcp">> | Words], Client) ->
    Socket = client(Client),
    ok = gen_tcp:send(Socket, [lists:join(" ", Words), "\n"]),
    {ok, Answer} = gen_tcp:recv(Socket, 0, 60000),
    {string:trim(Answer), Socket}.

client(no_client) ->
    Options = [binary, {packet, line}, {active, false}],
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, lc_tcp_app:port(), Options),
    Socket;
client(Socket) ->
    Socket.

killed(Pid) ->
    Ref = erlang:monitor(process, Pid),
    exit(Pid, kill),
    ended(Ref).

ended(Ref) ->
    receive
        {'DOWN', Ref, process, _Pid, Reason} -> Reason
    end.

%% The children that are others than before, when the one that was killed is among them.
restarted(Killed, Before) ->
    Now = supervisor:which_children(lc_sup),
    case lists:keymember(Killed, 2, Now) of
        true -> restarted(Killed, Before);
        false -> Now -- Before
    end.

events() ->
    receive
        {lease_cache, Event} ->
            Words = [word(Word) || Word <- tuple_to_list(Event)],
            say(["  * ", lists:join(" ", Words)]),
            events()
    after 0 ->
        ok
    end.

word(Word) when is_atom(Word) -> atom_to_list(Word);
word(Word) -> Word.

say(Text) ->
    io:put_chars([Text, "\n"]).
