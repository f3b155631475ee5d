"""What the colours mean, and the colours and words of the closed sets."""

GOOD, WARNING, BAD, NEUTRAL = "green", "orange", "red", "blue"

# By a pattern of the series' name.
OUTCOMES = {".*completed": GOOD, ".*retried": WARNING, ".*failed": BAD, ".*snoozed": NEUTRAL}
STATES = {".*pending": "yellow", ".*queued": NEUTRAL, ".*processing": GOOD}
STATUSES = {"5..": BAD}

# By value, what to write, and in which colour.
UP = {"1": ("up", GOOD), "0": ("down", BAD)}
BREAKER = {"0": ("closed", GOOD), "1": ("open", BAD)}
PAUSED = {"0": ("running", GOOD), "1": ("paused", WARNING)}
