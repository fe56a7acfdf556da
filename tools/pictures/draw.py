"""Draws the panels of each dashboard with a plotting library, in Grafana's layout.

Standard input is the output of test/prometheus: the dashboards, and Prometheus' responses to each of
their queries. The first argument is the folder for the pictures, one for each dashboard.
"""

import datetime
import itertools
import json
import math
import re
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 - must be imported after matplotlib.use
from matplotlib.patches import Rectangle  # noqa: E402
from PIL import Image  # noqa: E402
from PIL.PngImagePlugin import PngInfo  # noqa: E402

COLUMN, LINE, DPI = 0.62, 0.36, 100  # cells of Grafana's grid in inches, and dots per inch
GAP, TITLE = 0.05, 0.3  # space between panels, and height of a title, in inches
COLOURS = {"good": "#2d8a3e", "notice": "#d9730d", "bad": "#c4162a", "neutral": "#1f60c4"}
COMMON = [f"C{i}" for i in range(10)]
PALETTE = ["C4", "C1", "C5", "C6", "C8", "C9", "C7"]  # colours that differ from those of the levels
UNITS = {"percentunit": (100, " %"), "celsius": (1, " °C"), "watt": (1, " W"), "ops": (1, "/s"), "short": (1, "")}
SIZES = {"bytes": ["B", "KiB", "MiB", "GiB", "TiB"], "Bps": ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]}

plt.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#999999"})


def legend(text, labels):
    """Fills a legend with the labels of a series."""
    return re.sub(r"{{\s*(\w+)\s*}}", lambda m: labels.get(m[1], ""), text)


def format_value(value, unit, decimals=None):
    """Formats a value with its unit for people, with a fixed number of decimal places if given."""
    if math.isnan(value):
        return "–"
    if decimals is not None and unit in UNITS:
        factor, word = UNITS[unit]
        return f"{value * factor:,.{decimals}f}{word}"
    if unit in SIZES:
        base = 1024 if unit == "bytes" else 1000
        power = min(int(math.log(value, base)), len(SIZES[unit]) - 1) if value >= 1 else 0
        return f"{value / base**power:.3g} {SIZES[unit][power]}"
    if unit == "s":
        for seconds, word in ((86400, "d"), (3600, "h"), (60, "min")):
            if value >= 2 * seconds:
                return f"{value / seconds:.3g} {word}"
        return f"{value:.3g} s" if value >= 1 or value == 0 else f"{value * 1000:.3g} ms"
    factor, word = UNITS[unit]
    return f"{value * factor:.3g}{word}" if abs(value * factor) < 1e4 else f"{value * factor:,.0f}{word}"


def step_of(panel, value):
    """Returns the last step of a panel whose threshold the value reaches, as a dictionary with "level" and "text"."""
    found = {"level": "neutral", "text": ""}
    for i, step in enumerate(panel.get("steps", [])):
        if i == 0 or value >= step["from"]:
            found = step
    return found


class Responses:
    """Prometheus' responses to the queries of a panel, one list of series for each query."""

    def __init__(self, panel, found, times):
        self.panel, self.found, self.times = panel, found, times

    def now(self, i=0):
        """Yields the labels and the last value of each series that has a value at the end of the time range."""
        for series in self.found[i]:
            when, value = series["values"][-1]
            if when == self.times[-1]:
                yield series["metric"], float(value)

    def over_time(self):
        """Yields the legend of each series, and its values. If the series has no value at a time, that value is NaN."""
        for query, series_of in zip(self.panel["queries"], self.found):
            for series in series_of:
                values = dict((when, float(value)) for when, value in series["values"])
                yield legend(query["legend"], series["metric"]), [values.get(t, math.nan) for t in self.times]


def clock(times):
    return [datetime.datetime.fromtimestamp(t, datetime.UTC) for t in times]


def timeseries(figure, box, panel, answers):
    series = sorted(answers.over_time())
    lines = math.ceil(min(len(series), 8) / 2)
    axes = inside(figure, box, left=0.68, right=0.15, bottom=0.3 + 0.16 * lines)
    x, below, palette = clock(answers.times), [0.0] * len(answers.times), itertools.cycle(PALETTE if "levels" in panel else COMMON)
    for i, (name, values) in enumerate(series):
        level = panel.get("levels", {}).get(name)
        colour, bad = COLOURS[level] if level else next(palette), level == "bad"
        if panel.get("stacked"):
            above = [b + (0 if math.isnan(v) else v) for b, v in zip(below, values)]
            axes.fill_between(x, below, above, step="post", color=colour, alpha=0.45, linewidth=0, hatch="//" if bad else None)
            axes.step(x, above, where="post", color=colour, linewidth=2 if bad else 1, linestyle="--" if bad else "-")
            below = above
        else:
            axes.plot(x, values, color=colour, linewidth=2 if bad else 1.3, linestyle="--" if bad else "-")
            axes.fill_between(x, values, color=colour, alpha=0.06, linewidth=0)
        if i < 8:
            last = [v for v in values if not math.isnan(v)][-1:] if not math.isnan(values[-1]) else []
            text = f"{name}: {format_value(last[0], panel['unit'], panel.get('decimals'))}" if last else f"{name}: ended"
            at = box.x + 0.2 + (i % 2) * (box.width - 0.3) / 2, box.y + 0.12 + 0.16 * (lines - 1 - i // 2)
            mark(figure, at, colour, "////" if bad else None)
            write(figure, (at[0] + 0.16, at[1]), short(text, (box.width - 0.3) / 2 - 0.2), 7.5)
    if not series:
        return nothing(figure, box)
    limits(axes, panel, below if panel.get("stacked") else [v for _, values in series for v in values])
    for step in panel.get("steps", [])[1:]:
        if axes.get_ylim()[0] <= step["from"] <= axes.get_ylim()[1]:
            axes.axhline(step["from"], color=COLOURS[step["level"]], linestyle="--", linewidth=1)
            axes.text(x[0], step["from"], " from here: " + step["text"], color=COLOURS[step["level"]], fontsize=7, va="bottom")
    axes.set_xlim(x[0], x[-1])
    axes.xaxis.set_major_locator(matplotlib.dates.MinuteLocator(byminute=[0, 15, 30, 45]))
    axes.xaxis.set_major_formatter(matplotlib.dates.DateFormatter("%H:%M"))


def round_unit(unit, high):
    """Returns a number whose multiples look round as labels of an axis, such as 3600 for seconds. "high" is the end of the axis."""
    if unit == "s":
        return next((seconds for seconds in (3600, 60) if high >= 2 * seconds), 1)
    if unit in SIZES:
        base = 1024 if unit == "bytes" else 1000
        return base ** max(int(math.log(max(high, 1), base)), 0)
    return 1


def limits(axes, panel, values):
    known = [v for v in values if not math.isnan(v)]
    low, high = panel.get("min", min(0, *known, 0)), panel.get("max", 1.12 * max(0, *known, 0) or 1)
    axes.set_ylim(low, high)
    unit = round_unit(panel["unit"], high)
    whole = panel.get("decimals") == 0 and panel["unit"] == "short"
    marks = matplotlib.ticker.MaxNLocator(4, integer=whole).tick_values(low / unit, high / unit)
    axes.set_yticks([mark * unit for mark in marks if low <= mark * unit <= high])
    axes.yaxis.set_major_formatter(lambda v, _: format_value(v, panel["unit"], panel.get("decimals")))
    axes.grid(axis="y", alpha=0.25)
    axes.tick_params(labelsize=7.5, length=2)


def stat(figure, box, panel, answers):
    found = list(answers.now())
    if not found:
        return nothing(figure, box)
    value = found[0][1]
    step = step_of(panel, value)
    middle = box.x + box.width / 2
    write(figure, (middle, box.y + 0.62 * (box.height - TITLE)), format_value(value, panel["unit"], panel.get("decimals")), 22, COLOURS[step["level"]], "center")
    write(figure, (middle, box.y + 0.16), short(step["text"], box.width - 0.1, 8), 8, COLOURS[step["level"]], "center")


def gauge(figure, box, panel, answers):
    stat(figure, box, panel, answers)
    for _, value in list(answers.now())[:1]:
        scale(figure, box.x + 0.15, box.y + 0.3, box.width - 0.3, panel, value, 0.08)


def scale(figure, x, y, width, panel, value, height):
    """Draws a horizontal bar whose length stands for the panel's range, and fills it up to a value."""
    low, high = panel.get("min", 0), panel.get("max", max(1, value))
    part = min(max((value - low) / (high - low), 0), 1)
    rectangle(figure, x, y, width, height, "#e4e5e7")
    rectangle(figure, x, y, width * part, height, COLOURS[step_of(panel, value)["level"]])


def bargauge(figure, box, panel, answers):
    found = sorted((legend(panel["queries"][0]["legend"], labels), value) for labels, value in answers.now())
    if not found:
        return nothing(figure, box)
    room = min((box.height - TITLE - 0.15) / len(found), 0.7)
    most = dict(panel, max=panel.get("max", max(1 if panel["unit"] == "percentunit" else 0, *(v for _, v in found), 0.001)))
    for i, (name, value) in enumerate(found):
        step = step_of(panel, value)
        y = box.y + box.height - TITLE - (i + 0.9) * room
        text = f"{format_value(value, panel['unit'], panel.get('decimals'))}  {step['text']}"
        write(figure, (box.x + 0.15, y + 0.55 * room), short(name, box.width * 0.45), 8)
        write(figure, (box.x + box.width - 0.15, y + 0.55 * room), text, 8, COLOURS[step["level"]], "right")
        scale(figure, box.x + 0.15, y + 0.1 * room, box.width - 0.3, most, value, 0.22 * room)


def table(figure, box, panel, answers):
    rows = {}
    for i in range(len(panel["queries"])):
        for labels, value in answers.now(i):
            key = tuple(labels.get(c["label"], "") for c in panel["columns"])
            unit = panel["queries"][i]["unit"]
            text = format_value(value, unit, panel.get("decimals") if unit == panel["unit"] else None)
            rows.setdefault(key, ["–"] * len(panel["queries"]))[i] = text, COLOURS[step_of(panel, value)["level"]]
    if not rows:
        return nothing(figure, box)
    heads = [c["title"] for c in panel["columns"]] + [q["legend"] for q in panel["queries"]]
    lines = [list(key) + values for key, values in sorted(rows.items())]
    needs = [max(len(line[i][0] if isinstance(line[i], tuple) else line[i]) for line in [heads] + lines) + 3 for i in range(len(heads))]
    y, room = box.y + box.height - TITLE - 0.15, 0.24
    for number, line in enumerate([heads] + lines):
        x = box.x + 0.15
        for i, cell in enumerate(line):
            text, colour = cell if isinstance(cell, tuple) else (cell, "#222222")
            width = needs[i] / sum(needs) * (box.width - 0.2)
            write(figure, (x, y), short(text, width), 8, colour, weight="bold" if number == 0 else "normal")
            x += width
        y -= room
        rectangle(figure, box.x + 0.1, y + room / 2, box.width - 0.2, 0.012, "#e0e0e0")
        if y < box.y + 0.1:
            return None
    return None


def heatmap(figure, box, panel, answers):
    found = sorted(answers.found[0], key=lambda s: float(s["metric"]["le"]))
    if not found:
        return nothing(figure, box)
    counts, before = [], [0.0] * len(answers.times)
    for series in found:
        values = dict((when, float(v)) for when, v in series["values"])
        row = [values.get(t, 0.0) for t in answers.times]
        counts.append([max(0, a - b) for a, b in zip(row, before)])
        before = row
    axes = inside(figure, box, left=0.75, right=0.5, bottom=0.35)
    drawn = axes.imshow(counts, aspect="auto", origin="lower", cmap="Oranges", interpolation="nearest")
    names = [s["metric"]["le"] for s in found]
    every = range(0, len(names), 2)
    axes.set_yticks(list(every), [("up to " + format_value(float(names[i]), "s")) if names[i] != "+Inf" else "more" for i in every])
    ticks = [i for i, t in enumerate(answers.times) if t % 900 == 0]
    axes.set_xticks(ticks, [clock([answers.times[i]])[0].strftime("%H:%M") for i in ticks])
    axes.tick_params(labelsize=7, length=2)
    bar = figure.colorbar(drawn, ax=axes, fraction=0.04, pad=0.02)
    bar.ax.tick_params(labelsize=7, length=2)


class Box:
    """The position of a panel, in inches from the lower left of the picture."""

    def __init__(self, x, y, width, height):
        self.x, self.y, self.width, self.height = x, y, width, height


def inside(figure, box, left, right, bottom):
    """Adds axes inside a panel, with margins."""
    w, h = figure.get_size_inches()
    return figure.add_axes(((box.x + left) / w, (box.y + bottom) / h, (box.width - left - right) / w, (box.height - bottom - TITLE - 0.08) / h))


def rectangle(figure, x, y, width, height, colour, edge="none", hatch=None):
    w, h = figure.get_size_inches()
    figure.patches.append(Rectangle((x / w, y / h), width / w, height / h, transform=figure.transFigure, facecolor=colour, edgecolor=edge, linewidth=0.8, hatch=hatch, zorder=-1))


def mark(figure, at, colour, hatch):
    rectangle(figure, at[0], at[1] - 0.03, 0.11, 0.06, "white" if hatch else colour, colour, hatch)


def write(figure, at, text, size, colour="#222222", align="left", weight="normal"):
    w, h = figure.get_size_inches()
    figure.text(at[0] / w, at[1] / h, text, fontsize=size, color=colour, ha=align, va="center", weight=weight)


def short(text, width, size=7.5):
    """Truncates a text to a width in inches."""
    room = max(int(width * 72 / (size * 0.56)), 3)
    return text if len(text) <= room else text[: room - 1] + "…"


def nothing(figure, box):
    write(figure, (box.x + box.width / 2, box.y + (box.height - TITLE) / 2), "No data", 10, "#888888", "center")


DRAW = {"timeseries": timeseries, "stat": stat, "gauge": gauge, "bargauge": bargauge, "table": table, "heatmap": heatmap}


def rows(dashboard):
    """Returns the rows of a dashboard, each with its panels and its height in lines of the grid."""
    found = {}
    for panel in dashboard["panels"]:
        found.setdefault(panel["row"], []).append(panel)
    return [(title, panels, max(p["y"] + p["height"] for p in panels)) for title, panels in found.items()]


def draw(dashboard, answers, times, selected, source, file):
    """Draws all panels of a dashboard into one picture, and stores its source in the metadata.

    "selected" is the line under the title. It contains the selected values of the dashboard's variables.
    """
    lines = sum(1 + height for _, _, height in rows(dashboard))
    width, height = 24 * COLUMN + 0.2, lines * LINE + (0.75 if selected else 0.5)
    figure = plt.figure(figsize=(width, height), facecolor="#f4f5f5")
    write(figure, (0.15, height - 0.22), dashboard["title"], 12, weight="bold")
    write(figure, (0.15, height - 0.5), selected, 9, "#555555")
    top = height - (0.65 if selected else 0.4)
    for title, panels, taken in rows(dashboard):
        write(figure, (0.15, top - LINE / 2), "▾ " + title, 10, weight="bold")
        top -= LINE
        for panel in panels:
            x, y = 0.1 + panel["x"] * COLUMN, top - (panel["y"] + panel["height"]) * LINE
            box = Box(x + GAP / 2, y + GAP / 2, panel["width"] * COLUMN - GAP, panel["height"] * LINE - GAP)
            rectangle(figure, box.x, box.y, box.width, box.height, "white", "#d8d9da")
            write(figure, (box.x + 0.1, box.y + box.height - 0.16), short(panel["title"], box.width - 0.1, 9), 8.5, weight="bold")
            found = [answers[f"{dashboard['name']}/{panel['key']}/{i}"] or [] for i in range(len(panel["queries"]))]
            DRAW[panel["kind"]](figure, box, panel, Responses(panel, found, times))
        top -= taken * LINE
    figure.savefig(file, dpi=DPI, metadata={"Software": None})
    plt.close(figure)
    drawn = PngInfo()
    drawn.add_text("drawn-from", source)
    # The default method would replace rare colours, such as the small marks of legends, by frequent ones.
    image = Image.open(file).convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, kmeans=3)
    image.save(file, optimize=True, pnginfo=drawn)


def main():
    given = json.load(sys.stdin)
    for dashboard in given["dashboards"]:
        draw(dashboard, given["answers"], given["times"], given["selected"][dashboard["name"]], given["source"], f"{sys.argv[1]}/{dashboard['name']}.png")


if __name__ == "__main__":
    main()
