"""What documents promise that can be checked without running anything.

A code block of the README or of a guide is run by a test (```sh and ```conf: tests/cluster/86_guides.bats,
tests/nspawn) or says on the line above it that it is an illustration. A member of a JSON that a command prints is
described in the manual page. The list of changes has the headings of keepachangelog.com, a decision record those
of the template in docs/decisions/README.md.
"""

import json
import re

GUIDES = ("README.md", "docs/guide-users.md", "docs/guide-admins.md")
RUN = ("sh", "conf")
FENCE = re.compile(r"^ *```(.*)$")
ILLUSTRATION = re.compile(r"^ *<!-- illustration: \S.* -->$")
HEADING = re.compile(r"^(##+) (.*)$", re.MULTILINE)
RELEASE = re.compile(r"\[(Unreleased|\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d)\]?$")
PARTS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
SCHEMAS = "docs/schemas/"
RECORD = re.compile(r"docs/decisions/(\d{4})-")
RECORD_BEGIN = r"# %s: .*\n\nStatus: (accepted|superseded by \d{4})\\\nDate: \d{4}-\d\d-\d\d\n\n## Context\n"
RECORD_PARTS = ("Context", "Decision", "Alternatives", "Consequences", "Measured", "Reconsider when")
PAGE = "docs/man/stagecast.1"


def unmarked_blocks(tree):
    for path in GUIDES:
        before, is_open = "", False
        for number, line in enumerate(tree.texts.get(path, "").splitlines(), 1):
            fence = FENCE.match(line)
            is_bare = fence and not is_open and fence.group(1) not in RUN
            is_indented = not is_open and not before and line.startswith("    ")
            if (is_bare or is_indented) and not ILLUSTRATION.match(before):
                yield (f"{path}:{number}: a block is ```sh or ```conf, which a test runs, or has "
                       "<!-- illustration: WHY --> on the line above")
            if fence:
                is_open = not is_open
            before = line


def wrong_headings(tree):
    """keepachangelog.com: releases, the newest first, each with parts of these six."""
    for mark, title in HEADING.findall(tree.texts.get("CHANGELOG.md", "")):
        if mark == "##" and not RELEASE.match(title):
            yield f"CHANGELOG.md: {title}: a release is [Unreleased] or [X.Y.Z] - YEAR-MONTH-DAY"
        if mark == "###" and title not in PARTS:
            yield f"CHANGELOG.md: {title}: the parts of a release are {', '.join(PARTS)}"


def wrong_records(tree):
    for path, text in sorted(tree.texts.items()):
        number = RECORD.match(path)
        if number and not re.match(RECORD_BEGIN % number[1], text):
            yield f"{path}:1: a record begins as the template in docs/decisions/README.md does"
        for mark, title in HEADING.findall(text) if number else ():
            if mark == "##" and title not in RECORD_PARTS:
                yield f"{path}: {title}: the parts of a record are {', '.join(RECORD_PARTS)}; use ### within them"


def members_of(schema):
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield from schema["properties"]
        for part in schema.values():
            yield from members_of(part)


def undescribed_members(tree):
    page = tree.texts.get(PAGE, "").replace("\\-", "-")
    for path, text in sorted(tree.texts.items()):
        if path.startswith(SCHEMAS):
            for name in sorted(set(members_of(json.loads(text)))):
                if not re.search(rf"(?<![a-z_]){name}(?![a-z_])", page):
                    yield f"{path}: {PAGE} does not describe {name}"


def rules():
    """(title, finder, trees in which it must find something, trees in which it must not)."""
    guide, schema = "docs/guide-users.md", "docs/schemas/a.schema.json"
    record, begin = "docs/decisions/0001-a.md", "# 0001: A\n\nStatus: accepted\\\nDate: 2026-11-20\n\n## Context\n"
    return [
        ("code blocks of the guides are run or marked", unmarked_blocks,
         [{guide: "```\nls\n```\n"}, {"README.md": "a\n\n   ```text\na=b\n   ```\n"},
          {guide: "<!-- illustration: a drawing -->\n\n```\nls\n```\n"}, {guide: "As here:\n\n    ls\n"}],
         [{guide: "```sh\nls\n\n    x\n```\n"}, {guide: "<!-- illustration: a drawing -->\n```\nls\n```\n"},
          {"docs/A.md": "```\nls\n```\n"}]),
        ("the list of changes has the usual headings", wrong_headings,
         [{"CHANGELOG.md": "## [Unreleased]\n\n### Jobs\n"}, {"CHANGELOG.md": "## 1.0.0\n"}],
         [{"CHANGELOG.md": "## [Unreleased]\n\n### Added\n\n#### Jobs\n\n## [1.0.0] - 2026-12-01\n"}]),
        ("decision records have the template's parts", wrong_records,
         [{record: begin + "## Design\n"}, {record: begin.replace("0001", "0002")},
          {record: begin.replace("accepted", "proposed")}],
         [{record: begin + "## Decision\n\n### Design\n"}, {"docs/decisions/README.md": "## Design\n"}]),
        ("members of printed JSON are in the manual page", undescribed_members,
         [{schema: '{"properties": {\n  "bytes_read": {}\n}}', PAGE: ".B bytes"}],
         [{schema: '{"properties": {\n  "bytes_read": {}\n}}', PAGE: ".B bytes_read"}]),
    ]
