/** Operations on keys. */
import { described, integer, named, object } from "../../lib/validation/shape.ts";
import { createdKeyExample, currentKeyExample, keyExample } from "../examples/administration.ts";
import { type GetKeyResponse, KeyService, type UpdateKeyResponse } from "../../gen/sluice/admin/v1/key_service_pb.ts";
import { keyChangeMessage, newKeyMessage, toCurrentKeyJson, toKeyJson } from "../records/key-record.ts";
import {
  createdKey,
  currentKeyAnswer,
  deletedKey,
  keyAnswer,
  keyChange,
  keyList,
  keyQuery,
  newKey,
  putKeyAnswer,
} from "../records/keys.ts";
import { toPageJson } from "../records/record-shapes.ts";
import {
  administrationStatuses,
  example,
  externalId,
  json,
  keyHash,
  operation,
  putAnswer,
  putDescription,
  reportStatuses,
} from "./operation.ts";
import { forwarded } from "./forward.ts";

const { method } = KeyService;

/** Maximum body size in bytes: a name and an end user of the maximum length, with each character escaped, take 5 KB. */
const maxBytes = 16_384;

const getCurrentKey = forwarded(
  operation({
    path: "/key",
    method: "get",
    tag: "Administration",
    key: "any",
    summary: "Show the calling key",
    description: "What is known of the key that asks. Keys of both kinds may.",
    answer: {
      description: "The calling key.",
      content: [json(currentKeyAnswer, example({ data: currentKeyExample }))],
    },
    statuses: [400, 401, 429, 500],
  }),
  method.getCurrentKey,
  () => ({}),
  ({ key }) => ({ data: key && toCurrentKeyJson(key) }),
);

const listKeys = forwarded(
  operation({
    path: "/keys",
    method: "get",
    tag: "Administration",
    key: "management",
    summary: "List the keys",
    description:
      "The keys of the workspace that create responses, oldest first unless `sort` says otherwise; those that were deleted are not among them, nor are management keys.",
    query: keyQuery,
    answer: {
      description: "A page of keys.",
      content: [json(keyList, example({ data: [keyExample], total_count: 1, next_cursor: null }))],
    },
    statuses: reportStatuses(),
  }),
  method.listKeys,
  ({ query: { cursor, offset, limit, q, sort, include_disabled: includeDisabled, workspace_id: workspaceId } }) => ({
    cursor,
    offset,
    limit,
    includeDisabled,
    workspaceId,
    query: q,
    sort,
  }),
  ({ keys, ...page }) => toPageJson(keys.map(toKeyJson), page),
  // Marked as carrying settings: an admin-svc that does not support searches or cursors would list other keys.
  { carriesSettings: true },
);

const createKey = forwarded(
  operation({
    path: "/keys",
    method: "post",
    tag: "Administration",
    key: "management",
    role: "operator",
    summary: "Make a key",
    description:
      "Makes a key that creates responses. The answer shows it for the only time. It is known on the next request.",
    body: { ...json(newKey, example({ name: "billing", external: { user: "employee_123" } })), maxBytes },
    answer: { status: 201, description: "The key.", content: [json(createdKey, example(createdKeyExample))] },
    statuses: administrationStatuses,
  }),
  method.createKey,
  ({ body }) => newKeyMessage(body),
  ({ key, secret }) => ({ data: key && toKeyJson(key), key: secret }),
  { carriesSettings: true },
);

const putKey = forwarded(
  operation({
    path: "/keys/by-external-id/{external_id}",
    method: "put",
    tag: "Administration",
    key: "management",
    role: "operator",
    summary: "Make or change a key by an external id",
    description: `${putDescription} A disabled key stays disabled; a rotated one passes its external id on.`,
    parameters: { external_id: externalId },
    body: { ...json(newKey, example({ name: "billing", limit: 25, limit_reset: "monthly" })), maxBytes },
    answer: putAnswer("key", json(putKeyAnswer, example({ ...createdKeyExample, created: true, changed: true }))),
    statuses: administrationStatuses,
  }),
  method.putKey,
  ({ parameters, body }) => ({ externalId: parameters.external_id, key: newKeyMessage(body) }),
  ({ key, secret, created, changed }) => ({
    data: key && toKeyJson(key),
    key: secret === "" ? null : secret,
    created,
    changed,
  }),
  { carriesSettings: true },
);

const toKeyAnswer = ({ key }: GetKeyResponse | UpdateKeyResponse) => ({ data: key && toKeyJson(key) });

const one = { parameters: { hash: keyHash }, statuses: administrationStatuses } as const;
const answer = { description: "The key.", content: [json(keyAnswer, example({ data: keyExample }))] };

const getKey = forwarded(
  operation({
    ...one,
    path: "/keys/{hash}",
    method: "get",
    tag: "Administration",
    key: "management",
    summary: "Show a key",
    description: "A key of the workspace. One that was deleted is not found.",
    answer,
  }),
  method.getKey,
  ({ parameters: { hash: keyHash } }) => ({ keyHash }),
  toKeyAnswer,
);

const getKeyByExternalId = forwarded(
  operation({
    path: "/keys/by-external-id/{external_id}",
    method: "get",
    tag: "Administration",
    key: "management",
    summary: "Show the key of an external id",
    description:
      "The key that was put under this id, or that took its place by rotation. One that was deleted is not found.",
    parameters: { external_id: externalId },
    answer,
    statuses: administrationStatuses,
  }),
  method.getKey,
  ({ parameters: { external_id: id } }) => ({ externalId: id }),
  toKeyAnswer,
  { carriesSettings: true },
);

const updateKey = forwarded(
  operation({
    ...one,
    path: "/keys/{hash}",
    method: "patch",
    tag: "Administration",
    key: "management",
    role: "operator",
    summary: "Change a key",
    description: "Changes what the body names, and nothing else. In force on the next request.",
    body: { ...json(keyChange, example({ disabled: true })), maxBytes },
    answer: { ...answer, description: "The key as it is now." },
  }),
  method.updateKey,
  ({ parameters, body }) => keyChangeMessage(parameters.hash, body),
  toKeyAnswer,
  { carriesSettings: true },
);

/** Settings of a key rotation, used by HTTP, gRPC and the command line. */
export const keyRotation = named(
  "KeyRotation",
  object(
    {
      overlap_seconds: described(
        integer({ min: 0, max: 2_592_000 }),
        "Seconds for which the old key works beside the new one, at most 30 days; then it expires. 0 when absent: it is revoked at once.",
      ),
    },
    { strict: true },
  ),
);

const rotateKey = forwarded(
  operation({
    ...one,
    path: "/keys/{hash}/rotate",
    method: "post",
    tag: "Administration",
    key: "management",
    role: "operator",
    summary: "Rotate a key",
    description:
      "Makes a key with the settings and the guardrail of an existing one, which is refused after the overlap. The answer shows the new key for the only time. In force on the next request.",
    body: { ...json(keyRotation, example({ overlap_seconds: 3_600 })), maxBytes },
    answer: { status: 201, description: "The new key.", content: [json(createdKey, example(createdKeyExample))] },
  }),
  method.rotateKey,
  ({ parameters: { hash: keyHash }, body }) => ({ keyHash, overlapSeconds: body.overlap_seconds }),
  ({ key, secret }) => ({ data: key && toKeyJson(key), key: secret }),
);

const deleteKey = forwarded(
  operation({
    ...one,
    path: "/keys/{hash}",
    method: "delete",
    tag: "Administration",
    key: "management",
    role: "operator",
    summary: "Delete a key",
    description:
      "Revokes the key for good and takes its guardrail from it. In force on the next request. May be repeated: the answer is the same.",
    answer: { description: "The key is refused.", content: [json(deletedKey, example({ deleted: true }))] },
  }),
  method.deleteKey,
  ({ parameters: { hash: keyHash } }) => ({ keyHash }),
  () => ({ deleted: true }),
);

export const keyOperations = {
  getCurrentKey,
  listKeys,
  createKey,
  getKey,
  getKeyByExternalId,
  updateKey,
  deleteKey,
  rotateKey,
  putKey,
};
