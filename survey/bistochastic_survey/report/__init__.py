"""What a page says about a plan or a release, without a record."""
