/** Operations for assigning guardrails to keys. */
import { assignedKeyCount, keyHashes, unassignedKeyCount } from "./administration.ts";
import { assignmentExample, keyHashesExample } from "../examples/administration.ts";
import { assignmentList, assignmentQuery } from "../records/guardrails.ts";
import { administrationStatuses, reportStatuses, example, guardrailId, json, operation } from "./operation.ts";
import { forwarded } from "./forward.ts";
import { GuardrailService, type ListKeyAssignmentsResponse } from "../../gen/sluice/admin/v1/guardrail_service_pb.ts";
import { toAssignmentJson } from "../records/guardrail-record.ts";
import { toPageJson } from "../records/record-shapes.ts";

const { method } = GuardrailService;
const tag = "Administration";
const key = "management";
const parameters = { id: guardrailId };
const statuses = administrationStatuses;
/** Maximum body size in bytes; 500 hashes of 64 digits take 34 KB. */
const maxAssignmentBytes = 262_144;

const toPage = ({ assignments, ...page }: ListKeyAssignmentsResponse) =>
  toPageJson(assignments.map(toAssignmentJson), page);

const assigning = {
  method: "post",
  tag,
  key,
  parameters,
  body: { ...json(keyHashes, example(keyHashesExample)), maxBytes: maxAssignmentBytes },
  statuses,
} as const;

const assignKeys = forwarded(
  operation({
    ...assigning,
    path: "/guardrails/{id}/assignments/keys",
    summary: "Give keys a guardrail",
    description:
      "Assigns the guardrail to every listed key, in place of the one that the key holds. All or nothing; in force on the next request.",
    answer: {
      description: "The keys hold the guardrail.",
      content: [json(assignedKeyCount, example({ assigned_count: 1 }))],
    },
  }),
  method.assignKeys,
  ({ parameters: { id: guardrailId }, body }) => ({ guardrailId, keyHashes: body.key_hashes }),
  ({ assignedCount }) => ({ assigned_count: assignedCount }),
);

const unassignKeys = forwarded(
  operation({
    ...assigning,
    path: "/guardrails/{id}/assignments/keys/remove",
    summary: "Take a guardrail from keys",
    description:
      "Takes the guardrail from every listed key that holds it. All or nothing; in force on the next request.",
    answer: {
      description: "None of the keys holds it.",
      content: [json(unassignedKeyCount, example({ unassigned_count: 1 }))],
    },
  }),
  method.unassignKeys,
  ({ parameters: { id: guardrailId }, body }) => ({ guardrailId, keyHashes: body.key_hashes }),
  ({ unassignedCount }) => ({ unassigned_count: unassignedCount }),
);

const listing = {
  method: "get",
  tag,
  key,
  query: assignmentQuery,
  answer: {
    description: "A page of assignments.",
    content: [json(assignmentList, example({ data: [assignmentExample], total_count: 1, next_cursor: null }))],
  },
} as const;

const listKeyAssignments = forwarded(
  operation({
    ...listing,
    path: "/guardrails/assignments/keys",
    summary: "List which key holds which guardrail",
    description: "The assignments of all guardrails of the workspace, by guardrail, oldest first.",
    statuses: reportStatuses([400, 401, 403, 500]),
  }),
  method.listKeyAssignments,
  ({ query }) => query,
  toPage,
  { carriesSettings: true },
);

const listGuardrailKeyAssignments = forwarded(
  operation({
    ...listing,
    path: "/guardrails/{id}/assignments/keys",
    summary: "List the keys that hold a guardrail",
    description: "The assignments of one guardrail, oldest first.",
    parameters,
    statuses: reportStatuses(),
  }),
  method.listKeyAssignments,
  ({ parameters: { id: guardrailId }, query }) => ({ ...query, guardrailId }),
  toPage,
  { carriesSettings: true },
);

export const assignmentOperations = { listKeyAssignments, listGuardrailKeyAssignments, assignKeys, unassignKeys };
