"""Settings from the environment, read once by the roots and checked at start."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import urlsplit

MIB = 1024 * 1024


class ConfigError(Exception):
    """One or more settings are missing or wrong; the message names each of them."""


@dataclass(frozen=True)
class Settings:
    """What a process of Safelight needs to know; docs/settings.md says what each is for.

    A field `lease_s` is read from `SAFELIGHT_LEASE_S`. Fields without a default must be set;
    `monitoring_port` is the port + 1 unless it is set.
    """

    database_url: str = field(repr=False)  # a password may be in it
    redis_url: str = field(repr=False)
    storage_url: str
    prepared_statements: str = "on"
    host: str = "127.0.0.1"
    port: int = 8000
    hosts: str = ""
    trusted_proxies: int = 0
    rate_limit: str = "6000/minute"
    monitoring_host: str = "127.0.0.1"
    monitoring_port: int = 8001
    api_processes: int = 1
    api_threads: int = 32
    api_waiting: int = 256
    max_upload_bytes: int = 256 * MIB
    max_batch_bytes: int = 1024 * MIB
    backlog_limit: int = 100_000
    max_pixels: int = 250_000_000
    window: int = 2_000
    lease_s: float = 20.0
    heartbeat_s: float = 5.0
    relay_s: float = 1.0
    scan_s: float = 5.0
    retention_s: float = 7 * 86_400.0
    worker_slots: int = 4
    decoder_memory_bytes: int = 4096 * MIB
    analysis_url: str = ""
    analysis_key: str = field(default="", repr=False)
    analysis_send: str = "metadata"
    public_url: str = ""
    signing_key: str = field(default="", repr=False)
    analysis_slots: int = 8
    analysis_polls: int = 200
    analysis_deadline_s: float = 3_600.0
    analysis_timeout_s: float = 10.0
    analysis_breaker_s: float = 30.0
    grafana_url: str = ""
    prometheus_url: str = ""
    preview_redirect: str = "off"
    drain_s: float = 0.0
    grace_s: float = 8.0
    log_format: str = "json"
    version: str = "0.2.0"
    revision: str = "unknown"

    @classmethod
    def for_root(cls) -> Settings:
        """The settings of a process that can't start without them: what is wrong is told in one line.

        Raises:
            SystemExit: something is missing or out of range.
        """
        try:
            return cls.from_environment()
        except ConfigError as error:
            raise SystemExit(f"Safelight can't start: {error}") from None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read every `SAFELIGHT_*` setting.

        Raises:
            ConfigError: something is missing or out of range; all of it is named at once.
        """
        environment = os.environ if environment is None else environment
        values: dict[str, Any] = {}
        problems: list[str] = []
        for each in fields(cls):
            name = f"SAFELIGHT_{each.name.upper()}"
            text = environment.get(name, "").strip()
            if not text:
                if each.name in _REQUIRED:
                    problems.append(f"{name} is not set ({_REQUIRED[each.name]})")
                continue
            shown = name if each.name in _SECRET else f"{name}={text!r}"
            try:
                values[each.name] = _PARSERS[str(each.type)](text)
            except ValueError:
                problems.append(f"{shown} is not {_KINDS[str(each.type)]}")
                continue
            if problem := _problem(each.name, values[each.name]):
                problems.append(f"{shown}: {problem}")
        values.setdefault("monitoring_port", values.get("port", cls.port) + 1)
        if problems:
            raise ConfigError("; ".join(problems))
        settings = cls(**values)
        problems = _contradictions(settings)
        if settings.store_reached_by and environment.get("AWS_ENDPOINT_URL_S3"):
            # obstore would sign for that, whatever else it is given.
            problems.append("with an address in SAFELIGHT_PREVIEW_REDIRECT use AWS_ENDPOINT_URL, not ..._S3")
        if problems:
            raise ConfigError("; ".join(problems))
        return settings

    @property
    def prepares(self) -> bool:
        """Whether each connection to PostgreSQL is ours alone, so that it can keep plans."""
        return self.prepared_statements == "on"

    @property
    def decoders(self) -> int:
        """Pictures that a worker process decodes at once; two more tasks may be claimed or stored."""
        return max(1, self.worker_slots - 2)

    @property
    def shared_previews_url(self) -> str:
        """What links to previews begin with, as others reach the API."""
        return f"{self.public_url.rstrip('/')}/v1/shared/previews/"

    @property
    def store_reached_by(self) -> str:
        """How clients reach the store, where it isn't as we do."""
        return self.preview_redirect if self.preview_redirect not in ("on", "off") else ""


_REQUIRED = {
    "database_url": "postgresql://user:password@host/database",
    "redis_url": "redis://host:6379/0",
    "storage_url": "file:///folder or s3://bucket/prefix",
}
_SECRET = ("database_url", "redis_url", "analysis_url", "analysis_key", "signing_key")
_PARSERS: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str}
_KINDS = {"int": "a whole number", "float": "a number"}
_SCHEMES = {
    "database_url": ("postgresql://", "postgresql+psycopg2://"),
    "redis_url": ("redis://", "rediss://", "unix://"),
    "storage_url": ("file:///", "s3://"),
    "analysis_url": ("https://", "http://"),
    "public_url": ("https://", "http://"),
    "grafana_url": ("https://", "http://"),
    "prometheus_url": ("https://", "http://"),
}
_RATE = re.compile(r"[1-9]\d*/(second|minute|hour|day)|off")
_HOST = re.compile(r"\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[?[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*\]?")
_REDIRECT = re.compile(r"on|off|https?://[A-Za-z0-9.-]+(:\d+)?")
_KEY_LENGTH = 32
_CHOICES = {"log_format": ("json", "text"), "analysis_send": ("metadata", "preview", "url")}


def _problem(name: str, value: Any) -> str | None:
    if name in _SCHEMES and not value.startswith(_SCHEMES[name]):
        return f"must start with {' or '.join(_SCHEMES[name])}"
    if name in _SCHEMES and not _has_sound_port(value):
        return "its port isn't a number"
    if name == "signing_key" and len(value) < _KEY_LENGTH:
        return f"must have {_KEY_LENGTH} characters at least"
    if name in _CHOICES and value not in _CHOICES[name]:
        return f"must be {' or '.join(_CHOICES[name])}"
    if name == "analysis_url" and "@" in urlsplit(value).netloc:
        return "no password may be in it; SAFELIGHT_ANALYSIS_KEY is for that"
    if name in ("port", "monitoring_port") and not 0 < value < 65_536:
        return "must be between 1 and 65535"
    if name == "rate_limit" and not _RATE.fullmatch(value):
        return "must be as 600/minute, or off"
    if name == "hosts" and not all(_HOST.fullmatch(host.strip()) for host in value.split(",")):
        return "must be names or addresses without a port, with commas between them"
    if name == "preview_redirect" and not _REDIRECT.fullmatch(value):
        return "must be off, on, or https://host, without a path"
    if name == "prepared_statements" and value not in ("on", "off"):
        return "must be on or off"
    if name in ("trusted_proxies", "drain_s") and value == 0:
        return None
    if isinstance(value, int | float) and not 0 < value < float("inf"):
        return "must be above 0"
    return None


def _has_sound_port(url: str) -> bool:
    try:
        urlsplit(url).port  # noqa: B018 - reading it checks it
    except ValueError:
        return False
    return True


def _contradictions(settings: Settings) -> list[str]:
    """What no setting gets wrong alone."""
    problems = []
    if settings.monitoring_port == settings.port:
        problems.append("SAFELIGHT_MONITORING_PORT must be another port than SAFELIGHT_PORT")
    if settings.monitoring_port > 65_535:
        problems.append("SAFELIGHT_MONITORING_PORT must be set where SAFELIGHT_PORT is 65535")
    if settings.analysis_send == "url" and not (settings.public_url and settings.signing_key):
        problems.append("SAFELIGHT_ANALYSIS_SEND=url needs SAFELIGHT_PUBLIC_URL and SAFELIGHT_SIGNING_KEY")
    if settings.preview_redirect != "off" and not settings.storage_url.startswith("s3://"):
        problems.append("SAFELIGHT_PREVIEW_REDIRECT needs SAFELIGHT_STORAGE_URL=s3://bucket/prefix")
    if settings.heartbeat_s > settings.lease_s / 2:
        problems.append("SAFELIGHT_HEARTBEAT_S must be at most half of SAFELIGHT_LEASE_S")
    return problems
