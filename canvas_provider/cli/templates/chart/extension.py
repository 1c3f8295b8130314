"""__TITLE__: a chart that an agent draws and a person corrects."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from canvas_provider import CanvasError, JSONFileStore, create_canvas, run

POINTS_LIMIT = 200


@dataclass
class Point:
    label: str
    value: float


@dataclass
class Chart:
    title: str = ""
    unit: str = ""
    points: list[Point] = field(default_factory=list)


canvas = create_canvas(
    id="__ID__",
    display_name="__TITLE__",
    # The agent decides by this sentence whether it is the canvas that it needs.
    description="A bar chart. Use it to show the user numbers that are easier to see than to read.",
    state=Chart,
    page=Path(__file__).with_name("page.html"),
    store=JSONFileStore(),
    # One chart for all panels and sessions. Without this, each panel has its own.
    state_key=lambda ctx: "main",
)

Label = Annotated[str, "What the bar stands for; each label is there once."]


@canvas.action
async def get_chart(chart: Chart) -> Chart:
    """Read the chart with all its points."""
    return chart


@canvas.action
async def draw(
    chart: Chart,
    points: Annotated[list[Point], "The bars, from left to right."],
    title: Annotated[str, "What the chart shows."],
    unit: Annotated[str, "Of the values, such as ms. Empty: a count."] = "",
) -> None:
    """Draw a new chart in the place of the old one."""
    labels = [point.label for point in points]
    if len(labels) > POINTS_LIMIT:
        raise CanvasError("too_many_points", f"{len(labels)} points, of at most {POINTS_LIMIT}.")
    if twice := {label for label in labels if labels.count(label) > 1}:
        raise CanvasError("label_twice", f"Each label may be there once: {sorted(twice)}.")
    chart.title, chart.unit, chart.points = title, unit, points


@canvas.action
async def set_point(chart: Chart, label: Label, value: float) -> None:
    """Give a bar another value, or add one at the end."""
    for point in chart.points:
        if point.label == label:
            point.value = value
            return
    if len(chart.points) == POINTS_LIMIT:
        raise CanvasError("too_many_points", f"There are {POINTS_LIMIT} points: remove one first.")
    chart.points.append(Point(label, value))


@canvas.action
async def remove_point(chart: Chart, label: Label) -> None:
    """Remove a bar."""
    for point in chart.points:
        if point.label == label:
            chart.points.remove(point)
            return
    raise CanvasError("point_not_found", f"There is no point {label!r}: get_chart shows them.")


if __name__ == "__main__":
    run(canvas)
