"""Losses, one training loop, and checkpoints."""
