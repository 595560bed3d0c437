/** The operations on end users. */
import { endUserAnswer, endUserChange, endUserList, endUserName, endUserQuery, newEndUser } from "./end-users.ts";
import { endUserExample } from "./examples.ts";
import { type Operation, type PublishedParameter, administrationStatuses, example, json } from "./operation.ts";

const tag = "Administration";
const statuses = administrationStatuses;

const userPath: PublishedParameter = {
  name: "user",
  in: "path",
  required: true,
  description:
    "The end user, percent-encoded. `.` and `..` cannot be addressed: clients and proxies resolve such segments away.",
  schema: endUserName.schema(new Map()),
};

const answer = { says: "The end user.", content: [json(endUserAnswer, example(endUserExample))] };

const listEndUsers: Operation = {
  path: "/end-users",
  method: "get",
  id: "listEndUsers",
  tag,
  summary: "List the end users",
  description: "The registered end users of the workspace that are active, in the order of their code points.",
  query: endUserQuery,
  answer: {
    says: "A page of end users.",
    content: [json(endUserList, example({ data: [endUserExample.data], total_count: 1 }))],
  },
  statuses: [400, 401, 403, 500],
};

const createEndUser: Operation = {
  path: "/end-users",
  method: "post",
  id: "createEndUser",
  tag,
  summary: "Register an end user",
  description: "Registers an end user as active. One that is registered already, active or not, is left as it is: 409.",
  body: json(newEndUser, example({ user: "employee_123" })),
  answer: { ...answer, status: 201 },
  statuses: [400, 401, 403, 409, 500],
};

const getEndUser: Operation = {
  path: "/end-users/{user}",
  method: "get",
  id: "getEndUser",
  tag,
  summary: "Show an end user",
  description: "A registered end user of the workspace, active or not.",
  parameters: [userPath],
  answer,
  statuses,
};

const updateEndUser: Operation = {
  path: "/end-users/{user}",
  method: "patch",
  id: "updateEndUser",
  tag,
  summary: "Change the registration of an end user",
  description:
    "Sets whether a registered end user is active. Requests that carry the user are served either way, unless the configuration file says `end_users: {enforce: true}`: then those of an inactive one are 403.",
  parameters: [userPath],
  body: json(endUserChange, example({ is_active: false })),
  answer: { says: "The end user as it is now.", content: [json(endUserAnswer, example(endUserExample))] },
  statuses,
};

const deleteEndUser: Operation = {
  ...getEndUser,
  method: "delete",
  id: "deleteEndUser",
  summary: "Deactivate an end user",
  description:
    "Deactivates an end user, who stays registered and can be activated again. May be repeated. Requests that carry the user are served either way.",
  answer: { status: 204, says: "The end user is not active.", content: [] },
};

export const endUserOperations: readonly Operation[] = [
  listEndUsers,
  createEndUser,
  getEndUser,
  updateEndUser,
  deleteEndUser,
];
