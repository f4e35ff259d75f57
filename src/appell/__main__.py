"""``python -m appell`` is the command ``appell``."""

from appell.cli import main

main()
