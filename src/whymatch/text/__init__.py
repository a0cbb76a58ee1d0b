"""Texts in, spans and their vectors out."""
