"""Arrays, frames, mappings and sparse matrices as rows of numbers."""
