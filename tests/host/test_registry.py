"""Declarations: what is taken, what is refused and in which words."""

import pytest

from canvas_provider.host.registry import HostRefusal, Provider, Registry
from canvas_provider.types import JSONObject, JSONValue

PLAIN: JSONObject = {"id": "a", "displayName": "A", "description": "d"}


def declare(*canvases: JSONValue) -> Provider:
    provider = Provider("project:decl", "decl", "/ext")
    assert provider.declare(list(canvases))
    return provider


REFUSED: list[tuple[JSONValue, str]] = [
    (
        {"id": "a", "displayName": "A"},
        "invalid canvas contributions: missing field `description`",
    ),
    ({"displayName": "A"}, "invalid canvas contributions: missing field `id`"),
    (
        {**PLAIN, "id": 5},
        "invalid canvas contributions: invalid type: integer `5`, expected a string",
    ),
    (
        {**PLAIN, "id": 1.5},
        "invalid canvas contributions: invalid type: floating point `1.5`, expected a string",
    ),
    (
        {**PLAIN, "displayName": True},
        "invalid canvas contributions: invalid type: boolean `true`, expected a string",
    ),
    (
        {**PLAIN, "displayName": None},
        "invalid canvas contributions: invalid type: null, expected a string",
    ),
    (
        {**PLAIN, "id": []},
        "invalid canvas contributions: invalid type: sequence, expected a string",
    ),
    (
        "x",
        (
            'invalid canvas contributions: invalid type: string "x", '
            "expected struct CanvasContributionWire"
        ),
    ),
    (
        {**PLAIN, "actions": {}},
        "invalid canvas contributions: invalid type: map, expected a sequence",
    ),
    (
        {**PLAIN, "actions": ["x"]},
        (
            'invalid canvas contributions: invalid type: string "x", '
            "expected struct CanvasActionWire"
        ),
    ),
    (
        {**PLAIN, "actions": [{"description": "x"}]},
        "invalid canvas contributions: missing field `name`",
    ),
    (
        {**PLAIN, "actions": [{"name": "x", "description": 5}]},
        "invalid canvas contributions: invalid type: integer `5`, expected a string",
    ),
    ({**PLAIN, "id": ""}, "Canvas contributions must include an id."),
    (
        {**PLAIN, "actions": [{"name": "canvas.x"}]},
        'Canvas action names beginning with "canvas." are reserved: canvas.x',
    ),
    ({**PLAIN, "inputSchema": "x"}, 'Failed to compile JSON schema for canvas "a".'),
    (
        {**PLAIN, "actions": [{"name": "x", "inputSchema": 5}]},
        'Failed to compile JSON schema for canvas "a".',
    ),
    ({**PLAIN, "icon": "/x.png"}, "canvas a icon must be a relative path"),
    ({**PLAIN, "icon": ""}, "canvas a icon must be a relative path"),
    ({**PLAIN, "icon": 5}, "canvas a icon must be a relative path"),
    ({**PLAIN, "icon": "x.jpg"}, "canvas a icon must be a .png"),
    ({**PLAIN, "icon": "a/../../b.png"}, "canvas a icon escapes the extension directory"),
]


@pytest.mark.parametrize(("canvas", "message"), REFUSED)
def test_a_bad_declaration_is_refused_in_the_runtimes_words(
    canvas: JSONValue, message: str
) -> None:
    """Specification: recorded from Copilot CLI 1.0.102."""
    with pytest.raises(HostRefusal) as refusal:
        declare(canvas)
    assert str(refusal.value) == message


def test_declaring_an_id_twice_is_refused() -> None:
    with pytest.raises(HostRefusal) as refusal:
        declare(PLAIN, PLAIN)
    assert str(refusal.value) == 'Canvas "project:decl/a" was declared more than once.'


def test_useless_declarations_are_accepted_silently() -> None:
    """Specification: facts 2.7, last row."""
    declare(
        {
            "id": "any ~ thing",
            "displayName": "",
            "description": " ",
            "unknown": [1],
            "inputSchema": None,
            "actions": [{"name": ""}, {"name": "x"}, {"name": "x", "description": None}],
        },
        {**PLAIN, "actions": None},
    )


def test_of_two_actions_with_one_name_the_last_counts() -> None:
    """Specification: recorded from Copilot CLI 1.0.102."""
    actions: JSONValue = [
        {"name": "x", "inputSchema": {"required": ["first"]}},
        {"name": "x", "inputSchema": {"required": ["second"]}},
    ]
    canvas = declare({**PLAIN, "actions": actions}).canvases["a"]
    with pytest.raises(HostRefusal, match='"second" is a required property'):
        canvas.check_action_input("x", {})


@pytest.mark.parametrize("nothing", [[], None, {}, "x"])
def test_declaring_nothing_leaves_what_was_declared(nothing: JSONValue) -> None:
    """Specification: facts 2.8."""
    provider = declare(PLAIN)
    assert not provider.declare(nothing)
    assert list(provider.canvases) == ["a"]


def test_a_refused_declaration_leaves_what_was_declared() -> None:
    provider = declare(PLAIN)
    with pytest.raises(HostRefusal):
        provider.declare([{**PLAIN, "id": "b"}, {"id": "c"}])
    assert list(provider.canvases) == ["a"]


def test_a_canvas_is_described_as_declared_with_its_icon_made_absolute() -> None:
    schema: JSONValue = {"type": "object"}
    actions: JSONValue = [{"name": "x"}]
    canvas = declare({**PLAIN, "icon": "i/X.PNG", "inputSchema": schema, "actions": actions})
    assert canvas.canvases["a"].describe() == {
        "extensionId": "project:decl",
        "extensionName": "decl",
        "canvasId": "a",
        "displayName": "A",
        "description": "d",
        "icon": "/ext/i/X.PNG",
        "inputSchema": schema,
        "actions": actions,
    }


def test_what_a_canvas_does_not_declare_is_absent() -> None:
    assert set(declare(PLAIN).canvases["a"].describe()) == {
        "extensionId",
        "extensionName",
        "canvasId",
        "displayName",
        "description",
    }


def test_an_unknown_action_is_refused_with_the_known_ones() -> None:
    """Specification: recorded from Copilot CLI 1.0.102."""
    many = declare({**PLAIN, "actions": [{"name": "act"}, {"name": "dup"}, {"name": "dup"}]})
    with pytest.raises(HostRefusal) as refusal:
        many.canvases["a"].check_action_input("nope", {})
    assert str(refusal.value) == (
        'Unknown action "nope" on canvas "a". Known actions: [act, dup]. '
        "Call list_canvas_capabilities to inspect the expected input schemas."
    )
    with pytest.raises(HostRefusal, match=r"Known actions: \[\(none declared\)\]\."):
        declare(PLAIN).canvases["a"].check_action_input("nope", {})


def test_a_canvas_id_of_several_extensions_needs_the_extension_id() -> None:
    """Specification: recorded from Copilot CLI 1.0.102."""
    registry = Registry()
    for name in ("g", "f"):
        provider = Provider(f"project:{name}", name, "/ext")
        provider.declare([PLAIN])
        registry.add(provider)
    with pytest.raises(HostRefusal) as refusal:
        registry.resolve("a", None)
    assert str(refusal.value) == (
        'Canvas "a" is provided by multiple extensions ("project:g", "project:f"). '
        'Call open_canvas again with extensionId set to one of: "project:g", "project:f".'
    )
    assert registry.resolve("a", "project:f").extension_id == "project:f"
    with pytest.raises(HostRefusal, match='^Canvas "project:zz/a" is not registered.$'):
        registry.resolve("a", "project:zz")
    with pytest.raises(HostRefusal, match='^No canvas "zz" is registered.$'):
        registry.resolve("zz", None)
