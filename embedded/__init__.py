"""Real PostgreSQL and Valkey servers in a folder, and the supervisor that keeps a whole Safelight going.

For one machine: development (`local.py`) and tests. It knows nothing of the service; it is handed
folders, accounts and command lines.
"""
