"""Settings: read once, checked at start, told by name where they are wrong."""

from __future__ import annotations

from dataclasses import fields

import pytest

from config import ConfigError, Settings
from tests.stack import environment

NEEDED = {
    "SAFELIGHT_DATABASE_URL": "postgresql://user:secret@host/database",
    "SAFELIGHT_REDIS_URL": "redis://:secret@host:6379/0",
    "SAFELIGHT_STORAGE_URL": "file:///var/photos",
}


def told(**given: str) -> str:
    """What is said about wrong settings."""
    with pytest.raises(ConfigError) as caught:
        Settings.from_environment({**NEEDED, **{f"SAFELIGHT_{name}": text for name, text in given.items()}})
    return str(caught.value)


def test_what_must_be_set_is_enough() -> None:
    settings = Settings.from_environment(NEEDED)
    assert settings.database_url == NEEDED["SAFELIGHT_DATABASE_URL"]
    assert (settings.port, settings.monitoring_port) == (8000, 8001)


def test_all_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.from_environment({"SAFELIGHT_PORT": "x"})
    for name in (*NEEDED, "SAFELIGHT_PORT"):
        assert name in str(caught.value)


def test_every_setting_is_read_from_its_variable() -> None:
    given = {
        each.name: {"int": "77", "float": "7.5", "str": "text"}[str(each.type)]
        for each in fields(Settings)
        if f"SAFELIGHT_{each.name.upper()}" not in NEEDED
    }
    given |= {"port": "78", "lease_s": "15", "rate_limit": "7/hour"}
    given |= {"analysis_url": "https://host/ask", "analysis_send": "preview"}
    given |= {"public_url": "https://host", "signing_key": "k" * 32, "preview_redirect": "off"}
    given |= {"prepared_statements": "off"}
    given |= {"grafana_url": "https://g", "prometheus_url": "http://p:9090"}
    variables = {f"SAFELIGHT_{name.upper()}": value for name, value in given.items()}
    settings = Settings.from_environment({**NEEDED, **variables})
    assert {name: str(getattr(settings, name)) for name in given} == {
        name: {"lease_s": "15.0"}.get(name, value) for name, value in given.items()
    }


def test_settings_survive_the_way_through_an_environment() -> None:
    settings = Settings.from_environment({**NEEDED, "SAFELIGHT_LEASE_S": "12.5", "SAFELIGHT_PORT": "9000"})
    assert Settings.from_environment(environment(settings)) == settings


def test_the_monitoring_port_follows_the_port() -> None:
    assert Settings.from_environment({**NEEDED, "SAFELIGHT_PORT": "9000"}).monitoring_port == 9001


@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_variable_is_one_that_is_not_set(text: str) -> None:
    assert Settings.from_environment({**NEEDED, "SAFELIGHT_PORT": text}).port == 8000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PORT", "x"),
        ("PORT", "1.5"),
        ("PORT", "0"),
        ("PORT", "-1"),
        ("PORT", "65536"),
        ("WINDOW", "0"),
        ("LEASE_S", "nan"),
        ("LEASE_S", "inf"),
        ("LEASE_S", "-1"),
        ("HEARTBEAT_S", "1 s"),
        ("LOG_FORMAT", "xml"),
        ("PREPARED_STATEMENTS", "no"),
        ("PREVIEW_REDIRECT", "yes"),
        ("PREVIEW_REDIRECT", "on"),
        ("PREVIEW_REDIRECT", "https://host/path"),
        ("DRAIN_S", "-1"),
        ("ANALYSIS_URL", "ftp://host"),
        ("ANALYSIS_URL", "https://me:secret@host/ask"),
        ("ANALYSIS_SEND", "original"),
        ("ANALYSIS_POLLS", "0"),
        ("ANALYSIS_SEND", "url"),
        ("PUBLIC_URL", "host"),
        ("SIGNING_KEY", "short"),
        ("STORAGE_URL", "/var/photos"),
        ("STORAGE_URL", "file://relative"),
        ("DATABASE_URL", "mysql://host/database"),
        ("DATABASE_URL", "postgresql://host:port/database"),
        ("REDIS_URL", "host:6379"),
        ("REDIS_URL", "redis://host:x/0"),
        ("RATE_LIMIT", "600"),
        ("RATE_LIMIT", "0/minute"),
        ("RATE_LIMIT", "5/fortnight"),
        ("HOSTS", "photos.example.org:443"),
        ("HOSTS", "https://photos.example.org"),
        ("HOSTS", "a,,b"),
        ("TRUSTED_PROXIES", "-1"),
    ],
)
def test_a_wrong_setting_is_told_by_name(name: str, text: str) -> None:
    assert f"SAFELIGHT_{name}" in told(**{name: text})


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"PORT": "9000", "MONITORING_PORT": "9000"}, "MONITORING_PORT"),
        ({"PORT": "65535"}, "MONITORING_PORT"),
        ({"LEASE_S": "5"}, "HEARTBEAT_S"),
        ({"HEARTBEAT_S": "11"}, "HEARTBEAT_S"),
    ],
)
def test_settings_that_contradict_each_other_are_told(given: dict[str, str], named: str) -> None:
    assert f"SAFELIGHT_{named}" in told(**given)


def test_no_password_is_shown() -> None:
    wrong = told(DATABASE_URL="postgres://user:secret@host/database", REDIS_URL="http://:secret@host")
    assert "secret" not in wrong
    assert "secret" not in repr(Settings.from_environment(NEEDED))
