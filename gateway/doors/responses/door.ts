/** The door of the Responses format. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { type ResponseIdentity, identifyResponse } from "@sluice/proto/lib/responses/identity.js";
import { ResponseObject } from "@sluice/proto/lib/responses/object.js";
import { responseFaults } from "../../edge/http/errors.ts";
import { responsesPath } from "../../edge/http/turn-head.ts";
import type { Door, DoorContext } from "../../edge/turns/door.ts";
import { forbidsStorage } from "../../edge/turns/storage.ts";
import { Ladder } from "./ladder.ts";
import { parseRequest } from "./request.ts";

export const responsesDoor: Door = {
  name: "responses",
  path: responsesPath,
  unparsed: "input",
  repeats: true,
  decidingHeaders: [],
  refersToItems: true,
  faults: responseFaults,
  read(body, members, context) {
    const { request, identity } = readResponse(body, members, context);
    const isRemembered = context.remember !== undefined && !forbidsStorage(request, body, members);
    const remember = isRemembered ? context.remember : undefined;
    return {
      request,
      whole: () => new ResponseObject(identity, remember),
      stream: () => new Ladder(new ResponseObject(identity, remember)),
    };
  },
};

export interface ReadResponse {
  readonly request: RunTurnRequest;
  readonly identity: ResponseIdentity;
}

/** @throws Fault as parseRequest */
export function readResponse(
  body: Buffer,
  members: readonly JsonMember[],
  { sessionId, serviceMetadata, compat }: Omit<DoorContext, "headers" | "remember">,
): ReadResponse {
  const { request, echo } = parseRequest(body, members, { sessionId, serviceMetadata }, compat.fill_defaults);
  return { request, identity: identifyResponse(request, echo, compat.emit_metadata_alias) };
}
