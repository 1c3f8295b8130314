"""Virtual environments for tests: as the venv module makes them, in no time."""

import sys
from pathlib import Path


def create_venv(folder: Path) -> Path:
    """Create `folder`/.venv, in which our package can be imported, and return its Python."""
    home = Path(sys.base_prefix) / "bin"
    environment = folder / ".venv"
    version = f"python3.{sys.version_info.minor}"
    packages = environment / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    # Whatever this interpreter can import, that one can, too.
    (packages / "ours.pth").write_text("\n".join(filter(None, sys.path)), encoding="utf-8")
    (environment / "pyvenv.cfg").write_text(f"home = {home}\n", encoding="utf-8")
    python = environment / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(home / version)
    return python
