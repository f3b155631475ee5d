"""A client of the HTTP API for whoever has a folder of photos; it knows nothing of the service's inside."""
