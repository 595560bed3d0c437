/** The administration operations: where each is, who may call it, and the status of its success. */
import { createEndUser, deleteEndUser, getEndUser, listEndUsers, updateEndUser } from "./end-users/route.ts";
import { assignKeys, listAssignments, listAssignmentsOfGuardrail, unassignKeys } from "./guardrails/assignments.ts";
import { createGuardrail, deleteGuardrail, getGuardrail, listGuardrails, updateGuardrail } from "./guardrails/route.ts";
import type { AdministrationOperation } from "./http/administration.ts";
import { getCredits, getGeneration, listActivity } from "./usage/route.ts";
import { createKey, deleteKey, getCurrentKey, getKey, listKeys, updateKey } from "./keys/route.ts";

export interface Route {
  readonly method: "get" | "post" | "patch" | "delete";
  /** Pattern, below /api/v1. */
  readonly path: string;
  readonly operation: AdministrationOperation;
  /** 200 when absent, or 204 where there is nothing to say. */
  readonly status?: 201;
  /** Otherwise a management key is needed. */
  readonly anyKey?: true;
}

const assignments = "/guardrails/:id/assignments/keys";

export const administrationRoutes: readonly Route[] = [
  { method: "get", path: "/key", operation: getCurrentKey, anyKey: true },
  { method: "get", path: "/generation", operation: getGeneration, anyKey: true },
  { method: "get", path: "/activity", operation: listActivity },
  { method: "get", path: "/credits", operation: getCredits },
  { method: "get", path: "/keys", operation: listKeys },
  { method: "post", path: "/keys", operation: createKey, status: 201 },
  { method: "get", path: "/keys/:hash", operation: getKey },
  { method: "patch", path: "/keys/:hash", operation: updateKey },
  { method: "delete", path: "/keys/:hash", operation: deleteKey },
  { method: "get", path: "/guardrails", operation: listGuardrails },
  { method: "post", path: "/guardrails", operation: createGuardrail, status: 201 },
  { method: "get", path: "/guardrails/:id", operation: getGuardrail },
  { method: "patch", path: "/guardrails/:id", operation: updateGuardrail },
  { method: "delete", path: "/guardrails/:id", operation: deleteGuardrail },
  { method: "get", path: "/guardrails/assignments/keys", operation: listAssignments },
  { method: "get", path: assignments, operation: listAssignmentsOfGuardrail },
  { method: "post", path: assignments, operation: assignKeys },
  { method: "post", path: `${assignments}/remove`, operation: unassignKeys },
  { method: "get", path: "/end-users", operation: listEndUsers },
  { method: "post", path: "/end-users", operation: createEndUser, status: 201 },
  { method: "get", path: "/end-users/:user", operation: getEndUser },
  { method: "patch", path: "/end-users/:user", operation: updateEndUser },
  { method: "delete", path: "/end-users/:user", operation: deleteEndUser },
];

/** Failures of these paths have other statuses than those of responses, those of the key check included. */
export const isAdministration = (url: string): boolean =>
  /^\/api\/v1\/(?:guardrails|end-users|keys?|generation|activity|credits)(?:[/?]|$)/.test(url);
