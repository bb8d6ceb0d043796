//! The evaluate server: builds, checks and times candidate kernels.
