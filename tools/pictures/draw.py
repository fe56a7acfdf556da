"""Draws the panels of each dashboard with a plotting library.

The input, on standard input, is what test/prometheus writes: the dashboards, and what Prometheus answered to each of
their queries. The first argument is the folder for the pictures, one for each dashboard.
"""

import json
import math
import re
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 - only after the backend is chosen

COLUMNS = 4
UNITS = {"percentunit": (100, " %"), "bytes": (2**-30, " GiB"), "Bps": (1e-6, " MB/s"), "s": (1, " s"),
         "celsius": (1, " °C"), "watt": (1, " W"), "ops": (1, "/s"), "short": (1, "")}


def legend(text, labels):
    """Fills a legend with the labels of a series."""
    return re.sub(r"{{\s*(\w+)\s*}}", lambda m: labels.get(m[1], ""), text)


def number(series):
    """The last value of a series."""
    return float(series["values"][-1][1])


def say(value, unit):
    """A value as a person reads it."""
    factor, word = UNITS[unit]
    if unit == "s" and value > 300:
        factor, word = (1 / 60, " min") if value < 7200 else (1 / 3600, " h")
    return "–" if math.isnan(value) else f"{value * factor:.3g}{word}"


def over_time(axes, panel, answers):
    for query, found in zip(panel["queries"], answers):
        factor, _ = UNITS[query["unit"]]
        for series in found:
            start = series["values"][0][0]
            x = [(when - start) / 60 for when, _ in series["values"]]
            y = [float(value) * factor for _, value in series["values"]]
            axes.plot(x, y, linewidth=1.2, label=legend(query["legend"], series["metric"]) or "all")
    axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
    axes.set_ylabel(UNITS[panel["unit"]][1].strip(), fontsize=6)
    axes.grid(alpha=0.3)
    if axes.lines:
        axes.legend(fontsize=5, loc="best", frameon=False)


def one_number(axes, panel, answers):
    found = [number(s) for s in answers[0]]
    axes.axis("off")
    axes.text(0.5, 0.5, say(found[0], panel["unit"]) if found else "none", ha="center", va="center", fontsize=20)


def bars(axes, panel, answers):
    names = [legend(panel["queries"][0]["legend"], s["metric"]) for s in answers[0]]
    factor, word = UNITS[panel["unit"]]
    axes.barh(names, [number(s) * factor for s in answers[0]])
    axes.set_xlabel(word.strip(), fontsize=6)


def table(axes, panel, answers):
    columns = panel["columns"]
    rows = {}
    for i, found in enumerate(answers):
        for series in found:
            key = tuple(series["metric"].get(c["label"], "") for c in columns)
            rows.setdefault(key, ["–"] * len(answers))[i] = say(number(series), panel["queries"][i]["unit"])
    axes.axis("off")
    heads = [c["title"] for c in columns] + [q["legend"] for q in panel["queries"]]
    if rows:
        drawn = axes.table([list(key) + values for key, values in sorted(rows.items())], colLabels=heads, loc="upper center")
        drawn.auto_set_font_size(False)
        drawn.set_fontsize(5)
        drawn.auto_set_column_width(range(len(heads)))


def heat(axes, panel, answers):
    buckets = sorted(answers[0], key=lambda s: float(s["metric"]["le"]))
    counts, before = [], None
    for series in buckets:
        values = [float(v) for _, v in series["values"]]
        counts.append(values if before is None else [max(0, a - b) for a, b in zip(values, before)])
        before = values
    axes.imshow(counts, aspect="auto", origin="lower", cmap="Oranges")
    axes.set_yticks(range(len(buckets)), [s["metric"]["le"] for s in buckets], fontsize=5)


DRAW = {"timeseries": over_time, "stat": one_number, "gauge": one_number, "bargauge": bars, "table": table, "heatmap": heat}


def draw(dashboard, answers, file):
    """Draws all panels of a dashboard into one picture."""
    panels = dashboard["panels"]
    lines = math.ceil(len(panels) / COLUMNS)
    figure, grid = plt.subplots(lines, COLUMNS, figsize=(4 * COLUMNS, 2.3 * lines), squeeze=False)
    for axes in grid.flat[len(panels):]:
        axes.axis("off")
    for axes, panel in zip(grid.flat, panels):
        axes.set_title(panel["title"], fontsize=7, loc="left")
        axes.tick_params(labelsize=6)
        found = [answers[f"{dashboard['name']}/{panel['key']}/{i}"] or [] for i in range(len(panel["queries"]))]
        DRAW[panel["kind"]](axes, panel, found)
    figure.tight_layout()
    figure.savefig(file, dpi=65, metadata={"Software": None})
    plt.close(figure)


def main():
    given = json.load(sys.stdin)
    for dashboard in given["dashboards"]:
        draw(dashboard, given["answers"], f"{sys.argv[1]}/{dashboard['name']}.png")


if __name__ == "__main__":
    main()
