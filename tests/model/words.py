"""Writes a name in bash, and in a spec."""

import re

PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


def word(text):
    """One word of bash, in ASCII; `text` may hold any byte (surrogateescape)."""
    if PLAIN.fullmatch(text):
        return text
    data = text.encode("utf-8", "surrogateescape")
    if all(32 <= b < 127 for b in data):
        return "'" + text.replace("'", "'\\''") + "'"
    shown = {39: "\\'", 92: "\\\\"}
    return "$'" + "".join(shown.get(b) or (chr(b) if 32 <= b < 127 else f"\\x{b:02x}") for b in data) + "'"


def words(*texts):
    return " ".join(word(text) for text in texts)


def in_spec(name):
    return name.replace("\\", "\\\\").replace(":", "\\:")
