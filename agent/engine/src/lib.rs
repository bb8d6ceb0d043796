//! The run loop: MCP client, run store, resume and reports.
