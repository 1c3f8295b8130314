"""Start an extension: `python -P -m canvas_provider.boot EXTENSION_FILE [ARGUMENT]...`.

Takes stdin and stdout for the protocol before any line of the author's file runs, then runs that
file as `__main__`, as `python EXTENSION_FILE` would: same `sys.argv`, same first entry of
`sys.path`, same tracebacks and exit codes. `-P` keeps the working directory, the user's project,
out of the module search.

What is added to plain Python: a file that fails, or calls `sys.exit`, ends the process soon,
whatever threads it has started, and after a failure the last line on stderr says what to do.
Copilot makes the user's first turn wait for an extension that neither joins nor exits (observed
with Copilot CLI 1.0.102).
"""

import contextlib
import importlib.machinery
import os
import sys
import threading
import time
import types
from typing import Final, NoReturn

from canvas_provider.canvas.declaration import Canvas
from canvas_provider.wire.stdio import claim_stdio, end_with_peer

__all__ = ["main"]

EXIT_GRACE: Final = 1.0
"""Seconds that threads and exit handlers of a failed extension may take."""


def main(argv: list[str]) -> None:
    """Run the extension that `argv[0]` names, with `argv` as its `sys.argv`."""
    if "SESSION_ID" in os.environ:
        end_with_peer()
    else:
        claim_stdio()
    if not argv:
        _refuse("name the extension: python -P -m canvas_provider.boot EXTENSION_FILE")
    path = os.path.abspath(argv[0])
    if not os.path.isfile(path):
        _refuse(f"there is no file {path}: name the extension's Python file")
    sys.argv = argv
    _put_folder_first(path)
    # The import system's loader, because it keeps byte code and finds what was compiled before.
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    module = _replace_main(path, loader)
    try:
        code = loader.get_code("__main__")
    except (SyntaxError, ValueError) as error:
        _report_as(error, None, path)
        raise error
    try:
        exec(code or "", module.__dict__)
    except BaseException as error:
        # The first entry is this frame, the next one the author's file.
        _report_as(error, error.__traceback__ and error.__traceback__.tb_next, path)
        raise
    if _forgot_to_run(module):
        _say(f"{path} made a canvas and ended: call run(canvas) as its last line")


def _forgot_to_run(module: types.ModuleType) -> bool:
    # `run` imports it when it joins; whoever asked for `join_session` runs in another way.
    if "canvas_provider.session.join" in sys.modules:
        return False
    return any(isinstance(value, Canvas) for value in module.__dict__.values())


def _refuse(reason: str) -> NoReturn:
    _say(reason)
    # What Python itself answers for a script that is not there.
    sys.exit(2)


def _say(text: str) -> None:
    sys.stderr.write(f"canvas_provider: {text}\n")


def _put_folder_first(path: str) -> None:
    # As Python does for a script: a link is followed, so that what lies beside its target is found.
    folder = os.path.dirname(os.path.realpath(path))
    if sys.flags.safe_path:
        sys.path.insert(0, folder)
    else:
        # Without -P, Python has put the working directory there.
        sys.path[0] = folder


def _replace_main(path: str, loader: importlib.machinery.SourceFileLoader) -> types.ModuleType:
    """Make the author's module `__main__`, for good: pickles and annotations look there."""
    module = types.ModuleType("__main__")
    module.__file__ = path
    module.__loader__ = loader
    sys.modules["__main__"] = module
    return module


def _report_as(error: BaseException, traceback: types.TracebackType | None, path: str) -> None:
    """Let the interpreter report the error that is on its way, but with this traceback.

    It is the interpreter that does it, so hooks of the author and exit codes stay what they are.
    """
    hook = sys.excepthook
    if isinstance(error, SystemExit):
        # No hook is called for it.
        _start_grace(_status(error.code))
        return

    def report(
        kind: type[BaseException], error: BaseException, _: types.TracebackType | None
    ) -> None:
        # Before the report, and not after the grace: another thread may hold its lock by then.
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        hook(kind, error.with_traceback(traceback), traceback)
        if isinstance(error, Exception):
            _say(_advise(error, path))
        _start_grace(130 if isinstance(error, KeyboardInterrupt) else 1)

    sys.excepthook = report


def _advise(error: Exception, path: str) -> str:
    """Say in one line what to do about it."""
    package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    # A package that is there lacks a module of its own, which no installation would bring.
    if package and package not in sys.modules and package not in sys.stdlib_module_names:
        return (
            f"{sys.executable} has no module {package!r}. Install the package that provides it "
            f"there, for example: {sys.executable} -m pip install {package}"
        )
    return f"{path} failed before it was done: fix the error above, then reload the extension"


def _start_grace(status: int) -> None:
    def end() -> None:
        time.sleep(EXIT_GRACE)
        os._exit(status)

    threading.Thread(target=end, daemon=True).start()


def _status(code: object) -> int:
    """Return the exit status that Python makes of the argument of `sys.exit`."""
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1


if __name__ == "__main__":
    main(sys.argv[1:])
