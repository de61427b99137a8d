"""The commands of the console: each module has `arguments(parser)` and `main(options) -> int`."""
