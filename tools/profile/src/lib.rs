//! The profile server: kernel lists with times and target descriptions.
