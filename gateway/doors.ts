/** The doors of the gateway, by their paths. */
import type { IncomingMessage } from "node:http";
import { chatDoor } from "./chat/door.ts";
import type { FaultForm } from "./http/errors.ts";
import { pathIn } from "./http/path.ts";
import { messagesDoor } from "./messages/door.ts";
import { compactDoor } from "./responses/compact.ts";
import { responsesDoor } from "./responses/door.ts";
import type { Door } from "./turns/door.ts";

const doors: readonly Door[] = [responsesDoor, chatDoor, messagesDoor, compactDoor];
const byPath: ReadonlyMap<string, Door> = new Map(doors.map((door) => [door.path, door]));

/** @param path without a query */
export const doorAt = (path: string): Door | undefined => byPath.get(path);

/** The form of failures at the path of the messages door and below it, whatever is wrong with the request. */
export const faultsAt = (path: string): FaultForm | undefined =>
  path === messagesDoor.path || path.startsWith(`${messagesDoor.path}/`) ? messagesDoor.faults : undefined;

/** The door of a request that asks for a turn; undefined for every other request. */
export function doorOf({ method, url = "" }: IncomingMessage): Door | undefined {
  if (method !== "POST") return undefined;
  return byPath.get(url) ?? byPath.get(pathIn(url));
}
