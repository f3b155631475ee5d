"""The documents: OpenAPI 3.1, and Swagger UI that needs no internet."""

from __future__ import annotations

import re

from flask import Flask

from tests.http import Client


def test_swagger_ui_and_all_that_it_is_made_of_come_from_here(client: Client) -> None:
    page = client.get("/docs")
    assert page.status == 200
    assert "script-src 'self';" in page.headers["Content-Security-Policy"]
    text = page.body.decode()
    parts = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert len(parts) == 4
    for part in parts:
        answer = client.get(part)
        assert answer.status == 200, part
        assert len(answer.body) > 100
    assert "<script>" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_no_other_file_of_the_package_is_handed_out(client: Client) -> None:
    for path in ("/docs/swagger-ui.js", "/docs/..%2fapp.py", "/docs/index.html"):
        assert client.get(path).status == 404


def test_every_route_of_the_interface_is_in_the_document(app: Flask, client: Client) -> None:
    paths = client.get("/openapi.json").json["paths"]
    rules = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.rule.startswith("/v1/")
    }
    documented = {
        (path, method)
        for path, said in paths.items()
        for method in said
        if method != "parameters" and path.startswith("/v1/")
    }
    assert rules == documented


def test_every_operation_tells_its_problems_as_problems(client: Client) -> None:
    spec = client.get("/openapi.json").json
    for path, operations in spec["paths"].items():
        for method, said in operations.items():
            if method == "parameters" or not path.startswith("/v1/"):
                continue
            assert {"401", "500", "503"} <= set(said["responses"]), (path, method)
            assert ("404" in said["responses"]) or "{" not in path, (path, method)
            for status, answer in said["responses"].items():
                if int(status) >= 400 and answer != {"$ref": f"#/components/responses/{status}"}:
                    assert list(answer["content"]) == ["application/problem+json"], (path, method)
    for answer in spec["components"]["responses"].values():
        assert list(answer["content"]) == ["application/problem+json"]
