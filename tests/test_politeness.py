"""A check leaves the person's files as they were: however the program wrote them, and however it ended."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from autograd_doctor.keeping import put_back as putting_back
from autograd_doctor.keeping.claims import Claims
from autograd_doctor.keeping.listing import Listing
from autograd_doctor.keeping.put_back import put_back
from autograd_doctor.keeping.told import told
from autograd_doctor.keeping.workspace import workspace
from autograd_doctor.plan import Plan, Target
from autograd_doctor.runner.polite import Polite
from tests.checks import soon
from tests.harness import forked, record

Picture = dict[str, tuple[Any, ...]]


def picture(folder: Path) -> Picture:
    """Everything that there is to know of a folder: kinds, modes, times, contents, where links lead."""
    found: Picture = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        facts = path.lstat()
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            content = ""
        times = () if path.is_symlink() else (facts.st_mtime_ns,)
        found[str(path.relative_to(folder))] = (stat.filemode(facts.st_mode), *times, content)
    return found


class Place:
    """A program's folder with things in it, and a run of a program there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.scratch = folder / "scratch"
        self.log = folder / "output.txt"
        self.scratch.mkdir()
        (self.folder / "old" / "deep").mkdir(parents=True)
        (self.folder / "empty").mkdir()
        (self.folder / "a.txt").write_text("before\n")
        (self.folder / "b.bin").write_bytes(bytes(range(256)) * 8)
        (self.folder / "old" / "one.pt").write_text("one")
        (self.folder / "old" / "deep" / "two.pt").write_text("two")
        (self.folder / "link").symlink_to("a.txt")
        (self.folder / "read_only.txt").write_text("fixed")
        (self.folder / "read_only.txt").chmod(0o444)
        os.link(self.folder / "b.bin", self.folder / "second_name.bin")
        os.mkfifo(self.folder / "pipe")
        os.mknod(self.folder / "socket", stat.S_IFSOCK | 0o600)
        os.close(os.open(os.fsencode(self.folder) + b"/\xfe", os.O_CREAT))
        for path in self.folder.rglob("*"):
            if not path.is_symlink():
                os.utime(path, (1e9, 1e9))
        os.utime(self.folder, (1e9, 1e9))

    def plan(self, source: str, **options: Any) -> Plan:
        script = self.folder.parent / "train.py"
        script.write_text(dedent(source))
        trace, scratch = str(self.folder.parent / "trace"), str(self.scratch)
        return Plan(
            target=Target("script", str(script)), needs=[], seconds=0.0, trace=trace, scratch=scratch, **options
        )

    def watch(self, source: str) -> str:
        """What a program printed that ran with its files kept, and without everything else of a check."""
        process = forked(_watched, source, self.folder, self.scratch, self.log)
        process.join(60)
        put_back(self.scratch)
        return self.log.read_text()

    def run(self, source: str, **options: Any) -> str:
        """What a program printed that was checked."""
        record(self.plan(source, **options), cwd=self.folder, log=self.log)
        return self.log.read_text()


def _watched(source: str, folder: Path, scratch: Path, log: Path) -> None:
    output = os.open(log, os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(folder)
    warnings.simplefilter("ignore", FutureWarning)  # of what a release of torch gives up, or changes
    Polite(print, scratch, scratch / "trace").install()
    exec(PRELUDE + dedent(source), {"__name__": "__main__"})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# ------------------------------------------------------------------------------------------------- the ways to write

WAYS = {
    "open w": "open('a.txt', 'w').write('new'); print(open('a.txt').read() == 'new')",
    "open w, new": "open('n.txt', 'w').write('new'); print(open('n.txt').read() == 'new')",
    "open a": "open('a.txt', 'a').write('new'); print(open('a.txt').read() == 'before\\nnew')",
    "open r+": "open('a.txt', 'r+').write('new'); print(open('a.txt').read() == 'newore\\n')",
    "open w+b": "open('b.bin', 'w+b').write(b'1'); print(open('b.bin', 'rb').read() == b'1')",
    "open x": "open('n.txt', 'x').write('new'); print(os.listdir('.').count('n.txt') == 1)",
    "open x, there": "try: open('a.txt', 'x')\nexcept FileExistsError: print(True)",
    "open in a folder that is not there": "try: open('nowhere/n.txt', 'w')\nexcept FileNotFoundError: print(True)",
    "open through a link": "open('link', 'w').write('new'); print(open('a.txt').read() == 'new')",
    "a file of two names": "open('b.bin', 'wb').write(b'1'); print(open('second_name.bin', 'rb').read() == b'1')",
    "os.open": """
        d = os.open('a.txt', os.O_RDWR); os.write(d, b'new'); os.close(d)
        print(open('a.txt').read()[0] == 'n')""",
    "os.ftruncate": "f = open('a.txt', 'r+'); os.ftruncate(f.fileno(), 2); print(os.path.getsize('a.txt') == 2)",
    "os.truncate": "os.truncate('a.txt', 3); print(open('a.txt').read() == 'bef')",
    "pathlib": "Path('a.txt').write_text('new'); Path('n').touch(); print(Path('a.txt').read_text() == 'new')",
    "absolute": "open(os.path.abspath('a.txt'), 'w').write('new'); print(open('a.txt').read() == 'new')",
    "bytes": "open(b'a.txt', 'w').write('new'); print(open('a.txt').read() == 'new')",
    "after chdir": """
        os.chdir('old'); open('one.pt', 'w').write('x'); open('../a.txt', 'w')
        print(os.listdir('.') != [])""",
    "from a thread": """
        import threading
        threads = [threading.Thread(target=open(f'n{i}', 'w').write, args=('x',)) for i in range(8)]
        [t.start() for t in threads]; [t.join() for t in threads]
        print(sum(name.startswith('n') for name in os.listdir('.')) == 8)""",
    "torch.save": "torch.save(torch.arange(3), 'a.txt'); print(torch.load('a.txt').tolist() == [0, 1, 2])",
    "torch.save, new": "torch.save(torch.arange(3), 'n.pt'); print(torch.load('n.pt').tolist() == [0, 1, 2])",
    "torch.save, file": """
        with open('a.txt', 'wb') as file: torch.save(torch.arange(3), file)
        print(torch.load('a.txt').tolist() == [0, 1, 2])""",
    "torch.save, legacy": """
        torch.save(torch.arange(3), 'a.txt', _use_new_zipfile_serialization=False)
        print(torch.load('a.txt').tolist() == [0, 1, 2])""",
    "torch.save, nowhere": "try: torch.save(1, 'nowhere/n.pt')\nexcept RuntimeError as e: print('nowhere' in str(e))",
    "torch.jit": """
        torch.jit.script(torch.nn.ReLU()).save('a.txt'); torch.jit.save(torch.jit.script(torch.nn.ReLU()), 'n.pt')
        print(torch.jit.load('a.txt')(torch.ones(1)).item() == torch.jit.load('n.pt')(torch.ones(1)).item() == 1)""",
    "safetensors": """
        from safetensors import safe_open; from safetensors.torch import load_file, save_file
        save_file({'w': torch.arange(3)}, 'a.txt'); save_file({'w': torch.arange(3)}, 'n.safetensors')
        print(load_file('n.safetensors')['w'].tolist() == load_file('a.txt')['w'].tolist() == [0, 1, 2])""",
    "np.save": "import numpy as np; np.save('old/n.npy', np.arange(3)); print(np.load('old/n.npy').sum() == 3)",
    "np.savez": "import numpy as np; np.savez('n.npz', a=np.arange(3)); print(np.load('n.npz')['a'].sum() == 3)",
    "np.memmap": """
        import numpy as np
        m = np.memmap('b.bin', mode='r+', dtype='u1'); m[:] = 7; m.flush()
        print((np.fromfile('b.bin', dtype='u1') == 7).all())""",
    "ndarray.tofile": "import numpy as np; np.arange(3.0).tofile('b.bin'); print(np.fromfile('b.bin').sum() == 3)",
    "pickle": "import pickle; pickle.dump(5, open('a.txt', 'wb')); print(pickle.load(open('a.txt', 'rb')) == 5)",
    "json": "import json; json.dump({}, open('n.json', 'w')); print(json.load(open('n.json')) == {})",
    "csv": "import csv; csv.writer(open('a.txt', 'a')).writerow([1, 2]); print('1,2' in open('a.txt').read())",
    "logging": """
        import logging; handler = logging.FileHandler('a.txt'); logging.getLogger('x').addHandler(handler)
        logging.getLogger('x').warning('said'); print(open('a.txt').read() == 'before\\nsaid\\n')""",
    "rotating logs": """
        import logging, logging.handlers
        handler = logging.handlers.RotatingFileHandler('a.txt', maxBytes=20, backupCount=2)
        logging.getLogger('y').addHandler(handler); [logging.getLogger('y').warning('x' * 15) for _ in range(5)]
        print(sorted(n for n in os.listdir('.') if n.startswith('a.')) == ['a.txt', 'a.txt.1', 'a.txt.2'])""",
    "shutil.copy": "shutil.copy2('a.txt', 'b.bin'); print(open('b.bin').read() == 'before\\n')",
    "shutil.copytree": "shutil.copytree('old', 'n'); print(open('n/deep/two.pt').read() == 'two')",
    "shutil.move": """
        shutil.move('a.txt', 'old/moved')
        print(open('old/moved').read() == 'before\\n', not os.path.exists('a.txt'))""",
    "shutil.move, folder": """
        shutil.move('old', 'n')
        print(open('n/deep/two.pt').read() == 'two', not os.path.exists('old'))""",
    "shutil.rmtree": "shutil.rmtree('old'); print(not os.path.exists('old'))",
    "rmtree and again": """
        shutil.rmtree('old'); os.mkdir('old'); open('old/one.pt', 'w')
        print(os.listdir('old') == ['one.pt'])""",
    "os.remove": "os.remove('a.txt'); os.remove('link'); print('a.txt' not in os.listdir('.'))",
    "os.remove, read only": "os.remove('read_only.txt'); print('read_only.txt' not in os.listdir('.'))",
    "os.rmdir": "os.rmdir('empty'); print('empty' not in os.listdir('.'))",
    "a file for a folder": "os.rmdir('empty'); open('empty', 'w').write('x'); print(os.path.isfile('empty'))",
    "a folder for a file": """
        os.remove('a.txt'); os.makedirs('a.txt/b'); open('a.txt/b/c', 'w')
        print(os.path.isdir('a.txt'))""",
    "os.rename": """
        os.rename('a.txt', 'n.txt'); open('n.txt', 'a').write('new')
        print(open('n.txt').read() == 'before\\nnew')""",
    "os.rename, folder": """
        os.rename('old', 'n'); open('n/one.pt', 'a').write('+')
        print(open('n/one.pt').read() == 'one+')""",
    "os.replace": """
        os.replace('a.txt', 'b.bin'); open('b.bin', 'a').write('new')
        print(open('b.bin').read() == 'before\\nnew')""",
    "os.link": "os.link('a.txt', 'n.txt'); open('n.txt', 'w').write('new'); print(open('a.txt').read() == 'new')",
    "os.symlink": """
        os.remove('link'); os.symlink('old', 'link'); open('link/n', 'w')
        print(os.listdir('old').count('n') == 1)""",
    "a link for a folder": """
        os.rename('old', 'n'); os.symlink('empty', 'old'); open('old/one.pt', 'w').write('new')
        print(os.listdir('empty') == ['one.pt'])""",
    "os.makedirs": "os.makedirs('n/m/o'); open('n/m/o/p', 'w').write('new'); print(os.listdir('n/m/o') == ['p'])",
    "os.chmod": "os.chmod('a.txt', 0o600); os.chmod('old', 0o700); print(os.stat('a.txt').st_mode & 0o777 == 0o600)",
    "chmod and write": "os.chmod('read_only.txt', 0o644); open('read_only.txt', 'w').write('x'); print(True)",
    "os.utime": "os.utime('a.txt', (5, 5)); os.utime('old'); print(os.path.getmtime('a.txt') == 5)",
    "write and utime": """
        open('a.txt', 'r+').write('beFore\\n'); os.utime('a.txt', (1e9, 1e9))
        print('F' in open('a.txt').read())""",
    "a folder that is made and renamed": """
        os.makedirs('n/deep'); torch.save(1, 'n/one.pt'); open('n/deep/two', 'w').write('x'); os.rename('n', 'm')
        os.remove('m/deep/two'); os.rename('m', 'old/m'); open('old/m/one.pt', 'a').write('x'); 
        print(os.listdir('old/m/deep') == [])""",
    "atomic": """
        import tempfile
        descriptor, name = tempfile.mkstemp(dir='.'); os.write(descriptor, b'new'); os.close(descriptor)
        os.replace(name, 'a.txt'); print(open('a.txt').read() == 'new')""",
    "tempfile": """
        import tempfile
        with tempfile.TemporaryDirectory() as folder, open(folder + '/x', 'w') as file: file.write('x')
        kept = tempfile.mkdtemp(); print(os.path.isdir(kept))""",
    "sqlite": """
        import sqlite3
        for name in ('old/one.db', 'a.db'):
            with sqlite3.connect(name) as db: db.execute('create table t (x)'); db.execute('insert into t values (1)')
        print(sqlite3.connect('a.db').execute('select * from t').fetchall() == [(1,)])""",
    "zipfile": """
        import zipfile
        with zipfile.ZipFile('a.txt', 'w') as z: z.writestr('x', 'y')
        print(zipfile.ZipFile('a.txt').read('x') == b'y')""",
    "gzip": "import gzip; gzip.open('a.txt', 'w').write(b'x'); print(os.path.exists('a.txt'))",
    "rotation of checkpoints": """
        for epoch in range(9):
            torch.save({'epoch': epoch}, f'old/epoch{epoch}.pt')
            for stale in sorted(Path('old').glob('epoch*.pt'))[:-3]: stale.unlink()
        shutil.copyfile('old/epoch8.pt', 'old/one.pt')
        print(sorted(path.name for path in Path('old').glob('epoch*')) == ['epoch6.pt', 'epoch7.pt', 'epoch8.pt'],
              torch.load('old/one.pt') == {'epoch': 8})""",
    "in the folder of a descriptor": """
        folder = os.open('old', os.O_RDONLY)
        for name in os.listdir('old'):
            if os.path.isfile('old/' + name):
                os.write(os.open(name, os.O_WRONLY | os.O_TRUNC, dir_fd=folder), b'new')
        os.write(os.open('n.pt', os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=folder), b'new')
        os.write(os.open(b'a.txt', os.O_RDWR | os.O_CREAT, dir_fd=folder), b'other')
        try: os.open('one.pt/n', os.O_WRONLY, dir_fd=folder)
        except NotADirectoryError as error: assert error.filename == 'one.pt/n'
        os.close(os.open(os.path.abspath('n.bin'), os.O_WRONLY | os.O_CREAT, dir_fd=folder))
        print(open('old/a.txt').read() == 'other', open('old/n.pt').read() == 'new', os.path.getsize('a.txt') > 0)""",
    "pipes that are made": """
        os.remove('pipe'); os.mkfifo('pipe', 0o600); os.mkfifo('n', dir_fd=os.open('old', os.O_RDONLY))
        print(os.path.exists('old/n'))""",
    "memory that is shared with a file": """
        kept = torch.from_file('b.bin', shared=True, size=4, dtype=torch.uint8); kept.fill_(7)
        made = torch.from_file('n.bin', True, 4, dtype=torch.uint8); made.fill_(7)
        print(open('b.bin', 'rb').read(4) == b'\\x07' * 4, os.path.exists('n.bin'))""",
    "a forked process": """
        import multiprocessing
        def work(): open('a.txt', 'w').write('new'); os.remove('b.bin'); torch.save(1, 'n.pt')
        process = multiprocessing.get_context('fork').Process(target=work); process.start(); process.join()
        open('b.bin', 'w').write('again'); print(open('a.txt').read() == 'new', os.path.exists('n.pt'))""",
    "spawned processes": """
        import multiprocessing
        for method in ('spawn', 'forkserver'):
            process = multiprocessing.get_context(method).Process(target=shutil.copyfile, args=('b.bin', method + '.n'))
            process.start(); process.join()
            process = multiprocessing.get_context(method).Process(target=shutil.copyfile, args=('b.bin', 'a.txt'))
            process.start(); process.join()
        print(os.path.exists('spawn.n'), os.path.exists('forkserver.n'), os.path.getsize('a.txt') == 2048)""",
    "sqlite with a log": """
        import sqlite3
        for _ in range(3):
            db = sqlite3.connect('n.db'); db.execute('pragma journal_mode=wal')
            db.execute('create table if not exists t (x)'); db.execute('insert into t values (1)')
            db.commit(); db.close(); open('settled', 'w')
        db = sqlite3.connect('n.db'); print(len(db.execute('select * from t').fetchall()) == 3)""",
    "a pipe and a socket": """
        import socket
        os.remove('pipe'); os.rename('socket', 'n'); s = socket.socket(socket.AF_UNIX); s.bind('socket')
        print(os.path.exists('socket'))""",
    "two names": """
        open('b.bin', 'r+b').write(b'xx'); open('second_name.bin', 'r+b').write(b'yyyy'); os.remove('b.bin')
        os.remove('second_name.bin'); print('b.bin' not in os.listdir('.'))""",
    "a name that is no text": """
        open(b'old/\\xff', 'w').write('x'); os.remove(b'\\xfe'); print(os.path.exists(b'old/\\xff'))""",
    "a dangling link": "os.symlink('n', 'm'); open('m', 'w').write('x'); print(os.path.exists('n'))",
    "a deleted working folder": """
        os.chdir('old/deep'); shutil.rmtree('../../old')
        try: open('x', 'w')
        except OSError: print(True)""",
    "a closed folder": "os.mkdir('n'); open('n/x', 'w').close(); os.chmod('n', 0); os.chmod('old', 0o500); print(True)",
    "many at once": """
        from concurrent.futures import ThreadPoolExecutor
        def work(i):
            for _ in range(9): open(f'n{i % 4}', 'a').write('x'); open('a.txt', 'a').write('x'); os.path.exists('a.txt')
        with ThreadPoolExecutor(8) as pool: list(pool.map(work, range(16)))
        print(sum(os.path.getsize(f'n{i}') for i in range(4)) == 144, os.path.getsize('a.txt') == 151)""",
    "workers of a loader": """
        class Data(torch.utils.data.Dataset):
            def __len__(self): return 8
            def __getitem__(self, i): open(f'cached{i}', 'w').write('x'); open('a.txt', 'a').write('x'); return i
        loader = torch.utils.data.DataLoader(Data(), num_workers=2, multiprocessing_context='fork')
        print(len(list(loader)) == 8, os.path.exists('cached7'))""",
}
ENDS = {
    "a crash": "open('a.txt', 'w').write('new'); print(True, flush=True); raise ValueError",
    "an exit": "open('a.txt', 'w').write('new'); print(True, flush=True); sys.exit(3)",
    "os._exit": "open('a.txt', 'w').write('new'); print(True, flush=True); os._exit(3)",
    "an exit function": "import atexit; atexit.register(lambda: open('a.txt', 'w').write('n')); print(True)",
    "killed": "import signal; shutil.rmtree('old'); print(True, flush=True); os.kill(os.getpid(), signal.SIGKILL)",
    "a stop": """
        w = torch.nn.Parameter(torch.ones(1)); o = torch.optim.SGD([w], lr=0.1); print(True, flush=True)
        for step in range(1000):
            w.sum().backward(); o.step(); o.zero_grad(); torch.save(w, f'n{step}.pt'); open('a.txt', 'a').write('x')""",
    "every descriptor closed": "os.closerange(3, 256); open('a.txt', 'w').write('new'); print(True)",
    "a finalizer": "class F:\n    def __del__(self): open('a.txt', 'w')\nF(); print(open('a.txt').read() == '')",
}
PRELUDE = "import os, shutil, sys\nfrom pathlib import Path\nimport torch\n"


@pytest.mark.parametrize("way", WAYS)
def test_the_program_reads_what_it_wrote_and_everything_is_as_before(place: Place, way: str) -> None:
    before = picture(place.folder)
    output = place.watch(WAYS[way])
    assert set(output.split()) == {"True"}, output
    assert picture(place.folder) == before
    assert not list(place.scratch.glob("[jk]*"))


@pytest.mark.parametrize("end", ENDS)
def test_however_it_ends_everything_is_as_before(place: Place, end: str) -> None:
    before = picture(place.folder)
    output = place.run(PRELUDE + dedent(ENDS[end]) + "\n", steps=5, max_seconds=20.0)
    assert output.startswith("True"), output
    assert picture(place.folder) == before
    assert not list(place.scratch.glob("[jk]*"))


@pytest.mark.parametrize(
    "way", ["open('large', 'wb').write(b'x')", "os.remove('large')", "os.replace('a.txt', 'large')"]
)
def test_a_large_file_is_neither_copied_nor_lost(place: Place, way: str) -> None:
    large = place.folder / "large"
    with large.open("wb") as file:
        file.truncate(20 << 30)
        file.write(b"precious")
    before, inode = large.stat(), large.stat().st_ino
    place.watch(f"{way}\nprint(sum(path.stat().st_blocks for path in Path('{place.scratch}', 'kept').iterdir()) < 99)")
    after = large.stat()
    assert place.log.read_text() == "True\n"
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (inode, before.st_size, before.st_mtime_ns)
    assert large.open("rb").read(8) == b"precious"


@pytest.mark.parametrize("way", ["open('large', 'r+b')", "open('large', 'ab')", "os.truncate('large', 5)"])
def test_what_is_too_large_to_be_copied_may_not_be_changed_in_place(place: Place, way: str) -> None:
    with (place.folder / "large").open("wb") as file:
        file.truncate(20 << 30)
    before = picture_of(place.folder / "large")
    output = place.watch(f"try: {way}\nexcept PermissionError as error: print(error)")
    assert "it may not be changed (at 20 GB it is too large to be copied; see --no-polite)" in output
    assert "the program was not allowed to change" in output
    assert picture_of(place.folder / "large") == before


def test_what_may_not_be_changed_is_no_fault_of_the_program(place: Place) -> None:
    with (place.folder / "large").open("wb") as file:
        file.truncate(20 << 30)
    output = place.run("open('large', 'r+b')")
    assert "it may not be changed" in output
    trace = (place.folder.parent / "trace").read_bytes()
    assert b"the program was not allowed to change" in trace
    assert b"ProgramRaised" not in trace.replace(b'"emits"', b"").split(b"RunStarted")[-1]


def picture_of(file: Path) -> tuple[int, int, int]:
    return file.stat().st_ino, file.stat().st_size, file.stat().st_mtime_ns


def test_a_large_file_may_be_mapped_into_memory(place: Place) -> None:
    with (place.folder / "large").open("wb") as file:
        file.truncate(20 << 30)
    before = picture_of(place.folder / "large")
    output = place.watch("""
        import numpy as np
        data = np.memmap('large', dtype='u1', shape=(9,)); data[:] = 7; data.flush(); print(data[8] == 7)""")
    assert output.endswith("True\n")
    assert "nothing written reaches the file" in output
    assert picture_of(place.folder / "large") == before


UNKEPT = """
from autograd_doctor.runner import stashes
stashes._is_cloned, stashes.LARGEST_COPY = (lambda *_: False), 0
def refuse(*_, **__): raise OSError("no second names here")
os.link = refuse
"""


@pytest.mark.parametrize(
    "way",
    [
        "os.rename('a.txt', 'n.txt')",
        "os.remove('a.txt')",
        "shutil.rmtree('.')",
        "os.replace('a.txt', 'b.bin')",
        "open('a.txt', 'a')",
        "torch.save(1, 'a.txt')",
        "os.symlink('link', 'a.txt')",
    ],
)
def test_what_cannot_be_kept_cannot_be_changed(place: Place, way: str) -> None:
    before = picture(place.folder)
    place.watch(f"{UNKEPT}\ntry: {way}\nexcept OSError as error: print(error)")
    assert picture(place.folder) == before


@pytest.mark.parametrize("moves", range(4))
def test_putting_back_can_be_cut_off_and_begun_again(place: Place, monkeypatch: pytest.MonkeyPatch, moves: int) -> None:
    before = picture(place.folder)
    way = "shutil.rmtree('old'); open('a.txt', 'w').write('x'); open('b.bin', 'w').write('y'); os.mkdir('n')"
    forked(_watched, way, place.folder, place.scratch, place.log).join(60)
    done = 0

    def cutting_off(step: Callable[..., None]) -> Callable[..., None]:
        def cut_off(*arguments: Any) -> None:
            nonlocal done
            if done == moves:
                raise KeyboardInterrupt
            done += 1
            step(*arguments)

        return cut_off

    with monkeypatch.context() as patched:
        patched.setattr(putting_back, "_moved", cutting_off(putting_back._moved))
        patched.setattr(putting_back, "_overwrite", cutting_off(putting_back._overwrite))
        with pytest.raises(KeyboardInterrupt):
            put_back(place.scratch)
    assert picture(place.folder) != before
    put_back(place.scratch)
    assert picture(place.folder) == before


def test_what_cannot_be_put_back_is_kept_and_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    process = forked(_watched, "os.remove('a.txt')", place.folder, place.scratch, place.log)
    process.join(60)

    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(putting_back, "_moved", full)
        done = put_back(place.scratch)
    (text,) = told(done, Listing((), besides=""), "/scratch")
    assert text.endswith(
        "a.txt` could not be restored (No space left on device); its earlier content is kept in `/scratch`"
    )
    assert put_back(place.scratch).restored == [str(place.folder / "a.txt")]
    assert (place.folder / "a.txt").read_text() == "before\n"


def test_a_virtual_environment_is_not_compared(tmp_path: Path) -> None:
    for folder in ("data", "env/lib"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "env" / "pyvenv.cfg").touch()
    listing = Listing([str(tmp_path)], besides="")
    (tmp_path / "data" / "new").touch()
    (tmp_path / "env" / "lib" / "new").touch()
    assert listing.is_whole
    assert listing.changes() == [str(tmp_path / "data" / "new")]


def test_what_checks_write_below_the_working_folder_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with workspace():
        (tmp_path / "autograd-doctor-notes").mkdir()
        listing = Listing([str(tmp_path)], besides="")
        with workspace() as another, Claims(Path(another.scratch)).turn():
            (tmp_path / "autograd-doctor-notes" / "new").touch()
            assert listing.changes() == [str(tmp_path / "autograd-doctor-notes" / "new")]
    assert listing.changes() == [str(tmp_path / "autograd-doctor-notes" / "new")]


def test_what_others_hold_open_is_not_the_programs(tmp_path: Path) -> None:
    listing = Listing([str(tmp_path)], besides="")
    tee = subprocess.Popen(["tee", "log.txt"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert tee.stdin is not None
    tee.stdin.write(b"said")
    tee.stdin.flush()
    assert soon(lambda: (tmp_path / "log.txt").is_file() and (tmp_path / "log.txt").read_text() == "said")
    (tmp_path / "native.bin").touch()
    assert listing.changes() == [str(tmp_path / "native.bin")]
    tee.communicate()
    assert listing.changes() == [str(tmp_path / "log.txt"), str(tmp_path / "native.bin")]


def test_a_cache_may_be_filled(place: Place) -> None:
    place.watch("os.makedirs('__pycache__'); open('__pycache__/x.pyc', 'w').write('x')")
    assert (place.folder / "__pycache__" / "x.pyc").exists()


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="the system has no extended attributes")
def test_extended_attributes_are_put_back(place: Place) -> None:
    file, other = place.folder / "a.txt", place.folder / "old" / "one.pt"
    os.setxattr(file, "user.kept", b"\xff before")
    os.setxattr(file, "user.gone", b"before")
    before = picture(place.folder)
    place.watch("""
        os.setxattr('a.txt', 'user.kept', b'other'); os.setxattr('a.txt', b'user.kept', b'once more')
        os.removexattr('a.txt', 'user.gone')
        os.setxattr(os.open('old/one.pt', os.O_RDONLY), 'user.new', b'x')
        os.setxattr('old', 'user.new', b'x')
    """)
    found = {name: os.getxattr(file, name) for name in os.listxattr(file)}
    assert found == {"user.kept": b"\xff before", "user.gone": b"before"}
    assert os.listxattr(other) == os.listxattr(other.parent) == []
    assert picture(place.folder) == before


@pytest.mark.parametrize("way", ["shutil.rmtree('../scratch')", "os.rename('../scratch', '../n')"])
def test_what_is_kept_is_out_of_the_programs_reach(place: Place, way: str) -> None:
    before = picture(place.folder)
    way = f"open('a.txt', 'w').write('x')\ntry: {way}\nexcept OSError: print(True)\nopen('b.bin', 'w').write('new')"
    assert "True\n" in place.watch(way)
    assert picture(place.folder) == before


# ------------------------------------------------------------------------------------------------- what others write

OTHERS = {
    "a new file": ("open('n', 'w').write('x'); theirs('n')", {"n": "theirs"}),
    "a changed file": (
        "open('a.txt', 'w').write('x'); theirs('a.txt')",
        {"a.txt": "theirs", "a.txt.before-check-1": "before"},
    ),
    "a file changed in place": (
        "f = open('a.txt'); open('a.txt', 'a').write('x'); del f; theirs('a.txt')",
        {"a.txt": "theirs", "a.txt.before-check-1": "before"},
    ),
    "a removed file": ("os.remove('a.txt'); theirs('a.txt')", {"a.txt": "theirs", "a.txt.before-check-1": "before"}),
    "a file that is changed again": (
        "open('a.txt', 'w').write('x'); theirs('a.txt'); open('a.txt', 'w').write('y')",
        {"a.txt": "theirs", "a.txt.before-check-1": "before"},
    ),
    "a file that is renamed to and removed": (
        "open('m', 'w'); os.replace('m', 'a.txt'); theirs('a.txt'); os.remove('a.txt')",
        {"a.txt": "theirs", "a.txt.before-check-1": "before"},
    ),
    "a new file that is removed": ("open('n', 'w').write('x'); theirs('n'); os.remove('n')", {"n": "theirs"}),
    "a new file that is replaced": (
        "open('n', 'w').write('x'); theirs('n'); open('m', 'w'); os.replace('m', 'n')",
        {"n": "theirs"},
    ),
    "a new folder": (
        "os.makedirs('n/m'); open('n/own', 'w').write('x'); theirs('n/m/x')",
        {"n": None, "n/m": None, "n/m/x": "theirs"},
    ),
    "a new folder that is removed": (
        "os.mkdir('n'); open('n/own', 'w').write('x'); theirs('n/x'); shutil.rmtree('n')",
        {"n": None, "n/x": "theirs"},
    ),
    "a new folder that is renamed": (
        "os.mkdir('n'); open('n/own', 'w').write('x'); theirs('n/x'); os.rename('n', 'm')",
        {"m": None, "m/x": "theirs"},
    ),
    "what could not be made": ("try: os.rename('missing', 'n')\nexcept OSError: theirs('n')", {"n": "theirs"}),
    "a file that they hold open": (
        "p = theirs_later('a.txt'); open('a.txt', 'w').write('x'); p.communicate(b'now')",
        {"a.txt": "before\ntheirs"},
    ),
    "a new file that they hold open": (
        "open('n', 'w').write('x'); subprocess.Popen('exec >> n; sleep 4', shell=True); import time; time.sleep(0.1)",
        {"n": "x"},
    ),
    "long after": (
        "open('n', 'w').write('x'); import time; time.sleep(2); os.system('echo theirs > n')",
        {"n": "theirs"},
    ),
}
OTHER = """
import subprocess
def theirs(name):
    open('settled', 'w')
    subprocess.run(f'echo theirs > {name}', shell=True)
def theirs_later(name):
    p = subprocess.Popen(f'exec >> {name}; echo ready >&2; read x; echo theirs', shell=True, stdin=-1, stderr=-1)
    p.stderr.readline()
    return p
"""


@pytest.mark.parametrize("case", OTHERS)
def test_what_others_write_meanwhile_is_not_lost(place: Place, case: str) -> None:
    way, expected = OTHERS[case]
    before = picture(place.folder)
    assert "Error" not in place.watch(f"{OTHER}\n{way}")
    for name, content in expected.items():
        path = place.folder / name
        assert content is None or path.read_text().strip() == content, name
    after = picture(place.folder)
    assert after.keys() - before.keys() <= expected.keys()
    assert {name: after[name] for name in before if name not in (".", *expected)} == {
        name: before[name] for name in before if name not in (".", *expected)
    }


def test_what_is_written_after_a_kill_is_not_the_programs(place: Place) -> None:
    way = (
        "open('a.txt', 'w').write('x'); open('n', 'w').write('x'); import signal; os.kill(os.getpid(), signal.SIGKILL)"
    )
    forked(_watched, way, place.folder, place.scratch, place.log).join(60)
    ended = time.time_ns()
    time.sleep(0.05)
    (place.folder / "a.txt").write_text("theirs")
    (place.folder / "n").write_text("theirs")
    done = put_back(place.scratch, ended)
    assert set(done.wrote) == {str(place.folder / "a.txt"), str(place.folder / "n")}
    assert (place.folder / "a.txt").read_text() == (place.folder / "n").read_text() == "theirs"
    assert (place.folder / "a.txt.before-check-1").read_text() == "before\n"


def test_what_others_put_in_the_place_of_a_folder_stays_until_they_take_it_away(place: Place) -> None:
    before = picture(place.folder)
    forked(_watched, f"{OTHER}\nshutil.rmtree('old'); theirs('old')", place.folder, place.scratch, place.log).join(60)
    assert place.folder.joinpath("old") in map(Path, put_back(place.scratch).failed)
    assert place.folder.joinpath("old").read_text() == "theirs\n"
    place.folder.joinpath("old").unlink()
    assert not put_back(place.scratch).failed
    assert picture(place.folder) == before


@pytest.mark.parametrize("order", ["AB", "BA"])
def test_two_checks_at_once_put_back_the_files_of_each_other(place: Place, tmp_path: Path, order: str) -> None:
    before = picture(place.folder)
    scratches = {name: tmp_path / "state" / name / "scratch" for name in order}
    for name, scratch in sorted(scratches.items()):
        scratch.mkdir(parents=True)
        way = f"{OTHER}\nopen('a.txt', 'w').write('{name}'); open('n', 'w').write('{name}'); open('m{name}', 'w')"
        forked(_watched, way, place.folder, scratch, place.log).join(60)
    done = {name: put_back(scratches[name]) for name in order}
    assert bool(done["A"].failed) == (order == "AB")
    assert not done["B"].failed
    assert not put_back(scratches["A"]).failed
    assert picture(place.folder) == before


ELSEWHERE = Path("/dev/shm")


@pytest.mark.skipif(not os.access(ELSEWHERE, os.W_OK), reason="there is no other file system to write to")
@pytest.mark.parametrize("way", ["open w", "open a", "os.replace", "shutil.rmtree", "os.rename, folder"])
def test_files_on_another_file_system_are_kept_there(place: Place, way: str) -> None:
    with tempfile.TemporaryDirectory(dir=ELSEWHERE) as folder:
        other, name = Place(Path(folder)), Path(folder).name
        other.scratch = place.scratch / name / "scratch"
        other.scratch.mkdir(parents=True)
        before, kept = picture(other.folder), ELSEWHERE / f".{name}"
        seen = f"; print(os.path.exists('{kept}')); os.path.exists('{other.scratch}/kept') and print('copied')"
        output = other.watch(WAYS[way] + seen)
        assert set(output.split()) == {"True"}, output
        assert picture(other.folder) == before
        assert not kept.exists()


def test_what_moves_to_another_file_system_comes_back(place: Place) -> None:
    with tempfile.TemporaryDirectory(dir=ELSEWHERE) as folder:
        before = picture(place.folder)
        way = (
            f"shutil.move('old', '{folder}/n'); shutil.move('b.bin', '{folder}/m'); print(os.listdir('{folder}') != [])"
        )
        assert place.watch(way) == "True\n"
        assert picture(place.folder) == before
        assert os.listdir(folder) == []


def test_a_journal_that_was_cut_off_tells_the_rest(place: Place) -> None:
    before = picture(place.folder)
    cut = f"with open('{place.scratch}/journal', 'ab') as journal: journal.write(b'{{\"type\": \"Kep')"
    way = f"open('a.txt', 'w').write('x')\ntry:\n    {cut}\nexcept OSError: print('refused')\nos.remove('b.bin')"
    assert "refused" in place.watch(way)
    assert picture(place.folder) == before
    forked(_watched, "open('a.txt', 'w').write('x')", place.folder, place.scratch, place.log).join(60)
    with (place.scratch / "journal").open("ab") as journal:
        journal.write(b'{"type": "Kep')
    forked(_watched, "os.remove('b.bin')", place.folder, place.scratch, place.log).join(60)
    put_back(place.scratch)
    assert picture(place.folder) == before


def test_what_cannot_be_written_down_is_not_done(place: Place) -> None:
    """As when the file system of the journal is full."""
    before = picture(place.folder)
    full = "from autograd_doctor.keeping import journal\ndef full(*_): raise OSError(28)\njournal.Journal.add = full\n"
    way = "try: {}\nexcept PermissionError: print(True)\n"
    ways = ["open('a.txt', 'w')", "os.remove('b.bin')", "shutil.rmtree('old')", "os.rename('a.txt', 'n')"]
    output = place.watch(full + "".join(map(way.format, ways)))
    assert output.count("True\n") == len(ways)
    assert picture(place.folder) == before


DYING = """
import os, signal
from autograd_doctor.keeping.journal import Journal
from autograd_doctor.runner import stashes
calls = 0
def dying(step):
    def die(*arguments, **options):
        global calls
        calls += 1
        if calls == MOMENT: os.kill(os.getpid(), signal.SIGKILL)
        done = step(*arguments, **options)
        if calls == -MOMENT: os.kill(os.getpid(), signal.SIGKILL)
        return done
    return die
Journal.add, os.link, os.replace, stashes.copied = map(dying, (Journal.add, os.link, os.replace, stashes.copied))
"""


@pytest.mark.parametrize("moments", [range(1, 14), range(14, 28), range(28, 42), range(42, 48)])
def test_killed_at_any_moment(place: Place, moments: range) -> None:
    before = picture(place.folder)
    way = """
        open('a.txt', 'a').write('x'); open('b.bin', 'w').write('y'); open('old/one.pt', 'w').write('y')
        os.replace('old/one.pt', 'old/deep/two.pt'); os.remove('link'); os.rename('old', 'n'); shutil.rmtree('n')"""
    for moment in moments:
        for sign in "+-":
            forked(
                _watched,
                DYING.replace("MOMENT", f"{sign}{moment}") + dedent(way),
                place.folder,
                place.scratch,
                place.log,
            ).join(60)
            put_back(place.scratch)
            assert picture(place.folder) == before, f"{sign}{moment}"


# ------------------------------------------------------------------------------------- what a program prepares itself

TRAIN = """
def train():
    w = torch.nn.Parameter(torch.ones(1)); o = torch.optim.SGD([w], lr=0.1)
    for step in range(3): w.sum().backward(); o.step(); torch.save(w, 'result.pt'); torch.load('result.pt')
"""
PREPARED = {
    "a download": (
        "os.mkdir('data'); open('data/raw', 'w').write('x'); open('data/raw').read(); open('data/more', 'w')",
        {"data", "data/raw", "data/more"},
    ),
    "a cache": ("torch.save(1, 'cache.pt'); torch.load('cache.pt')", {"cache.pt"}),
    "read while training": ("open('n', 'w').write('x'); train(); open('n').read()", {"n"}),
    "written in a worker": (
        "import multiprocessing\nf = lambda: open('n', 'w').write('x')\n"
        "p = multiprocessing.get_context('fork').Process(target=f); p.start(); p.join()\n"
        "os.mkdir('e'); open('n').read()",
        {"n"},
    ),
    "not read": ("os.mkdir('runs'); open('runs/args.json', 'w').write('x'); open('log', 'w')", set()),
    "a log that goes on": ("log = open('log', 'w', 1); open('log').read(); train(); log.write('x')", set()),
    "a temporary folder": (
        "import tempfile; d = tempfile.mkdtemp(dir='.'); open(d + '/x', 'w').write('x'); open(d + '/x').read()",
        set(),
    ),
    "no training": ("open('n', 'w').write('x'); open('n').read(); sys.exit()", set()),
    "a file that was there": ("open('a.txt', 'w').write('x'); open('a.txt').read()", set()),
}


@pytest.mark.parametrize("case", PREPARED)
def test_what_a_program_prepares_for_itself_stays_and_its_results_go(place: Place, case: str) -> None:
    way, expected = PREPARED[case]
    before = picture(place.folder)
    place.run(PRELUDE + TRAIN + way + "\ntrain()\n")
    after = picture(place.folder)
    assert after.keys() - before.keys() == expected, place.log.read_text()
    assert {name: after[name] for name in before if name != "."} == {n: before[n] for n in before if n != "."}
