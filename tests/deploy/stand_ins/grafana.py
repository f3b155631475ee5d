"""Answers Grafana's health check if what Grafana is to read is mounted where its configuration says."""

from __future__ import annotations

import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class Health(BaseHTTPRequestHandler):
    """`/api/health` of a Grafana that finds its dashboards and has its password."""

    def do_GET(self) -> None:
        """Answer 200 if all is there."""
        mounted = Path("/etc/grafana/provisioning/dashboards/safelight.yml").exists()
        dashboards = len(list(Path("/etc/grafana/dashboards").glob("*.json")))
        well = mounted and dashboards and os.environ.get("GF_SECURITY_ADMIN_PASSWORD")
        self.send_response(200 if well else 500)
        self.end_headers()


HTTPServer(("", 3000), Health).serve_forever()
