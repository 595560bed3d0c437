/** Determines the container of a turn's tools: the client names it, or it comes from the session, the history or the turn. */
import { createHmac, randomBytes } from "node:crypto";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { StateKey } from "../../turn/turn-state.ts";
import { type ToolSettings, failsOnCall } from "../../agent-loop/tool.ts";
import type { Container, Sandbox } from "./client.ts";

export interface SandboxDeps {
  /** Client of the sandbox; undefined when the configuration has none. */
  readonly sandbox: Sandbox | undefined;
  /** Secret of the installation, shared by all replicas, so a key and session get the same container from each. */
  readonly secret: string;
}

/** The sandbox client and the container for a tool. */
export interface SandboxTarget {
  readonly sandbox: Sandbox;
  readonly container: Container;
}

/** Settings of the container in a tool's entry. */
export interface ContainerSettings {
  /** Value of `container` in the request: an object of the API, the id of a container, or neither. */
  readonly container: unknown;
  readonly sleepAfterSeconds?: unknown;
  /** Path of `container` in the request. */
  readonly path: string;
}

const standardSleepSeconds = 900;
const idForm = /^[\w-]{1,64}$/;
const idPrefix = "cntr_";
/** Number of hexadecimal digits of an id. With its prefix, an id has 20 characters, the maximum of a request's `container_id`. */
const idDigits = 15;

/** Id of the container the tools of a turn share if they name none, so they see the same files. */
const ofTurn = new StateKey(() => idPrefix + randomBytes(idDigits).toString("hex").slice(0, idDigits));

const missing = (settings: ToolSettings): string =>
  `${String(settings.entry["type"])} needs a sandbox, and this service has none; its operator sets sandbox.base_url`;

/**
 * Finds the sandbox of a tool. @returns a sentence for the model when no sandbox is configured and calls must fail
 * instead of the request @throws Fault INVALID_REQUEST
 */
export const findSandboxOrReason = (
  settings: ToolSettings,
  given: ContainerSettings,
  parts: SandboxDeps,
): SandboxTarget | string =>
  parts.sandbox === undefined && failsOnCall(settings.request)
    ? missing(settings)
    : findSandbox(settings, given, parts);

/** Finds the sandbox of a tool. @throws Fault INVALID_REQUEST when no sandbox is configured, and for settings that no sandbox supports */
export function findSandbox(
  settings: ToolSettings,
  given: ContainerSettings,
  { sandbox, secret }: SandboxDeps,
): SandboxTarget {
  if (sandbox === undefined) throw invalid(settings.path, missing(settings));
  const { container, path, sleepAfterSeconds: sleep } = given;
  const wanted: JsonObject = isObject(container) ? container : {};
  const files = wanted["file_ids"];
  if (Array.isArray(files) && files.length > 0)
    throw invalid(`${path}.file_ids`, "files are not stored, so none can be named; put their text into the request");
  const tenant = tenantOf(settings, secret);
  return {
    sandbox,
    container: {
      tenant,
      id: namedContainer(container, path) ?? ownContainer(settings, tenant, secret),
      networkPolicy: wanted["network_policy"] ?? undefined,
      memoryLimit: wanted["memory_limit"] ?? undefined,
      sleepAfterSeconds: typeof sleep === "number" ? sleep : standardSleepSeconds,
    },
  };
}

const tenantOf = ({ scope: { caller } }: ToolSettings, secret: string): string =>
  createHmac("sha256", secret).update(`sandbox\0${caller.workspaceId}\0${caller.keyHash}`).digest("hex");

function namedContainer(container: unknown, path: string): string | undefined {
  const id = isObject(container) ? container["container_id"] : container;
  if (typeof id !== "string") return undefined;
  const at = isObject(container) ? `${path}.container_id` : path;
  if (!idForm.test(id)) throw invalid(at, "1 to 64 letters, digits, _ and -");
  return id;
}

function ownContainer({ request, scope }: ToolSettings, tenant: string, secret: string): string {
  const { sessionId, input } = request;
  if (sessionId !== undefined) {
    const hash = createHmac("sha256", secret).update(`container\0${tenant}\0${sessionId}`).digest("hex");
    return idPrefix + hash.slice(0, idDigits);
  }
  const earlier = input.findLast(({ container_id: id }) => typeof id === "string" && idForm.test(id));
  return earlier ? String(earlier["container_id"]) : scope.state.get(ofTurn);
}
