"""Programs written with the public API alone; `graphc demo` runs them (installed as graphc.examples)."""
