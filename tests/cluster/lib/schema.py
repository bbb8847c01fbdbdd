#!/usr/bin/env python3
"""Checks that a JSON has the members of its schema and no others.

Usage: schema.py NAME FILE, with a schema of docs/schemas (push, doctor). The schemas allow further
members, for later releases; here each must be described, in every object.
"""

import json
import pathlib
import sys
import warnings

warnings.simplefilter("ignore", DeprecationWarning)  # of RefResolver; Debian 12 has nothing newer
from jsonschema import Draft202012Validator, RefResolver  # noqa: E402

SCHEMAS = pathlib.Path(__file__).resolve().parents[3] / "docs" / "schemas"


def closed(schema):
    """The schema, in which every object that has members has no others."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    here = {name: closed(value) for name, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        here["additionalProperties"] = False
    return here


def main(name, file):
    schemas = {}
    for path in SCHEMAS.glob("*.schema.json"):
        schemas[path.name] = json.loads(path.read_text(encoding="utf-8"))
        Draft202012Validator.check_schema(schemas[path.name])
    schemas = {path: closed(schema) for path, schema in schemas.items()}
    own = f"{name}.schema.json"
    resolver = RefResolver(own, schemas[own], store=schemas)
    with open(file, encoding="utf-8") as text:
        content = json.load(text)
    errors = list(Draft202012Validator(schemas[own], resolver=resolver).iter_errors(content))
    for error in errors:
        print(f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message}")
    return 1 if errors else 0


sys.exit(main(sys.argv[1], sys.argv[2]))
