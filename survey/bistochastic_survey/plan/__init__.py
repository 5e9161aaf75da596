"""Plans: what happens to each column of a table.

``attributes`` and ``numeric``: what happens to a column; ``plan``: what happens to all columns;
``labels``: categories and their codes; ``definitions``: bits, beta and epsilon of all columns, and
what a publisher requires of them; ``plan_json``: JSON and TOML; ``preview``: words and a table;
``published``: what readers learn; ``central``: the epsilon of a shuffled file; ``draft``: a plan
for a frame; ``allocate``: epsilon over the columns; ``client``: plans for devices.
"""
