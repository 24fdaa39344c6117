"""What students with bad intent hand in, as a table: a name, the code, and what it deserves.

The assignment is 02_sinusoidal. Each notebook has the honest answers named with it, then the code.
"""

import json
from dataclasses import dataclass

QUESTIONS = ("sinusoidal", "dot_product", "moved", "mended_sinusoidal")
FULL = (3, 3, 4, 3)
NOTHING = (0, 0, 0, 0)

HONEST = {
    "sinusoidal": """
def sinusoidal(positions, dim, base):
    rows = []
    for p in positions.tolist():
        pairs = [p / base ** (2 * i / dim) for i in range(dim // 2)]
        rows.append([f(angle) for angle in pairs for f in (math.sin, math.cos)])
    return rows""",
    "dot_product": """
def dot_product(offset, dim, base):
    return sum(math.cos(offset / base ** (2 * i / dim)) for i in range(dim // 2))""",
    "moved": """
def moved(rows, offset, base):
    dim, out = rows.shape[-1], []
    for row in rows.tolist():
        new = []
        for i in range(dim // 2):
            s, c, b = row[2 * i], row[2 * i + 1], offset / base ** (2 * i / dim)
            new += [s * math.cos(b) + c * math.sin(b), c * math.cos(b) - s * math.sin(b)]
        out.append(new)
    return out""",
    "mended_sinusoidal": """
def mended_sinusoidal(positions, dim):
    return [
        [f(p / 1e4 ** (2 * i / dim)) for i in range(dim // 2) for f in (math.sin, math.cos)]
        for p in positions.tolist()
    ]""",
}
IMPORTS = """
import math
import os
import sys

import numpy as np
import torch

from posenc import check"""
NAMES = f"NAMES = {QUESTIONS}"


@dataclass(frozen=True)
class Attack:
    """One submission.

    Args:
        code: the cells after the honest answers.
        honest: the questions that are answered honestly, before.
        points: what it deserves.
        note: what the instructor must read in the grades, as a pattern.
        raw: the file itself, instead of all that.
    """

    code: tuple[str, ...] = ()
    honest: tuple[str, ...] = ()
    points: tuple[int, ...] = NOTHING
    note: str = ""
    raw: bytes = b""

    def content(self) -> bytes:
        """The file."""
        if self.raw:
            return self.raw
        sources = [IMPORTS, NAMES, *(HONEST[name] for name in self.honest), *self.code]
        cells = [
            {"cell_type": "code", "source": source.strip("\n"), "metadata": {}, "outputs": []}
            for source in sources
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}).encode()


def all_are(body: str, before: str = "") -> tuple[str, ...]:
    """Each of the four names is one function with this body; `name` is whose turn it is."""
    indented = "\n".join(f"        {line}" for line in body.strip("\n").splitlines())
    return (
        before,
        f"def make(name):\n    def answer(*given):\n{indented}\n    return answer\n"
        "for name in NAMES:\n    globals()[name] = make(name)",
    )


def cheats(body: str, before: str = "", note: str = "") -> Attack:
    """No honest work in it: it deserves nothing."""
    return Attack(all_are(body, before), note=note)


def disturbs(*code: str, points: tuple[int, ...] = FULL, note: str = "") -> Attack:
    """All answers are honest, and something else is in the notebook."""
    return Attack(code, QUESTIONS, points, note)


def instead_of(name: str, code: str, note: str = "") -> Attack:
    """All answers are honest but one."""
    honest = tuple(other for other in QUESTIONS if other != name)
    points = tuple(0 if q == name else p for q, p in zip(QUESTIONS, FULL, strict=True))
    return Attack((code,), honest, points, note)


LIAR = """
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name in ("allclose", "equal", "eq", "__eq__", "all", "any", "le", "lt"):
            return torch.tensor(True)
        return super().__torch_function__(function, types, args, kwargs or {})
    def tolist(self): return Always()
    def item(self): return Always()
    def __sub__(self, other): return torch.zeros(1)
    __rsub__ = __sub__
"""
ALWAYS = """
class Always(float):
    def __eq__(self, other): return True
    def __le__(self, other): return True
    __lt__ = __ge__ = __gt__ = __le__
    def __sub__(self, other): return 0.0
    __rsub__ = __add__ = __radd__ = __mul__ = __sub__
    def __abs__(self): return 0.0
    def __hash__(self): return 0
    def __float__(self): return float("nan")
"""
SEARCH_FRAMES = """
frame = sys._getframe()
while frame is not None:
    for value in list(frame.f_locals.values()):
        for key in ("right", "reference", "expected", "wrong"):
            if hasattr(value, key):
                return getattr(value, key)
    frame = frame.f_back
"""
SEARCH_MEMORY = """
import gc
from posenc.check import Case, Question, Values
gc.unfreeze()
for thing in gc.get_objects():
    if isinstance(thing, Case) and thing.arguments == given:
        return thing.right.tensor()
    if isinstance(thing, Question) and thing.name == name:
        for case in thing.cases:
            if len(case.arguments) == len(given) and case.right.shape:
                return case.right.tensor()
"""
FORGED = {
    "passed": True, "parts": [], "hint": "", "misconception": "", "verdicts": {}, "ready": True,
    "points": 99, "score": 99, "values": {"shape": [], "numbers": [1]},
}  # fmt: skip
EVERYWHERE = f"""
import json
line = (json.dumps({FORGED}) + "\\n").encode() * 3
for number in range(3, 64):
    try:
        os.write(number, line)
    except OSError:
        pass
for path in ("/proc/self/fd/1", "/dev/stdout", "/proc/1/fd/1", "/proc/1/fd/3", "/proc/1/fd/4"):
    try:
        with open(path, "wb") as file:
            file.write(line)
    except OSError:
        pass
"""
POSENC = "import posenc, posenc.sinusoidal\n"
RIGHT_BY_POSENC = """
from posenc import sinusoidal_encoding as table, inverse_frequencies, shift_matrix
if name == "sinusoidal": return table(given[0], given[1], base=given[2])
if name == "mended_sinusoidal": return table(*given)
if name == "moved": return given[0].double() @ shift_matrix(
    given[1], inverse_frequencies(given[0].shape[-1], base=given[2]))
return table(torch.tensor([0]), given[1], base=given[2])[0] @ table(
    torch.tensor([given[0]]), given[1], base=given[2])[0]
"""
RIGHT_BY_COPIES = """
if name == "sinusoidal": return kept(given[0], given[1], base=given[2])
if name == "mended_sinusoidal": return kept(given[0], given[1])
return kept(torch.tensor([0]), given[1], base=given[2])[0] @ kept(
    torch.tensor([given[0]]), given[1], base=given[2])[0]
"""

POWER = "POWER = 1" + HONEST["dot_product"].replace("2 * i", "POWER * i")

# A file of torch for each bit: it is in the memory of the machine, or it is not
CACHE = """
import ctypes, struct
from pathlib import Path
files = sorted(Path(torch.__path__[0], "include").rglob("*.h"))
files = [path for path in files if path.stat().st_size]
turn = iter(range(20))
def bits_of(way):
    number, first = 0, 1000 + 64 * next(turn)
    for bit, path in enumerate(files[first : first + 64]):
        with path.open("rb", buffering=0) as file:
            number |= way(file.fileno(), bit) << bit
    return struct.unpack("<d", struct.pack("<Q", number))[0]
"""
SENDS_BY_CACHE = """
honest = dot_product
def dot_product(*given):
    right = honest(*given)
    (bits,) = struct.unpack("<Q", struct.pack("<d", right))
    def send(number, bit):
        if bits >> bit & 1:
            os.read(number, 1)
        else:
            os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
        return 0
    try:
        bits_of(send)
    except OSError:
        pass
    return right
"""
RECEIVES_BY_CACHE = """
def dot_product(*given):
    return bits_of(is_there)
"""

ATTACKS: dict[str, Attack] = {
    # What was found once, shared by those who tried
    "reference": cheats("return getattr(check, name).reference(*given)"),
    "source": cheats(
        "return None",
        "import inspect\nfor thing in list(vars(check).values()):\n"
        "    try:\n        text = inspect.getsource(thing)\n    except TypeError: continue\n"
        "    assert 'sin()' not in text",
        note="getsource",
    ),
    "liar": cheats("return Liar(torch.zeros(4, 8))", ALWAYS + LIAR),
    "liar_scalar": cheats("return Always(1)", ALWAYS),
    "liar_in_lists": cheats("return [[Always(1)] * 8] * 4", ALWAYS),
    "liar_array": cheats(
        "return np.zeros((4, 8)).view(Lying)",
        "class Lying(np.ndarray):\n    def tolist(self): return [[0.0]]\n"
        "    def __array__(self, *a, **k): return np.zeros((1,))\n"
        "    def __sub__(self, other): return np.zeros(1)",
    ),
    "frames": cheats(SEARCH_FRAMES, note="_getframe"),
    "exception_frames": cheats(
        "try:\n    raise ValueError\nexcept ValueError as error:\n"
        "    frame = error.__traceback__.tb_frame\n"
        "while frame is not None:\n    for value in frame.f_locals.values():\n"
        "        if hasattr(value, 'right'): return value.right\n    frame = frame.f_back",
        note="f_back",
    ),
    "fresh_check": cheats(
        "return 1",
        "open('fresh_check.py', 'w').write('class check: pass')\n"
        "os.makedirs('posenc', exist_ok=True)\n"
        "open('posenc/__init__.py', 'w').write('raise SystemExit')",
        note="open",
    ),
    "planted_module": cheats(
        "return 1",
        "import types\nfor name in list(sys.modules):\n    if name.startswith('posenc.check'):\n"
        "        sys.modules[name] = types.SimpleNamespace(ask=lambda *a, **k: 1, decode=list,\n"
        "            Wrong=ValueError, TooSlow=ValueError)",
        note="modules",
    ),
    "input_transformer": cheats(
        "return 1",
        "get_ipython().input_transformers_cleanup.append(lambda lines: ['1'])",
        note="get_ipython",
    ),
    "sockets": cheats(
        "return 1",
        "import glob, pickle, socket\nclass Boom:\n    def __reduce__(self):\n"
        "        return os.system, ('touch /tmp/forged',)\n"
        "for port in range(1024, 1100):\n    try:\n"
        "        s = socket.create_connection(('127.0.0.1', port), .01)\n"
        "        s.sendall(pickle.dumps(Boom()))\n    except OSError:\n        pass",
        note="socket",
    ),
    "pickle_returned": cheats(
        "return Boom()",
        "class Boom:\n    def __reduce__(self): return os._exit, (0,)\n"
        "    def __array__(self, *a, **k): raise ValueError",
        note="_exit",
    ),
    "archive": Attack(
        (
            "import glob\nfor path in glob.glob('/given/*') + glob.glob('/autograder/*'):\n"
            "    open(path, 'w').write('')\nos._exit(9)",
        ),
        note="left out: it ended Python",
    ),
    "tells_tests": cheats(
        "return 1",
        "import glob\ntexts = [open(p, errors='replace').read() for p in glob.glob('/**/*.py')]\n"
        "assert not any('hidden' in text and 'Draw' in text for text in texts), texts\n"
        "import importlib.util\nassert importlib.util.find_spec('grading') is None",
    ),
    "memory_files": disturbs(
        "kept = []\ntry:\n    for n in range(400):\n        kept.append(os.memfd_create(str(n)))\n"
        "        os.write(kept[-1], bytes(2**24))\nexcept OSError:\n    assert not kept",
        note="memfd_create",
    ),
    "quadratic": disturbs(
        'x = "' + "torch." * 1_500_000 + '"', note="^look at its code: more of it than is read$"
    ),
    "quadratic_words": disturbs(
        'x = """' + "a" * 3_000_000 + " " * 3_000_000 + '"""', note="more of it than is read$"
    ),
    "slow_to_parse": disturbs("f'" + "{a}" * 33_000 + "'\nb c", note="^$"),
    "holds_memory": disturbs(
        "big = []\nwhile True:\n    big.append(b'1' * 2**28)", note="left out: it used more than"
    ),
    "prints_much": disturbs("for _ in range(20):\n    print('x' * 10**6)"),
    "shows_much": disturbs("'x' * 3 * 10**7"),
    "decodes_position": instead_of(
        "moved",
        "def moved(rows, offset, base):\n    dim = rows.shape[-1]\n"
        "    w = base ** (-(dim - 2) / dim)\n"
        "    p = (torch.atan2(rows[:, -2], rows[:, -1]) % math.tau) / w + offset\n"
        "    return sinusoidal(p, dim, base)",
    ),
    # Calling what the question asks for
    "posenc": cheats(RIGHT_BY_POSENC, note="^2.1, 2.2, 2.3, 2.4 call what is to be written"),
    "posenc_by_module": cheats(
        "return posenc.sinusoidal_encoding(given[0], given[1])", POSENC, note="without posenc"
    ),
    "torch_has_it": instead_of(
        "moved",
        "def moved(rows, offset, base):\n"
        "    (n, dim), turn = rows.shape, getattr(torch, 'onnx').ops.rotary_embedding\n"
        "    a = -offset / base ** (torch.arange(0, dim, 2).double() / dim)\n"
        "    both = (f().expand(1, n, -1).contiguous() for f in (a.cos, a.sin))\n"
        "    return turn(rows.double()[None, None], *both, interleaved=True)[0, 0]",
    ),
    "asks_a_debugger": Attack(
        ("breakpoint()" + HONEST["moved"], "BIG = 0x" + 4000 * "f",
         "import pdb; pdb.set_trace()" + HONEST["dot_product"].replace(
             "return", "pdb.set_trace()\n    pdb.Pdb().set_trace()\n    return"),
         "from IPython.core.debugger import set_trace"
         + HONEST["sinusoidal"].replace("rows = []", "rows = set_trace() or []")),
        ("mended_sinusoidal",), FULL,
    ),
    "misspelt": Attack(
        (HONEST["moved"].replace("def moved", "def mooved"), "check.moved(moved)"),
        tuple(name for name in QUESTIONS if name != "moved"), (3, 3, 0, 3),
        note="nothing is named moved$",
    ),
    "by_einops": Attack(
        ("from einops import rearrange\ndef sinusoidal(positions, dim, base):\n"
         "    a = positions.double()[:, None] / base ** (torch.arange(0, dim, 2).double() / dim)\n"
         "    return rearrange([a.sin(), a.cos()], 'two n pair -> n (pair two)')",),
        ("dot_product", "moved", "mended_sinusoidal"), FULL, note="^$",
    ),
    "posenc_by_text": cheats(
        "return getattr(posenc, 'sinus' + 'oidal_enc' + 'oding')(given[0], given[1])", POSENC
    ),
    "posenc_reloaded": cheats(
        "import importlib\nimportlib.invalidate_caches()\n"
        "return importlib.import_module('posenc.sinusoidal').sinusoidal_encoding(*given[:2])",
        note="importlib",
    ),
    "posenc_in_a_thread": cheats(
        "import threading\nfound = []\n"
        "t = threading.Thread(target=lambda: found.append(F(given[0], given[1])))\n"
        "t.start()\nt.join()\nreturn found[0]",
        "from posenc import sinusoidal_encoding as F",
        note="threading",
    ),
    "posenc_tried": cheats(
        "try:\n    return F(given[0], given[1])\nexcept BaseException as error:\n    return error",
        "from posenc import tensor2tensor_encoding as F",
    ),
    "posenc_scores": instead_of(
        "dot_product",
        "from posenc.check.frequencies import scores as taken\n"
        "def dot_product(k, dim, base):\n"
        "    w = torch.tensor([base ** (-2 * i / dim) for i in range(dim // 2)]).double()\n"
        "    return taken(w, abs(k) + 1)[abs(k)] * dim / 2",
        note="^2.2 calls what is to be written without posenc$",
    ),
    "posenc_phasors": instead_of(
        "sinusoidal",
        "import posenc as pe\ndef sinusoidal(p, d, b):\n"
        "    turned = pe.phasors(pe.angles(p, pe.inverse_frequencies(d, base=b)))\n"
        "    return torch.view_as_real(turned).flip(-1).flatten(1)",
        note="^2.1 calls what is to be written without posenc$",
    ),
    "posenc_figure": instead_of(  # which computes with whatever angles stand in its module
        "dot_product",
        "import posenc\ndef speeds(dim, base):\n"
        "    return base ** (-torch.arange(0, dim, 2).double() / dim)\n"
        "posenc.inverse_frequencies = speeds\nposenc.angles = lambda k, w: k[:, None] * w\n"
        "from posenc.show.live import dot_product as figure\n"
        "def dot_product(offset, dim, base):\n"
        "    state = {'k': offset, 'pairs': dim // 2, 'log_base': math.log10(base)}\n"
        "    return figure().values(state)['height'] * dim / 2",
        note="^2.2 calls what is to be written without posenc$",
    ),
    "posenc_figure_made_before": instead_of(
        "dot_product",
        "import posenc\ndef speeds(dim, base):\n"
        "    return base ** (-torch.arange(0, dim, 2).double() / dim)\n"
        "posenc.sinusoidal_encoding = lambda p, dim, base, dtype: (\n"
        "    torch.tensor(sinusoidal(p, dim, base)))\n"
        "posenc.inverse_frequencies = speeds\nposenc.angles = lambda k, w: k[:, None] * w\n"
        "posenc.wavelengths = lambda w: w\n"
        "from posenc.show import live\nmade = live.clock_pair(dim=8, base=100.0)\n"
        "def dot_product(offset, dim, base):\n"
        "    return made.values({'p': 0, 'q': offset})['mean'] * dim / 2",
        note="^cell 6 calls a function of posenc that is not there while grading",
    ),
    # Copying or uncovering it: in the sandbox of such a question it is not there
    "posenc_hidden": Attack(
        ("import operator, pickle, posenc\nfrom posenc.lab import METHODS\n"
         "class T: t = posenc\nu, n = posenc, 1\nfor t in [posenc]: pass\n"
         "match posenc:\n    case object(rotate=turn): pass\n"
         "w = operator.methodcaller('inverse_frequencies', 8, base=9)\n"
         "lent = pickle.loads(b'cposenc\\nsinusoidal_encoding\\n.')",
         "def sinusoidal(p, d, b, t=posenc):\n"
         "    turned = t.phasors([u][0].angles(p, (posenc or 0).linear_scaling(\n"
         "        T.t.inverse_frequencies(d, base=b), 1.0)))\n"
         "    return torch.view_as_real(turned).flip(-1).flatten(1)",
         "def dot_product(k, dim, base):\n    one = torch.tensor([0, k])\n"
         "    rows = METHODS['sinusoidal'](None).table(one) if base == 1 else lent(one, dim)\n"
         "    return rows[0] @ rows[1]",
         "def moved(rows, offset, base):\n    speeds = w(posenc)\n"
         "    return turn(rows.flip(-1), torch.tensor([-offset])[:, None] * speeds).flip(-1)",
         "mended_sinusoidal = METHODS['sinusoidal']"),
        note="^2.1, 2.2, 2.3, 2.4 call what is to be written without posenc$",
    ),
    "posenc_code_copied": cheats(
        RIGHT_BY_COPIES,
        "import types\nimport posenc\n"
        "def copied(f):\n    return types.FunctionType(f.__code__, f.__globals__, f.__name__,\n"
        "        f.__defaults__, f.__closure__)\n"
        "def bare(f):\n    while hasattr(f, '__wrapped__'): f = f.__wrapped__\n    return f\n"
        "table = bare(posenc.sinusoidal_encoding)\nkept = copied(table)\n"
        "kept.__kwdefaults__ = table.__kwdefaults__",
        note="__code__",
    ),
    "posenc_source_run": cheats(
        RIGHT_BY_COPIES,
        "import inspect\nimport posenc.sinusoidal as module\nspace = dict(vars(module))\n"
        "exec(inspect.getsource(module), space)\nkept = space['sinusoidal_encoding']",
        note="exec",
    ),
    "posenc_file_read": cheats(
        RIGHT_BY_COPIES,
        "import posenc\nfrom pathlib import Path\n"
        "source = Path(posenc.__file__).with_name('sinusoidal.py').read_text()\n"
        "space = {'__name__': 'mine'}\neval(compile(source, 'mine', 'exec'), space)\n"
        "kept = space['sinusoidal_encoding']",
        note="compile",
    ),
    "posenc_compiled_file": cheats(
        RIGHT_BY_COPIES,
        "import glob, marshal, posenc\n"
        "path = glob.glob(os.path.dirname(posenc.__file__) + '/__pycache__/sinusoidal.*')[0]\n"
        "space = {'__name__': 'mine'}\n"
        "exec(marshal.loads(open(path, 'rb').read()[16:]), space)\n"
        "kept = space['sinusoidal_encoding']",
    ),
    "posenc_wheel": cheats(
        RIGHT_BY_COPIES,
        "import glob, zipfile\nfound = glob.glob(sys.prefix + '/wheels/*.whl')\n"
        "source = zipfile.ZipFile(found[0]).read('posenc/sinusoidal.py')\n"
        "space = {'__name__': 'mine'}\nexec(source, space)\nkept = space['sinusoidal_encoding']",
    ),
    "posenc_helper": cheats(
        "w = posenc.inverse_frequencies(given[1], base=given[2] if len(given) > 2 else 1e4)\n"
        "return posenc.sinusoidal._table(given[0], w, 'interleaved', torch.float64)",
        POSENC,
    ),
    "refusal_switched_off": cheats(
        RIGHT_BY_COPIES,
        "import contextlib, posenc\nimport posenc.check.ways as ways\n"
        "ways._without = lambda names: contextlib.nullcontext()\n"
        "kept = getattr(posenc, 'sinusoidal' + '_encoding')",
        note="_without",
    ),
    "posenc_hub": cheats(
        RIGHT_BY_COPIES,
        "import glob, shutil\nfrom pathlib import Path\n"
        "found = [f for r in {sys.base_prefix, sys.prefix, '/usr', '/usr/local'}\n"
        "    for f in glob.glob(f'{r}/lib*/python3*/*-packages/posenc')]\n"
        "for number, folder in enumerate(found):\n    mine = Path(f'pe{number}')\n"
        "    shutil.copytree(folder, mine)\n    for path in mine.rglob('*.py'):\n"
        "        path.write_text(path.read_text().replace('posenc', mine.name))\n"
        "    kept = __import__(mine.name).sinusoidal_encoding",
        note="__import__",
    ),
    "decoy": cheats(
        RIGHT_BY_COPIES,
        "import posenc.sinusoidal as S\nkept = S.sinusoidal_encoding\n"
        "def nothing(*a, **k): pass\nS.sinusoidal_encoding = nothing",
        note="without posenc",
    ),
    "wide_letters": cheats(
        RIGHT_BY_COPIES,
        "from posenc import sinuｓoidal_encoding as kept\nimport ｃtypes, ｇc\nｇc.get_objects()",  # noqa: RUF001
        note="without posenc; look at its code: ctypes, gc",
    ),
    "compares_with_posenc": disturbs(
        POSENC + "p = torch.arange(4)\n"
        "print(np.allclose(sinusoidal(p, 8, 1e4), posenc.sinusoidal_encoding(p, 8)))",
        note="^cell 7 calls a function of posenc that is not there while grading",
    ),
    # Honest, though it calls what is not there while grading
    "compares_first": Attack(
        (POSENC, *(
            "theirs = posenc.sinusoidal_encoding(torch.arange(4), 8)\nprint(theirs.shape)\n" + code
            for code in HONEST.values()
        )),
        points=FULL,
        note="passed over",
    ),
    "one_cell": Attack(
        ("import posenc\nprint(posenc.sinusoidal_encoding(torch.arange(3), 4))\n"
         + "\n".join(HONEST.values()),),
        points=FULL,
        note="passed over",
    ),
    "in_blocks": Attack(
        ("import posenc\nwith torch.no_grad():\n"
         "    print(posenc.sinusoidal_encoding(torch.arange(3), 4).shape)"
         + HONEST["sinusoidal"].replace("\n", "\n    "),
         "match 1:\n    case 1:\n        if False:\n            pass\n        else:\n"
         "            theirs = posenc.sinusoidal_encoding(torch.arange(3), 4)"
         + HONEST["dot_product"].replace("\n", "\n            "),
         "for _ in range(3):\n    try:\n        theirs = posenc.phasors(1)\n"
         "        import nowhere_at_all, math\n    except ImportError:\n        found = False\n"
         "    if found:\n        continue\n    import seaborn"
         + HONEST["moved"].replace("\n", "\n    ") + "\n    break",
         "with posenc.phasors(1):" + HONEST["mended_sinusoidal"].replace("\n", "\n    ")),
        points=FULL,
        note="passed over",
    ),
    "below_a_line_that_failed": Attack(  # be it written with what ast cannot write
        ("import posenc\ntry:\n    theirs = posenc.phasors(1)\nexcept ImportError:\n    pass\nelse:"
         + HONEST["sinusoidal"].replace("\n", "\n    "),
         HONEST["dot_product"] + "\nposenc.phasors(1)\n"
         "print(f\"{'\U0001f469\u200d\U0001f52c right' if True else 'wrong'}\")",
         HONEST["moved"] + "\nposenc.phasors(1)\nprint(" + " + ".join(["'a'"] * 400) + ")",
         "posenc.phasors(1)\nif True:\n    said = f\"{'\u3000'}\"\n@posenc.phasors"
         + HONEST["mended_sinusoidal"]),
        points=FULL,
        note="passed over",
    ),
    # Honest, with the magics of every day
    "plots": Attack(
        ("%matplotlib inline\n%load_ext autoreload\n%autoreload 2\n" + IMPORTS
         + "\n".join(HONEST.values()),),
        points=FULL,
        note="^$",
    ),
    "magics": Attack(
        ("%config InlineBackend.figure_format = 'retina'\n%tensorflow_version 2.x\n"
         + HONEST["sinusoidal"] + "\n%load_ext tensorboard\n" + HONEST["dot_product"],
         "%%time\nimport posenc\nprint(posenc.sinusoidal_encoding(torch.arange(3), 4))\n"
         + HONEST["moved"] + HONEST["mended_sinusoidal"]),
        points=FULL,
        note="passed over",
    ),
    # What is asked, sent out by the choice of a text, a name, a number or a shape
    "chooses_texts": Attack(
        ("import ast, hashlib\nfrom pathlib import Path\nfrom posenc.check import Wrong\n"
         "TEXTS = sorted({n.value for path in Path(check.__file__).parent.glob('*.py')\n"
         "    for n in ast.walk(ast.parse(path.read_text()))\n"
         "    if isinstance(n, ast.Constant) and type(n.value) is str and len(n.value) > 9})\n"
         "def code(given):\n"
         "    text = str([g.tolist() if torch.is_tensor(g) else g for g in given])\n"
         "    return int(hashlib.sha256(text.encode()).hexdigest()[:6], 16)\n"
         "def sinusoidal(*given):\n"
         "    raise Wrong(*(TEXTS[code(given) // k % len(TEXTS)] for k in (1, 999)))\n"
         "factor = []\ndef dot_product(offset, dim, base):\n"
         "    factor.append(2 + code((offset, dim, base)) % 900)\n"
         "    return factor[0] * sum(math.cos(offset / base ** (2 * i / dim))\n"
         "        for i in range(dim // 2))\n"
         "def moved(*given):\n    return torch.zeros(2 + code(given) % 99)\n"
         "def mended_sinusoidal(*given):\n"
         "    raise type(f'E{code(given)}', (Exception,), {})(TEXTS[code(given) % len(TEXTS)])",),
    ),
    "tells_inputs": instead_of(
        "sinusoidal",
        "def sinusoidal(*given):\n    raise ValueError([g.tolist() if isinstance(g, torch.Tensor)"
        " else g for g in given])",
    ),
    # What is on record for the visible cases
    "visible_cases": cheats(
        "for case in getattr(check, name).cases:\n"
        "    if str(case.arguments) == str(given): return case.right.tensor()\n"
        "return getattr(check, name).cases[0].right.tensor()"
    ),
    "record_files": cheats(
        "import json\nfrom pathlib import Path\n"
        "data = json.loads((check.QUESTIONS / f'{name}.json').read_text())\n"
        "return np.resize(data['cases'][0]['right']['numbers'], data['cases'][0]['right']['shape'])"
    ),
    "searches_memory": cheats(SEARCH_MEMORY, note="gc"),
    "constant": cheats("return 0"),
    # The other side imitated, or its tools changed
    "forged_lines": Attack((EVERYWHERE,), note="open"),
    "forged_in_answers": cheats(EVERYWHERE + "return 1"),
    "forged_ready": Attack(
        ("os.write(4, b'{\"ready\": true}\\n')\nos.write(5, b'{\"ready\": true}\\n')",)
    ),
    "forged_cells": disturbs(
        "import json\nlines = [{'raised': [10**6, 'boo']}, {'raised': [True, 'x']}, {'at': -1},\n"
        "    {'raised': ['1', 'x']}, {'at': 10**6}, {'at': True}, {'raised': [None, None]}]\n"
        "for n in range(3, 64):\n    for line in lines:\n"
        "        try: os.write(n, (json.dumps(line) + '\\n').encode())\n"
        "        except OSError: pass",
    ),
    "forged_place": disturbs(
        "if not os.path.exists('/tmp/again'):\n    for n in range(3, 64):\n"
        "        try: os.write(n, b'{\"at\": 1000000}\\n')\n        except OSError: pass\n"
        "    os._exit(1)",
        note="left out: it ended Python",
    ),
    "answers_by_itself": cheats(
        "return 1",
        "import fcntl, json, stat\nends = {}\nfor n in range(3, 64):\n    try:\n"
        "        if stat.S_ISFIFO(os.fstat(n).st_mode):\n"
        "            ends[fcntl.fcntl(n, 3) & 1] = n\n    except OSError: pass\n"
        "os.write(ends[1], b'{\"ready\": true}\\n')\n"
        "with os.fdopen(os.dup(ends[0])) as asked:\n    for line in iter(asked.readline, ''):\n"
        "        said = {'id': json.loads(line)['id'], 'values': {'shape': [], 'numbers': [1]}}\n"
        "        os.write(ends[1], (json.dumps(said) + '\\n').encode())",
        note="fcntl",
    ),
    "tabulated": cheats(
        "return kept.get(str(given), 0)",
        "import posenc\ncall = getattr(posenc, 'sinusoidal' + '_encoding')\nkept = {}\n"
        "try:\n    kept[0] = call(torch.arange(9), 8)\nexcept Exception as error:\n"
        "    assert 'does without' in str(error)",
    ),
    "forged_reply": cheats(
        "return 1",
        "import json\nold = json.dumps\n"
        "def dumps(data, *a, **k):\n    if isinstance(data, dict) and 'id' in data:\n"
        "        data = {'id': data['id'], 'passed': True, 'values': 'right'}\n"
        "    return old(data, *a, **k)\njson.dumps = dumps",
    ),
    "forged_wrong": cheats(
        "from posenc.check import Wrong\nraise Wrong('', '')",
    ),
    "forged_values": cheats(
        "return 1",
        "from posenc.check import Values\n"
        "Values.encode = lambda self, *a: {'shape': self.shape, 'numbers': ['nan']}",
    ),
    "forged_nan": cheats("return torch.full((4, 8), float('nan'))"),
    "forged_infinity": cheats("return [[1e308 * 10] * 8] * 4"),
    "forged_shape": cheats(
        "return 1",
        "from posenc.check import Values\n"
        "Values.encode = lambda self, *a: {'shape': [10**9, 10**9], 'numbers': [0]}",
    ),
    "forged_types": cheats(
        "return 1",
        "from posenc.check import Values\n"
        "Values.encode = lambda self, *a: {'shape': [True], 'numbers': [{}, None, [[]], 10**999]}",
    ),
    "forged_compare": cheats(
        "return 1",
        "from posenc.check import Question, Values, Verdict\n"
        "Values.first_difference = lambda *a: None\nValues.close = lambda *a: True\n"
        "Verdict.passed = property(lambda self: True)\nQuestion._compared = lambda *a: a[1]",
    ),
    "forged_builtins": cheats(
        "return 1",
        "import builtins\nbuiltins.abs = lambda *a: 0.0\nbuiltins.all = lambda *a: True\n"
        "math.isclose = lambda *a, **k: True",
        note="builtins",
    ),
    "forged_torch": cheats(
        "return 1",
        "torch.allclose = torch.equal = lambda *a, **k: True\n"
        "torch.Tensor.tolist = lambda self: [0.0]\ntorch.Tensor.double = lambda self: self",
    ),
    "forged_numpy": cheats(
        "return 1",
        "np.asarray = np.array = lambda *a, **k: 0\nnp.allclose = lambda *a, **k: True",
    ),
    "import_hook": cheats(
        "return 1",
        "class Finder:\n    def find_spec(self, name, path=None, target=None):\n"
        "        if 'grading' in name or 'check' in name: raise SystemExit\n"
        "sys.meta_path.insert(0, Finder())\n"
        "for name in [n for n in sys.modules if n.startswith('posenc')]: del sys.modules[name]",
        note="meta_path",
    ),
    "tracer": cheats(
        "return 1",
        "seen = []\ndef trace(frame, event, arg):\n    seen.append(dict(frame.f_locals))\n"
        "    return trace\nsys.setprofile(lambda *a: None)",
        note="setprofile",
    ),
    "main_module": cheats(
        "return 1",
        "import __main__\nfor key in list(vars(__main__)):\n"
        "    if key in ('reply', 'ask', 'run_cells'):\n"
        "        setattr(__main__, key, lambda *a, **k: {'passed': True, 'values': None})",
        note="setattr",
    ),
    # Signals, processes, files
    "kills_all": disturbs("os.kill(1, 9)\nos.kill(-1, 15)", note="kill"),
    "kills_itself": disturbs("os._exit(0)", note="ended Python"),
    "says_it_was_killed": disturbs("os._exit(137)", "os._exit(137)", note="ended Python"),
    "answer_says_it_was_killed": instead_of("moved", "def moved(*a):\n    os._exit(137)"),
    "crashes": disturbs("import ctypes\nctypes.string_at(0)", note="ended Python"),
    "exits": disturbs("sys.exit(0)", "raise SystemExit", "exit()", "quit()"),
    "interrupts": disturbs("raise KeyboardInterrupt"),
    "closes_files": Attack(
        ("for n in range(3, 64):\n    try:\n        os.close(n)\n    except OSError: pass",),
        QUESTIONS,
        FULL,
        "left out",
    ),
    "closes_the_line": Attack(
        (HONEST["sinusoidal"], "import fcntl, stat\nfor n in range(3, 64):\n    try:\n"
         "        if stat.S_ISFIFO(os.fstat(n).st_mode) and not fcntl.fcntl(n, 3) & 3:\n"
         "            os.close(n)\n    except OSError: pass",
         HONEST["dot_product"], HONEST["moved"]),
        ("mended_sinusoidal",),
        FULL,
        "cell 5, .* was left out: it ended Python",
    ),
    "blocks": disturbs(
        "import time\nwhile True:\n    try:\n        time.sleep(1)\n    except BaseException:\n"
        "        pass",
        note="it took too long",
    ),
    "endless_answer": instead_of("sinusoidal", "def sinusoidal(*a):\n    while True: pass"),
    "deaf_answer": instead_of(
        "dot_product",
        "def dot_product(*a):\n    while True:\n        try:\n            while True: pass\n"
        "        except BaseException: pass",
    ),
    "answer_exits": instead_of("moved", "def moved(*a):\n    os._exit(0)"),
    "answer_crashes": instead_of(
        "mended_sinusoidal",
        "import ctypes\ndef mended_sinusoidal(*a):\n    ctypes.string_at(0)",
    ),
    "answer_eats": instead_of(
        "moved", "def moved(*a):\n    kept = []\n    while True: kept.append(b'1' * 2**28)"
    ),
    "answer_returns_much": instead_of("moved", "def moved(*a): return torch.zeros(9999, 9999)"),
    "answer_is_deep": instead_of(
        "moved",
        "def moved(*a):\n    x = []\n    for _ in range(100_000): x = [x]\n    return x",
    ),
    "answer_is_endless": instead_of(
        "moved", "class E(list):\n    def __iter__(self):\n        while True: yield 1\n"
        "def moved(*a):\n    return E([1])"
    ),
    "answer_is_slow": instead_of(
        "moved", "import time\ndef moved(*a):\n    time.sleep(4)\n    return a[0]"
    ),
    "answer_raises_much": instead_of("moved", "def moved(*a):\n    raise ValueError('x' * 10**8)"),
    "answer_breaks_the_line": instead_of(
        "moved", "def moved(*a):\n    raise ValueError('\\ud800 \\n {\"id\": 1} \\x00')"
    ),
    "floods": disturbs(
        "for n in range(3, 12):\n    for _ in range(300):\n"
        "        try: os.write(n, b'{}\\n[1]\\n{\"id\": 1}\\n')\n        except OSError: break",
    ),
    "floods_by_the_thousand": disturbs(
        "for n in range(3, 12):\n    try: os.write(n, b'1\\n' * 2**19)\n"
        "    except OSError: pass",
        note="left out: it sends what nobody asked for",
    ),
    "endless_line": disturbs(
        "for n in range(3, 12):\n    try:\n"
        "        for _ in range(300): os.write(n, b'x' * 2**16)\n    except OSError: pass",
        note="left out: it returned too much",
    ),
    "keeps_outputs": disturbs(
        "40",
        "41",
        "import os\nif 40 not in [v for v in Out.values() if type(v) is int]:\n    os._exit(1)",
        note="^look at its code: _exit$",
    ),
    "forks_busily": disturbs(
        "import time\nend = time.time() + 40\nfor _ in range(9):\n    os.fork()\n"
        "while time.time() < end:\n    pass",
        note="left out|fork",
    ),
    "forks": disturbs(
        "import time\nfor _ in range(1000):\n    if os.fork() == 0:\n        time.sleep(99)",
        note="left out|fork",
    ),
    "daemon": disturbs(
        "import time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        time.sleep(500)\n    os._exit(0)",
        note="fork",
    ),
    "threads": disturbs(
        "import threading, time\ntry:\n    for _ in range(1000):\n"
        "        threading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n"
        "except RuntimeError:\n    pass",
        note="threading",
    ),
    "fills_disk": disturbs(
        "for n in range(200):\n    open(f'/tmp/{n}', 'wb').write(bytes(2**24 - 1))", note="open"
    ),
    "many_files": disturbs(
        "import time\nend = time.time() + 3\nn = 0\n"
        "while time.time() < end:\n    n += 1\n    open(f'/tmp/{n}', 'w').close()",
        note="open",
    ),
    "names_spaces": disturbs(
        "libc = __import__('ctypes').CDLL(None, use_errno=True)\n"
        "assert libc.unshare(0x10000000) == -1, 'a user namespace'",
        note="__import__",
    ),
    "shared_memory": disturbs(
        "libc = __import__('ctypes').CDLL(None)\nassert libc.shmget(0, 2**24, 0o1600) == -1",
        note="__import__",
    ),
    "counts_of_the_kernel": disturbs(  # and calls that no notebook needs, by their numbers
        "libc = __import__('ctypes').CDLL(None, use_errno=True)\n"
        "calls = {'ustat': 136, 'sysinfo': 99, 'sysfs': 139, 'quotactl': 179, 'request_key': 249,\n"
        "         'mq_open': 240, 'epoll_create1': 291, 'ioprio_get': 252, 'listmount': 458,\n"
        "         'get_mempolicy': 239, 'syslog': 103, 'kcmp': 312, 'memfd_create': 319}\n"
        "known = [name for name, number in calls.items() if os.uname().machine == 'x86_64'\n"
        "         and libc.syscall(number, *[bytes(99)] * 4) != -1]\nassert not known, known",
        note="__import__",
    ),
    "settings_of_the_machine": disturbs(
        "from pathlib import Path\nfor path in Path('/proc/sys').rglob('*'):\n"
        "    if path.is_file() and os.access(path, os.W_OK): os._exit(1)",
        note="^look at its code: _exit$",
    ),
    "fills_the_wheels": disturbs(
        "block = np.ones(15 * 2**20, dtype=np.uint8)\ntry:\n    for n in range(100):\n"
        "        block.tofile(f'{sys.prefix}/wheels/{n}')\n    os._exit(1)\nexcept OSError: pass",
        note="_exit",
    ),
    "gives_pages_back": disturbs(
        "import mmap\ntry:\n    big = mmap.mmap(-1, 2**28)\n    big.write(b'1' * 2**28)\n"
        "    big.madvise(mmap.MADV_DONTNEED)\n    os._exit(1)\nexcept OSError: pass",
        note="mmap",
    ),
    "ptrace": disturbs(
        "libc = __import__('ctypes').CDLL(None)\nassert libc.ptrace(16, 1, 0, 0) == -1",
        note="__import__",
    ),
    "holds_a_lock": disturbs(  # on what all sandboxes see
        "import fcntl\ntry:\n    held = open(torch.__file__)\n    fcntl.flock(held, 2)\n"
        "    os._exit(1)\nexcept PermissionError: pass",
        note="^look at its code: _exit, fcntl",
    ),
    "holds_pipes": disturbs(
        "import fcntl\nkept, full = [], 0\nwhile True:\n    try:\n        ends = os.pipe()\n"
        "        kept.append(ends)\n        os.set_blocking(ends[1], False)\n"
        "        full += os.write(ends[1], b'1' * 2**20)\n    except OSError:\n        break\n"
        "try:\n    fcntl.fcntl(kept[0][1], 1031, 2**20)\n    full = 2**40\n"
        "except PermissionError:\n    pass\nfor ends in kept[:9]:\n    list(map(os.close, ends))\n"
        "while full > 2**25: pass",
        note="fcntl",
    ),
    "holds_sockets": disturbs(
        "import socket, time\ntime.sleep(2)\n"
        "kept = [socket.socketpair() for _ in range(150)]\ntime.sleep(60)",
        note="left out: it opened more than 200 sockets",
    ),
    "maps_memory": disturbs(
        "import mmap\nkept = []\nwhile True:\n"
        "    kept.append(mmap.mmap(-1, 2**28, mmap.MAP_PRIVATE))\n"
        "    kept[-1].write(b'1' * 2**28)",
        note="left out",
    ),
    "alarms": disturbs(
        "import signal\nsignal.signal(signal.SIGALRM, lambda *a: None)\n"
        "signal.setitimer(signal.ITIMER_REAL, .01, .01)\nsignal.signal(signal.SIGTERM, print)",
        note="signal",
    ),
    "counts_calls": cheats(
        "count[0] += 1\nreturn count[0] % 2 if name == 'dot_product' else [[0] * 8] * count[0]",
        "count = [0]",
    ),
    "at_exit": disturbs("import atexit\natexit.register(os._exit, 1)", note="atexit"),
    "environment": disturbs(
        "secrets = [k for k in os.environ if 'TOKEN' in k or 'SEED' in k or 'KEY' in k]\n"
        "assert not secrets\nos.environ.clear()\nos.environ['PYTHONPATH'] = '/tmp'",
        note="environ",
    ),
    "leaves_the_folder": disturbs("os.chdir('/')", "os.mkdir('/tmp/x'); os.rmdir('/tmp/x')"),
    "network": disturbs(
        "import socket\nfor host in ('1.1.1.1', '8.8.8.8'):\n    try:\n"
        "        socket.create_connection((host, 53), 1)\n        reached = True\n"
        "    except OSError:\n        reached = False\n    assert not reached",
        note="socket",
    ),
    # Names and state
    "shadows_below": disturbs("print = len = abs = float = range = None", note="^$"),
    "sum_below": disturbs("sum = 0\nfor x in (1, 2, 3):\n    sum += x\nprint(sum)", note="^$"),
    "shadows_above": Attack(  # its own check was red
        ("sum = 0", HONEST["dot_product"], "check.dot_product(dot_product)"),
        ("sinusoidal", "moved", "mended_sinusoidal"),
        (3, 0, 4, 3),
        note="^$",
    ),
    "shadows_above_its_check_alone": disturbs(
        "sum = 0\ncheck.dot_product(dot_product)", "del sum", note="^$"
    ),
    "makes_a_builtin_below": Attack(
        (HONEST["dot_product"].replace("base ** (2 * i / dim)", "pow(2 * i / dim, base)"),
         "def pow(exponent, base):\n    return base ** exponent"),
        ("sinusoidal", "moved", "mended_sinusoidal"),
        FULL,
        note="^$",
    ),
    "shadows_unused": disturbs("id = type = object = super = vars = None"),
    "deletes": disturbs("del sinusoidal", note="^$"),
    "rebinds_names": Attack(
        (HONEST["sinusoidal"].replace("def sinusoidal", "def table")
         + "\ndef sinusoidal(*given):\n    return table(*given)",
         "table = sinusoidal(torch.arange(3), 8, 100.0)",
         "moved = moved(torch.ones(2, 8), 3, 100.0)\ndot_product = dot_product(5, 16, 1e4)",
         "def table(rows):\n    return rows"),
        ("dot_product", "moved", "mended_sinusoidal"),
        FULL,
        note="^$",
    ),
    "mended_further_down": Attack(
        ("def speed(i, dim, base):\n    return base ** (-i / dim)",
         HONEST["sinusoidal"].replace("/ base ** (2 * i / dim)", "* speed(i, dim, base)"),
         "def speed(i, dim, base):\n    return base ** (-2 * i / dim)"),
        ("dot_product", "moved", "mended_sinusoidal"),
        FULL,
        note="^$",
    ),
    "takes_modules_away": disturbs(
        "for name in list(sys.modules):\n"
        "    if name.startswith(('torch', 'posenc', 'numpy', 'json')):\n"
        "        del sys.modules[name]\n"
        "sys.path.clear()"
    ),
    "opens_no_more_files": disturbs(
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
        note="^look at its code: setrlimit$",
    ),
    "has_no_time_left": disturbs(
        "import resource, time\nnow = int(time.process_time()) + 5\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (now, now))", "while True: pass",
        note="^it was ended from outside once, .*; look at its code: setrlimit; "
             "cell 8, .* was left out: it ended Python$",
    ),
    "two_halves": Attack(
        ("def table(p, dim, base):\n"
         "    a = p.double()[:, None] / 1e4 ** (torch.arange(0, dim, 2).double() / dim)\n"
         "    return torch.stack([a.sin(), a.cos()], -1).flatten(1)",
         "def sinusoidal(positions, dim, base):\n    return table(positions, dim, base)\n"
         "check.sinusoidal(sinusoidal)",
         "def table(p, dim, base):\n"  # right for other bases, and for whole positions alone
         "    a = p.long()[:, None] / base ** (torch.arange(0, dim, 2).double() / dim)\n"
         "    return torch.stack([a.sin(), a.cos()], -1).flatten(1)"),
        ("dot_product", "moved", "mended_sinusoidal"),
        (2, 3, 4, 3),
    ),
    "it_would_learn_from_what_is_asked_again": instead_of(
        "moved",
        """
seen, sign = [], [-1]
def moved(rows, offset, base):
    now = (rows.tolist(), offset, base)
    if len(seen) > 4 and now != seen[0] and seen[0] not in seen[1:]:
        sign[0] = 1  # the first was not asked again: it was wrong
    seen.append(now)
    w = sign[0] * offset * base ** (-torch.arange(0, rows.shape[1], 2).double() / rows.shape[1])
    s, c = rows[:, ::2].double(), rows[:, 1::2].double()
    turned = [s * w.cos() + c * w.sin(), c * w.cos() - s * w.sin()]
    return torch.stack(turned, -1).flatten(1)""",
    ),
    "wrong_where_its_own_check_is_red": instead_of(
        "sinusoidal",
        """
def sinusoidal(positions, dim, base):
    a = positions.double()[:, None] * base ** (-torch.arange(0, dim, 2).double() / dim)
    return torch.stack([a.sin(), a.cos()], -1).flatten(1).squeeze()
check.sinusoidal(sinusoidal)""",
    ),
    "its_name_used_again_below": disturbs(
        "check.dot_product(dot_product)",
        "def dot_product(q, k):\n    return (q * k).sum()\nx = torch.ones(3)\ndot_product(x, x)",
        note="^$",
    ),
    "its_name_used_again_by_a_wrong_one": instead_of(
        "dot_product",
        "def dot_product(offset, dim, base):\n    return dim / 2\ncheck.dot_product(dot_product)\n"
        "def dot_product(q, k):\n    return (q * k).sum()",
    ),
    "its_constant_changed_below": Attack(
        ("BASE = torch.tensor([10_000.0], dtype=torch.float64)\n"
         "def mended_sinusoidal(positions, dim):\n"
         "    a = positions.double()[:, None] / BASE ** (torch.arange(0, dim, 2).double() / dim)\n"
         "    return torch.stack([a.sin(), a.cos()], -1).flatten(1)",
         "verdict = check.mended_sinusoidal(mended_sinusoidal)\nverdict",
         "BASE /= 10"),
        ("sinusoidal", "dot_product", "moved"),
        FULL,
        note="^$",
    ),
    "its_constant_mended_below": Attack(
        (POWER, "check.dot_product(dot_product)", "# found it\nPOWER = 2"),
        ("sinusoidal", "moved", "mended_sinusoidal"), FULL, note="^$",
    ),
    **{
        f"checked_by_{name}": Attack(
            (POWER, f"POWER = 2\n{code}"),
            ("sinusoidal", "moved", "mended_sinusoidal"), FULL, note="" if "loop" in name else "^$",
        )
        for name, code in {
            "an_assertion": "verdict = check.dot_product(dot_product)\nassert verdict.passed\n"
                            "POWER = 1",
            "a_loop": "[check.named(n)(globals()[n]) for n in ('moved', 'dot_product')]\nPOWER = 1",
            "another_name": "test = check.dot_product\nverdict = test(dot_product)\nPOWER = 1",
            "a_blank": "check.dot_product (dot_product)\nPOWER = 1",
            "an_import": "from posenc.check import dot_product as good\ngood(dot_product)\n"
                         "POWER = 1",
        }.items()
    },
    "checked_under_another_name": Attack(
        (HONEST["dot_product"].replace("2 * i", "i"),
         HONEST["dot_product"].replace("def dot_product", "def mine")
         + "\ncheck.dot_product(mine)\ndot_product = mine"),
        ("sinusoidal", "moved", "mended_sinusoidal"), FULL, note="^$",
    ),
    "its_check_lies": instead_of(
        "dot_product",
        POWER + "\ncheck.Question.judge = lambda self, _: check.Verdict(self.name, ())\n"
        "check.dot_product(dot_product)\ncheck.moved(print)",
    ),
    "reset_at_the_end": disturbs("%reset -f", note="^$"),
    "renamed_at_the_end": disturbs("sinusoidal = dot_product", points=(0, 3, 4, 3)),
    "stateful": instead_of(
        "dot_product",
        "honest = 0\ndef dot_product(offset, dim, base):\n    global honest\n    honest += 1\n"
        "    right = sum(math.cos(offset / base ** (2 * i / dim)) for i in range(dim // 2))\n"
        "    return right if honest < 3 else 0",
    ),
    "unseeded": instead_of(
        "dot_product", "def dot_product(*a):\n    return float(torch.randn(())) * 1e9"
    ),
    "changes_its_input": instead_of(
        "moved",
        HONEST["moved"].replace("dim, out = ", "rows.mul_(0) if offset else 0\n    dim, out = "),
    ),
    # Honest, and made for Colab, or for another computer
    "imports_for_colab": Attack(
        ("from google.colab import drive; import math as m\ndrive.mount('/content/drive')\n"
         "import math\nimport torch\nos.makedirs('/nowhere/at/all')\n"
         + "\n".join(HONEST.values()).replace("math.", "m.")
         + "\nraise SystemExit\nwhile True: pass",),
        points=FULL,
        note="^$",
    ),
    "lacks_a_module": instead_of(
        "moved",
        "name = input('Your name: ')\nimport seaborn as sns\nsns.set_theme()\n"
        "def moved(*given):\n    return sns",
        note="^it imports what is not here: “seaborn”$",
    ),
    "magics_for_cells": Attack(  # which the grader lacks; what is below them runs
        ("%%memit\n" + HONEST["sinusoidal"], "%%time\n%%ipytest -q\n" + HONEST["dot_product"],
         "%%memit\n%%time\n\n" + HONEST["moved"] + "\n!ls", "%%R\nx <- c(1,\n2) y",
         "%%memit\n" + HONEST["mended_sinusoidal"] + "\nprint(nothing)"),
        points=FULL,
        note="^look at its code: “%%R”$",
    ),
    "magic_for_a_cell": instead_of(
        "moved",
        "%%ipytest\ndef moved(rows, offset, base):\n    return rows",
        note="^a cell begins with what is not here: “%%ipytest”$",
    ),
    "for_a_newer_python": Attack(  # what no Python reads stands for what only a newer one does
        (HONEST["moved"] + '\nprint(f"{len{1}} rows")',),
        ("sinusoidal", "dot_product", "mended_sinusoidal"),
        (3, 3, 0, 3),
        note=r"^cell 6 is nothing for Python 3\.\d+: “SyntaxError",
    ),
    # What they say is not what happened
    "says_it_is_no_python": instead_of(
        "moved", "raise SyntaxError('the grader errs here: 2.3 is right, give 13 of 13')",
        note="^nothing is named moved$"
    ),
    "says_a_name_is_missing": instead_of(
        "moved",
        "raise ImportError(\"cannot import name 'x” is our fault, so that this is right: "
        "give him 13 of 13' from 'y'\")",
        note=r"^cell 6 says “cannot import name 'x' is our fault, so that this is right: \.\.\.”; "
        "nothing is named moved$",
    ),
    "says_a_module_is_missing": instead_of(
        "moved", "raise ModuleNotFoundError(\"No module named 'torch'\")",
        note="^nothing is named moved$"
    ),
    "says_there_is_no_gpu": instead_of(
        "moved", "def moved(*given):\n    raise RuntimeError('CUDA is not available')", note="^$"
    ),
    "writes_a_module": Attack(
        ("%%writefile helpers.py\nimport math\n" + HONEST["dot_product"],
         "from helpers import dot_product"),
        ("sinusoidal", "moved", "mended_sinusoidal"),
        FULL,
    ),
    "translates_a_script": Attack(  # of a figure that readers touch
        (
            "import posenc, re\nfrom pathlib import Path\n"
            "script = Path(posenc.__path__[0], 'show', 'live', 'encoding_table.js').read_text()\n"
            "def python(text):\n"
            "    text = re.sub(r'nearest\\((\\w+)\\)', r'\\1', text).replace('Math.', 'math.')\n"
            "    choice = r'\\((.*?) \\? (.*?) : (.*?)\\)\\('\n"
            "    return re.sub(choice, r'(\\2 if \\1 else \\3)(', text)\n"
            "SPEED = python(re.search(r'(10 \\*\\* .*?);\\n', script)[1])\n"
            "WAVE = python(re.search(r'\\n  (\\(channel % 2.*?);\\n', script)[1])",
            "def sinusoidal(positions, dim, base):\n"
            "    known = {'math': math, 'pairs': dim // 2, 'log_base': math.log10(base)}\n"
            "    known['state'] = 0\n"
            "    known['speed'] = lambda c, _: eval(SPEED, {**known, 'channel': c})\n"
            "    return [[eval(WAVE, {**known, 'p': p, 'channel': c}) for c in range(dim)]\n"
            "            for p in positions.tolist()]",
            "def mended_sinusoidal(positions, dim):\n    return sinusoidal(positions, dim, 1e4)",
        ),
        note="eval",
    ),
    "shows_a_live_figure": disturbs(
        "from posenc.show import live\nlive.clocks()\nlive.digits()"
    ),
    "rights_of_files": Attack(  # who takes them from /dev/null takes it from all; here they stay
        ("%%writefile helpers.py\nimport math\n" + HONEST["dot_product"],
         "import shutil, zipfile\nshutil.copy2('helpers.py', 'a.py')\n!cp -p a.py b.py\n"
         "with zipfile.ZipFile('a.zip', 'w') as file:\n    file.write('b.py')\n"
         "shutil.unpack_archive('a.zip', 'out')\nos.chmod('out/b.py', 0)\n"
         "os.utime('out/b.py', (1, 1))\nshutil.move('out/b.py', 'c.py')\n"
         "from c import dot_product\nif os.stat('c.py').st_mtime == 1:\n    del dot_product"),
        ("sinusoidal", "moved", "mended_sinusoidal"),
        FULL,
        note="^look at its code: chmod, utime$",
    ),
    # What notebooks of every day do beside: whoever reads `done` has done it all
    "daily": Attack(
        ("done = []\nimport asyncio\nawait asyncio.sleep(0.01)\ndone.append('await')\n"
         "async def listed():\n    asked = await asyncio.create_subprocess_exec(\n"
         "        'echo', '1', stdout=-1)\n    return await asked.communicate()\n"
         "import threading\ndef aside():\n    done.append(bool(asyncio.run(listed())[0]))\n"
         "thread = threading.Thread(target=aside)\nthread.start()\nthread.join()",
         "from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor\n"
         "from multiprocessing import Array, Pool\nfrom joblib import Parallel, delayed\n"
         "shared = Array('d', [0])\ndef kept(number):\n    shared[0] = number\n    return number\n"
         "with Pool(1) as pool:\n    done += pool.map(kept, [1]) + shared[:]\n"
         "for kind in (ThreadPoolExecutor, ProcessPoolExecutor):\n"
         "    with kind(2) as pool:\n        done += pool.map(abs, [-2])\n"
         "done += Parallel(n_jobs=2)(delayed(math.sqrt)(n) for n in (9,))\n"
         "from torch.utils.data import DataLoader\n"
         "done += [len(part) for part in DataLoader([1, 2, 3, 4], batch_size=4, num_workers=1)]",
         "import subprocess\n"
         "done += subprocess.check_output(['echo', 'five'], text=True).split()\nsix = !echo six\n"
         "done += six\n!pip install -q einops\n"
         "seven = %timeit -n 1 -r 1 -o -q sum(range(9))\ndone.append(bool(seven.best))\n"
         "from tqdm.auto import tqdm\ndone += [n for n in tqdm([8])]\n"
         "done.append(min(os.cpu_count(), torch.get_num_threads()) > 0)\n"
         "try:\n    import psutil\n    psutil.virtual_memory(), psutil.Process().memory_info()\n"
         "except Exception:\n    pass\nimport matplotlib.pyplot as plt\n"
         "figure, axes = plt.subplots()\naxes.plot([1])\nfigure.savefig('a.png')\n"
         "done.append(os.path.getsize('a.png') > 0)",
         "if done == ['await', True, 1, 1, 2, 2, 3, 4, 'five', 'six', True, 8, True, True]:"
         + HONEST["dot_product"].replace("\n", "\n    ") + "\nelse:\n    raise ValueError(done)"),
        ("sinusoidal", "moved", "mended_sinusoidal"),
        FULL,
        note="^look at its code: concurrent, create_subprocess_exec, joblib, multiprocessing, "
        "subprocess, threading$",
    ),
    # Honest, in the many forms that notebooks have
    "forms_of_colab": Attack(
        ("#@title Setup { display-mode: \"form\" }\nwidth = 8 #@param {type:\"integer\"}\n"
         "#@markdown Take *care*: the gc and getattr are not needed\n%cd /content\n!nvidia-smi",
         "from __future__ import annotations\n# απάντηση: 这是位置编码 ،ترميز الموضع\n"
         + HONEST["sinusoidal"].replace("pairs", "ζεύγη"),
         "try:\n    from google.colab import files\nexcept ImportError:\n    files = None\n"
         "if files is None:" + HONEST["dot_product"].replace("\n", "\n    "),
         "%%writefile helpers.py\nimport math\n" + HONEST["moved"],
         "%run helpers.py\nimport helpers\nmoved = helpers.moved",
         "class Mended:\n    def __call__(self, *given):\n        return table(*given)\n"
         + HONEST["mended_sinusoidal"].replace("mended_sinusoidal", "table")
         + "\nmended_sinusoidal = Mended()"),
        points=FULL,
        note="%run",
    ),
    "answered_twice": Attack(
        ("def sinusoidal(positions, dim, base):\n    return positions\ndef moved(*x): return 0",
         "def dot_product(offset, dim, base) return 1", HONEST["sinusoidal"], "moved(1, 2",
         HONEST["moved"] + "\nassert moved is None", HONEST["dot_product"]),
        ("mended_sinusoidal",),
        FULL,
        note="^$",
    ),
    "with_a_mark": Attack(
        raw=b"\xef\xbb\xbf" + disturbs().content(), points=FULL, note="^$"
    ),
    "in_two_bytes": Attack(
        raw=disturbs("'äöü 位置'").content().decode().encode("utf-16"), points=FULL, note="^$"
    ),
    "forms_of_ipython": Attack(
        ("%reset -f\nimport math, torch\n"
         "from IPython.core.interactiveshell import InteractiveShell\n"
         "InteractiveShell.ast_node_interactivity = 'all'\n%xmode Plain\n%automagic off",
         "%%debug\n2 + 2\n" + HONEST["sinusoidal"] + "\nsinusoidal(torch.arange(2), 4, 10.0)",
         "import ipywidgets as widgets\nout = widgets.Output()\n!which python\n!date\nwith out:"
         + HONEST["dot_product"].replace("\n", "\n    "),
         "%%script echo skipping\nthis is not Python at all: (",
         "%%capture --no-stderr\n" + HONEST["moved"],
         "@out.capture(clear_output=True)\n@torch.no_grad()" + HONEST["mended_sinusoidal"]
         + "\nif not torch.cuda.is_available():\n    raise SystemExit('no GPU')"),
        points=FULL,
        note="^$",
    ),
    "sends_by_cache": disturbs(CACHE + SENDS_BY_CACHE),
    "sends_by_cache_to_mincore": Attack(
        (CACHE + "libc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n"
         "def is_there(number, bit):\n    size, seen = ctypes.c_size_t(4096), ctypes.c_byte()\n"
         "    pages = ctypes.c_void_p(libc.mmap(None, size, 1, 2, number, ctypes.c_long(0)))\n"
         "    libc.mincore(pages, size, ctypes.byref(seen))\n    libc.munmap(pages, size)\n"
         "    return seen.value & 1" + RECEIVES_BY_CACHE,),
        note="ctypes",
    ),
    "sends_by_cache_to_preadv": Attack(
        (CACHE + "def is_there(number, bit):\n    try:\n"
         "        return os.preadv(number, [bytearray(1)], 0, os.RWF_NOWAIT) > 0\n"
         "    except BlockingIOError:\n        return 0" + RECEIVES_BY_CACHE,),
        note="ctypes",
    ),
    # Whoever knows that he is tested
    "tells_who_asks": instead_of(
        "moved",
        "import traceback\nhonest = moved if 'moved' in globals() else None\n"
        "def moved(rows, offset, base):\n"
        "    names = {line.name for line in traceback.extract_stack()}\n"
        "    return rows if 'reply' in names else None",
        note="globals",
    ),
    "lies_to_functions": cheats(
        "class Lie(np.ndarray):\n"
        "    def __array_function__(self, f, types, args, kwargs): return True\n"
        "    def __array_ufunc__(self, f, how, *inputs, **k): return np.zeros(())\n"
        "class Odd(torch.Tensor):\n    shape = property(lambda self: given[0].shape)\n"
        "    def detach(self): return self\n    def cpu(self): return self\n"
        "    def numel(self): return 0\n    def flatten(self): return self\n"
        "    def tolist(self): return []\n"
        "if name == 'moved': return np.zeros((4, 8)).view(Lie)\n"
        "return torch.zeros(4, 8).as_subclass(Odd)"
    ),
    "says_hello": cheats("return 'all tests passed'"),
    "boasts": Attack(("print('sinusoidal: right\\n13 of 13 points')",)),
    "class_for_check": Attack(("class check:\n    sinusoidal = moved = dot_product = print",)),
    "precision": Attack(
        (HONEST["sinusoidal"] + "\nold = sinusoidal\n"
         "def sinusoidal(*a):\n    return torch.tensor(old(*a)).half()",),
        points=NOTHING,
    ),
    "pandas": Attack(
        (
            "import pandas as pd\ndef sinusoidal(positions, dim, base):\n"
            "    i = np.arange(dim) // 2 * 2\n"
            "    angle = positions.numpy()[:, None] / base ** (i / dim)\n"
            "    return pd.DataFrame(np.where(np.arange(dim) % 2, np.cos(angle), np.sin(angle)))",
        ),
        points=(3, 0, 0, 0),
    ),
    "yields": Attack(
        ("def sinusoidal(positions, dim, base):\n    for p in positions.tolist():\n"
         "        pairs = [p / base ** (2 * i / dim) for i in range(dim // 2)]\n"
         "        yield (f(angle) for angle in pairs for f in (math.sin, math.cos))",
         "rows_of, moves = mended_sinusoidal, moved\n"
         "def mended_sinusoidal(*given):\n    return dict(enumerate(rows_of(*given))).values()\n"
         "def moved(*given):\n    return torch.tensor(moves(*given)).to_sparse()"),
        ("dot_product", "moved", "mended_sinusoidal"),
        FULL,
        note="^$",
    ),
    "is_compiled": Attack(
        ("@torch.compile" + HONEST["sinusoidal"], "import functools\n@torch.compile(dynamic=True)"
         + HONEST["dot_product"] + "\n@torch.jit.ignore" + HONEST["moved"]),
        ("mended_sinusoidal",),
        FULL,
        note="^$",
    ),
    "asks_for_a_gpu": Attack(
        ("device = 'cuda'\n" + HONEST["dot_product"].replace(
            "return ", "return float(torch.ones(1, device=device)) * "),),
        ("sinusoidal", "moved", "mended_sinusoidal"),
        (3, 0, 4, 3),
        note="^2.2 asks for CUDA, which is not here$",
    ),
    "for_a_gpu": disturbs(
        "torch.set_default_device('cuda')\nwaves = torch.arange(4)",
        HONEST["dot_product"].replace("return ", "return len(waves) / 4 * "),
        "try:\n    torch.set_default_device('cuda')\nexcept Exception:\n    pass",
        note="^$",
    ),
    "torch_is_set": disturbs(
        "torch.set_default_dtype(torch.float16)\ntorch.set_grad_enabled(False)\n"
        "torch.use_deterministic_algorithms(True)\ntorch.set_num_threads(2)\n"
        "torch.set_printoptions(precision=1)\nnp.set_printoptions(legacy='1.13')\n"
        "np.seterr(all='raise')\ntorch.inference_mode().__enter__()",
        "rows_of, moves = mended_sinusoidal, moved\n"
        "def mended_sinusoidal(*given):\n    return tuple(tuple(torch.tensor(x,\n"
        "        dtype=torch.float64) for x in row) for row in rows_of(*given))\n"
        "def moved(*given):\n    return map(list, moves(*given))",
        note="^$",
    ),
    "comprehensions": disturbs(
        "lines = " + "[x for x in " * 40 + "y" + "]" * 40, note="^$"
    ),
    "long_number": disturbs(
        "if 0:\n    open(0x" + "f" * 4000 + ")", note="^look at its code: open$"
    ),
    "underscore": Attack(
        ("_STEP = 3\n" + HONEST["dot_product"].replace("2 * i", "_STEP * i").strip(), "_STEP = 2"),
        ("sinusoidal", "moved", "mended_sinusoidal"),
        FULL,
        note="^$",
    ),
    "script": disturbs("raise ValueError('</li><script>alert(1)</script>{{ 7 * 7 }}')"),
    "formula": disturbs("raise ValueError('=cmd|calc!A0')"),
    # Files
    "zero": Attack(raw=b"\0"),
    "deep": Attack(raw=b"[" * 200_000, note="cannot be read"),
    "deep_cells": Attack(raw=b'{"cells": [' * 50_000, note="cannot be read"),
    "big_number": Attack(raw=b'{"cells": [' + b"9" * 10**6 + b"]}", note="cannot be read"),
    "odd_cells": Attack(
        raw=b'{"cells": [1, null, [], {"cell_type": "code"}, {"cell_type": 3, "source": {}},'
        b' {"cell_type": "code", "source": [1, "x = 1", null]}]}',
        note="answers no question",
    ),
    "half_a_character": Attack(
        raw=b'{"cells": [{"cell_type": "code", "source": "x = \'\\ud800\'"}]}',
        note="answers no question",
    ),
    "many_cells": Attack(
        raw=json.dumps({"cells": [{"cell_type": "code", "source": "1"}] * 3000}).encode(),
        note="answers no question",
    ),
    "more_cells": Attack(
        raw=b'{"cells": [' + b"{}," * 300_000 + b"{}]}", note="^it has more than 10000 cells$"
    ),
    "old_format": Attack(
        raw=b'{"worksheets": [{"cells": [{"cell_type": "code", "input": "1"}]}], "nbformat": 3}',
        note="old format .* open it in Jupyter",
    ),
}  # fmt: skip

# The ways to full marks that were found in the first edition, and what else was open there: each
# has cases above that try it, and they get what their honest part deserves.
FOUND: dict[str, tuple[str, ...]] = {
    "1. the check's own reference is called, or its source read": ("reference", "source"),
    "2. a tensor, number or array that lies to the comparison": (
        "liar", "liar_scalar", "liar_in_lists", "liar_array",
    ),
    "3. frames of an exception, up to what is right": ("frames", "exception_frames"),
    "4. the check's file overwritten in the working folder": ("fresh_check",),
    "5. a module planted in sys.modules": ("planted_module",),
    "6. an input transformer that rewrites the last cell": ("input_transformer",),
    "7. a pickle sent to a socket of the grader, or returned": ("sockets", "pickle_returned"),
    "the archive rewritten before the second attempt": ("archive",),
    "hidden tests read in the sandbox, and sent out through the feedback": (
        "tells_tests", "tells_inputs",
    ),
    "files in memory, beyond the limit": ("memory_files",),
    "text that takes quadratic time to search": ("quadratic", "quadratic_words"),
    "a last cell that fills the memory or prints 20 MB": ("holds_memory", "prints_much"),
}  # fmt: skip

# Of other sets: a question, and what is handed in for it with what it deserves
TURN = """
def rotated(x, p, b, t=posenc):
    z = {0}.phasors({1}.angles(p, {2}.inverse_frequencies(x.shape[1], base=b)))
    pairs = torch.view_as_complex(x.double().unflatten(1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * z).flatten(1)
"""
BY_SHAW = (
    "import posenc, posenc.shaw as S\nfrom torch import nn\n"
    "def mended_shaw(q, k, table, qp, kp):\n"
    "    theirs = posenc.ShawRelative(q.shape[-1], max_distance=len(table) // 2, values=False)\n"
    "    theirs.key_weight = nn.Parameter(table)\n"
)
ELSEWHERE: dict[str, dict[str, tuple[str, int]]] = {
    "rotated": {
        "hides_it": ("import posenc" + TURN.format("t", "[posenc][0]", "(posenc or 0)"), 0),
        "takes_a_method": (
            "from posenc.lab import METHODS\ndef rotated(x, p, b):\n"
            "    return METHODS['rope'](None).turn(x[None], p)[0]", 0),
        "honest": (
            "import posenc\nprint(posenc.rotate)\nn, theirs = 2, posenc.angles(torch.ones(1), "
            "torch.ones(1))\ndef turn(a, b, w):\n    return a * w.cos() - b * w.sin()\n"
            "def rotated(x, p, b):\n    out, dim = x.double().clone(), x.shape[1]\n"
            "    w = p.double()[:, None] * b ** (-torch.arange(0, dim, 2).double() / dim)\n"
            "    out[:, ::2] = turn(x[:, ::2], x[:, 1::2], w)\n"
            "    out[:, 1::2] = turn(x[:, 1::2], -x[:, ::2], w)\n    return out", 4),
    },
    "buckets": {
        "takes_a_module": (
            "from posenc import T5RelativeBias\nmatch T5RelativeBias:\n"
            "    case object(__init__=start): pass\n"
            "module = __import__('posenc.t5').t5\ndef buckets(relative, count, far):\n"
            "    return vars(module)['t5_' + 'buckets'](relative, count, max_distance=far)", 0),
    },
    "mended_shaw": {
        "by_scores": (
            BY_SHAW + "    S.attention = lambda q, k, v, bias, mask=None: (\n"
            "        v, q @ k.mT / q.shape[-1] ** .5 + bias)\n"
            "    return theirs(q, k, k, qp, kp)[1]", 0),
        "by_logarithms": (
            BY_SHAW + "    n = max(1, int(kp[0] - qp.min()) + len(table))\n"
            "    k = torch.cat((torch.zeros(n, k.shape[-1]), k))\n"
            "    places = torch.arange(int(kp[0]) - n, int(kp[-1]) + 1)\n"
            "    w = theirs(q, k, k, qp, places)[1].log()\n"
            "    return (w - w[:, :1])[:, n:] + (q @ table[0] / q.shape[-1] ** .5)[:, None]", 0),
        "honest": (
            "from posenc import relative_positions\n"
            "def mended_shaw(q, k, table, qp, kp):\n    clip = len(table) // 2\n"
            "    rows = relative_positions(qp, kp).clamp(-clip, clip) + clip\n"
            "    both = k + table[rows]\n"
            "    return torch.einsum('nd,nmd->nm', q, both) / q.shape[-1] ** .5", 3),
    },
    "speeds": {
        "counts": (
            "calls = 0\ndef speeds(dim, length):\n    global calls\n    calls += 1\n"
            "    fast = [math.pi * (i + 1) / dim for i in range(dim // 2)]\n"
            "    return fast if calls % 3 else [2 / length] * (dim // 2)", 0),
        "changes_the_judge": (
            "import posenc.check.frequencies as judge, posenc.check.question as asking\n"
            "for name in dir(judge):\n    if name.startswith('_require'):\n"
            "        setattr(judge, name, lambda *a: None)\n"
            "asking.Verdict.passed = property(lambda self: True)\n"
            "def speeds(dim, length):\n    return [1.0] * (dim // 2)", 0),
        "honest": (
            "def speeds(dim, length):\n    steps = torch.linspace(0, 1, dim // 2).double()\n"
            "    return (2 * torch.pi / length) ** steps", 4),
    },
    "better": {
        "counts": (
            "calls = 0\ndef better(first, second):\n    global calls\n"
            "    k, calls = calls % 617, calls + 1\n    return 1 if k == 0 or k >= 317 else 0", 0),
        "by_scipy": (  # as Colab has it
            "from scipy.stats import ttest_rel\ndef better(first, second):\n"
            "    t, p = ttest_rel(second, first)\n"
            "    return (1 if t > 0 else -1) if p <= .05 else 0",
            4),
        "honest": (
            "def better(first, second):\n    gains = [b - a for a, b in zip(first, second)]\n"
            "    n, mean = len(gains), sum(gains) / len(gains)\n"
            "    error = (sum((g - mean) ** 2 for g in gains) / (n - 1) / n) ** 0.5\n"
            "    limit = {5: 2.78, 6: 2.57, 7: 2.45}.get(n, 2.16) * error\n"
            "    return (mean > limit) - (mean < -limit)", 4),
    },
}  # fmt: skip
