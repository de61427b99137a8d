"""What checks without a model's opinion: by comparison, by a tool, by a proof."""

if __name__ == "verifiers":  # Python was started in this checkout and put it on sys.path
    raise ImportError(
        "this folder is stepmill.verifiers; for the PyPI package `verifiers`, start Python"
        " elsewhere or with -P"
    )
