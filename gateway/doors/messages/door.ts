/** The door of Anthropic's Messages format. */
import { createMessage } from "../../contract/operations/messages.ts";
import { basePath } from "@sluice/proto/contract/operations/operation.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { Door } from "../../edge/turns/door.ts";
import { messagesFaults } from "./errors.ts";
import { nameFaultFields } from "../../edge/turns/field-names.ts";
import { MessageStream } from "./events.ts";
import type { MessageIdentity } from "./message.ts";
import { MessageObject } from "./object.ts";
import { parseMessages } from "./request.ts";

export const messagesDoor: Door = {
  name: "messages",
  path: `${basePath}${createMessage.path}`,
  unparsed: undefined,
  repeats: true,
  decidingHeaders: ["anthropic-beta"],
  refersToItems: false,
  faults: messagesFaults,
  read(body, members, context) {
    const { request, names } = parseMessages(body, members, context);
    const identity: MessageIdentity = {
      id: newId("msg_"),
      model: request.model === "" ? (request.models[0] ?? "") : request.model,
      metadataAlias: context.compat.emit_metadata_alias ?? undefined,
      names,
    };
    return {
      request,
      explain: (fault) => nameFaultFields(fault, names),
      names,
      whole: () => new MessageObject(identity),
      stream: () => new MessageStream(identity),
    };
  },
};
