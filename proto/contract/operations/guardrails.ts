/** Operations on guardrails, and on which key holds which. */
import { assigned, keyHashes, unassigned } from "./administration.ts";
import {
  assignmentExample,
  guardrailExample,
  guardrailTrialExample,
  keyHashesExample,
} from "../examples/administration.ts";
import {
  assignmentList,
  assignmentQuery,
  deletedGuardrail,
  guardrailAnswer,
  guardrailChange,
  guardrailList,
  guardrailQuery,
  newGuardrail,
} from "../records/guardrails.ts";
import { administrationStatuses, example, guardrailId, json, operation } from "./operation.ts";
import { forwarded } from "./forward.ts";
import { trialAnswer, trialRequest } from "../request/guardrail-trial.ts";
import {
  type GuardrailRecord,
  GuardrailService,
  type ListKeyAssignmentsResponse,
} from "../../gen/sluice/admin/v1/guardrail_service_pb.ts";
import {
  guardrailChangeMessage,
  newGuardrailMessage,
  shownAssignment,
  shownGuardrail,
} from "../records/guardrail-record.ts";

const { method } = GuardrailService;
const tag = "Administration";
const key = "management";
const parameters = { id: guardrailId };
const statuses = administrationStatuses;
/** Two patterns of the maximum length fit, however their characters are escaped, and so do a hundred of 10,000 letters. */
const maxBytes = 1_048_576;
/** 500 hashes of 64 digits are 34 KB. */
const maxAssignmentBytes = 262_144;

const filters = [{ pattern: "BEGIN [A-Z ]*PRIVATE KEY", action: "block", label: "private-key" }];
const answer = { says: "The guardrail.", content: [json(guardrailAnswer, example({ data: guardrailExample }))] };

const toGuardrailAnswer = ({ guardrail }: { readonly guardrail?: GuardrailRecord | undefined }) => ({
  data: guardrail && shownGuardrail(guardrail),
});

const toPage = ({ assignments, totalCount }: ListKeyAssignmentsResponse) => ({
  data: assignments.map(shownAssignment),
  total_count: Number(totalCount),
});

const listGuardrails = forwarded(
  operation({
    path: "/guardrails",
    method: "get",
    tag,
    key,
    summary: "List the guardrails",
    description: "The guardrails of the workspace, oldest first.",
    query: guardrailQuery,
    answer: {
      says: "A page of guardrails.",
      content: [json(guardrailList, example({ data: [guardrailExample], total_count: 1 }))],
    },
    statuses,
  }),
  method.listGuardrails,
  ({ query: { offset, limit, workspace_id: workspaceId } }) => ({ offset, limit, workspaceId }),
  ({ guardrails, totalCount }) => ({ data: guardrails.map(shownGuardrail), total_count: Number(totalCount) }),
);

const createGuardrail = forwarded(
  operation({
    path: "/guardrails",
    method: "post",
    tag,
    key,
    summary: "Make a guardrail",
    description: "Creates a guardrail. It does nothing until keys are given it, unless it is the workspace's.",
    body: {
      ...json(
        newGuardrail,
        example({
          name: "no-secrets",
          content_filters: filters,
          content_filter_builtins: [{ slug: "email", action: "redact" }],
          enforce_zdr_anthropic: true,
        }),
      ),
      maxBytes,
    },
    answer: { ...answer, status: 201 },
    statuses,
  }),
  method.createGuardrail,
  ({ body }) => newGuardrailMessage(body),
  toGuardrailAnswer,
  { carriesSettings: true },
);

const getGuardrail = forwarded(
  operation({
    path: "/guardrails/{id}",
    method: "get",
    tag,
    key,
    summary: "Show a guardrail",
    description: "A guardrail of the workspace.",
    parameters,
    answer,
    statuses,
  }),
  method.getGuardrail,
  ({ parameters: { id: guardrailId } }) => ({ guardrailId }),
  toGuardrailAnswer,
);

const updateGuardrail = forwarded(
  operation({
    ...getGuardrail,
    method: "patch",
    summary: "Change a guardrail",
    description:
      "Changes what the body names, and nothing else; null clears. Filters take the place of all that were there. In force on the next request.",
    body: { ...json(guardrailChange, example({ content_filters: filters })), maxBytes },
    answer: { ...answer, says: "The guardrail as it is now." },
  }),
  method.updateGuardrail,
  ({ parameters, body }) => guardrailChangeMessage(parameters.id, body),
  toGuardrailAnswer,
  { carriesSettings: true },
);

const deleteGuardrail = forwarded(
  operation({
    ...getGuardrail,
    method: "delete",
    summary: "Delete a guardrail",
    description: "Deletes the guardrail and takes it from every key that holds it. In force on the next request.",
    answer: { says: "It is gone.", content: [json(deletedGuardrail, example({ deleted: true }))] },
  }),
  method.deleteGuardrail,
  ({ parameters: { id: guardrailId } }) => ({ guardrailId }),
  () => ({ deleted: true }),
);

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
    answer: { says: "The keys hold the guardrail.", content: [json(assigned, example({ assigned_count: 1 }))] },
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
    answer: { says: "None of the keys holds it.", content: [json(unassigned, example({ unassigned_count: 1 }))] },
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
    says: "A page of assignments.",
    content: [json(assignmentList, example({ data: [assignmentExample], total_count: 1 }))],
  },
} as const;

const listKeyAssignments = forwarded(
  operation({
    ...listing,
    path: "/guardrails/assignments/keys",
    summary: "List which key holds which guardrail",
    description: "The assignments of all guardrails of the workspace, by guardrail, oldest first.",
    statuses: [400, 401, 403, 500],
  }),
  method.listKeyAssignments,
  ({ query }) => query,
  toPage,
);

const listGuardrailKeyAssignments = forwarded(
  operation({
    ...listing,
    path: "/guardrails/{id}/assignments/keys",
    summary: "List the keys that hold a guardrail",
    description: "The assignments of one guardrail, oldest first.",
    parameters,
    statuses,
  }),
  method.listKeyAssignments,
  ({ parameters: { id: guardrailId }, query }) => ({ ...query, guardrailId }),
  toPage,
);

/** A text of the maximum length, each unit escaped, beside the largest guardrail. */
const maxTrialBytes = 4_194_304;

const tryGuardrail = operation({
  path: "/guardrails/try",
  method: "post",
  tag,
  key,
  summary: "Try a guardrail on a text",
  description:
    "Shows what a guardrail does to a text of a request or of an answer, by the code that guards every turn: `applies_to` and `mode` hold as they do there. The text is neither served nor kept. Detectors and judges that the guardrail names are asked, which may cost.",
  body: {
    ...json(
      trialRequest,
      example({
        guardrail: { content_filters: filters, applies_to: "output" },
        side: "output",
        text: ["-----BEGIN RSA PRI", "VATE KEY-----"],
      }),
    ),
    maxBytes: maxTrialBytes,
  },
  answer: { says: "What it does.", content: [json(trialAnswer, example({ data: guardrailTrialExample }))] },
  statuses,
});

export const guardrailOperations = {
  tryGuardrail,
  listGuardrails,
  createGuardrail,
  getGuardrail,
  updateGuardrail,
  deleteGuardrail,
  listKeyAssignments,
  listGuardrailKeyAssignments,
  assignKeys,
  unassignKeys,
};
