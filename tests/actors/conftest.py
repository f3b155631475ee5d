"""Importing `actors` builds the worker from the environment (it connects to nothing)."""

import os

os.environ.setdefault("SAFELIGHT_DATABASE_URL", "postgresql://nobody@localhost/none")
os.environ.setdefault("SAFELIGHT_REDIS_URL", "redis://localhost:1/0")
os.environ.setdefault("SAFELIGHT_STORAGE_URL", "file:///tmp/safelight-tests-actors")
