//! Launches, sandboxes and talks to the Python workers that run kernels.
