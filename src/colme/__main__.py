"""`python -m colme` is `colme`."""

from colme.cli import main

main()
