//! Contract, end-to-end and adversarial tests over the real executable.
