/** The doors of the gateway: one for each request format, found by path. */
import type { IncomingMessage } from "node:http";
import { chatDoor } from "./chat/door.ts";
import type { FaultForm } from "../edge/http/errors.ts";
import { pathIn, toPathUnderBase } from "../edge/http/path.ts";
import { messagesDoor } from "./messages/door.ts";
import { compactDoor } from "./responses/compact.ts";
import { responsesDoor } from "./responses/door.ts";
import type { Door } from "../edge/turns/door.ts";

const doors: readonly Door[] = [responsesDoor, chatDoor, messagesDoor, compactDoor];
const byPath: ReadonlyMap<string, Door> = new Map(doors.map((door) => [door.path, door]));

/** @param path without a query */
export const doorAt = (path: string): Door | undefined => byPath.get(path);

/**
 * The form of an error answer to a request that reaches no door. It is Anthropic's form for paths at or below that of the messages door, also with a
 * missing or doubled base path, and for requests with the version header of Anthropic's SDKs.
 */
export function faultFormOf({ url = "", headers }: IncomingMessage): FaultForm | undefined {
  const meant = toPathUnderBase(pathIn(url));
  const isMessages = meant === messagesDoor.path || meant.startsWith(`${messagesDoor.path}/`);
  return isMessages || headers["anthropic-version"] !== undefined ? messagesDoor.faults : undefined;
}

/** The door of a request for a turn; undefined for every other request. */
export function doorOf({ method, url = "" }: IncomingMessage): Door | undefined {
  if (method !== "POST") return undefined;
  return byPath.get(url) ?? byPath.get(pathIn(url));
}
