//! The transports' contract, over real processes: what every tool server owes its clients.

mod client;
mod http;
mod stdio;
