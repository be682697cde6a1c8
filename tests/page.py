"""Reads the page of `graft bench --html`, which is HTML and well-formed XML alike."""

import re
import xml.etree.ElementTree as xml
from pathlib import Path


class Page:
    def __init__(self, file: Path):
        self.source = file.read_text(encoding="utf-8")
        self.root = xml.fromstring(self.source.removeprefix("<!DOCTYPE html>\n"))

    @staticmethod
    def text_of(element) -> str:
        return "".join(element.itertext()).strip()

    def sections(self) -> dict:
        """Gives each part of the page under its heading."""
        return {self.text_of(section.find("h2")): section for section in self.root.iter("section")}

    def rows(self, heading: str) -> list:
        """Gives the cells of the table under a heading, its head first."""
        table = next(self.sections()[heading].iter("table"))
        return [[self.text_of(cell) for cell in row] for row in table.iter("tr")]

    def svg(self, heading: str, tag: str) -> list:
        return list(self.sections()[heading].iter("{http://www.w3.org/2000/svg}" + tag))

    def tiles(self) -> dict:
        found = (element for element in self.root.iter("div") if element.get("class") == "tile")
        return {self.text_of(tile[0]): self.text_of(tile[1]) for tile in found}

    def needs(self) -> list:
        """Lists all that a browser would fetch or run."""
        found = [e.tag for e in self.root.iter() if e.tag in ("script", "img", "iframe", "object", "embed", "video")]
        found += [value for e in self.root.iter() for name, value in e.attrib.items()
                  if name.split("}")[-1] in ("src", "href", "srcset", "data") and value != "data:,"]
        found += [f"{name}" for e in self.root.iter() for name in e.attrib if name.startswith("on")]
        return found + re.findall(r"@import|url\(", self.source)
