{application, lease_cache_tcp,
 [{description, "The line protocol of the cache"},
  {vsn, "1"},
  {modules, [lc_tcp_app, lc_tcp_sup, lc_tcp]},
  {registered, [lc_tcp_sup]},
  {applications, [kernel, stdlib, lease_cache]},
  {env, [{port, 0}]},
  {mod, {lc_tcp_app, []}}]}.
