/** The string that names an end user. Compared byte by byte: neither case nor normalisation make two of them equal. */
import { checkLength, checkStorable, checkTrimmed } from "./text.ts";

/** @throws Fault INVALID_REQUEST */
export function checkEndUser(user: string): void {
  checkLength("user", user, 512);
  checkStorable("user", user);
  checkTrimmed("user", user);
}
