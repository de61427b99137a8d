"""What runs a policy: in-process vLLM, vLLM servers, replay, simulated. `base` has the contract."""
