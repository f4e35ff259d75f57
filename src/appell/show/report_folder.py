"""What a run leaves behind: a folder with the report, the motions and the scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree

import numpy as np

from appell.errors import AppellError
from appell.show.document import Document, markdown
from appell.show.document import html as document_html
from appell.show.figure import svg_of
from appell.show.report import html
from appell.show.svg import whole
from appell.study.straight_line import Motion, StraightLine
from appell.study.study_timing import Timing


def write(study: StraightLine, timing: Timing, wanted: Path, force: bool = False) -> Path:
    """Write report.html, scenario.json and motions/<branch>.csv; the path of the report.

    Nothing is overwritten, but with ``force``: if the folder is there and not empty, the next free
    of ``wanted-2``, ``wanted-3``, ... is made.
    """
    texts: dict[Path, str | bytes] = {
        Path("scenario.json"): study.scenario.text() + "\n",
        **motions(study),
        Path("report.html"): html(study, timing),
    }
    return write_files(texts, wanted, force)


def motions(study: StraightLine) -> dict[Path, str]:
    """The motion of every configuration, as motions/<branch>.csv."""
    return {Path("motions", f"{name}.csv"): csv(study, m) for name, m in study.motions.items()}


def write_documents(documents: Sequence[Document], wanted: Path, force: bool = False) -> list[Path]:
    """Write each as <name>.md with its pictures' files, and as <name>.html; the paths of the
    latter."""
    contents: dict[Path, str | bytes] = {}
    for document in documents:
        contents |= document_files(document)
    folder = write_files(contents, wanted, force).parent
    return [folder / f"{document.name}.html" for document in documents]


def document_files(
    document: Document, data: Mapping[str, tuple[str, str | bytes | None]] | None = None
) -> dict[Path, str | bytes]:
    """The files of a document and what is in them, <name>.html last. ``data`` are files beside it,
    which it links: by name, what each holds in words and its content; without that, it is there
    already."""
    beside = data or {}
    told = {name: what for name, (what, _) in beside.items()}
    contents: dict[Path, str | bytes] = {
        Path(name): x for name, (_, x) in beside.items() if x is not None
    }
    drawn = [picture.draw() for picture in document.pictures]
    files = [f"{document.name}-{k}.svg" for k in range(1, len(drawn) + 1)]
    for file, picture, image in zip(files, document.pictures, drawn, strict=True):
        contents[Path(file)] = whole(svg_of(image, picture.title))
    contents[Path(f"{document.name}.md")] = markdown(document, files, told)
    contents[Path(f"{document.name}.html")] = document_html(document, drawn, told)
    return contents


def write_files(
    contents: Mapping[Path, str | bytes],
    wanted: Path,
    force: bool = False,
    stale: Sequence[Path] = (),
) -> Path:
    """Write files into a new folder, all or none; the path of the last. With ``force`` the folder
    that was asked for is used, files of these names in it are replaced, and those of ``stale`` that
    are not among them are removed."""
    folder, path, there = None, wanted, force and wanted.is_dir()
    try:
        folder = path = new_folder(wanted, force)
        for name, content in contents.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        last = path
        for name in stale if there else ():
            if name not in contents:
                path = folder / name
                path.unlink(missing_ok=True)
    except OSError as problem:
        if folder is not None and not there:
            rmtree(folder, ignore_errors=True)  # half a report helps nobody
        raise AppellError(
            f"cannot write '{path}': {problem.strerror}; choose another folder with --output."
        ) from None
    return last


def refuse_file(wanted: Path) -> None:
    """Refuse the name of a file for a folder."""
    if wanted.is_file():
        raise AppellError(f"'{wanted}' is a file; give the name of a folder with --output.")


def new_folder(wanted: Path, force: bool = False) -> Path:
    """The folder itself if it is new or empty, or with ``force``; else the next of its name that is
    new."""
    if wanted.name in ("", ".."):
        raise AppellError(f"'{wanted}' names no folder to make; give a name, as --output results.")
    refuse_file(wanted)
    folder, n = wanted, 1
    while True:
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            if folder.is_dir() and (force or not any(folder.iterdir())):
                return folder
        n += 1
        folder = wanted.with_name(f"{wanted.name}-{n}")


def csv(study: StraightLine, motion: Motion) -> str:
    """A CSV text, a line per sample: time, q, v, a and tau of every joint, to the last digit."""
    joints = range(1, study.robot.nv + 1)
    names = [f"{x}{j}" for x in ("q", "v", "a", "tau") for j in joints]
    rows = np.column_stack([study.path.t, motion.q, motion.v, motion.a, motion.tau]).tolist()
    return "\n".join([",".join(["t", *names]), *(",".join(map(repr, row)) for row in rows), ""])


@contextmanager
def unless_empty(folder: Path) -> Iterator[None]:
    """Takes a new folder away if what was to fill it fails."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            folder.rmdir()
        raise
