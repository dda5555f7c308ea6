"""The bars of the generated worlds: `make check-worlds`."""
