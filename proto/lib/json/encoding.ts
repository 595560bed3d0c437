/** Refuses bytes that cannot be a JSON text: none, a byte order mark, or invalid UTF-8. */
import { isUtf8 } from "node:buffer";
import { refusal } from "./tokens.ts";
import { invalid } from "../validation/problems.ts";
import { firstInvalidUtf8 } from "./utf8.ts";

/** @throws Fault INVALID_REQUEST for an empty text, a byte order mark and invalid UTF-8 */
export function checkEncoding(bytes: Buffer, name: string): void {
  if (bytes.length === 0) throw invalid(name, "must not be empty");
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw refusal(name, "byte order mark", 0);
  if (!isUtf8(bytes)) throw refusal(name, "invalid UTF-8", firstInvalidUtf8(bytes));
}
