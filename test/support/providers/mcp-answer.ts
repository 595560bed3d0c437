/** Answers of a small MCP server of the revision without sessions, for tests that serve it together with other services. */

/** @param body body of a request @returns the message as JSON of a server with one tool, `find` */
export function answerMcp(body: string): unknown {
  const { id, method } = JSON.parse(body) as { readonly id?: number; readonly method: string };
  const tool = { name: "find", description: "Finds a secret of Alice", inputSchema: { type: "object" } };
  const results: Readonly<Record<string, object>> = {
    "server/discover": { supportedVersions: ["2026-07-28"] },
    "tools/list": { tools: [tool] },
    "tools/call": { content: [{ type: "text", text: "A secret of Alice" }] },
  };
  return { jsonrpc: "2.0", id, result: { resultType: "complete", ...results[method] } };
}
