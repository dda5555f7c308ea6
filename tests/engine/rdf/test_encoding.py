"""Ids and blank node names."""

from __future__ import annotations

import pytest

from hydrograph.rdf.encoding import Encoded, Kind, decode, encode, salt_of, skolem, term_id, unskolem
from hydrograph.rdf.nquads import parse_term
from hydrograph.rdf.terms import BlankNode, Iri, Literal
from hydrograph.rdf.vocab import XSD_INTEGER


@pytest.mark.parametrize("text", ["", "<urn:a>", '"é漢😀"', '"\\"^^<urn:y>"@en'])
def test_ids_are_signed_64_bit_numbers(text: str) -> None:
    assert -(2**63) <= term_id(text) < 2**63


def test_encoding() -> None:
    assert encode(Iri("urn:a")) == Encoded("<urn:a>", term_id("<urn:a>"), Kind.IRI)
    assert encode(BlankNode("b")).kind is Kind.BLANK
    assert encode(Literal('5"', XSD_INTEGER)).kind is Kind.OTHER
    assert encode(Literal("5", XSD_INTEGER)).num == 5.0
    assert decode(encode(Literal('a"\n', "urn:t")).text) == Literal('a"\n', "urn:t")


def test_blank_nodes_get_legal_names_and_their_own_back() -> None:
    salt = salt_of("urn:stream")
    text = skolem(salt, 2**40 + 3, "a.b")
    assert parse_term(text) == BlankNode(text[2:])
    assert unskolem(text, salt, 2**40 + 3) == "_:a.b"
    assert unskolem(text, salt, 2**40) == text
    assert salt != salt_of("urn:other")
