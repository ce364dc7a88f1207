"""The test bench of the lab notebooks: data, models, attacks, accounting, figures.

A notebook teaches by hand what its lesson is about and imports the rest from here.
"""
