//! Pure search: graph, policies, budgets and events, without IO.
