/** Operations on end users. */
import { type EndUser, EndUserService } from "../../gen/sluice/admin/v1/end_user_service_pb.ts";
import {
  endUserAnswer,
  endUserChange,
  endUserList,
  endUserName,
  endUserQuery,
  newEndUser,
  toEndUserJson,
} from "../records/end-users.ts";
import { toPageJson } from "../records/record-shapes.ts";
import { endUserExample } from "../examples/administration.ts";
import { type PathParameter, administrationStatuses, example, json, operation, reportStatuses } from "./operation.ts";
import { forwarded } from "./forward.ts";

const tag = "Administration";
const statuses = administrationStatuses;

const user: PathParameter = {
  description:
    "The end user, percent-encoded. `.` and `..` cannot be addressed: clients and proxies resolve such segments away.",
  shape: endUserName,
  addressable: {
    form: /^(?!\.{1,2}$)/,
    otherwise: "The end users . and .. cannot be addressed by path; use the filter of the end-user list",
  },
};

/**
 * Maximum body size in bytes: a name of the maximum length, with each character escaped as two surrogate halves, takes
 * 6 KB.
 */
const maxBytes = 8_192;
const maxChangeBytes = 4_096;

const { method } = EndUserService;
const toEndUserAnswer = ({ endUser }: { readonly endUser?: EndUser | undefined }) => ({
  data: endUser && toEndUserJson(endUser),
});

const answer = { description: "The end user.", content: [json(endUserAnswer, example(endUserExample))] };

const listEndUsers = forwarded(
  operation({
    path: "/end-users",
    method: "get",
    tag,
    key: "management",
    summary: "List the end users",
    description: "The registered end users of the workspace that are active, in the order of their code points.",
    query: endUserQuery,
    answer: {
      description: "A page of end users.",
      content: [json(endUserList, example({ data: [endUserExample.data], total_count: 1, next_cursor: null }))],
    },
    statuses: reportStatuses([400, 401, 403, 500]),
  }),
  method.listEndUsers,
  ({ query: { include_inactive: includeInactive, ...query } }) => ({ ...query, includeInactive }),
  ({ endUsers, ...page }) => toPageJson(endUsers.map(toEndUserJson), page),
  { carriesSettings: true },
);

const createEndUser = forwarded(
  operation({
    path: "/end-users",
    method: "post",
    tag,
    key: "management",
    summary: "Register an end user",
    description:
      "Registers an end user as active. One that is registered already, active or not, is left as it is: 409.",
    body: { ...json(newEndUser, example({ user: "employee_123" })), maxBytes },
    answer: { ...answer, status: 201 },
    statuses: [400, 401, 403, 409, 500],
  }),
  method.createEndUser,
  ({ body }) => body,
  toEndUserAnswer,
);

const getEndUser = forwarded(
  operation({
    path: "/end-users/{user}",
    method: "get",
    tag,
    key: "management",
    summary: "Show an end user",
    description: "A registered end user of the workspace, active or not.",
    parameters: { user },
    answer,
    statuses,
  }),
  method.getEndUser,
  ({ parameters }) => parameters,
  toEndUserAnswer,
);

const updateEndUser = forwarded(
  operation({
    path: "/end-users/{user}",
    method: "patch",
    tag,
    key: "management",
    summary: "Change the registration of an end user",
    description:
      "Sets whether a registered end user is active. Requests that carry the user are served either way, unless the configuration file says `end_users: {enforce: true}`: then those of an inactive one are 403.",
    parameters: { user },
    body: { ...json(endUserChange, example({ is_active: false })), maxBytes: maxChangeBytes },
    answer: { description: "The end user as it is now.", content: [json(endUserAnswer, example(endUserExample))] },
    statuses,
  }),
  method.updateEndUser,
  ({ parameters, body }) => ({ ...parameters, isActive: body.is_active }),
  toEndUserAnswer,
);

const deleteEndUser = forwarded(
  operation({
    ...getEndUser,
    method: "delete",
    summary: "Deactivate an end user",
    description:
      "Deactivates an end user, who stays registered and can be activated again. May be repeated. Requests that carry the user are served either way.",
    answer: { status: 204, description: "The end user is not active.", content: [] },
  }),
  method.deleteEndUser,
  ({ parameters }) => parameters,
  () => undefined,
);

export const endUserOperations = {
  listEndUsers,
  createEndUser,
  getEndUser,
  updateEndUser,
  deleteEndUser,
};
