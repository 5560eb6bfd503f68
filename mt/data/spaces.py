"""Which languages are written without spaces between words and sentences."""

_WITHOUT_SPACES = {"zh", "ja", "th", "lo", "km", "my"}


def separator(language: str) -> str:
    """What joins two sentences of a language: a space, or nothing."""
    return "" if language in _WITHOUT_SPACES else " "
