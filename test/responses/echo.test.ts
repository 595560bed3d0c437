/** The request settings repeated in a response. */
import { create } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import { buildEcho } from "@sluice/proto/lib/responses/echo.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";

const toolsIn = (json: string): unknown => {
  const request = create(RunTurnRequestSchema, { toolsJson: Buffer.from(json) });
  const { beforeTier } = buildEcho(request, { reasoning: null, metadata: null }, false);
  return (JSON.parse(`{${beforeTier}}`) as { tools: unknown }).tools;
};

test.each(["mcp", "\\u006dcp"])("credentials of a tool of type %s are left out of the response", (type) => {
  const server = `{"type":"${type}","server_label":"s","authorization":"tok", "headers":{"x":"1"},"server_url":"https://a.example"}`;
  expect(toolsIn(`[{"type":"function","name":"f","headers":1}, ${server}]`)).toEqual([
    { type: "function", name: "f", headers: 1 },
    { type: "mcp", server_label: "s", server_url: "https://a.example" },
  ]);
});
