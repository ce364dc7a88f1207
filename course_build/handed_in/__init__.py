"""Handed-in notebooks: the course's own checks run over them, for a teacher.

What is handed in is other people's code. The process that a teacher starts reads none of it and
runs none of it: for each notebook a worker is started in a sandbox (``sandbox``), watched from
outside (``watch``), and told to run the notebook with the course's check calls put between its
cells (``trusted_cells``, ``worker``, ``kernel_side``). What the worker and the checks report is
read as data (``run``), becomes rows (``rows``), and these a table and a page (``csv_table``,
``page``).
"""
