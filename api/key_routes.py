"""Routes of keys: `/v1/me` for whoever asks, `/v1/keys` for admins."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import marshmallow as ma
from flask.views import MethodView
from flask_smorest import Blueprint
from marshmallow import fields, validate

from api.auth import current_key, requires
from api.errors import Problem
from api.key import SCOPES, Key
from api.keys import OVERLAP
from api.rooms import rooms
from api.schemas import PlainText

blueprint = Blueprint("keys", __name__, url_prefix="/v1", description="Keys, and who asks")

_NO_STORE = {"Cache-Control": "no-store"}
_LONGEST_OVERLAP_S = 30 * 86_400


class MeSchema(ma.Schema):
    """Who asks: by a key, or by a session of the console, which may have been begun without one."""

    owner = fields.String(required=True)
    scopes = fields.List(fields.String(), required=True)
    key_id = fields.String(allow_none=True, required=True)
    expires_at = fields.DateTime(allow_none=True, required=True)


class KeySchema(ma.Schema):
    """A key without its secret."""

    id = fields.String(required=True)
    owner = fields.String(required=True)
    scopes = fields.List(fields.String(), required=True)
    state = fields.String(required=True, validate=validate.OneOf(("live", "expired", "revoked")))
    created_at = fields.DateTime(required=True)
    expires_at = fields.DateTime(allow_none=True, required=True)
    revoked_at = fields.DateTime(allow_none=True, required=True)
    last_used_at = fields.DateTime(allow_none=True, required=True, metadata={"description": "to a minute"})


class KeysSchema(ma.Schema):
    """All keys, oldest first."""

    keys = fields.List(fields.Nested(KeySchema), required=True)


class NewKeySchema(KeySchema):
    """A key and its secret, which is shown this once."""

    key = fields.String(required=True, metadata={"description": "sl_<id>_<secret>"})


class CreateArguments(ma.Schema):
    """What a new key is to be."""

    owner = PlainText(required=True, validate=[validate.Length(1, 200), validate.Regexp(r".*\S")])
    scopes = fields.List(
        fields.String(validate=validate.OneOf(SCOPES)), required=True, validate=validate.Length(1, 20)
    )
    expires_at = fields.AwareDateTime(load_default=None, allow_none=True)


class RotateArguments(ma.Schema):
    """How long the old key goes on."""

    overlap_s = fields.Integer(
        load_default=int(OVERLAP.total_seconds()), validate=validate.Range(0, _LONGEST_OVERLAP_S)
    )


@blueprint.route("/me")
class Me(MethodView):
    """Who asks."""

    @requires()
    @blueprint.response(200, MeSchema)
    def get(self) -> tuple[Key, int, dict[str, str]]:
        """The owner, scopes, id and expiry of the key, or session, that this is asked with."""
        return current_key(), 200, _NO_STORE


@blueprint.route("/keys")
class KeyList(MethodView):
    """All keys."""

    @requires("admin")
    @blueprint.response(200, KeysSchema)
    def get(self) -> tuple[dict[str, list[Key]], int, dict[str, str]]:
        """List all keys of all owners, oldest first."""
        return {"keys": rooms().keys.list()}, 200, _NO_STORE

    @requires("admin")
    @blueprint.arguments(CreateArguments)
    @blueprint.response(201, NewKeySchema)
    def post(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], int, dict[str, str]]:
        """Make a key; its secret is shown this once."""
        try:
            text = rooms().keys.create(
                arguments["owner"], arguments["scopes"], expires=arguments["expires_at"]
            )
        except ValueError as error:
            raise Problem(422, "key-not-made", str(error)) from error
        return _shown_once(text)


@blueprint.route("/keys/<string:key_id>")
class OneKey(MethodView):
    """One key."""

    @requires("admin")
    @blueprint.response(204)
    def delete(self, key_id: str) -> None:
        """Revoke a key: all processes know it within 5 s."""
        if not rooms().keys.revoke(key_id):
            raise _not_found()


@blueprint.route("/keys/<string:key_id>/rotate")
class Rotation(MethodView):
    """A key's successor."""

    @requires("admin")
    @blueprint.arguments(RotateArguments, required=False)
    @blueprint.response(201, NewKeySchema)
    def post(self, arguments: dict[str, Any], key_id: str) -> tuple[dict[str, Any], int, dict[str, str]]:
        """Make a key with the same owner and scopes; the old one expires after `overlap_s` seconds."""
        overlap = timedelta(seconds=arguments.get("overlap_s", OVERLAP.total_seconds()))
        try:
            return _shown_once(rooms().keys.rotate(key_id, overlap=overlap))
        except LookupError as error:
            raise _not_found() from error


def _shown_once(text: str) -> tuple[dict[str, Any], int, dict[str, str]]:
    made = rooms().keys.get(text.split("_")[1])
    return {**vars(made), "key": text}, 201, _NO_STORE


def _not_found() -> Problem:
    return Problem(404, "key-not-found", "there is no live key of that id, or it was rotated already")
