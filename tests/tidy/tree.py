"""The texts that the rules read, by path; or only their code, without comments and strings."""

import pathlib
import re

ROOMS = ("spank", "stager", "transport", "pmix", "tests")
ALSO = (".ci", ".github", "docs", "etc")
SCRIPT = re.compile(r"#!.*\b(sh|bash|bats|python3)\b")
# A comment, a raw string, a string, or a character; digit separators (1'000) are none of these.
NOT_CODE = re.compile(
    r"//(?:[^\n\\]|\\.|\\\n)*"
    r"|/\*.*?\*/"
    r'|R"(?P<end>[^\s()\\]{0,16})\(.*?\)(?P=end)"'
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|(?<![0-9a-zA-Z_])'(?:[^'\\\n]|\\.)+'",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)


class Tree:
    """Path -> text. An example tree is a dict; the real one is read from disk, at `root`."""

    def __init__(self, texts, root="/some/checkout"):
        self.texts = texts
        self.root = str(root)

    @classmethod
    def on_disk(cls, root):
        root = pathlib.Path(root).resolve()
        paths = [p for p in root.iterdir() if p.is_file()]
        for top in ROOMS + ALSO:
            paths += [p for p in (root / top).rglob("*") if p.is_file()]
        texts = {}
        for path in sorted(paths):
            try:
                texts[str(path.relative_to(root))] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                pass  # a corpus or a golden packet
        return cls(texts, root)

    def cpp(self, *below):
        """(path, text) of C++ files, all or those below the given folders."""
        for path, text in self.texts.items():
            if path.endswith((".h", ".cpp")) and path.startswith(ROOMS):
                if not below or path.startswith(tuple(f"{folder}/" for folder in below)):
                    yield path, text

    def programs(self):
        """(path, text) of everything a programmer reads as code, in any language."""
        for path, text in self.texts.items():
            name = path.rsplit("/", 1)[-1]
            if name.endswith((".h", ".cpp", ".c", ".sh", ".bash", ".bats", ".py", ".mk")):
                yield path, text
            elif name == "Makefile" or SCRIPT.match(text):
                yield path, text


def lines_where(pattern, text):
    """The 1-based numbers of the lines on which `pattern` (compiled) begins to match."""
    return [text.count("\n", 0, m.start()) + 1 for m in pattern.finditer(text)]


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def code_of(text):
    """C++ `text` of the same shape, comments, literals and directives turned into spaces."""
    return DIRECTIVE.sub(blank, NOT_CODE.sub(blank, text))
