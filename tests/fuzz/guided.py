"""Coverage-guided fuzzing of one target, by atheris: `make fuzz TARGET=framing`.

It runs until it finds something, or for the seconds given. What it finds it writes down, as
`crash-…`: mend the bug, then keep the file in `corpus/TARGET` under a name that says what it is.
"""

import sys
import tempfile
from pathlib import Path

try:
    import atheris
except ImportError:
    sys.exit("atheris is not installed: pip install atheris")

with atheris.instrument_imports(include=["canvas_provider"]):
    from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"


def main() -> None:
    match sys.argv[1:]:
        case [name, *seconds] if name in TARGETS and len(seconds) < 2:
            limit = int(seconds[0]) if seconds else 0
        case _:
            sys.exit(f"usage: python -m tests.fuzz.guided TARGET [SECONDS]; {', '.join(TARGETS)}")
    with tempfile.TemporaryDirectory() as found:
        # New cases go to the first folder; the second is only read.
        options = [f"-max_total_time={limit}", "-max_len=4096", found, str(CORPUS / name)]
        atheris.Setup([sys.argv[0], *options], TARGETS[name])
        atheris.Fuzz()


if __name__ == "__main__":
    main()
