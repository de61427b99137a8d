"""Whether two final answers say the same, decided exactly where they can be, and three-valued."""
