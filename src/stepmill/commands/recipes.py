"""`stepmill recipes`: the methods that come with the package, with their source and cost."""

import argparse
import json

import yaml

from stepmill.pipelines.recipe import load_recipe, recipe_names


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="print the parts of a configuration of this recipe"
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def main(options: argparse.Namespace) -> int:
    """Print all recipes, or one of them as YAML."""
    names = recipe_names() if options.name is None else [options.name]
    recipes = {name: load_recipe(name) for name in names}
    if options.json:
        print(json.dumps({name: r.model_dump(mode="json") for name, r in recipes.items()}))
        return 0
    for name, recipe in recipes.items():
        if options.name is None:
            print(f"{name}: {recipe.title}\n  source  {recipe.source}\n  cost    {recipe.cost}\n")
        else:
            for word in ("title", "source", "cost", "differs"):
                print(f"# {word}: {getattr(recipe, word)}")
            print(yaml.safe_dump(recipe.config, sort_keys=False), end="")
    if options.name is None:
        print("Run one with: stepmill run --recipe NAME QUESTIONS [--model NAME]")
    return 0
