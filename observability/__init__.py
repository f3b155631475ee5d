"""Metrics, logs and health. This room uses no other; any room but imaging may use it."""
