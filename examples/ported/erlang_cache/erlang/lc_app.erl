%% The application: it starts the top of the tree.
-module(lc_app).
-behaviour(application).
-export([start/2, stop/1]).

start(_Type, _Args) ->
    lc_sup:start_link().

stop(_State) ->
    ok.
