/** The door of chat completions. */
import { newId } from "@sluice/proto/lib/ids/id.js";
import { responseFaults } from "../../edge/http/errors.ts";
import { chatPath } from "../../edge/http/turn-head.ts";
import { nameFaultFields } from "../../edge/turns/field-names.ts";
import type { Door } from "../../edge/turns/door.ts";
import { Chunks } from "./chunks.ts";
import { Completion } from "./completion.ts";
import type { CompletionIdentity } from "./identity.ts";
import { parseChatRequest } from "./request.ts";

/**
 * Header with the programming language of OpenAI's SDKs. The Go SDK takes the finish reason from the last chunk with a choice, so a usage chunk with
 * an empty choice would erase it.
 */
const languageHeader = "x-stainless-lang";

export const chatDoor: Door = {
  name: "chat",
  path: chatPath,
  unparsed: undefined,
  repeats: true,
  decidingHeaders: [languageHeader],
  refersToItems: false,
  faults: responseFaults,
  read(body, members, { sessionId, serviceMetadata, headers, compat }) {
    const omitsUsage = headers[languageHeader] === "go";
    const { request, form, names } = parseChatRequest(body, members, { sessionId, serviceMetadata, omitsUsage });
    const identity: CompletionIdentity = {
      id: newId("chatcmpl-"),
      createdAt: Math.floor(Date.now() / 1000),
      model: request.model === "" ? (request.models[0] ?? "") : request.model,
      form,
      metadataAlias: compat.emit_metadata_alias ?? undefined,
      names,
    };
    return {
      request,
      explain: (fault) => nameFaultFields(fault, names),
      names,
      whole: () => new Completion(identity),
      stream: () => new Chunks(identity),
    };
  },
};
