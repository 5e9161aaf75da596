"""Plans: what happens to each column of a table, what that hides, and how it is written."""
