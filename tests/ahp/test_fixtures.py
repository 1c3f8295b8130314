"""The cases in `fixtures/`, which other languages could run, and what only Python gets wrong."""

import copy
import json
from pathlib import Path
from typing import Any, Final

import pytest

from canvas_provider.ahp.reducers import reduce
from canvas_provider.protocol.ahp_canvases import (
    CanvasRegistry,
    capabilities,
    has_canvases,
    registry_changed,
    registry_requested,
)

FIXTURES: Final = Path(__file__).parent / "fixtures"


def cases(name: str) -> list[Any]:
    """Return the cases of a file, named as in the file."""
    listed = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    return [pytest.param(each, id=each["name"]) for each in listed]


def message(name: str) -> Any:
    return next(each.values[0]["message"] for each in cases("messages") if each.id == name)


@pytest.mark.parametrize("case", cases("reducers"))
def test_each_case_reduces_to_what_it_expects(case: Any) -> None:
    given = copy.deepcopy(case)
    state = case["state"]
    for action in case["actions"]:
        state = reduce(case["channel"], state, action)
    assert state == case["expected"]
    assert (state is case["state"]) is case.get("unchanged", False)
    assert case == given, "a reducer has changed what it was given"


@pytest.mark.parametrize("case", cases("registries"))
def test_each_registry_survives_being_read_and_written(case: Any) -> None:
    registry = CanvasRegistry.from_json(case["json"])
    assert registry is not None
    assert registry.to_json() == case["json"]
    found = [
        [extension.extension_id, type.canvas_id, type.title, type.requires_input]
        for extension, type in registry
    ]
    assert found == case["types"]
    for extension_id, canvas_id, title, _ in found:
        type = registry.find(str(extension_id), str(canvas_id))
        assert type is not None and type.title == title


@pytest.mark.parametrize("case", cases("capabilities"))
def test_the_capability_is_told_from_its_absence(case: Any) -> None:
    assert has_canvases(case["root"]) is case["canvases"]


@pytest.mark.parametrize("value", [None, [], "extensions", {}, {"extensions": None}])
def test_what_is_no_registry_reads_as_an_absent_one(value: Any) -> None:
    assert CanvasRegistry.from_json(value) is None
    assert not has_canvases(value)


def test_a_registry_is_read_without_those_of_its_parts_that_make_no_sense() -> None:
    types: Any = [None, {"canvasId": "a"}, {"canvasId": "b", "title": "B", "newer": 1}]
    registry = CanvasRegistry.from_json(
        {"extensions": [7, {"canvases": types}, {"extensionId": "e", "canvases": types}]}
    )
    assert registry is not None
    assert [type.canvas_id for _, type in registry] == ["b"]


def test_what_we_make_is_what_the_fixtures_show() -> None:
    changed = message("the registry")["params"]["action"]
    registry = CanvasRegistry.from_json(changed["canvasRegistry"])
    assert registry_changed(registry) == changed
    assert registry_changed(None) == message("the registry, cleared")["params"]["action"]
    asked = message("ask for the registry of a cold chat")["params"]["action"]
    assert registry_requested() == asked
    (agent,) = message("initialize, answered")["result"]["snapshots"][0]["state"]["agents"]
    assert capabilities() == agent["capabilities"]
