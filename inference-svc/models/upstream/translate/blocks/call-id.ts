/** Call ids may have letters, digits, _ and - only; ids of other providers have more. */
import { wordId } from "@sluice/proto/lib/ids/foreign-id.js";
import { text } from "../../json.ts";

/** Different ids stay different, even if they differ only in disallowed characters. */
export const toCallId = (callId: unknown): string => wordId(text(callId));
