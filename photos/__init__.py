"""The photo domain: intake, results, views, state."""
