"""The Python half of the harness: runs problems and candidates for the supervisor. WORKERS.md is the contract."""
