"""What was handed in: a folder or a zip, of plain files or as Canvas or Moodle give them.

- plain: one notebook a student, named after the student; `ann.ipynb.txt` and `ann.ipynb (1)`,
  which some browsers make of `ann.ipynb`, are Ann's as well;
- Canvas: `lastfirst_[LATE_]123_456_name.ipynb`, the numbers of the student and of the file; of a
  student's files the newest counts. Names may end, and files begin, with such numbers, too: with a
  second pair of them a file is nobody's, and a remark says so where it may be newer than somebody's
  own;
- Moodle: a folder `First Last_123_assignsubmission_file_` a student, or files named so; of several
  notebooks the one with the latest date counts, and a remark asks for a look.

Every file gets an entry, with a reason if it is not graded. Nothing is unpacked to disk, and of a
student's files the newest alone is read. A name that several may mean is nobody's: each has it with
his number, or with a hash of his file's name.
"""

import contextlib
import hashlib
import lzma
import re
import stat
import sys
import unicodedata
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from grading.names import UNSEEN, normal, read_as

LARGEST = 60 * 2**20  # most of it pictures; of text `notebook.read` takes less
MOST = 20  # files of a student that have rows
_NUMBERED = re.compile(r" \[(?:[0-9a-f]{12}|\d{1,18})\]\Z")
_SHOWN = 3  # rows that are named in a remark
_QUOTED = 60  # characters of what a student wrote
_ENDING = re.compile(  # some browsers put more behind a name
    r"\.ipynb(?:\.txt|\.json| ?\(\d{1,3}\)){0,2}\Z", re.IGNORECASE
)
_AGAIN = re.compile(rf"-(\d{{1,3}}){_ENDING.pattern}", re.IGNORECASE)  # Canvas numbers them
_AGAINS = 1000  # numbers that Canvas gives them
_CUT = re.compile(r";(?!\s*\w)")
_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
_CANVAS = re.compile(r"[^_/]+_(?:LATE_)?(\d{1,18})_(\d{1,18})_.+", re.DOTALL | re.IGNORECASE)
_PAIR = re.compile(r"(?=_([1-9][0-9]{0,17})_([1-9][0-9]{0,17})_)")  # wherever it begins
_FIRST = re.compile(r"\D*\d*")  # up to the first number: there one student's files are alike
_LATE = re.compile(r"_LATE\Z", re.IGNORECASE)
_MOODLE = re.compile(r"([^/]+?)_(\d{1,18})_assignsubmission_\w+?_?(?:/.*|_[^/]*)?", re.DOTALL)
_WHOSE_IN_CANVAS = (
    "Canvas's name of it can be read as that of several students: see there whose it is, and leave "
    "in its name the number of the student and that of the file alone"
)
_NEWER = (
    "file {} may be this student's, and is newer: Canvas's name of it can be read as that of "
    "several students"
)
_OWNED = re.compile(r"_\d{1,18}_assignsubmission(?=_)")  # behind a name, in Moodle


Reader = Callable[[], tuple[bytes, str]]  # what is in a file, or why it cannot be read


@dataclass(frozen=True)
class Submission:
    """One file.

    Args:
        student: name, and name of the row in the grades.
        file: its name.
        content: what is in it, b"" if it cannot be graded.
        fault: why it cannot be graded, if it cannot.
        id: the student's number in Canvas or Moodle.
        order: what decides which of a student's files is the newest.
        remark: for the instructor, if that is not certain.
        reader: what reads the content, as long as it is not read.
        pairs: the numbers of student and file, for each way to read a name that has several.
    """

    student: str
    file: str
    content: bytes = b""
    fault: str = ""
    id: str = ""
    order: int = 0
    remark: str = ""
    reader: Reader | None = None
    pairs: tuple[tuple[str, int], ...] = ()


def gather(path: Path) -> list[Submission]:
    """All submissions in a folder or zip, sorted by student; of a student's files one is graded."""
    with _opened(path) as archive:
        files = list(_from_zip(archive) if archive else _from_folder(path))
        return _gathered(files)


def _gathered(files: list[tuple[str, Reader, str, int]]) -> list[Submission]:
    around = _common_folder([file for file, _, fault, _ in files if not fault])
    files = [(file.removeprefix(around), *rest) for file, *rest in files]
    notebooks = [file for file, _, fault, _ in files if not fault]

    def students(names: Iterable[str]) -> int:
        return len({_FIRST.match(name)[0] for name in names})  # however many files they have

    def is_of_most(form: re.Pattern) -> bool:  # an instructor may add a file, or keep one
        theirs = list(filter(form.fullmatch, notebooks))
        numbers = {form.fullmatch(name)[2] for name in theirs} if form is _CANVAS else theirs
        differ = 2 * len(numbers) > len(theirs)  # those of "hw_2_1_ann" and its like do not
        return differ and 2 * students(theirs) > students(notebooks)

    form = next(filter(is_of_most, (_CANVAS, _MOODLE)), None)
    found = _most(_of_nobody([_named(*given, form) for given in files]))
    return sorted(_newest(found), key=lambda one: (one.student, one.file))


def _common_folder(files: list[str]) -> str:
    """The folder around all of them, as who packs a zip again may get; "" if there is none."""
    folders = {file.rpartition("/")[0].partition("/")[0] for file in files}
    (folder, *others) = folders or {""}
    return f"{folder}/" if folder and not others and not _MOODLE.fullmatch(folder) else ""


def moodle_folder(file: str) -> str:
    """The folder in which Moodle takes a student's feedback files back; "" if it named none."""
    match = None if _several(file) else _MOODLE.fullmatch(file)
    return f"{match[1]}_{match[2]}_assignsubmission_file" if match else ""


def _several(file: str) -> bool:
    """Whether several may own it in Moodle: a name may be what stands behind another's name."""
    return len(_OWNED.findall(file.partition("/")[0])) > 1


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile | None]:
    """The zip, None for a folder."""
    if not path.is_file():
        yield None
        return
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except zipfile.BadZipFile:
        sys.exit(f"{path.name} is neither a folder nor a zip")


def _from_folder(folder: Path) -> Iterator[tuple[str, Reader, str, int]]:
    if not folder.is_dir():
        sys.exit(f"there is no folder or zip {folder.name!r}; give one with a notebook a student")
    for path in sorted(folder.iterdir()):
        inside = path.is_dir() and not path.is_symlink() and _MOODLE.fullmatch(path.name)
        for file in sorted(path.iterdir()) if inside else [path]:
            name = str(file.relative_to(folder))
            kind = file.lstat().st_mode
            if stat.S_ISREG(kind):
                fault = _fault(name, file.lstat().st_size)
                time = int(file.lstat().st_mtime)
                yield name, partial(_read_file, file), fault, time
            else:
                known = {stat.S_ISLNK: "a link", stat.S_ISDIR: "a folder"}
                what = next((text for is_it, text in known.items() if is_it(kind)), "no file")
                yield name, partial(_read_file, file), f"it is {what}, not a notebook", 0


def _read_file(file: Path) -> tuple[bytes, str]:
    try:
        return file.read_bytes(), ""
    except OSError:  # nobody may read it, or it has just gone
        return b"", "it cannot be read"


def _from_zip(archive: zipfile.ZipFile) -> Iterator[tuple[str, Reader, str, int]]:
    infos = [info for info in archive.infolist() if not info.is_dir()]
    for info in infos:
        date = int("".join(f"{part:02}" for part in info.date_time))
        fault = _fault(info.filename, info.file_size)
        yield info.filename, partial(_read_part, archive, info), fault, date


def _read_part(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[bytes, str]:
    try:
        with archive.open(info) as file:
            content = file.read(LARGEST + 1)
    except (OSError, EOFError, ValueError, RuntimeError, zlib.error,
            lzma.LZMAError, zipfile.BadZipFile, NotImplementedError):  # fmt: skip
        return b"", "it cannot be read in the zip"
    fault = _fault(info.filename, len(content))
    return b"" if fault else content, fault


def is_marked(name: str) -> bool:
    """Whether a row's name ends with a mark: without a student's number it is nobody's."""
    return bool(_NUMBERED.search(name))


def is_notebook(name: str) -> bool:
    """Whether a file is a notebook, by its name.

    Example:
        >>> is_notebook("a.ipynb"), is_notebook("a.ipynb (1)"), is_notebook("a.py")
        (True, True, False)
    """
    return bool(_ENDING.search(name))


def _fault(name: str, size: int) -> str:
    if any(part.startswith((".", "__MACOSX")) for part in name.split("/")):
        return "it is a hidden file"
    if not is_notebook(name):
        return "it is not a notebook: its name must end with .ipynb"
    return f"it is larger than {LARGEST // 2**20} MiB" if size > LARGEST else ""


def _named(file: str, reader: Reader, fault: str, time: int, form: re.Pattern | None) -> Submission:
    pairs = ()
    if form is _CANVAS:
        (pair, *others) = [*_PAIR.finditer(file)] or [None]
        name = _LATE.sub("", file[: pair.start()]) if pair else ""
        if name and not others and "/" not in name:
            again = _AGAIN.search(file)
            order = int(pair[2]) * _AGAINS + min(int(again[1]) if again else 0, _AGAINS - 1)
            return Submission(printable(name), file, b"", fault, pair[1], order, reader=reader)
        if others:
            pairs = tuple((found[1], int(found[2])) for found in (pair, *others))
        remark = _WHOSE_IN_CANVAS * bool(others)
    else:
        match = form.fullmatch(file) if form else None
        is_theirs = match is not None and _several(file)
        if match and not is_theirs:
            return Submission(printable(match[1]), file, b"", fault, match[2], time, reader=reader)
        remark = "Moodle's name of it can be read as that of several students" * is_theirs
    is_named = is_notebook(file) and (not fault or "larger" in fault)
    plain = _ENDING.sub("", file) if is_named else file
    order = pairs[0][1] if pairs else 0
    return Submission(printable(plain), file, b"", fault, "", order, remark, reader, pairs)


def _of_nobody(found: list[Submission]) -> Iterator[Submission]:
    """The same, where Canvas's names can be read in several ways: what that means for others.

    Whoever has a file that is older than one that may be his gets a remark; of its name it says a
    number.
    """
    claimed: dict[str, int] = {}
    for one in found:
        for student, file in one.pairs if not one.fault else ():
            claimed[student] = max(claimed.get(student, 0), file)
    for one in found:
        is_older = one.id and claimed.get(one.id, 0) > one.order // _AGAINS
        yield replace(one, remark=_NEWER.format(claimed[one.id])) if is_older else one


def _most(found: Iterable[Submission]) -> Iterator[Submission]:
    """Those that have rows: of a student's files, and of nobody's that begin alike, the newest."""
    groups = defaultdict(list)
    for one in found:
        alike = (*_beginning(one), "") if one.pairs else (one.student, one.id or one.file)
        groups[alike].append(one)
    for files in groups.values():
        left = len(files) - MOST
        said = f"{left} more files, older or no notebooks, have no row" * (left > 0)
        for one in sorted(files, key=_age)[-MOST:]:
            yield replace(one, remark="; ".join(filter(None, (one.remark, said))))


def _age(one: Submission) -> tuple[bool, int, str]:
    """Who cannot be graded first, the newest last."""
    return not one.fault, one.order, one.file


def _beginning(one: Submission) -> tuple[str, str]:
    """A name up to the first number that may be a student's."""
    student = one.pairs[0][0]
    return one.file.partition(f"_{student}_")[0], student


def printable(name: str) -> str:
    """A name as a table may hold it: no control characters, nothing that a spreadsheet runs."""
    shown = plain(normal("NFC", name))  # a Mac takes letters apart
    first = normal("NFKC", shown.lstrip()[:9]).lstrip()[:1]
    return f"'{shown}" if first in tuple("=+-@'") or not first else shown


def plain(text: str) -> str:
    """A text without characters that act or hide: of control, of direction, halves of others.

    Nor may a spreadsheet of a country with a decimal comma cut it at a semicolon before what it
    would run. What joins or parts two letters, as in Persian, stays.
    """
    around = zip(f" {text}", f"{text[1:]} ", text, strict=False)
    return _CUT.sub(",", "".join(_shown(c, *beside) for *beside, c in around))


def quoted(text: str, most: int = _QUOTED) -> str:
    """What a student wrote, so that nobody takes it for the grader's word."""
    shown = re.sub("[“”]", "'", plain(text))
    return f"“{shown[:most]}{'...' * (len(shown) > most)}”"


def _shown(c: str, before: str, after: str) -> str:
    if c.isprintable() and not UNSEEN.match(c):
        return c
    if unicodedata.category(c) == "Zs":
        return " "  # a blank is a blank, however wide
    letters = all(unicodedata.category(b)[0] in "LM" and not b.isascii() for b in (before, after))
    return c if letters and c in _JOINERS else "\N{REPLACEMENT CHARACTER}"


def _on_disk(name: str) -> str:
    """What a disk that does not tell large letters from small ones takes a name for."""
    return normal("NFC", normal("NFC", name).casefold())


def _newest(found: list[Submission]) -> Iterator[Submission]:
    """A student's last file; the others keep a row of their own, and a reason."""
    groups: dict[tuple[str, str], list[Submission]] = {}
    for one in found:
        groups.setdefault((one.student, one.id or one.file), []).append(one)
    taken: set[str] = set()

    def free(name: str) -> str:
        shown, again = name, 1
        while _on_disk(shown) in taken:
            again += 1
            shown = f"{name} ({again})"
        taken.add(_on_disk(shown))
        return shown

    apart = [(free(name), files, others) for name, files, others in _apart(list(groups.values()))]
    for name, files, others in apart:
        files = _in_order(files)
        remark = "; ".join(filter(None, (files[-1].remark, _doubt(files), others)))
        yield replace(files[-1], student=name, remark=remark)
        for older in files[:-1]:
            reason = older.fault or f"{_file(files[-1])} is newer, and was graded"
            shown = free(f"{name}: {printable(older.file)}")
            yield replace(older, student=shown, content=b"", fault=reason, id="", remark="")


def _in_order(files: list[Submission]) -> list[Submission]:
    """By age; the newest is read, and no other that can be."""
    while True:
        files = sorted(files, key=_age)
        newest = files[-1]
        if newest.fault or newest.reader is None:
            return [replace(one, reader=None) for one in files]
        content, fault = newest.reader()
        files[-1] = replace(newest, content=content, fault=fault, reader=None)


def _apart(groups: list[list[Submission]]) -> Iterator[tuple[str, list[Submission], str]]:
    """The name of each student's row, his files, and a remark if it is read as another's, too.

    The name alone is only for who has it alone, or as the only one of them with a notebook.
    """
    readings = defaultdict(list)
    for files in groups:
        readings[read_as(files[0].student)].append(files)
    for same in readings.values():
        is_alone = sum(map(_may_count, same)) == 1
        marks = []
        for files in same:
            is_his = len(same) == 1 or (is_alone and _may_count(files))
            is_nobodys = files[0].remark and not files[0].id
            has_mark = is_nobodys or not is_his or is_marked(files[0].student)
            marks.append(f"[{files[0].id or _hash(files[0].file)}]" if has_mark else "")
        for number, (files, mark) in enumerate(zip(same, marks, strict=True)):
            others = marks[:number] + marks[number + 1 :]  # and none of what they are called
            rows = [f"row {other}" if other else "a row without a mark" for other in others]
            shown = ", ".join(rows[:_SHOWN])
            remark = f"its name may be read as that of {shown}{', ...' * (len(others) > _SHOWN)}"
            remark *= len(same) > 1
            yield " ".join(filter(None, (files[0].student, mark))), files, remark


def _may_count(files: list[Submission]) -> bool:
    """Whether there is a notebook, be it too large, or a number to go by."""
    return any(one.id or is_notebook(one.file) for one in files)


def _file(one: Submission) -> str:
    return quoted(one.file, most=300)  # whole


def _hash(file: str) -> str:
    return hashlib.sha256(file.encode(errors="surrogatepass")).hexdigest()[:12]


def _doubt(files: list[Submission]) -> str:
    """Moodle does not say which of a student's notebooks is meant."""
    notebooks = [one for one in files if not one.fault]
    if len(notebooks) < 2 or not moodle_folder(files[-1].file):
        return ""
    return f"{len(notebooks)} notebooks; graded: {_file(files[-1])}, by its date"
