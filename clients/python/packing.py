"""Packs the client as a wheel and an sdist, with the standard library alone: `python3 packing.py DIST`.

It is also the build backend that pyproject.toml names, so that pip needs no network either. The same
files make the same bytes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

_HERE = Path(__file__).parent
_PROJECT = tomllib.loads((_HERE / "pyproject.toml").read_text())["project"]
_NAME = _PROJECT["name"]
_VERSION = re.findall(r'^VERSION = "(.+)"$', (_HERE / "ninepocket" / "transport.py").read_text(), re.M)[0]
_METADATA = f"""Metadata-Version: 2.4
Name: {_NAME}
Version: {_VERSION}
Summary: {_PROJECT["description"]}
License-Expression: {_PROJECT["license"]}
License-File: LICENSE
Requires-Python: {_PROJECT["requires-python"]}
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{(_HERE / "README.md").read_text()}"""
_WHEEL = "Wheel-Version: 1.0\nGenerator: ninepocket\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _modules() -> dict[str, bytes]:
    paths = sorted((_HERE / "ninepocket").iterdir())
    return {f"ninepocket/{path.name}": path.read_bytes() for path in paths if path.suffix in (".py", ".typed")}


def _license() -> dict[str, bytes]:
    """The licence, which stands at the top of the repository, and next to this file in an sdist."""
    for path in (_HERE / "LICENSE", _HERE.parents[1] / "LICENSE"):
        if path.exists():
            return {"LICENSE": path.read_bytes()}
    return {}


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """Writes the wheel and returns its name."""
    about = f"{_NAME}-{_VERSION}.dist-info"
    files = _modules() | {f"{about}/METADATA": _METADATA.encode(), f"{about}/WHEEL": _WHEEL.encode()}
    files |= {f"{about}/licenses/{name}": content for name, content in _license().items()}
    rows = [f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items()]
    files[f"{about}/RECORD"] = ("".join(rows) + f"{about}/RECORD,,\n").encode()

    wheel = f"{_NAME}-{_VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return wheel


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    """Writes the source distribution and returns its name."""
    files = _modules() | _license() | {"PKG-INFO": _METADATA.encode()}
    for name in ("README.md", "packing.py", "pyproject.toml"):
        files[name] = (_HERE / name).read_bytes()

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"{_NAME}-{_VERSION}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    sdist = f"{_NAME}-{_VERSION}.tar.gz"
    (Path(sdist_directory) / sdist).write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return sdist


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "dist"
    Path(folder).mkdir(parents=True, exist_ok=True)
    print(Path(folder) / build_wheel(folder))
    print(Path(folder) / build_sdist(folder))
