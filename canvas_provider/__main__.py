"""`python -m canvas_provider` is `canvas-provider`."""

from canvas_provider.cli.main import main

if __name__ == "__main__":
    main(prog_name="canvas-provider")
