"""Model files: safe to open, checked on reading, written atomically."""
