"""A protected table analysed: labels, columns in clear, strata and survey weights understood."""
