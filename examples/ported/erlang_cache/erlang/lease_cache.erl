%% What users of the cache call.
-module(lease_cache).
-export([insert/2, insert/3, lookup/1, delete/1]).

-define(LEASE, 24 * 60 * 60 * 1000).

insert(Key, Value) ->
    insert(Key, Value, ?LEASE).

%% Gives a key a value. A key that has one keeps its lease.
insert(Key, Value, Lease) ->
    case with_element(Key, fun(Pid) -> lc_element:replace(Pid, Value) end) of
        ok ->
            ok;
        not_found ->
            case lc_element_sup:start_element(Key, Value, Lease) of
                {ok, Pid} when is_pid(Pid) -> ok;
                %% Another process has been faster.
                {ok, undefined} -> insert(Key, Value, Lease)
            end
    end.

%% {ok, Value}, or not_found.
lookup(Key) ->
    with_element(Key, fun lc_element:fetch/1).

delete(Key) ->
    _ = with_element(Key, fun lc_element:delete/1),
    ok.

with_element(Key, Fun) ->
    case lc_store:lookup(Key) of
        {ok, Pid} ->
            case Fun(Pid) of
                gone -> not_found;
                Answer -> Answer
            end;
        not_found ->
            not_found
    end.
