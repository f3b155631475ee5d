"""Grafana's dashboards, written in Python; `make dashboards` writes them as JSON into `dashboards/`."""
