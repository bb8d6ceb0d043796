//! Prompt templates as files, their typed contexts and a strict renderer.
