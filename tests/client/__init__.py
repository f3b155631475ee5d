"""Tests of the client, against a running service."""
