/** Operations on guardrails. */
import { guardrailExample, guardrailTrialExample } from "../examples/administration.ts";
import {
  deletedGuardrail,
  guardrailAnswer,
  guardrailChange,
  guardrailList,
  guardrailQuery,
  newGuardrail,
  putGuardrailAnswer,
} from "../records/guardrails.ts";
import {
  administrationStatuses,
  example,
  externalId,
  guardrailId,
  json,
  operation,
  putAnswer,
  putDescription,
  reportStatuses,
} from "./operation.ts";
import { assignmentOperations } from "./assignments.ts";
import { forwarded } from "./forward.ts";
import { trialAnswer, trialRequest } from "../request/guardrail-trial.ts";
import { type GuardrailRecord, GuardrailService } from "../../gen/sluice/admin/v1/guardrail_service_pb.ts";
import { guardrailChangeMessage, newGuardrailMessage, toGuardrailJson } from "../records/guardrail-record.ts";
import { toPageJson } from "../records/record-shapes.ts";

const { method } = GuardrailService;
const tag = "Administration";
const key = "management";
const parameters = { id: guardrailId };
const statuses = administrationStatuses;
/**
 * Maximum body size in bytes. It holds two patterns of the maximum length, however their characters are escaped, or a
 * hundred of 10,000 letters.
 */
const maxBytes = 1_048_576;

const filters = [{ pattern: "BEGIN [A-Z ]*PRIVATE KEY", action: "block", label: "private-key" }];
const answer = { description: "The guardrail.", content: [json(guardrailAnswer, example({ data: guardrailExample }))] };

const toGuardrailAnswer = ({ guardrail }: { readonly guardrail?: GuardrailRecord | undefined }) => ({
  data: guardrail && toGuardrailJson(guardrail),
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
      description: "A page of guardrails.",
      content: [json(guardrailList, example({ data: [guardrailExample], total_count: 1, next_cursor: null }))],
    },
    statuses: reportStatuses(),
  }),
  method.listGuardrails,
  ({ query: { workspace_id: workspaceId, ...page } }) => ({ ...page, workspaceId }),
  ({ guardrails, ...page }) => toPageJson(guardrails.map(toGuardrailJson), page),
  { carriesSettings: true },
);

const newGuardrailBody = {
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
};

const createGuardrail = forwarded(
  operation({
    path: "/guardrails",
    method: "post",
    tag,
    key,
    summary: "Make a guardrail",
    description: "Creates a guardrail. It does nothing until keys are given it, unless it is the workspace's.",
    body: newGuardrailBody,
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

const getGuardrailByExternalId = forwarded(
  operation({
    path: "/guardrails/by-external-id/{external_id}",
    method: "get",
    tag,
    key,
    summary: "Show the guardrail of an external id",
    description: "The guardrail that was put under this id.",
    parameters: { external_id: externalId },
    answer,
    statuses,
  }),
  method.getGuardrail,
  ({ parameters: { external_id: id } }) => ({ externalId: id }),
  toGuardrailAnswer,
  { carriesSettings: true },
);

const updateGuardrail = forwarded(
  operation({
    ...getGuardrail,
    method: "patch",
    summary: "Change a guardrail",
    description:
      "Changes what the body names, and nothing else; null clears. Filters take the place of all that were there. In force on the next request.",
    body: { ...json(guardrailChange, example({ content_filters: filters })), maxBytes },
    answer: { ...answer, description: "The guardrail as it is now." },
  }),
  method.updateGuardrail,
  ({ parameters, body }) => guardrailChangeMessage(parameters.id, body),
  toGuardrailAnswer,
  { carriesSettings: true },
);

const putGuardrail = forwarded(
  operation({
    path: "/guardrails/by-external-id/{external_id}",
    method: "put",
    tag,
    key,
    statuses,
    body: newGuardrailBody,
    summary: "Make or change a guardrail by an external id",
    description: putDescription,
    parameters: { external_id: externalId },
    answer: putAnswer(
      "guardrail",
      json(putGuardrailAnswer, example({ data: guardrailExample, created: true, changed: true })),
    ),
  }),
  method.putGuardrail,
  ({ parameters, body }) => ({ externalId: parameters.external_id, guardrail: newGuardrailMessage(body) }),
  ({ guardrail, created, changed }) => ({ ...toGuardrailAnswer({ guardrail }), created, changed }),
  { carriesSettings: true },
);

const deleteGuardrail = forwarded(
  operation({
    ...getGuardrail,
    method: "delete",
    summary: "Delete a guardrail",
    description: "Deletes the guardrail and takes it from every key that holds it. In force on the next request.",
    answer: { description: "It is gone.", content: [json(deletedGuardrail, example({ deleted: true }))] },
  }),
  method.deleteGuardrail,
  ({ parameters: { id: guardrailId } }) => ({ guardrailId }),
  () => ({ deleted: true }),
);

/**
 * Maximum body size in bytes: the largest guardrail, and a text of the maximum length with every UTF-16 unit escaped.
 */
const maxTrialBytes = 4_194_304;

const tryGuardrail = operation({
  path: "/guardrails/try",
  method: "post",
  tag,
  key,
  role: "operator",
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
  answer: { description: "What it does.", content: [json(trialAnswer, example({ data: guardrailTrialExample }))] },
  statuses,
});

export const guardrailOperations = {
  tryGuardrail,
  listGuardrails,
  createGuardrail,
  getGuardrail,
  getGuardrailByExternalId,
  updateGuardrail,
  putGuardrail,
  deleteGuardrail,
  ...assignmentOperations,
};
