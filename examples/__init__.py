"""Things to try Safelight with."""
