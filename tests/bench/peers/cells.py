"""Defines the cells that are measured.  A cell is N receivers, a size, a rate and a loss: "16:16M:100mbit:1%"."""

import dataclasses
import re

SHORT = "4:16M:100mbit:0 16:16M:100mbit:0 4:16M:100mbit:1% 4:4K:none:0 16:4K:none:0"
ALL = ("4:16M:100mbit:0 16:16M:100mbit:0 32:16M:50mbit:0 32:16M:25mbit:0 64:16M:25mbit:0 "
       "4:64M:100mbit:0 16:64M:100mbit:0 16:16M:50mbit:1% 32:16M:25mbit:1% 64:16M:12mbit:1% 16:64M:50mbit:1% "
       "4:4K:none:0 16:4K:none:0 32:4K:none:0")
RATE = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
SIZE = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclasses.dataclass(frozen=True)
class Cell:
    receivers: int
    size: int
    rate: str
    loss: str

    @property
    def name(self):
        return f"{self.receivers}:{size_text(self.size)}:{self.rate}:{self.loss}"

    @property
    def rate_bits(self):
        """Bits per second, or None: as fast as the machine."""
        if self.rate == "none":
            return None
        number, unit = re.fullmatch(r"(\d+)([kmg]bit)", self.rate).groups()
        return int(int(number) * RATE[unit])

    @property
    def loss_share(self):
        return float(self.loss.rstrip("%")) / (100 if self.loss.endswith("%") else 1)

    @property
    def wire_seconds(self):
        """The file's bits over the link's rate: what a ratio is a ratio to."""
        return self.size * 8 / self.rate_bits if self.rate_bits else None

    @property
    def limit_seconds(self):
        """Who isn't done by then has failed: N copies one after the other, and as much again at loss."""
        slowest = (self.wire_seconds or 5) * 1.3 * max(8, self.receivers)
        return 20 + min(120, slowest)


def size_text(size):
    for unit in ("G", "M", "K"):
        if size and size % SIZE[unit] == 0:
            return f"{size // SIZE[unit]}{unit}"
    return str(size)


def parse(text):
    """Cells by name, "short" or "all"; ValueError names the one that is none."""
    words = {"": SHORT, "short": SHORT, "all": ALL}.get(text.strip(), text).split()
    return [parse_one(word) for word in words]


def parse_one(word):
    found = re.fullmatch(r"(\d+):(\d+)([KMG]?):(none|[1-9]\d*[kmg]bit):(\d+(?:\.\d+)?%?)", word)
    if not found:
        raise ValueError(f"'{word}' is no cell: RECEIVERS:SIZE:RATE:LOSS, as in 16:16M:100mbit:1%")
    receivers, size, unit, rate, loss = found.groups()
    cell = Cell(int(receivers), int(size) * SIZE[unit], rate, loss)
    if not (1 <= cell.receivers <= 200 and cell.size > 0 and cell.loss_share < 1):
        raise ValueError(f"'{word}': 1 to 200 receivers, at least a byte, a loss below 100%")
    return cell
