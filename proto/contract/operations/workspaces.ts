/** Operations on workspaces. */
import { uuidForm } from "../../lib/ids/uuid.ts";
import { type Workspace, WorkspaceService } from "../../gen/sluice/admin/v1/workspace_service_pb.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import { string } from "../../lib/validation/shape.ts";
import { workspaceExample } from "../examples/audit.ts";
import {
  deletedWorkspace,
  newWorkspace,
  putWorkspaceAnswer,
  toWorkspaceJson,
  workspaceAnswer,
  workspaceChange,
  workspaceFields,
  workspaceList,
  workspaceMask,
  workspaceQuery,
} from "../records/workspaces.ts";
import { toPageJson } from "../records/record-shapes.ts";
import { forwarded } from "./forward.ts";
import {
  type PathParameter,
  administrationStatuses,
  example,
  externalId,
  json,
  operation,
  putAnswer,
  putDescription,
  reportStatuses,
} from "./operation.ts";

const { method } = WorkspaceService;
const tag = "Administration";
const key = "management";
const statuses = administrationStatuses;
/** Maximum body size in bytes; a name of the maximum length, with each character escaped, takes 2.4 KB. */
const maxBytes = 8_192;

const id: PathParameter = {
  description: "Identifier of the workspace. Any other text names none: 404.",
  shape: string(),
  addressable: { form: uuidForm, otherwise: "Workspace not found" },
};

const answer = { description: "The workspace.", content: [json(workspaceAnswer, example({ data: workspaceExample }))] };

const toWorkspaceAnswer = ({ workspace }: { readonly workspace?: Workspace | undefined }) => ({
  data: workspace && toWorkspaceJson(workspace),
});

const listWorkspaces = forwarded(
  operation({
    path: "/workspaces",
    method: "get",
    tag,
    key,
    summary: "List the workspaces",
    description:
      "The workspaces with budget and spending, the default one first. A management key of the account sees all of them, any other its own.",
    query: workspaceQuery,
    answer: {
      description: "A page of workspaces.",
      content: [json(workspaceList, example({ data: [workspaceExample], total_count: 1, next_cursor: null }))],
    },
    statuses: reportStatuses([400, 401, 403, 500]),
  }),
  method.listWorkspaces,
  ({ query }) => query,
  ({ workspaces, ...page }) => toPageJson(workspaces.map(toWorkspaceJson), page),
  { carriesSettings: true },
);

const newWorkspaceBody = {
  ...json(newWorkspace, example({ name: "research", limit: 500, limit_reset: "monthly" })),
  maxBytes,
};

const createWorkspace = forwarded(
  operation({
    path: "/workspaces",
    method: "post",
    tag,
    key,
    summary: "Make a workspace",
    description:
      "Makes an empty workspace. Needs a management key of the account, which makes the first key with the header `X-Sluice-Workspace`.",
    body: newWorkspaceBody,
    answer: { ...answer, status: 201 },
    statuses: [400, 401, 403, 409, 500],
  }),
  method.createWorkspace,
  ({ body }) => ({ workspace: workspaceFields(body as JsonObject) }),
  toWorkspaceAnswer,
  { carriesSettings: true },
);

const getWorkspace = forwarded(
  operation({
    path: "/workspaces/{id}",
    method: "get",
    tag,
    key,
    summary: "Show a workspace",
    description: "A workspace with budget and spending.",
    parameters: { id },
    answer,
    statuses,
  }),
  method.getWorkspace,
  ({ parameters: { id: workspaceId } }) => ({ workspaceId }),
  toWorkspaceAnswer,
);

const getWorkspaceByExternalId = forwarded(
  operation({
    path: "/workspaces/by-external-id/{external_id}",
    method: "get",
    tag,
    key,
    summary: "Show the workspace of an external id",
    description: "The workspace that was put under this id. Needs a management key of the account.",
    parameters: { external_id: externalId },
    answer,
    statuses,
  }),
  method.getWorkspace,
  ({ parameters: { external_id: id } }) => ({ externalId: id }),
  toWorkspaceAnswer,
  { carriesSettings: true },
);

const deleteWorkspace = forwarded(
  operation({
    ...getWorkspace,
    method: "delete",
    summary: "Delete a workspace",
    description:
      "Revokes the keys of the workspace, and deletes its guardrails and captured contents, in force on the next request. Records of usage, end users and the audit log stay: a management key of the account reads them with the header `X-Sluice-Workspace`. The default workspace cannot be deleted (409). Needs a management key of the account.",
    answer: { description: "It is gone.", content: [json(deletedWorkspace, example({ deleted: true }))] },
    statuses: [400, 401, 403, 404, 409, 500],
  }),
  method.deleteWorkspace,
  ({ parameters: { id: workspaceId } }) => ({ workspaceId }),
  () => ({ deleted: true }),
);

const updateWorkspace = forwarded(
  operation({
    ...getWorkspace,
    method: "patch",
    summary: "Change a workspace",
    description:
      "Changes what the body names, and nothing else. Needs a management key of the account. In force on the next request.",
    body: { ...json(workspaceChange, example({ limit: 750 })), maxBytes },
    answer: { ...answer, description: "The workspace as it is now." },
    statuses: [400, 401, 403, 404, 409, 500],
  }),
  method.updateWorkspace,
  ({ parameters, body }) => ({
    workspace: { id: parameters.id, ...workspaceFields(body as JsonObject) },
    updateMask: { paths: workspaceMask(body as JsonObject) },
  }),
  toWorkspaceAnswer,
  { carriesSettings: true },
);

const putWorkspace = forwarded(
  operation({
    path: "/workspaces/by-external-id/{external_id}",
    method: "put",
    tag,
    key,
    statuses: [400, 401, 403, 409, 500],
    body: newWorkspaceBody,
    summary: "Make or change a workspace by an external id",
    description: `${putDescription} Needs a management key of the account.`,
    parameters: { external_id: externalId },
    answer: putAnswer(
      "workspace",
      json(putWorkspaceAnswer, example({ data: workspaceExample, created: true, changed: true })),
    ),
  }),
  method.putWorkspace,
  ({ parameters, body }) => ({ externalId: parameters.external_id, workspace: workspaceFields(body as JsonObject) }),
  ({ workspace, created, changed }) => ({ ...toWorkspaceAnswer({ workspace }), created, changed }),
  { carriesSettings: true },
);

export const workspaceOperations = {
  listWorkspaces,
  createWorkspace,
  getWorkspace,
  getWorkspaceByExternalId,
  updateWorkspace,
  deleteWorkspace,
  putWorkspace,
};
