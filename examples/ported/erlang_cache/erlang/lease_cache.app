{application, lease_cache,
 [{description, "A cache in memory: a process for each key, with a lease"},
  {vsn, "1"},
  {modules, [lease_cache, lc_app, lc_sup, lc_events, lc_tap, lc_store, lc_element_sup, lc_element]},
  {registered, [lc_sup, lc_events, lc_store, lc_element_sup]},
  {applications, [kernel, stdlib]},
  {mod, {lc_app, []}}]}.
