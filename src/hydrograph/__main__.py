"""`python -m hydrograph` is the command line."""

from hydrograph.cli.main import main

main()
