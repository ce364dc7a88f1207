"""What the two build scripts import: authoring (sources to notebooks) and execution.

A student never needs this package.
"""
