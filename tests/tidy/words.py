"""Finds banned words (banned_words.txt) in comments, strings and identifiers of all text files.

An identifier is split into its words: `is_told`, `isTold` and `kTold` contain "told".
Also finds comments of sources that begin in the middle of a sentence.
"""

import os
import re

LIST = "tests/tidy/banned_words.txt"
EXEMPT = (LIST, "tests/tidy/words.py", "docs/GLOSSARY.md", "LICENSE", "tests/fuzz/corpus/",
          "tests/catch3/")
CHANGELOG = "CHANGELOG.md"
# What may be between the words of a phrase: blanks, and a line break with a comment mark.
GAP = r"(?:[ \t]|\n[ \t]*(?:///?|#)?)+"
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def pattern_of(phrase):
    """Matches the phrase as whole words, ignoring case."""
    words = GAP.join(re.escape(word) for word in phrase.split())
    return re.compile(r"(?<![A-Za-z0-9])" + words + r"(?![A-Za-z0-9])", re.IGNORECASE)


def parse(text):
    """(phrase, its pattern, the pattern of allowed places or None) for each entry."""
    for line in text.splitlines():
        if line and not line.startswith("#"):
            phrase, _, allowed = line.partition(" except ")
            yield phrase, pattern_of(phrase), re.compile(allowed) if allowed else None


def read_list():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "banned_words.txt"), encoding="utf-8") as file:
        return list(parse(file.read()))


WORDS = read_list()


def findings_in(path, text):
    lines = text.splitlines()
    apart = CAMEL.sub(" ", text)  # isTold -> is Told; line breaks keep their places
    for phrase, pattern, allowed in WORDS:
        for match in pattern.finditer(apart):
            number = apart.count("\n", 0, match.start()) + 1
            if not allowed or not allowed.search(lines[number - 1]):
                yield f"{path}:{number}: '{phrase}' is banned; docs/GLOSSARY.md has the term"


def find_banned(tree):
    for path, text in tree.texts.items():
        if not path.startswith(EXEMPT):
            if path == CHANGELOG:  # released sections stay as they are
                text = re.split(r"(?m)^## \[?\d", text)[0]
            yield from findings_in(path, text)


WRONG = [{"spank/a.h": "// Nobody reads it.\n"}, {"spank/a.cpp": "bool is_told = true;"},
         {"spank/a.cpp": "struct ToldRate {};"}, {"pmix/a.cpp": 'say("to whom?");'},
         {"pmix/a.h": "/// There are so\n/// many of them.\n"},
         {"pmix/a.py": "# so\n# many\n"}, {"pmix/a.cpp": "// nobody but `root`\n"},
         {"transport/a.h": "// cut off\n"}, {"docs/A.md": "Somebody reads it.\n"}]
RIGHT = [{"spank/a.h": "// The untold part; retold\n"}, {"spank/a.h": "// as the user nobody\n"},
         {"pmix/a.cpp": "// so, many\n"}, {"docs/GLOSSARY.md": "whom"},
         {"tests/fuzz/corpus/spec/a": "told"}]

SOURCES = ("spank/", "stager/", "transport/", "pmix/", "tests/")
FIRST = re.compile(r"(?P<before>.*?)///<?[ \t]*(?P<first>Of|And|Or|As|The same|Unless|Whose|Else)\b")
CONTINUED = re.compile(r"[ \t]*///")


def find_half_sentences(tree):
    """Finds /// comments that begin with a word which needs the code, or another comment, before it."""
    for path, text in tree.texts.items():
        if path.startswith(SOURCES) and path.endswith((".h", ".cpp", ".c")):
            previous = ""
            for number, line in enumerate(text.splitlines(), 1):
                match = FIRST.match(line)
                if match and (match["before"].strip() or not CONTINUED.match(previous)):
                    yield (f"{path}:{number}: '{match['first']}' begins a comment; begin with what "
                           "the comment is about, or with a verb (\"Returns\")")
                previous = line


FIRST_WRONG = [{"spank/a.h": "int rank;  ///< Of the root.\n"},
               {"stager/a.cpp": "/// The same for a directory.\n"},
               {"pmix/a.h": "/// As above.\n"}, {"transport/a.h": "    /// Or stopped.\n"},
               {"stager/a.c": "int a;  /// And b.\n"}, {"tests/unit/a.cpp": "/// As above.\n"},
               {"tests/sim/a.h": "int a;  ///< Else of b.\n"}]
FIRST_RIGHT = [{"spank/a.h": "int rank;  ///< The root's.\n"},
               {"pmix/a.h": "/// Reads the names.\n/// Of two the first counts.\n"},
               {"pmix/a.h": "/// Office hours.\n"}, {"tests/net/a.py": "/// As above.\n"}]
