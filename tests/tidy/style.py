"""The style rules that a formatter can't check.

Each rule yields "path:line: what is wrong, what to write instead". rules() has small example
trees in which each rule must find something, so that no rule can pass without checking.
"""

import re

from tree import code_of, lines_where

COLUMNS = 96
SCRIPT_COLUMNS = 160  # of shell and Python: a command and its arguments stay one line
FILES = 25  # of C++ in a folder
HERE = "tests/tidy/"  # names the words that it bans


def long_lines(tree):
    for path, text in tree.programs():
        allowed = COLUMNS if path.endswith((".h", ".cpp", "Makefile")) else SCRIPT_COLUMNS
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > allowed:
                yield f"{path}:{number}: {len(line)} columns, {allowed} allowed"


def full_folders(tree):
    count = {}
    for path, _ in tree.cpp("spank", "stager", "transport", "pmix", "tests/unit", "tests/sim",
                           "tests/fuzz"):
        folder = path.rsplit("/", 1)[0]
        count[folder] = count.get(folder, 0) + 1
    for folder, files in sorted(count.items()):
        if files > FILES:
            yield f"{folder}:1: {files} C++ files, {FILES} allowed; make rooms by subject"


def banned(pattern, instead, where, as_code=True):
    """A rule against a word in the files that `where` picks; comments are not code."""
    word = re.compile(pattern)

    def find(tree):
        for path, text in where(tree):
            for number in lines_where(word, code_of(text) if as_code else text):
                yield f"{path}:{number}: {instead}"

    return find


def all_texts(tree):
    return ((p, t) for p, t in tree.texts.items() if not p.startswith(HERE) and p != "LICENSE")


sleeping = banned(
    r"\b(sleep|usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until)\s*\(",
    "a unit test hands in the time; it never sleeps",
    lambda tree: tree.cpp("tests/unit"),
)
owning = banned(
    r"\bnew\b\s*(\([^)]*\)\s*)?[A-Za-z_:]|(?<!operator )\bdelete\s*(\[\s*\]\s*)?[A-Za-z_:(*]",
    "no new and no delete; values, members, std::make_unique",
    lambda tree: tree.cpp(),
)
sharing = banned(
    r"\bshared_ptr\b|\bmake_shared\b",
    "one owner in the core and its drivers; std::unique_ptr or a reference",
    lambda tree: tree.cpp("transport"),
)
reading_time = banned(
    r"\b(steady|system|high_resolution|utc)_clock\b|\b(clock_gettime|gettimeofday|time)\s*\(",
    "the core is handed the time",
    lambda tree: tree.cpp("transport/core", "transport/wire", "transport/seal"),
)
unfinished = banned(
    r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))",
    "finish it, or name the issue: TODO(#12)",
    all_texts,
    as_code=False,
)


def one_machine(tree):
    """Finds the path of this checkout, which no other machine has."""
    here = re.compile(re.escape(tree.root) + r"(?![\w.-])")
    for path, text in all_texts(tree):
        for number in lines_where(here, text):
            yield f"{path}:{number}: a path of one machine; say where it is by option or environment"


CONTROL = re.compile(r"\b(if|for|while|switch|else|do)\b")


def after_parenthesis(code, at):
    """The position behind the parenthesis that opens at `at`."""
    depth = 0
    for position in range(at, len(code)):
        depth += {"(": 1, ")": -1}.get(code[position], 0)
        if depth == 0:
            return position + 1
    return len(code)


def lacks_brace(code, word, end):
    rest = re.compile(r"\s*(constexpr\b|consteval\b)?\s*").match(code, end)
    at = rest.end()
    if word in ("else", "do"):
        return not re.compile(r"\{|if\b").match(code, at)
    if code[at : at + 1] != "(":
        return False  # a macro's argument, not a statement
    at = after_parenthesis(code, at)
    return not re.compile(r"\s*(\[\[(un)?likely\]\]\s*)?\{").match(code, at)


def ends_do(code, start):
    """Is the `while` at `start` the end of a do { } while?"""
    behind = code[after_parenthesis(code, code.find("(", start)) :]
    return code[:start].rstrip().endswith("}") and behind.lstrip().startswith(";")


def bare_branches(tree):
    for path, text in tree.cpp():
        code = code_of(text)
        for match in CONTROL.finditer(code):
            word = match.group(1)
            if word == "while" and ends_do(code, match.start()):
                continue
            if lacks_brace(code, word, match.end()):
                line = code.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: braces around what `{word}` governs"


def silent_headers(tree):
    for path, text in tree.cpp():
        if path.endswith(".h"):
            if len(re.findall(r"^#pragma once$", text, re.MULTILINE)) != 1:
                yield f"{path}:1: a header says #pragma once, once"
            if not text.startswith("//"):
                yield f"{path}:1: a header opens with a comment that says what it is for"


def own_header_later(tree):
    """What a file is named after comes first in it: so that header is known to compile alone."""
    for path, text in tree.cpp():
        own = path.removesuffix(".cpp") + ".h"
        if path.endswith(".cpp") and own in tree.texts:
            first = re.search(r"^#include .*$", text, re.MULTILINE)
            if not first or first.group() != f'#include "{own}"':
                yield f"{path}:1: include {own} before anything else"


def untagged_root(tree):
    """A test that needs root asks is_root(), which reports that it is skipped, and has the tag [root]."""
    for path, text in tree.cpp("tests/unit"):
        for case in re.finditer(r"^TEST_CASE\((.*?)\) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, case.start()) + 1
            if "if (!is_root()" in case.group(2) and "[root]" not in case.group(1):
                yield f"{path}:{line}: it needs root; give it the tag [root]"
            if "geteuid() != 0" in case.group(2):
                yield f"{path}:{line}: is_root() of tests/unit/root.h reports that the test is skipped"


def rules():
    """(title, finder, trees in which it must find something, trees in which it must not)."""
    unit, core, doc = "tests/unit/a_test.cpp", "transport/core/a.cpp", "docs/A.md"
    return [
        ("lines fit in 96 columns, in scripts 160", long_lines,
         [{core: "//" + "x" * 95}, {"tests/net/run": "#!/bin/sh\n#" + "x" * 160}],
         [{core: "//" + "x" * 94}, {doc: "x" * 97}]),
        ("folders have at most 25 C++ files", full_folders,
         [{f"stager/spawn/a{i}.h": "" for i in range(26)}],
         [{f"stager/spawn/a{i}.h": "" for i in range(25)}]),
        ("unit tests never sleep", sleeping,
         [{unit: "usleep(5);"}, {unit: "std::this_thread::sleep_for(1s);"}],
         [{unit: "// sleep(1)\nasleep(2);"}, {"stager/daemon/a.cpp": "usleep(5);"}]),
        ("nothing is owned by a raw pointer", owning,
         [{core: "auto* p = new Thing{};"}, {core: "delete p;"}, {core: "delete[] p;"},
          {core: "new (place) Thing;"}],
         [{core: "A(const A&) = delete;\nint new_size = 1'000;\n// a new delete of it\n"},
          {core: 'say("new file");'}]),
        ("the transport shares no ownership", sharing,
         [{core: "std::shared_ptr<int> p;"}], [{"stager/daemon/a.cpp": "shared_ptr<int> p;"}]),
        ("the core reads no clock", reading_time,
         [{core: "auto now = std::chrono::steady_clock::now();"}, {core: "::time(nullptr);"}],
         [{core: "on_time(now);"}, {"transport/run/a.cpp": "Clock = steady_clock;"}]),
        ("what is left open has a number", unfinished,
         [{core: "// TODO: later"}, {doc: "FIXME"}], [{core: "// TODO(#12): later"}]),
        ("no path of one machine", one_machine,
         [{doc: "see /some/checkout"}, {core: '"/some/checkout/build"'}],
         [{core: '"/some/checkouts/x"'}, {doc: "/somewhere/else"}]),
        ("control statements have braces", bare_branches,
         [{core: "if (a)\n    b();"}, {core: "for (;;) go();"}, {core: "if (a) {\n} else b();"},
          {core: "while (a)\n    b();"}, {core: "do a(); while (b);"}],
         [{core: "if (a) {\n} else if (b(c)) {\n} else {\n}\ndo {\n} while (x);"},
          {core: "#if A\n#else\n#endif\nif constexpr (a) {\n}\nfor (auto& x : y(z)) {\n}"},
          {core: 'say("if (a) b;");\nif (a) [[likely]] {\n}\nwhile (a) {\n}'}]),
        ("headers open with what they are for, once", silent_headers,
         [{"pmix/a.h": "// Does a.\n"}, {"pmix/a.h": "#pragma once\n"}],
         [{"pmix/a.h": "// Does a.\n#pragma once\n"}]),
        ("a file includes its own header first", own_header_later,
         [{"pmix/a.h": "", "pmix/a.cpp": '#include <map>\n#include "pmix/a.h"\n'},
          {"pmix/a.h": "", "pmix/a.cpp": ""}],
         [{"pmix/a.h": "", "pmix/a.cpp": '// Does a.\n#include "pmix/a.h"\n#include <map>\n'},
          {"pmix/a.cpp": "#include <map>\n"}]),
        ("unit tests that need root say so", untagged_root,
         [{unit: 'TEST_CASE("a") {\n    if (!is_root()) {\n        return;\n    }\n}\n'},
          {unit: 'TEST_CASE("a", "[root]") {\n    if (::geteuid() != 0) {\n    }\n}\n'}],
         [{unit: 'TEST_CASE("a", "[root]") {\n    if (!is_root()) {\n        return;\n    }\n}\n'
                 'TEST_CASE("b") {\n}\n'}]),
    ]
