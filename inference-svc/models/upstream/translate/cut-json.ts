/** Tells arguments that break off from arguments that are wrong: only the former show that an answer was cut. */
import { parseWithin } from "@sluice/proto/lib/json/values.js";

/** The beginnings of an escape, and of a number or a word. */
const partialEscape = /\\(?:u[0-9a-fA-F]{0,3})?$/;
const partialWord = /[-+.\w]+$/;

/** Ends of a string, as a value and as a key. */
const stringEnds = ['"', '":null'];
/** Ends after a value, a key, a colon or a bracket, and a comma. */
const otherEnds = ["", ":null", "null", '"":null'];

/** Whether a text is the beginning of a longer JSON object: with some end, it is JSON. */
export function isCutObject(json: string): boolean {
  const { closing, inString } = findOpen(json);
  if (closing === "" || !json.trimStart().startsWith("{")) return false;
  const ends = inString ? stringEnds : otherEnds;
  const kept = json.replace(inString ? partialEscape : partialWord, "");
  if (ends.some((end) => isJson(json + end + closing))) return true;
  // A word that has only begun is a value.
  return kept !== json && (inString ? stringEnds : ["null"]).some((end) => isJson(kept + end + closing));
}

/** The brackets that close what a text leaves open, innermost first. */
function findOpen(json: string): { readonly closing: string; readonly inString: boolean } {
  const open: string[] = [];
  let inString = false;
  for (let at = 0; at < json.length; at++) {
    const sign = json[at];
    if (inString) {
      if (sign === "\\") at++;
      else if (sign === '"') inString = false;
    } else if (sign === '"') inString = true;
    else if (sign === "{") open.push("}");
    else if (sign === "[") open.push("]");
    else if (sign === "}" || sign === "]") open.pop();
  }
  return { closing: open.toReversed().join(""), inString };
}

function isJson(text: string): boolean {
  try {
    parseWithin(text);
    return true;
  } catch {
    return false;
  }
}
