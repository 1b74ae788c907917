"""What the notebooks show: pictures, explorers, tables. Needs the `notebook` extra."""
