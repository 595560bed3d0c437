/** The operations on guardrails, and on which key holds which. */
import { assigned, keyHashes, unassigned } from "./administration.ts";
import { assignmentExample, guardrailExample, keyHashesExample } from "./examples.ts";
import {
  assignmentList,
  assignmentQuery,
  deletedGuardrail,
  guardrailAnswer,
  guardrailChange,
  guardrailList,
  guardrailQuery,
  newGuardrail,
} from "./guardrails.ts";
import { type Operation, administrationStatuses, example, guardrailId, json } from "./operation.ts";

const tag = "Administration";
const statuses = administrationStatuses;
const filters = [{ pattern: "BEGIN [A-Z ]*PRIVATE KEY", action: "block", label: "private-key" }];
const answer = { says: "The guardrail.", content: [json(guardrailAnswer, example({ data: guardrailExample }))] };

const listGuardrails: Operation = {
  path: "/guardrails",
  method: "get",
  id: "listGuardrails",
  tag,
  summary: "List the guardrails",
  description: "The guardrails of the workspace, oldest first.",
  query: guardrailQuery,
  answer: {
    says: "A page of guardrails.",
    content: [json(guardrailList, example({ data: [guardrailExample], total_count: 1 }))],
  },
  statuses,
};

const createGuardrail: Operation = {
  path: "/guardrails",
  method: "post",
  id: "createGuardrail",
  tag,
  summary: "Make a guardrail",
  description: "Makes a guardrail. It does nothing until keys are given it, unless it is the workspace's.",
  body: json(
    newGuardrail,
    example({
      name: "no-secrets",
      content_filters: filters,
      content_filter_builtins: [{ slug: "email", action: "redact" }],
      enforce_zdr_anthropic: true,
    }),
  ),
  answer: { ...answer, status: 201 },
  statuses,
};

const getGuardrail: Operation = {
  path: "/guardrails/{id}",
  method: "get",
  id: "getGuardrail",
  tag,
  summary: "Show a guardrail",
  description: "A guardrail of the workspace.",
  parameters: [guardrailId],
  answer,
  statuses,
};

const updateGuardrail: Operation = {
  ...getGuardrail,
  method: "patch",
  id: "updateGuardrail",
  summary: "Change a guardrail",
  description:
    "Changes what the body names, and nothing else; null clears. Filters take the place of all that were there. In force on the next request.",
  body: json(guardrailChange, example({ content_filters: filters })),
  answer: { ...answer, says: "The guardrail as it is now." },
};

const deleteGuardrail: Operation = {
  ...getGuardrail,
  method: "delete",
  id: "deleteGuardrail",
  summary: "Delete a guardrail",
  description: "Deletes the guardrail and takes it from every key that holds it. In force on the next request.",
  answer: { says: "It is gone.", content: [json(deletedGuardrail, example({ deleted: true }))] },
};

const assignKeys: Operation = {
  path: "/guardrails/{id}/assignments/keys",
  method: "post",
  id: "assignKeys",
  tag,
  summary: "Give keys a guardrail",
  description:
    "Assigns the guardrail to every listed key, in place of the one that the key holds. All or nothing; in force on the next request.",
  parameters: [guardrailId],
  body: json(keyHashes, example(keyHashesExample)),
  answer: { says: "The keys hold the guardrail.", content: [json(assigned, example({ assigned_count: 1 }))] },
  statuses,
};

const removeKeys: Operation = {
  ...assignKeys,
  path: "/guardrails/{id}/assignments/keys/remove",
  id: "unassignKeys",
  summary: "Take a guardrail from keys",
  description: "Takes the guardrail from every listed key that holds it. All or nothing; in force on the next request.",
  answer: { says: "None of the keys holds it.", content: [json(unassigned, example({ unassigned_count: 1 }))] },
};

const listAssignments: Operation = {
  path: "/guardrails/assignments/keys",
  method: "get",
  id: "listKeyAssignments",
  tag,
  summary: "List which key holds which guardrail",
  description: "The assignments of all guardrails of the workspace, by guardrail, oldest first.",
  query: assignmentQuery,
  answer: {
    says: "A page of assignments.",
    content: [json(assignmentList, example({ data: [assignmentExample], total_count: 1 }))],
  },
  statuses: [400, 401, 403, 500],
};

const listAssignmentsOfGuardrail: Operation = {
  ...listAssignments,
  path: "/guardrails/{id}/assignments/keys",
  id: "listGuardrailKeyAssignments",
  summary: "List the keys that hold a guardrail",
  description: "The assignments of one guardrail, oldest first.",
  parameters: [guardrailId],
  statuses,
};

export const guardrailOperations: readonly Operation[] = [
  listGuardrails,
  createGuardrail,
  getGuardrail,
  updateGuardrail,
  deleteGuardrail,
  listAssignments,
  listAssignmentsOfGuardrail,
  assignKeys,
  removeKeys,
];
