/** Files as documents: PDF in base64 or by URL, and text (https://platform.claude.com/docs/en/build-with-claude/pdf-support). */
import { type JsonObject, text } from "../json.ts";

const inline = /^data:([^;,]{1,100})(?:;[^;,]{1,100})*;base64,/;
/** "%PDF" in base64. */
const pdfStart = "JVBER";
const textual = /^(text\/|application\/(json|xml|yaml|x-yaml)$)/;

export function documentRefusal(part: JsonObject): string | undefined {
  if (text(part.file_data) !== "" || text(part.file_id) === "") {
    const type = typeOf(text(part.file_data));
    const said = type === "application/pdf" || textual.test(type) || /^https?:/.test(text(part.file_url));
    return said ? undefined : `no provider of this model takes files of type ${type || "unknown"}`;
  }
  return undefined;
}

/** "" where nothing says. */
function typeOf(data: string): string {
  const type = inline.exec(data)?.[1] ?? "";
  return type === "" && data.startsWith(pdfStart) ? "application/pdf" : type;
}

/** @param part one that is not refused */
export function documentSource(part: JsonObject): JsonObject {
  const data = text(part.file_data);
  if (data === "") {
    const url = text(part.file_url);
    return url === "" ? { type: "file", file_id: part.file_id } : { type: "url", url };
  }
  const type = typeOf(data);
  const base64 = data.slice(inline.exec(data)?.[0].length ?? 0);
  return type === "application/pdf"
    ? { type: "base64", media_type: type, data: base64 }
    : { type: "text", media_type: "text/plain", data: Buffer.from(base64, "base64").toString("utf8") };
}
