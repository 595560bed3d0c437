/** Converts call ids for formats that allow only letters, digits, _ and - in them. */
import { wordId } from "@sluice/proto/lib/ids/foreign-id.js";
import { text } from "../../json.ts";

/** A call id of allowed characters. Different ids stay different, even if they differ only in characters that are not allowed. */
export const toCallId = (callId: unknown): string => wordId(text(callId));
