"""Checks that every type has a name of its own.  Two of one name in one namespace are one to the linker,
which keeps one of their inline functions for both: what that does to the other shows only where
nothing was inlined.
"""

import re

from tree import code_of

TOKEN = re.compile(
    r"\b(?:inline\s+)?namespace\b\s*([\w:]*)\s*\{"
    r"|\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[\w+\]\]\s*)?(\w+(?:::\w+)*)\b[^;{}()=<>]*"
    r"(?::[^;{}()]*)?\{"
    r"|([{}])"
)


def types_in(path, text):
    """(full name, line) of the types that other files could meet, in order."""
    stack = []  # Of each open brace: a namespace's name, or None
    for token in TOKEN.finditer(code_of(text)):
        space, name, brace = token.groups()
        if brace == "}":
            if stack:
                stack.pop()
            continue
        if name and all(stack):
            yield "::".join(stack + [name]), text.count("\n", 0, token.start()) + 1
        stack.append(space or None)


def find_doubled(tree):
    seen = {}
    for path, text in tree.cpp():
        for name, line in types_in(path, text):
            before = seen.setdefault(name, path)
            if before != path:
                yield f"{path}:{line}: {name} is another type in {before}; rename one of them"


DEFINED = re.compile(r"^(?! )(?:[\w:<>,&*\[\] ]+ )?[&*]?(\w+)::(?:~?\w+|operator[^\s(]+)\(", re.MULTILINE)


def find_split(tree):
    """A class that needs several files is several ideas: find the smaller ones."""
    homes = {}
    for path, text in tree.cpp("spank", "stager", "transport", "pmix"):
        if path.endswith(".cpp"):
            for match in DEFINED.finditer(code_of(text)):
                name = match.group(1)
                homes.setdefault((path.rsplit("/", 1)[0], name), {}).setdefault(path)
    for (folder, name), paths in sorted(homes.items()):
        if len(paths) > 1:
            yield f"{folder}:1: {name} is defined in {', '.join(paths)}; make it one file"


ONE = "namespace a {\nstruct X {\n};\n}\n"
WRONG = [
    {"pmix/a.h": ONE, "stager/b.h": "namespace a {\nclass X : public Y {\n};\n}\n"},
    {"pmix/a.h": ONE, "stager/b.cpp": "namespace a {\nf() { if (b) {} }\nenum class X : int {\n};\n}"},
    {"pmix/a.h": "namespace a::b {\nstruct X {\n};\n}", "pmix/c.h": "namespace a {namespace b {\nstruct X {};}}"},
]
RIGHT = [
    {"pmix/a.h": ONE, "stager/b.h": "namespace b {\nstruct X {\n};\n}\n"},
    {"pmix/a.h": ONE, "stager/b.cpp": "namespace a {\nnamespace {\nstruct X {\n};\n}\n}\n"},
    {"pmix/a.h": ONE, "stager/b.h": "namespace a {\nclass X;\nstruct Y {\n struct X {};\n};\nvoid f(struct X* x);\n}\n"},
]
SPLIT_WRONG = [
    {"pmix/a.cpp": "void X::f() {\n}\n", "pmix/b.cpp": "int X::g(int) const {\n}\n"},
]
SPLIT_RIGHT = [
    {"pmix/a.cpp": "void X::f() {\n}\n", "pmix/b.cpp": "int Y::g() {\n    X::f();\n}\n"},
]
