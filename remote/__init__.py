"""The slow remote service that knows more of a photo: its client, and the breaker that spares a dead one."""
