"""Reports of scores as tables, JSON, JUnit XML and HTML."""
