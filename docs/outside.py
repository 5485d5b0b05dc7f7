"""Puts pages and files from outside of docs/ into the site, and leads links to them: a hook of mkdocs.yml."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

TOP = Path(__file__).parents[1]
#: Where a file of the repository is a page of the site. All of examples/ is there as it is.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "vulnerabilities.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "LICENSE": "LICENSE",
    "tidegate_cdk/README.md": "cdk.md",
    "stepfunctions/README.md": "state-machines.md",
}
SOURCES = {page: source for source, page in PAGES.items()}
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is not in docs/."""
    examples = [path for path in sorted((TOP / "examples").rglob("*")) if path.is_file()]
    same = {str(path.relative_to(TOP)): str(path.relative_to(TOP)) for path in examples}
    for source, page in {**PAGES, **same}.items():
        files.append(File.generated(config, page, content=(TOP / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Lead each link from where the page is in the repository to where its target is on the site."""
    here = page.file.src_uri
    source = SOURCES.get(here, f"docs/{here}")

    def led(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[1]))
        return f"]({posixpath.relpath(PAGES.get(target, target.removeprefix('docs/')), posixpath.dirname(here) or '.')}"

    return LINK.sub(led, markdown)
