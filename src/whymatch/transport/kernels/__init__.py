"""Solvers for one kind of hardware each, over plain arrays."""
