"""`colme identity`: a node's key and certificate."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:  # `--help` waits for nothing that computes
    from colme.node.trust.identity import Certificate

identity = typer.Typer(
    help="Make, show or renew the key and the certificate of a node.",
    no_args_is_help=True,
)


@identity.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the node, for its neighbours.")],
    out: Annotated[Path, typer.Option(help="Folder for the key and the certificate.")],
) -> None:
    """Make a key and a certificate."""
    from colme.node.trust.identity import PUBLIC_FILE, Identity

    made = Identity.create(name, out, now=datetime.now(UTC))
    _print(made.certificate)
    typer.echo(
        f"Give {out / PUBLIC_FILE} to every neighbour, and let them compare the fingerprint\n"
        "with you. All else in the folder is yours alone."
    )


@identity.command()
def show(
    path: Annotated[Path, typer.Argument(help="Folder of a node, or a certificate.")] = Path(),
) -> None:
    """Show the name, the fingerprint and the validity."""
    from colme.node.trust.identity import PUBLIC_FILE, Identity, read_certificates

    if path.is_dir():
        _print(Identity.load(path).certificate)
        typer.echo(f"to hand out  {path / PUBLIC_FILE}")
    else:
        for certificate in read_certificates(path):
            _print(certificate)


@identity.command()
def renew(
    folder: Annotated[Path, typer.Argument(help="Folder of the node.")],
) -> None:
    """Replace the key and the certificate; keep the name, the publisher ID and the state."""
    from colme.node.trust.identity import PUBLIC_FILE, Identity

    _print(Identity.renew(folder, now=datetime.now(UTC)).certificate)
    typer.echo(
        f"Let every neighbour append {folder / PUBLIC_FILE} to the file it has for this node,\n"
        "then restart this node. After that the old certificate can go from their files."
    )


def _print(certificate: "Certificate") -> None:
    valid = certificate.is_valid(datetime.now(UTC))
    typer.echo(
        f"name         {certificate.name}\n"
        f"fingerprint  {certificate.fingerprint}\n"
        f"origin       {certificate.origin or 'none: it signs no records'}\n"
        f"valid        {certificate.not_before:%Y-%m-%d %H:%M} to"
        f" {certificate.not_after:%Y-%m-%d %H:%M} UTC{'' if valid else ' (not now)'}"
    )
