"""The English-German corpus that ships with the package; README.md says what it is and where it comes from."""
