"""Pictures and their metadata: pure functions on image files.

No database, no network, no settings, and no other room is imported. What comes in is untrusted, so run
`jobs.render` and `jobs.read_exif` through `sandbox.Sandbox`.
"""
