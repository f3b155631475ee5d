"""Benchmarks: they print; no test asserts on their figures."""
