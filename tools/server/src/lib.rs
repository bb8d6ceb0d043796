//! What every tool server shares: transports, schema tidying, failures and logging.
