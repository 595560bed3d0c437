/** The operations on keys. */
import { createdKeyExample, currentKeyExample, keyExample } from "./examples.ts";
import { createdKey, currentKeyAnswer, deletedKey, keyAnswer, keyChange, keyList, keyQuery, newKey } from "./keys.ts";
import { type Operation, administrationStatuses, example, json, keyHash } from "./operation.ts";

const getCurrentKey: Operation = {
  path: "/key",
  method: "get",
  id: "getCurrentKey",
  tag: "Administration",
  anyKey: true,
  summary: "Show the calling key",
  description: "What is known of the key that asks. Keys of both kinds may.",
  answer: { says: "The calling key.", content: [json(currentKeyAnswer, example({ data: currentKeyExample }))] },
  statuses: [400, 401, 429, 500],
};

const listKeys: Operation = {
  path: "/keys",
  method: "get",
  id: "listKeys",
  tag: "Administration",
  summary: "List the keys",
  description:
    "The keys of the workspace that create responses, oldest first; those that were deleted are not among them, nor are management keys.",
  query: keyQuery,
  answer: { says: "A page of keys.", content: [json(keyList, example({ data: [keyExample], total_count: 1 }))] },
  statuses: administrationStatuses,
};

const createKey: Operation = {
  path: "/keys",
  method: "post",
  id: "createKey",
  tag: "Administration",
  summary: "Make a key",
  description:
    "Makes a key that creates responses. The answer shows it for the only time. It is known on the next request.",
  body: json(newKey, example({ name: "billing", external: { user: "employee_123" } })),
  answer: { status: 201, says: "The key.", content: [json(createdKey, example(createdKeyExample))] },
  statuses: administrationStatuses,
};

const one = { parameters: [keyHash], statuses: administrationStatuses } as const;
const answer = { says: "The key.", content: [json(keyAnswer, example({ data: keyExample }))] };

const getKey: Operation = {
  ...one,
  path: "/keys/{hash}",
  method: "get",
  id: "getKey",
  tag: "Administration",
  summary: "Show a key",
  description: "A key of the workspace. One that was deleted is not found.",
  answer,
};

const updateKey: Operation = {
  ...one,
  path: "/keys/{hash}",
  method: "patch",
  id: "updateKey",
  tag: "Administration",
  summary: "Change a key",
  description: "Changes what the body names, and nothing else. In force on the next request.",
  body: json(keyChange, example({ disabled: true })),
  answer: { ...answer, says: "The key as it is now." },
};

const deleteKey: Operation = {
  ...one,
  path: "/keys/{hash}",
  method: "delete",
  id: "deleteKey",
  tag: "Administration",
  summary: "Delete a key",
  description:
    "Revokes the key for good and takes its guardrail from it. In force on the next request. May be repeated: the answer is the same.",
  answer: { says: "The key is refused.", content: [json(deletedKey, example({ deleted: true }))] },
};

export const keyOperations: readonly Operation[] = [getCurrentKey, listKeys, createKey, getKey, updateKey, deleteKey];
