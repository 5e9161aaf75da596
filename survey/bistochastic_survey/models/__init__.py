"""Models of a protected table: regression, panels, and the ledger of releases."""
