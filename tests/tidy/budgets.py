"""Holds the product to its budgets: lines of each room, the largest class, files for a change.

budgets.txt has the ceilings, which are what the tree had when they were last lowered. A change
that exceeds one raises it in the same commit, with a line of reason behind it.
"""

import os
import re

from tree import code_of

PRODUCT = ("transport", "stager", "spank", "pmix")
ENTRY = re.compile(r"(lines|class|files) (\S+) (\d+)(?: # .+)?$")
METHOD = re.compile(r"^[A-Za-z][^\n;=#]*?\b([A-Z]\w+)::~?\w+\(", re.MULTILINE)


def parse(text):
    """(kind, name, ceiling) of each entry."""
    for line in text.splitlines():
        if line and not line.startswith("#"):
            match = ENTRY.match(line)
            if not match:
                raise ValueError(f"budgets.txt: {line}")
            yield match[1], match[2], int(match[3])


def lines_of(tree, room):
    """Lines of the sources in a folder and all below it."""
    return sum(text.count("\n") for path, text in tree.texts.items()
               if path.startswith(room + "/") and path.endswith((".h", ".cpp", ".c")))


def class_lines(text):
    """The lines of the functions of each class that a .cpp defines, by its name."""
    lines, begin, name = {}, None, None
    for number, line in enumerate(text.splitlines()):
        if line == "}" and begin is not None:
            if name:
                lines[name] = lines.get(name, 0) + number - begin + 1
            begin = None
        elif re.match(r"[A-Za-z\[]", line) and not line.startswith("namespace"):
            begin, match = number, METHOD.match(line)
            name = match[1] if match else None
    return lines


def files_of(tree, pattern):
    """The number of the product's files in whose code the pattern stands."""
    word = re.compile(pattern)
    return sum(1 for _, text in tree.cpp(*PRODUCT) if word.search(code_of(text)))


def find_exceeded(tree):
    try:
        budgets = list(parse(tree.texts.get("tests/tidy/budgets.txt", "")))
    except ValueError as error:
        yield str(error)
        return
    exempt = {name: ceiling for kind, name, ceiling in budgets if kind == "class"}
    for kind, name, ceiling in budgets:
        if kind == "lines" and (lines := lines_of(tree, name)) > ceiling:
            yield f"{name}/ has {lines} lines, {ceiling} allowed; budgets.txt says how to go on"
        if kind == "files" and (files := files_of(tree, name)) > ceiling:
            yield f"{files} files know {name}, {ceiling} may"
    for path, text in tree.cpp(*PRODUCT):
        for name, lines in class_lines(text).items() if path.endswith(".cpp") else ():
            ceiling = exempt.get(name, exempt.get("any", 1 << 30))
            if lines > ceiling:
                yield f"{path}: the functions of {name} have {lines} lines, {ceiling} allowed"


def example(budgets, **sources):
    return {"tests/tidy/budgets.txt": budgets,
            **{f"spank/{name}.cpp": text for name, text in sources.items()}}


BODY = "void Part::begin() {\n    step();\n}\n"
WRONG = [example("lines spank 2\n", a=BODY), example("class any 2\n", a=BODY),
         example("files is_push 1\n", a="bool is_push;\n", b="if (is_push) {}\n"),
         example("lines spank\n", a=BODY)]
RIGHT = [example("lines spank 3\n", a=BODY), example("class any 2\nclass Part 3 # why\n", a=BODY),
         example("files is_push 1\n", a="bool is_push;\n", b="// is_push\n")]
RULES = [("rooms, classes and changes keep their budgets", find_exceeded, WRONG, RIGHT)]


def report():
    """Prints the values of the tree as it is, to lower the ceilings by."""
    from tree import Tree
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    tree = Tree.on_disk(top)
    for kind, name, _ in parse(tree.texts["tests/tidy/budgets.txt"]):
        if kind == "lines":
            print(kind, name, lines_of(tree, name))
        elif kind == "files":
            print(kind, name, files_of(tree, name))
    for path, text in tree.cpp(*PRODUCT):
        for name, lines in class_lines(text).items() if path.endswith(".cpp") else ():
            if lines > 300:
                print("class", name, lines)


if __name__ == "__main__":
    report()
