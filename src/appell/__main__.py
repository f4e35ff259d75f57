"""``python -m appell`` is the command ``appell``, which heeds Control-C before all imports."""

import sys


def main() -> None:
    """Run the command line; Control-C ends it with status 130 also while it is being imported."""
    try:
        from appell.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
