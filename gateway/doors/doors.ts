/** The doors of the gateway, by their paths. */
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
 * The form of failures outside of the doors: that of the messages door for its path and the paths below it, also with a missing or doubled base path, and for
 * requests of Anthropic's SDKs, recognized by their version header.
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
