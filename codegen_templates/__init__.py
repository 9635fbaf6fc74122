"""Templates (*.j2) and dialect tables (*.toml) only; graphc.codegen loads them, nothing here runs."""
