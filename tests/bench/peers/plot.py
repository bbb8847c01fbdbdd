"""Draws the table as a plot.  A row of bars per cell, one bar a tool: time over wire time, as SVG."""

import html

import summary

COLOURS = ("#0b6e4f", "#6fbf9f", "#b5442e", "#e08e79", "#2d5d9f", "#86a9d6", "#7a5c99", "#c9a227", "#e3cd7f", "#8a8a8a", "#444444")
BAR, GAP, LEFT, WIDTH, TOP = 14, 26, 190, 560, 50
SCALE_MAX = 2.0  # longer bars are cut, and say their number


def bar(y, colour, one):
    """A tool's bar in one cell: its number if it has one, else what became of it."""
    middle = f'y="{y + BAR - 3}"'
    if one.state != "ok":
        word = "void" if one.state == "void" else "fails"
        return f'<text x="{LEFT + 4}" {middle} fill="#888">{word}</text>'
    ratio = one.ratios[0]
    length = max(1.0, (min(ratio, SCALE_MAX) - 1) / (SCALE_MAX - 1) * WIDTH)
    return (f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" fill="{colour}"/>'
            f'<text x="{LEFT + length + 4:.1f}" {middle}>{ratio:.3f}{" …" if ratio > SCALE_MAX else ""}</text>')


def axis(height):
    lines = []
    for tenth in range(0, 11, 2):
        x = LEFT + WIDTH * tenth / 10
        lines.append(f'<line x1="{x}" y1="{TOP - 6}" x2="{x}" y2="{height - 6}" stroke="#ddd"/>'
                     f'<text x="{x}" y="{TOP - 12}" text-anchor="middle">{1 + tenth / 10:.1f}</text>')
    return lines


def svg(summaries, title):
    """Only cells with a rate have a wire time to be compared with."""
    summaries = [one for one in summaries if one.cell.rate_bits]
    tools = summary.ordered(summaries, lambda one: one.tool)
    colours = {tool: COLOURS[index % len(COLOURS)] for index, tool in enumerate(tools)}
    y, body = TOP, []
    for cell in summary.ordered(summaries, lambda one: one.cell):
        body.append(f'<text x="6" y="{y + BAR - 3}" font-weight="bold">{html.escape(title(cell))}</text>')
        y += BAR + 4
        for one in (one for one in summaries if one.cell == cell):
            body.append(f'<text x="{LEFT - 8}" y="{y + BAR - 3}" text-anchor="end">{html.escape(one.tool)}</text>')
            body.append(bar(y, colours[one.tool], one))
            y += BAR
        y += GAP - BAR
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 80}" height="{y}" font-family="sans-serif" font-size="11">'
            '<rect width="100%" height="100%" fill="white"/>')
    return "\n".join([head, '<text x="6" y="16">time over wire time; bars begin at 1.0, the file\'s bits at the link\'s rate</text>',
                      *axis(y), *body, "</svg>", ""])
