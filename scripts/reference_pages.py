#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes pages of the site out of doxygen's, so that they have its search, its colours and its
width.

usage: reference_pages.py DIRECTORY, which holds doxygen's HTML. Each page of a class, a namespace
or a header stays, as a .md file; indexes are left out, since the site has a search. Names of pages
and anchors stay, so links do, too.
"""
import pathlib
import re
import sys

CONTENTS = re.compile(r'<div class="contents">\n(.*)</div><!-- contents -->', re.DOTALL)
TITLE = re.compile(r'<div class="title">(.*?)(?:<div|</div>)', re.DOTALL)
KEPT = re.compile(r"(class|struct|namespacezkrecipes|\w+_8h).*(?<!-members)\.html")
ANCHOR = r'<a id="([^"]*)" name="[^"]*"></a>\s*'
HEADING = re.compile(
    ANCHOR + r'<h2 class="memtitle"><span class="permalink">.*?</span>(.*?)</h2>', re.DOTALL)
GROUP = re.compile(
    r'^(?:<a name="(\w+)" id="\w+"></a>)?<h2 class="groupheader">(.*?)</h2>$', re.MULTILINE)
LINK = re.compile(r'<a class="el" href="([^"#]*)([^"]*)"[^>]*>(.*?)</a>')


def heading(level, text, anchor):
    """A heading that the site's table of contents and its search know."""
    text = re.sub(r"<[^>]*>", "", text).replace("&#160;", " ").strip()
    return f"\n\n{level} {text}{' {#' + anchor + '}' if anchor else ''}\n\n"


def page(text, kept):
    kinds = r" (Class|Struct|Namespace|File|Class Template|Struct Template) Reference"
    title = re.sub(kinds, "", TITLE.search(text)[1]).strip()
    body = CONTENTS.search(text)[1]
    body = LINK.sub(lambda m: m[0] if not m[1] or m[1] in kept else m[3], body)
    # Markdown would read a blank line as the end of HTML, and four spaces as code.
    body = re.sub(r"^[ \t]+", "", re.sub(r"\n\s*\n", "\n", body), flags=re.MULTILINE)
    body = HEADING.sub(lambda m: heading("###", m[2], m[1]), body)
    body = GROUP.sub(lambda m: heading("##", m[2], m[1]), body)
    return f"# {title}\n\n<div class=\"reference\" markdown=\"1\">\n\n{body}\n\n</div>\n"


def main():
    api = pathlib.Path(sys.argv[1])
    texts = {path.name: path.read_text() for path in api.glob("*.html")}
    kept = {name for name in texts if KEPT.fullmatch(name)}
    for path in api.iterdir():
        if path.is_file():
            path.unlink()
    for name in kept:
        (api / name.replace(".html", ".md")).write_text(page(texts[name], kept))


main()
