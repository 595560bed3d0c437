/** A body as it may be shown to who asked for it: without the bytes of images and files, and without the credentials of tool servers. */

const dataUrls = /("data:[^";,]{0,100};base64,)[\w+/=-]+/g;
/** A file, a recording, an image or something sealed, without a data URL around it. */
const payloads = /("(?:file_data|data|bytes|result|encrypted_content|redactedContent)":")[\w+/=-]{256,}(?=")/g;

/** Tools stand as the client wrote them, with its white space. */
const toolServer = /"type"\s*:\s*"mcp"/;
const credentials = /("authorization"\s*:\s*")(?:[^"\\]|\\.)*/g;
const serverHeaders = /("headers"\s*:\s*)\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}/g;

export function redacted(bodyJson: string): string {
  const shown = bodyJson.replace(dataUrls, "$1[redacted]").replace(payloads, "$1[redacted]");
  if (!toolServer.test(shown)) return shown;
  return shown.replace(credentials, "$1[redacted]").replace(serverHeaders, '$1"[redacted]"');
}
