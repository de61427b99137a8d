"""What commands that schedule need: a Prefect server that goes on when they end."""

from stepmill.errors import UserError


def require_server() -> str:
    """Address of the configured Prefect server.

    Raises:
        UserError: none is configured, or it does not answer.
    """
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL

    url = PREFECT_API_URL.value()
    if not url:
        raise UserError(
            "a schedule needs a Prefect server that stays: start one with `prefect server start`"
            " and set PREFECT_API_URL to the address that it prints"
        )
    with get_client(sync_client=True) as client:
        error = client.api_healthcheck()
    if error is not None:
        raise UserError(f"the Prefect server at {url} does not answer ({error})")
    return str(url)
