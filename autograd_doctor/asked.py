"""What a Python says of itself. Any release of Python 3 can run this file, so that one that is too old says so as well.

The names of packages are its arguments; the answer is a line of JSON.
"""

import sys

MARK = "autograd_doctor was told: "
"""What comes before the answer: the site of an environment may print on its own."""


def installed(package: str) -> "list[str] | None":
    """The version of a package that can be imported, or nothing in place of it where that is not known; else None."""
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec

    try:
        found = find_spec(package.replace("-", "_"))
    except ValueError:  # it is there without saying where it is from
        return []
    except ImportError:
        return None
    if found is None or found.origin is None:
        return None
    try:
        return [version(package)]
    except PackageNotFoundError:
        return []


def _main() -> None:
    # The folder of this file comes first: its modules are not to be found by their bare names.
    sys.path[: not getattr(sys.flags, "safe_path", False)] = []
    import json

    said = {"version": sys.version_info[:3], "path": sys.path, "packages": {}}
    if sys.version_info >= (3, 8):  # noqa: UP036
        said["packages"] = {package: installed(package) for package in sys.argv[1:]}
    print(MARK + json.dumps(said))


if __name__ == "__main__":
    _main()
