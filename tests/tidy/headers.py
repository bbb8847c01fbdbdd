"""What a file uses of the standard library, it includes, or a header of ours that it includes does.

The compiler does not find out: the headers of etc/precompiled.h are read before each file.
"""

import re

from tree import code_of

CALLS = ("sort|any_of|all_of|none_of|find|find_if|find_if_not|count|count_if|copy|copy_n|fill|fill_n|min|"
         "max|clamp|reverse|unique|lower_bound|upper_bound|equal_range|binary_search|partition|minmax|"
         "max_element|min_element|transform|replace|equal|mismatch|search|rotate|shuffle|nth_element|"
         "stable_sort|for_each|includes|is_sorted|set_difference|adjacent_find")
USES = {header: re.compile(pattern) for header, pattern in {
    "algorithm": rf"\bstd::(ranges::)?({CALLS})\s*[({{]",
    "array": r"\bstd::(array|to_array)\b",
    "cerrno": r"\berrno\b",
    "chrono": r"\bstd::chrono\b",
    "cstring": r"\bstd::(mem(cpy|set|cmp|move|chr)|str(len|n?cmp|chr|error))\b",
    "deque": r"\bstd::deque\b",
    "charconv": r"\bstd::(from|to)_chars\b",
    "functional": r"\bstd::(function|less|greater|hash|reference_wrapper|c?ref|invoke)\b",
    "limits": r"\bstd::numeric_limits\b",
    "map": r"\bstd::(multi)?map\b",
    "memory": r"\bstd::(unique_ptr|make_unique|shared_ptr|weak_ptr|make_shared|addressof)\b",
    "optional": r"\bstd::(optional|nullopt)\b",
    "set": r"\bstd::(multi)?set\b",
    "span": r"\bstd::(span|as_bytes|as_writable_bytes)\b",
    "string": r"\bstd::(string|to_string|getline)\b",
    "sstream": r"\bstd::[io]?stringstream\b",
    "string_view": r"\bstd::string_view\b",
    "tuple": r"\bstd::(tuple|tie|make_tuple)\b",
    "unordered_map": r"\bstd::unordered_map\b",
    "unordered_set": r"\bstd::unordered_set\b",
    "utility": r"\bstd::(move|swap|pair|exchange|forward|as_const)\b",
    "variant": r"\bstd::(variant|visit|holds_alternative|get_if|monostate)\b",
    "vector": r"\bstd::vector\b",
}.items()}
# Templates of the standard library need what moves their arguments; a stream has strings.
WITH_UTILITY = {"array", "algorithm", "deque", "functional", "map", "memory", "optional", "set", "string",
                "variant", "vector"}
WITH_STRINGS = {"catch2/catch.hpp", "fstream", "iostream", "sstream", "string"}
INCLUDE = re.compile(r'^#include ([<"])([^>"]+)', re.MULTILINE)


def brings(header):
    """The headers of the standard library that `header`, one of them, includes by its nature."""
    return ({header} | ({"utility"} if header in WITH_UTILITY else set())
            | ({"string", "string_view", "vector"} if header in WITH_STRINGS else set()))


def included(tree, path, known):
    """The headers of the standard library that `path` includes, itself or by ours."""
    if path not in known:
        known[path] = set()  # for circles, which another rule reports
        for kind, name in INCLUDE.findall(tree.texts.get(path, "")):
            known[path] |= brings(name) if kind == "<" else included(tree, name, known)
    return known[path]


def find_missing(tree):
    known = {}
    for path, text in tree.cpp():
        code = code_of(text)
        for header, use in USES.items():
            found = use.search(code)
            if found and header not in included(tree, path, known):
                line = code.count("\n", 0, found.start()) + 1
                yield f"{path}:{line}: {found.group().strip()} needs #include <{header}>"


WRONG = [{"pmix/a.h": "std::vector<int> a;\n"}, {"pmix/a.cpp": "#include <vector>\nauto a = std::max(1, 2);\n"},
         {"pmix/a.h": "#include <map>\n", "pmix/b.cpp": "std::map<int, int> a;\n"}]
RIGHT = [{"pmix/a.h": "#include <map>\n", "pmix/b.cpp": '#include "pmix/a.h"\nstd::map<int, int> a;\n'},
         {"pmix/a.cpp": "#include <string>\nauto a = std::move(b);\n// std::vector\n"}]
