"""Tensors in, plans out: optimal transport under constraints that keep an alignment sparse."""
