//! Model clients: OpenAI-compatible, Anthropic, mailbox and replay.
