/** Call ids may have letters, digits, _ and - only; ids of other providers have more. */
import { wordId } from "@sluice/proto/runtime/foreign-id.js";
import { text } from "../../json.ts";

/** Different ids stay different, even when they differ only in characters that cannot be sent. */
export const toCallId = (callId: unknown): string => wordId(text(callId));
