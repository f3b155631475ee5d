"""Drills: a real service is broken on purpose, and the right alert has to come, and to go again.

Prometheus and Alertmanager are real, and run the repository's rules, routes and inhibitions with their own
durations and intervals; nothing is shortened. The service has production's intervals too.
"""
