/** Writes the heads of HTTP requests. The parts that all requests to an endpoint share are written once. */
import { providerFailed } from "../../failure.ts";

const invalidPath = /[^\u0021-\u00ff]/;
const invalidName = /[^!#$%&'*+\-.^_`|~\dA-Za-z]/;
const invalidValue = /[^\t\u0020-\u007e\u0080-\u00ff]/;

/**
 * @param path path with its query
 * @throws Fault for a path that contains a line end
 */
export function requestLine(method: "GET" | "POST", path: string, host: string): string {
  if (invalidPath.test(path)) throw providerFailed("invalid character in the path of a request");
  return `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
}

/** Writes header fields. @throws Fault for a field that contains a line end, such as a key pasted with one */
export function fieldLines(fields: Readonly<Record<string, string>>): string {
  let lines = "";
  for (const name in fields) {
    const value = fields[name] ?? "";
    if (invalidName.test(name) || invalidValue.test(value)) throw providerFailed("invalid character in a header field");
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}
