"""What gathers evidence about steps: rollout searches, judges, scorers."""
