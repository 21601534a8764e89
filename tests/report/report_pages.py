"""Reading a report back: its tables and texts as a browser would show them, its data as written."""

import json
import re
from functools import lru_cache
from html.parser import HTMLParser

from plotly.offline import get_plotlyjs

from amclust.report import write_report


@lru_cache
def plotly_source():
    return get_plotlyjs()


class Reader(HTMLParser):
    """Collects elements, tables (by caption), terms with their facts, headings, plain text."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.elements, self.tables, self.facts, self.headings = [], {}, {}, []
        self.text, self._open, self._term = "", [], ""

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "wbr", "br", "img", "link"}:
            self._open.append(tag)
        if tag == "table":
            self._rows, self._caption = [], ""
        elif tag == "tr":
            self._rows.append([])
        elif tag in {"td", "th"}:
            self._rows[-1].append("")
        elif tag in {"h1", "h2", "h3"}:
            self.headings.append((tag, ""))
        elif tag == "li" and {"td", "th"} & set(self._open):
            self._rows[-1][-1] += " "
        elif tag == "dt":
            self._term = ""

    def handle_endtag(self, tag):
        assert self._open.pop() == tag, f"</{tag}> closes another element"
        if tag == "table":
            self.tables[self._caption] = [[" ".join(c.split()) for c in row] for row in self._rows]

    def handle_data(self, data):
        if {"script", "style"} & set(self._open):
            return
        self.text += data
        if "caption" in self._open:
            self._caption += data
        elif {"td", "th"} & set(self._open):
            self._rows[-1][-1] += data
        elif "dt" in self._open:
            self._term += data
        elif "dd" in self._open:
            self.facts[self._term] = self.facts.get(self._term, "") + data
        elif self._open and self._open[-1] in {"h1", "h2", "h3"}:
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)


class Page:
    """A report that was written and read again."""

    def __init__(self, model, X, folder, **options):
        self.path = write_report(model, X, folder / "report.html", **options)
        self.source = self.path.read_text(encoding="utf-8")
        assert plotly_source() in self.source
        self.own = self.source.replace(plotly_source(), "")
        self.reader = Reader()
        self.reader.feed(self.own)
        self.reader.close()
        assert not self.reader._open
        self.tables, self.facts = self.reader.tables, self.reader.facts
        self.text = " ".join(self.reader.text.split())
        found = re.search(
            r'<script type="application/json" id="report-data">(.*?)</script>', self.own
        )
        self.data = json.loads(found[1])
