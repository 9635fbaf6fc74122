"""The `graphc` command."""
