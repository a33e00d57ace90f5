"""The live page: shows a run in a browser while it happens, with approvals and a stop."""
