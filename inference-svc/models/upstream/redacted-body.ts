/** Redacts a request body shown to people: no bytes of images and files, and no credentials of tool servers. */

const dataUrls = /("data:[^";,]{0,100};base64,)[\w+/=-]+/g;
/** Matches bytes of files, recordings and images, and encrypted texts, except in data URLs. */
const payloads = /("(?:file_data|data|bytes|result|encrypted_content|redactedContent)":")[\w+/=-]{256,}(?=")/g;

/** Matches the type of an MCP server's entry, with white space as the client wrote it. */
const toolServer = /"type"\s*:\s*"mcp"/;
const credentials = /("authorization"\s*:\s*")(?:[^"\\]|\\.)*/g;
const serverHeaders = /("headers"\s*:\s*)\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}/g;

export function redactBody(bodyJson: string): string {
  const shown = bodyJson.replace(dataUrls, "$1[redacted]").replace(payloads, "$1[redacted]");
  if (!toolServer.test(shown)) return shown;
  return shown.replace(credentials, "$1[redacted]").replace(serverHeaders, '$1"[redacted]"');
}
