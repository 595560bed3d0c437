/** What the interface of the AI SDK cannot say at all: leaving it out would change what was asked. */
import type { TurnRequest } from "../../turn/request.ts";
import type { Refusal } from "../dialect.ts";
import type { JsonObject } from "../json.ts";
import { cannot, inputRefusal, runsNone, toolRefusal } from "../refused.ts";
import { filePart } from "./parts.ts";

export function sdkRefusal(request: TurnRequest): Refusal | undefined {
  const refusal = toolRefusal(request, runsNone) ?? inputRefusal(request.input, partRefusal);
  if (refusal) return refusal;
  return request.outputModalities.includes("image")
    ? { path: "modalities", message: "no provider of this model gives images" }
    : undefined;
}

/** Addresses are left to whoever can fetch them safely: many packages would fetch them, or hand them on unread. */
function partRefusal(part: JsonObject): string | undefined {
  switch (part.type) {
    case "input_image":
      return filePart(part) ? undefined : cannot("images that do not come along as data");
    case "input_file":
      return filePart(part) ? undefined : cannot("files that do not come along as data");
    case "input_video":
      return cannot("video");
    case "encrypted_content":
      return cannot("encrypted content");
    default:
      return undefined;
  }
}
