"""Which matrix to take: what families pay and keep at the same beta."""
