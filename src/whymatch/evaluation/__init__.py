"""Metrics: pure functions of predictions and gold."""
