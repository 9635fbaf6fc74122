"""Data only: nodes, dtypes, the op table, index algebra, kernels and programs. No decisions are made here."""
