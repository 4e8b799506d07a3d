%% Which process holds which key: a table that anyone reads, and only this process writes.
-module(lc_store).
-behaviour(gen_server).
-export([start_link/0, insert/2, lookup/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% ok, or taken if a living process has the key.
insert(Key, Pid) ->
    gen_server:call(?MODULE, {insert, Key, Pid}).

lookup(Key) ->
    try ets:lookup(?MODULE, Key) of
        [{_, Pid}] -> {ok, Pid};
        [] -> not_found
    catch
        %% The store is being restarted, and all elements with it.
        error:badarg -> not_found
    end.

init([]) ->
    ?MODULE = ets:new(?MODULE, [named_table, protected, {read_concurrency, true}]),
    {ok, #{}}.

handle_call({insert, Key, Pid}, _From, Keys) ->
    case lookup(Key) of
        {ok, Other} when Other =/= Pid ->
            %% The notice of its end may still be on its way.
            case is_process_alive(Other) of
                true -> {reply, taken, Keys};
                false -> {reply, ok, enter(Key, Pid, Keys)}
            end;
        _ ->
            {reply, ok, enter(Key, Pid, Keys)}
    end.

handle_cast(_Message, Keys) ->
    {noreply, Keys}.

handle_info({'DOWN', Ref, process, Pid, _Reason}, Keys) ->
    {Key, Others} = maps:take(Ref, Keys),
    ets:delete_object(?MODULE, {Key, Pid}),
    {noreply, Others}.

enter(Key, Pid, Keys) ->
    ets:insert(?MODULE, {Key, Pid}),
    Keys#{erlang:monitor(process, Pid) => Key}.
