"""Plain values in, pictures out."""
