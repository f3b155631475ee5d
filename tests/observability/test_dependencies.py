"""Whether what the service needs answers, and since when it doesn't."""

from __future__ import annotations

from datetime import UTC, datetime

from observability.dependencies import About, Dependencies

STARTED = datetime(2026, 1, 1, tzinfo=UTC)


class Server:
    """Something that can be away, and may not know what it is."""

    def __init__(self) -> None:
        self.is_away = False
        self.is_dumb = False

    def check(self) -> None:
        """Raises while it is away."""
        if self.is_away:
            raise ConnectionError("refused\nand more that nobody reads")

    def about(self) -> About:
        """Raises if it doesn't say."""
        if self.is_dumb:
            raise ValueError
        return About("it 1.0", STARTED)


def test_it_is_up_since_it_was_started() -> None:
    server = Server()
    [found] = Dependencies({"it": server.check}, {"it": server.about}).look()
    assert (found.up, found.since, found.version, found.error) == (True, STARTED, "it 1.0", None)


def test_who_does_not_say_what_it_is_is_up_all_the_same() -> None:
    server = Server()
    server.is_dumb = True
    for about in ({"it": server.about}, {}):
        [found] = Dependencies({"it": server.check}, about).look()
        assert (found.up, found.since, found.version) == (True, None, None)


def test_it_is_away_since_it_was_first_found_so_and_that_is_forgotten_once_it_is_back() -> None:
    server = Server()
    dependencies = Dependencies({"it": server.check}, {"it": server.about})
    server.is_away = True
    before = datetime.now(UTC)
    assert dependencies.up() == {"it": False}
    [found] = dependencies.look()
    [again] = dependencies.look()
    assert (found.up, found.error, found.version) == (False, "refused", None)
    assert found.since is not None
    assert before <= found.since <= datetime.now(UTC)
    assert again.since == found.since
    server.is_away = False
    assert dependencies.up() == {"it": True}
    server.is_away = True
    [later] = dependencies.look()
    assert later.since is not None
    assert later.since > found.since
