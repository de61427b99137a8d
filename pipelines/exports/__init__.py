"""From labelled rows to the formats that trainers and benchmarks read; one module per family."""
